//! The memory-side cache: what it takes, what it answers, what it writes.

use waykeeper_platform::Replacement;
use waykeeper_simulator::line::Line;
use waykeeper_simulator::memory::side_cache::SideCacheParameters;
use waykeeper_simulator::memory::{Memory, Requester};
use waykeeper_simulator::time::Ps;

use crate::common::{answers, changed, read, write};

/// Two parts of one set with two ways.
fn memory(read_allocation: bool, dirty_write_allocation: bool) -> Memory {
    changed(|parameters| {
        parameters.cache = Some(SideCacheParameters {
            parts: 2,
            sets: 1,
            ways: 2,
            replacement: Replacement::Lru,
            hit: Ps::new(60),
            read_allocation,
            dirty_write_allocation,
            seed: 1,
        });
    })
}

#[test]
fn a_line_that_was_read_is_answered_by_the_cache() {
    let mut memory = memory(true, false);
    read(&mut memory, 4, 1);
    assert_eq!(answers(&mut memory), [(1, 1135)]);
    memory.read(Line::new(4), 2, Requester::default(), Ps::new(2000));
    // The same set of the other part has nothing to do with it.
    memory.read(Line::new(5), 3, Requester::default(), Ps::new(2000));
    assert_eq!(answers(&mut memory), [(2, 2060), (3, 2125)], "its row is still open");
    let counts = memory.counts();
    assert_eq!((counts.reads, counts.cache_hits), (2, 1));
}

#[test]
fn without_allocation_it_is_as_if_it_were_not_there() {
    let mut memory = memory(false, false);
    for at in [1000, 2000] {
        memory.read(Line::new(4), 1, Requester::default(), Ps::new(at));
        memory.write(Line::new(4), Requester::default(), Ps::new(at + 500));
        answers(&mut memory);
    }
    let counts = memory.counts();
    assert_eq!((counts.reads, counts.writes, counts.cache_hits, counts.cache_writes), (2, 2, 0, 0));
}

#[test]
fn a_changed_line_is_written_when_it_must_make_room() {
    let mut memory = memory(false, true);
    [0, 2, 0, 4].into_iter().for_each(|line| write(&mut memory, line));
    answers(&mut memory);
    let counts = memory.counts();
    // Line 2 was used longest ago.
    assert_eq!((counts.writes, counts.cache_writes, counts.cache_evictions), (1, 4, 1));
    read(&mut memory, 0, 1);
    read(&mut memory, 2, 2);
    let hits = answers(&mut memory);
    assert_eq!(hits.iter().map(|(handle, _)| *handle).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((memory.counts().cache_hits, memory.counts().reads), (1, 1));
}

#[test]
fn what_was_only_read_makes_room_silently() {
    let mut memory = memory(true, true);
    for line in [0, 2, 4, 6] {
        read(&mut memory, line, line);
        answers(&mut memory);
    }
    assert_eq!((memory.counts().writes, memory.counts().cache_evictions), (0, 0));
}

#[test]
fn allocation_can_be_switched_and_lines_stay() {
    let mut memory = memory(true, false);
    read(&mut memory, 0, 1);
    answers(&mut memory);
    assert!(memory.set_memory_cache(false, false));
    memory.read(Line::new(0), 2, Requester::default(), Ps::new(2000));
    memory.read(Line::new(2), 3, Requester::default(), Ps::new(2000));
    memory.read(Line::new(2), 4, Requester::default(), Ps::new(3000));
    answers(&mut memory);
    assert_eq!((memory.counts().cache_hits, memory.counts().reads), (1, 3));
    assert!(!changed(|_| {}).set_memory_cache(true, true), "there is none");
}

#[test]
fn what_was_read_before_allocation_was_switched_on_does_not_come_later() {
    for is_answered in [true, false] {
        let mut memory = memory(false, false);
        read(&mut memory, 0, 1);
        if is_answered {
            answers(&mut memory);
        } else {
            // The command only: the answer comes after the switch.
            assert_eq!(memory.step(memory.next_time()), None);
        }
        assert!(memory.set_memory_cache(true, false));
        answers(&mut memory);
        for (line, at) in [(2, 2000), (0, 3000), (0, 4000)] {
            memory.read(Line::new(line), 1, Requester::default(), Ps::new(at));
            answers(&mut memory);
        }
        // Of line 0 only the third reading finds it.
        assert_eq!((memory.counts().cache_hits, memory.counts().reads), (1, 3), "{is_answered}");
    }
}
