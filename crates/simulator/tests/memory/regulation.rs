//! Regulation of bandwidth: who is served how often, beside classes that always have requests waiting.

use waykeeper_simulator::line::Line;
use waykeeper_simulator::memory::regulator::{Portions, Scheme, Windows};
use waykeeper_simulator::memory::{Memory, Requester};
use waykeeper_simulator::time::Ps;

use crate::common::{answers, changed};

/// One line each 50 through the way to the memory, whose banks are much faster: so the regulator decides.
fn memory(scheme: Scheme) -> Memory {
    changed(|parameters| {
        parameters.regulation = Some((scheme, 64));
        parameters.line_time = Ps::new(50);
        parameters.timing.trc = Ps::new(20);
        parameters.layout.bank_hash = true;
    })
}

const WINDOWS: Windows = Windows { length: Ps::new(1000), steps: 100, line: Ps::new(50) };
const PORTIONS: Portions = Portions { slot: Ps::new(250), slots: 4, line: Ps::new(50) };

/// Classes that keep so many reads waiting each, from 0 until `end`; gives the times of the answers of each.
fn saturate(memory: &mut Memory, waiting: &[(u8, u32)], end: u64) -> Vec<Vec<u64>> {
    let mut line = 0;
    let mut send = |memory: &mut Memory, class: u8, now: Ps| {
        line += 8;
        memory.read(Line::new(line), u32::from(class), Requester { core: class, class, ..Requester::default() }, now);
    };
    for (class, count) in waiting {
        (0..*count).for_each(|_| send(memory, *class, Ps::ZERO));
    }
    let mut answered = vec![Vec::new(); 8];
    while memory.next_time() <= Ps::new(end) {
        let now = memory.next_time();
        if let Some(class) = memory.step(now) {
            answered[class as usize].push(now.get());
            send(memory, class as u8, now);
        }
    }
    answered
}

fn served(memory: &mut Memory, waiting: &[(u8, u32)], end: u64) -> [usize; 2] {
    let answered = saturate(memory, waiting, end);
    [answered[0].len(), answered[1].len()]
}

#[test]
fn classes_are_served_inversely_to_their_stride_plus_one() {
    for (strides, shares) in [([0, 0], [1, 1]), ([3, 0], [1, 4]), ([1, 2], [3, 2]), ([63, 0], [1, 64])] {
        let mut memory = memory(Scheme::Stride);
        for (class, stride) in [0, 1].into_iter().zip(strides) {
            assert!(memory.set_bandwidth(class, stride, true, Ps::ZERO));
        }
        // 2000 lines in 100,000; the first answer comes some 135 after 0.
        let [first, second] = served(&mut memory, &[(0, 20), (1, 20)], 100_000);
        assert!((1995..=2000).contains(&(first + second)), "{first} + {second}");
        let expected = 2000 * shares[0] / (shares[0] + shares[1]);
        assert!(first.abs_diff(expected) <= 3, "{strides:?}: {first} and {second}");
    }
}

#[test]
fn a_class_alone_is_not_throttled() {
    for enabled in [false, true] {
        let mut memory = memory(Scheme::Stride);
        memory.set_bandwidth(1, 63, enabled, Ps::ZERO);
        let [_, lines] = served(&mut memory, &[(1, 20)], 100_000);
        assert!((1995..=2000).contains(&lines), "{lines}");
    }
}

#[test]
fn off_means_order_of_arrival() {
    let mut memory = memory(Scheme::Stride);
    memory.set_bandwidth(0, 63, false, Ps::ZERO);
    memory.set_bandwidth(1, 0, false, Ps::ZERO);
    // Three times as many requests waiting get three times as many lines.
    let [first, second] = served(&mut memory, &[(0, 30), (1, 10)], 100_000);
    assert!(first.abs_diff(1500) <= 30 && second.abs_diff(500) <= 10, "{first} and {second}");
}

#[test]
fn the_others_stride_does_not_matter_to_a_class_that_asks_for_less_than_its_share() {
    // Class 1 has one request at a time, class 0 as many as it can: an equal share would be half of the way.
    let run = |stride| {
        let mut memory = memory(Scheme::Stride);
        memory.set_bandwidth(0, stride, true, Ps::ZERO);
        memory.set_bandwidth(1, 0, true, Ps::ZERO);
        saturate(&mut memory, &[(0, 40), (1, 1)], 100_000)[1].clone()
    };
    let equal = run(0);
    // A line each 200 or so: at most 50 for its turn, then 135 for the line itself.
    assert!((480..=800).contains(&equal.len()), "{}", equal.len());
    assert_eq!(equal, run(63));
    // Off, it waits for 40 lines each time.
    let mut off = memory(Scheme::Stride);
    let [_, lines] = served(&mut off, &[(0, 40), (1, 1)], 100_000);
    assert!(lines <= 100_000 / (40 * 50), "{lines}");
}

#[test]
fn a_delay_adds_to_every_request_of_the_class() {
    let mut memory = memory(Scheme::Delay { step: Ps::new(10), steps: 100 });
    memory.set_bandwidth(0, 90, true, Ps::ZERO);
    memory.set_bandwidth(1, 100, true, Ps::ZERO);
    memory.read(Line::new(0), 0, Requester::default(), Ps::new(1000));
    memory.read(Line::new(8), 1, Requester { class: 1, ..Requester::default() }, Ps::new(1000));
    // Ten steps of 10 below the full share.
    assert_eq!(answers(&mut memory), [(1, 1135), (0, 1235)]);
}

