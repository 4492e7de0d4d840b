//! The controller's rules.

use waykeeper_platform::ReadAfterWrite;
use waykeeper_simulator::line::Line;
use waykeeper_simulator::memory::{Memory, Requester};
use waykeeper_simulator::time::Ps;

use crate::common::{FIRST, answers, parameters, read, row, scheduled, write};

#[test]
fn a_closed_row_costs_an_activation_and_an_open_one_does_not() {
    let mut memory = Memory::new(&parameters());
    read(&mut memory, 0, 1);
    read(&mut memory, 1, 2);
    // 1000 + tRCD 10 + CL 20 + 5 + 100; then the next line on the bus.
    assert_eq!(answers(&mut memory), [(1, 1135), (2, 1140)]);
    assert_eq!((memory.counts().row_misses, memory.counts().row_hits), (1, 1));
}

#[test]
fn rows_of_one_bank_follow_each_other_at_trc() {
    let mut memory = Memory::new(&parameters());
    for n in 0..4 {
        read(&mut memory, row(n), n);
    }
    // Activations at 1000, 1040, 1080, 1120; each line 135 later.
    assert_eq!(answers(&mut memory), [(0, 1135), (1, 1175), (2, 1215), (3, 1255)]);
}

#[test]
fn banks_work_side_by_side_on_one_bus() {
    let mut memory = Memory::new(&parameters());
    for bank in 0..4 {
        read(&mut memory, bank * 8, bank);
    }
    assert_eq!(answers(&mut memory), [(0, 1135), (1, 1140), (2, 1145), (3, 1150)]);
}

#[test]
fn a_refresh_stops_all_banks_and_closes_their_rows() {
    let mut parameters = parameters();
    parameters.refresh.phase = Ps::new(2000);
    let mut memory = Memory::new(&parameters);
    read(&mut memory, 0, 1);
    answers(&mut memory);
    memory.read(Line::new(1), 2, Requester::default(), Ps::new(2100));
    // The refresh ends at 2500; the row was open but is not any more: 2500 + 135.
    assert_eq!(answers(&mut memory), [(2, 2635)]);
    assert_eq!((memory.counts().row_misses, memory.counts().refreshes), (2, 1));
}

#[test]
fn a_write_waits_for_its_age_while_reads_keep_coming() {
    let mut memory = Memory::new(&parameters());
    for n in 0..8 {
        read(&mut memory, row(n), n);
    }
    write(&mut memory, row(100));
    // The activations of reads are 40 apart. The write ages at 1200 and takes the bank's next turn, before read 6:
    // reads 0 to 5 have activations at 1000 to 1200 (the last command is issued tRP before, at 1190), the write has
    // 1240, reads 6 and 7 have 1280 and 1320.
    let expected: Vec<_> = [1135, 1175, 1215, 1255, 1295, 1335, 1415, 1455]
        .into_iter()
        .enumerate()
        .map(|(n, at)| (n as u32, at))
        .collect();
    assert_eq!(answers(&mut memory), expected);
    assert_eq!((memory.counts().writes, memory.counts().aged_writes), (1, 1));
}

#[test]
fn a_write_goes_at_once_when_no_read_waits() {
    let mut memory = Memory::new(&parameters());
    write(&mut memory, 0);
    assert_eq!(memory.next_time(), Ps::new(1000));
    answers(&mut memory);
    assert_eq!((memory.counts().writes, memory.counts().aged_writes), (1, 0));
}

#[test]
fn many_writes_go_before_reads_until_few_are_left() {
    let mut memory = scheduled(|rules| rules.write_age = Ps::new(1_000_000));
    read(&mut memory, row(0), 0);
    read(&mut memory, row(1), 1);
    for n in 10..14 {
        write(&mut memory, row(n));
    }
    // Nothing was issued yet: the fourth write starts the drain, 3 go before any read (down to the low mark of 1),
    // activations 1000, 1040, 1080, then the reads at 1120 and 1160.
    assert_eq!(answers(&mut memory), [(0, 1255), (1, 1295)]);
    assert_eq!(memory.counts().writes, 4, "the last one goes when no read is left");
}

#[test]
fn a_read_of_a_line_that_is_to_be_written_goes_after_the_write() {
    for (rule, expected) in [
        // Activations of reads at 1000, 1040, .., 1200, of the write at 1240: its data are through at 1275. First: the
        // held read finds the row open, its data follow until 1280; 6 and 7 have activations at 1280 and 1320. Last: 6
        // and 7 as before, and by then the row is closed, so the held read needs an activation at 1360.
        (ReadAfterWrite::First, [(9, 1380), (6, 1415), (7, 1455)]),
        (ReadAfterWrite::Last, [(6, 1415), (7, 1455), (9, 1495)]),
    ] {
        let mut memory = scheduled(|rules| (rules.read_after_write, rules.queue_entries) = (rule, 16));
        for n in 0..8 {
            read(&mut memory, row(n), n);
        }
        write(&mut memory, row(100));
        read(&mut memory, row(100), 9);
        assert_eq!(answers(&mut memory)[6..], expected);
        assert_eq!(memory.counts().reads_behind_writes, 1);
    }
}

