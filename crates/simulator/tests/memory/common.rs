//! A memory with round numbers, and what runs it.

use waykeeper_platform::ReadAfterWrite;
use waykeeper_simulator::line::Line;
use waykeeper_simulator::memory::layout::{Checks, Layout};
use waykeeper_simulator::memory::parameters::{MemoryParameters, RefreshRule, Scheduler, Timing};
use waykeeper_simulator::memory::{Memory, Requester};
use waykeeper_simulator::time::Ps;

/// Round numbers: tRC 40, tRCD 10, tRP 10, CL 20, 5 on the bus a line, 100 for the crossing; 4 banks of 8-line rows; no
/// refresh before 1,000,000.
pub fn parameters() -> MemoryParameters {
    let [trc, trcd, trp, cl, transfer] = [40, 10, 10, 20, 5].map(Ps::new);
    MemoryParameters {
        line_bytes: 64,
        layout: Layout {
            channels: 1,
            channel_lines: 1,
            channel_hash: false,
            ranks: 1,
            banks: 4,
            bank_hash: false,
            row_lines: 8,
            checks: Checks::Nowhere,
            lines: 1 << 20,
        },
        timing: Timing { trc, trcd, trp, cl, cwl: cl, transfer, ..Timing::default() },
        refresh: RefreshRule {
            per_bank: false,
            trefi: Ps::new(1_000_000),
            trfc: Ps::new(500),
            phase: Ps::new(1_000_000),
        },
        check_lines: 8,
        crossing: Ps::new(100),
        scheduler: Scheduler {
            queue_entries: 8,
            write_age: Ps::new(200),
            write_entries: usize::MAX,
            write_high: 4,
            write_low: 1,
            drains_channel: false,
            read_after_write: ReadAfterWrite::Last,
            priorities_in_banks: false,
            row_hits_in_a_row: 0,
        },
        line_time: Ps::ZERO,
        regulation: None,
        cache: None,
    }
}

/// A memory with some parameters changed.
pub fn changed(change: impl Fn(&mut MemoryParameters)) -> Memory {
    let mut parameters = parameters();
    change(&mut parameters);
    Memory::new(&parameters)
}

/// A memory whose controller has other rules.
pub fn scheduled(change: impl Fn(&mut Scheduler)) -> Memory {
    changed(|parameters| change(&mut parameters.scheduler))
}

pub const FIRST: Requester = Requester { core: 0, class: 0, monitor: 0, first: true };

pub fn read(memory: &mut Memory, line: u32, handle: u32) {
    memory.read(Line::new(line), handle, Requester::default(), Ps::new(1000));
}

pub fn write(memory: &mut Memory, line: u32) {
    memory.write(Line::new(line), Requester::default(), Ps::new(1000));
}

/// Lines of bank 0 in rows that differ: every 4 rows of 8 lines.
pub fn row(n: u32) -> u32 {
    n * 32
}

/// Runs until nothing is left; gives (handle, time) in the order of the answers.
pub fn answers(memory: &mut Memory) -> Vec<(u32, u64)> {
    let mut answers = Vec::new();
    while memory.next_time() != Ps::NEVER {
        let now = memory.next_time();
        answers.extend(memory.step(now).map(|handle| (handle, now.get())));
    }
    answers
}