#[test]
fn a_maximum_is_kept_in_each_window_even_when_nobody_else_asks() {
    let mut memory = memory(Scheme::Maximum(WINDOWS));
    memory.set_bandwidth(1, 10, true, Ps::ZERO);
    memory.set_bandwidth(0, 100, true, Ps::ZERO);
    // A window of 1000 has room for 20 lines; a tenth of them are 2.
    let alone = saturate(&mut memory.clone(), &[(1, 20)], 100_000)[1].clone();
    for window in 1..99 {
        // A line passes up to 50 after the window began, and its answer is 135 away at least.
        let begin = window * 1000;
        let of_window = alone.iter().filter(|at| (begin + 130..begin + 1130).contains(*at)).count();
        assert_eq!(of_window, 2, "window {window}");
    }
    let [others, limited] = served(&mut memory, &[(0, 20), (1, 20)], 100_000);
    assert!(limited.abs_diff(200) <= 2 && others.abs_diff(1800) <= 5, "{others} and {limited}");
}

#[test]
fn a_minimum_is_given_to_a_class_that_asks_for_it() {
    // Class 0 has nine times as many requests waiting.
    let run = |enabled| {
        let mut memory = memory(Scheme::Minimum(WINDOWS));
        memory.set_bandwidth(0, 0, enabled, Ps::ZERO);
        memory.set_bandwidth(1, 50, enabled, Ps::ZERO);
        served(&mut memory, &[(0, 45), (1, 5)], 100_000)[1]
    };
    assert!(run(false).abs_diff(200) <= 10, "{}", run(false));
    // Ten of twenty lines first; of the rest it gets its turn.
    assert!(run(true) >= 1000, "{}", run(true));
}

#[test]
fn portions_are_slots_of_their_classes() {
    let mut memory = memory(Scheme::Portions(PORTIONS));
    memory.set_bandwidth(0, 0b1110, true, Ps::ZERO);
    memory.set_bandwidth(1, 0b0001, true, Ps::ZERO);
    // Five lines in each slot.
    let [first, second] = served(&mut memory, &[(0, 20), (1, 20)], 100_000);
    assert!(first.abs_diff(1500) <= 5 && second.abs_diff(500) <= 5, "{first} and {second}");
    let alone = served(&mut memory.clone(), &[], 0);
    assert_eq!(alone, [0, 0]);
}

/// Portions in front of a memory to which the way takes a line each 5, ten times as many as the slots allow.
fn fast_memory(slot: u64) -> Memory {
    changed(|parameters| {
        parameters.regulation = Some((Scheme::Portions(Portions { slot: Ps::new(slot), ..PORTIONS }), 64));
        parameters.line_time = Ps::new(5);
        parameters.timing.trc = Ps::new(20);
        parameters.layout.bank_hash = true;
    })
}

#[test]
fn what_one_class_takes_of_a_slot_is_taken_from_all_that_have_it() {
    // Five lines in each of 400 slots: both together have no more than the slots that one of them has, and each has at
    // least those that are its alone.
    let shares = [([0b1111, 0b1111], 4), ([0b0011, 0b0110], 3), ([0b1111, 0b0001], 4)];
    for (slot, (shares, slots)) in [250, 1000].into_iter().flat_map(|slot| shares.map(|shares| (slot, shares))) {
        let mut memory = fast_memory(slot);
        for (class, share) in [0, 1].into_iter().zip(shares) {
            memory.set_bandwidth(class, share, true, Ps::ZERO);
        }
        let [first, second] = served(&mut memory, &[(0, 20), (1, 20)], 100_000);
        assert!((first + second).abs_diff(500 * slots) <= 20, "slots of {slot}, {shares:?}: {first} and {second}");
        for (served, [own, other]) in [(first, shares), (second, [shares[1], shares[0]])] {
            let lines = |slots: u64| 500 * slots.count_ones() as usize;
            assert!(served + 20 >= lines(own & !other), "slots of {slot}, {shares:?}: {served}");
            assert!(served <= lines(own) + 20, "slots of {slot}, {shares:?}: {served}");
        }
    }
}

#[test]
fn a_slot_passes_what_the_memory_has_time_for_in_it() {
    // Alone, a class has its quarter as well, also where a line takes longer than a slot.
    for slot in [250, 20, 1000] {
        let mut memory = fast_memory(slot);
        memory.set_bandwidth(0, 0b1110, true, Ps::ZERO);
        memory.set_bandwidth(1, 0b0001, true, Ps::ZERO);
        let [none, few] = served(&mut memory, &[(1, 200)], 100_000);
        assert!(none == 0 && few.abs_diff(500) <= 20, "slots of {slot}: {few}");
    }
}

#[test]
fn what_a_class_may_not_send_yet_takes_no_entry_from_the_others() {
    // Three times as many requests of the limited class as the regulator sees.
    for (scheme, shares, expected) in [
        (Scheme::Maximum(WINDOWS), [100, 10], [1800, 200]),
        (Scheme::Portions(PORTIONS), [0b1110, 0b0001], [1500, 500]),
    ] {
        let mut memory = memory(scheme);
        for (class, share) in [0, 1].into_iter().zip(shares) {
            memory.set_bandwidth(class, share, true, Ps::ZERO);
        }
        let [others, limited] = served(&mut memory, &[(0, 20), (1, 200)], 100_000);
        assert!(others.abs_diff(expected[0]) <= 5 && limited.abs_diff(expected[1]) <= 5, "{others} and {limited}");
    }
}