#[test]
fn a_read_that_waits_for_a_write_does_not_keep_that_write_waiting() {
    let mut memory = scheduled(|rules| rules.write_age = Ps::new(1_000_000));
    read(&mut memory, row(1), 1);
    write(&mut memory, row(0));
    read(&mut memory, row(0), 2);
    // Read 1 at 1000, then no read but the held one is left: the write at 1040; its row stays open for the read, which
    // follows on the bus: data of the write ends at 1040 + 10 + 20 + 5 = 1075, of the read at 1080.
    assert_eq!(answers(&mut memory), [(1, 1135), (2, 1180)]);
}

#[test]
fn a_priority_counts_before_the_controller_and_not_inside() {
    let mut memory = scheduled(|rules| rules.queue_entries = 2);
    for n in 0..5 {
        read(&mut memory, row(n), n);
    }
    memory.read(Line::new(row(9)), 9, FIRST, Ps::new(1000));
    let order: Vec<u32> = answers(&mut memory).into_iter().map(|(handle, _)| handle).collect();
    // 0 and 1 are inside; 9 passes 2, 3 and 4 outside.
    assert_eq!(order, [0, 1, 9, 2, 3, 4]);
}

#[test]
fn reads_of_the_open_row_pass_others_but_not_for_ever() {
    let order = |row_hits| {
        let mut memory = scheduled(|rules| rules.row_hits_in_a_row = row_hits);
        for (handle, line) in [(0, row(0)), (1, row(1)), (2, row(0) + 1), (3, row(0) + 2)] {
            read(&mut memory, line, handle);
        }
        answers(&mut memory)
    };
    // Row 0 from 1000 on, each further line of it 5 later on the bus; row 1 has its activation at 1040, and row 0 again
    // at 1080.
    assert_eq!(order(16), [(0, 1135), (2, 1140), (3, 1145), (1, 1175)]);
    assert_eq!(order(1), [(0, 1135), (2, 1140), (1, 1175), (3, 1215)]);
    assert_eq!(order(0), [(0, 1135), (1, 1175), (2, 1215), (3, 1220)]);
}

#[test]
fn a_priority_can_reach_into_the_banks() {
    let mut memory = scheduled(|rules| rules.priorities_in_banks = true);
    for n in 0..4 {
        read(&mut memory, row(n), n);
    }
    memory.read(Line::new(row(9)), 9, FIRST, Ps::new(1000));
    let order: Vec<u32> = answers(&mut memory).into_iter().map(|(handle, _)| handle).collect();
    assert_eq!(order, [9, 0, 1, 2, 3]);
}

#[test]
fn writes_can_take_turns_with_the_reads_of_the_whole_channel() {
    let answer = |drains_channel| {
        let mut memory =
            scheduled(|rules| (rules.write_age, rules.drains_channel) = (Ps::new(1_000_000), drains_channel));
        read(&mut memory, 8, 1);
        for n in 10..14 {
            write(&mut memory, row(n));
        }
        answers(&mut memory)
    };
    // Bank 0 writes from 1000 on, bank 1 reads beside it: its data go behind the first write's, 1035 to 1040.
    assert_eq!(answer(false), [(1, 1140)]);
    // Three writes first: activations at 1000, 1040, 1080, the last one's data from 1110 to 1115. Its transaction begins
    // with the precharge at 1070, and so does the read: activation at 1070, data behind the write's.
    assert_eq!(answer(true), [(1, 1220)]);
}

#[test]
fn few_writes_are_written_in_the_end_too() {
    let mut memory = scheduled(|rules| (rules.write_age, rules.write_high) = (Ps::NEVER, 100));
    read(&mut memory, row(1), 1);
    (0..3).for_each(|n| write(&mut memory, row(n)));
    answers(&mut memory);
    assert_eq!(memory.counts().writes, 3);
}

#[test]
fn writes_without_end_let_reads_have_their_turn() {
    for (drains_channel, write_age) in
        [(true, Ps::NEVER), (false, Ps::NEVER), (true, Ps::new(200)), (false, Ps::new(200))]
    {
        // The controller holds 8 writes.
        let mut memory = scheduled(|rules| {
            (rules.drains_channel, rules.write_age, rules.write_entries) = (drains_channel, write_age, 8);
        });
        let mut sent = 0;
        let mut waits = Vec::new();
        for handle in 0..20 {
            let asked = memory.counts().writes;
            memory.read(
                Line::new(row(handle)),
                handle,
                Requester::default(),
                memory.next_time().clamp(Ps::new(1000), Ps::new(1_000_000)),
            );
            let answered = (0..1000).find_map(|_| {
                // As many wait all the time as start a drain, in the bank of the reads.
                while sent < memory.counts().writes + 6 {
                    sent += 1;
                    memory.write(
                        Line::new(row(100 + sent as u32 % 100)),
                        Requester::default(),
                        memory.next_time().clamp(Ps::new(1000), Ps::new(1_000_000)),
                    );
                }
                let now = memory.next_time();
                memory.step(now)
            });
            assert_eq!(answered, Some(handle), "drains the channel: {drains_channel}, age {write_age:?}");
            waits.push(memory.counts().writes - asked);
        }
        // Eight before the read, and what goes on while its line is on its way: at 40 each, 130 hold four.
        assert!(waits.iter().all(|writes| *writes <= 12), "{waits:?}");
        assert!(waits.iter().any(|writes| *writes >= 8), "{waits:?}");
    }
}
