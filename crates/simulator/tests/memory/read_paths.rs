//! What became of reads that somebody asked about.

use waykeeper_simulator::memory::Memory;
use waykeeper_simulator::observe::read_path::ReadPath;
use waykeeper_simulator::time::Ps;

use crate::common::{changed, read, row, write};

/// Runs until nothing is left.
fn finish(memory: &mut Memory) {
    while memory.next_time() != Ps::NEVER {
        memory.step(memory.next_time());
    }
}

#[test]
fn a_read_tells_who_was_before_it_and_until_when_it_waited() {
    let mut memory = changed(|_| {});
    memory.follow(64..128);
    read(&mut memory, row(0), 3);
    read(&mut memory, row(1), 65);
    finish(&mut memory);
    // The first opens its row at 1000, which may be closed at 1000 + tRC - tRP = 1030: then the second is issued.
    let read_path = ReadPath { admitted_ps: 1000, issued_ps: 1030, reads_ahead: 1, ..ReadPath::default() };
    assert_eq!([3, 65, 65].map(|handle| memory.read_path(handle)), [None, Some(read_path), None]);
}

#[test]
fn a_read_tells_of_the_write_that_it_waited_for() {
    let mut memory = changed(|_| {});
    memory.follow(64..128);
    write(&mut memory, row(2));
    read(&mut memory, row(2), 64);
    finish(&mut memory);
    // The write is issued at once; its data end at 1000 + tRCD + CWL + 5 = 1035, and the read's may follow: 1035 - CL.
    let read_path =
        ReadPath { admitted_ps: 1000, held_until_ps: Some(1000), issued_ps: 1015, passed_by: 1, ..ReadPath::default() };
    assert_eq!(memory.read_path(64), Some(read_path));
}

#[test]
fn a_read_tells_of_the_refresh_that_it_met() {
    let mut memory = changed(|parameters| parameters.refresh.phase = Ps::new(900));
    memory.follow(64..128);
    // The refresh began at 900 and takes 500.
    read(&mut memory, row(0), 64);
    finish(&mut memory);
    assert_eq!(memory.read_path(64).map(|read_path| read_path.refreshes), Some(1));
    let mut memory = changed(|parameters| parameters.refresh.phase = Ps::new(400));
    memory.follow(64..128);
    read(&mut memory, row(0), 64);
    finish(&mut memory);
    assert_eq!(memory.read_path(64).map(|read_path| read_path.refreshes), Some(0), "it was over");
}

#[test]
fn answers_are_the_same_with_and_without() {
    let answers = |follows: bool| {
        let mut memory = changed(|parameters| parameters.scheduler.queue_entries = 4);
        if follows {
            memory.follow(0..8);
        }
        (0..16)
            .for_each(|at| if at % 3 == 0 { write(&mut memory, row(at)) } else { read(&mut memory, row(at / 2), at) });
        let mut answers = Vec::new();
        while memory.next_time() != Ps::NEVER {
            let now = memory.next_time();
            answers.extend(memory.step(now).map(|handle| (handle, now)));
        }
        answers
    };
    assert_eq!(answers(true), answers(false));
}
