//! The checker: for each command, it looks at all commands before it.

use proptest::prelude::*;
use waykeeper_platform::ReadAfterWrite;

use super::Command::{self, Activate, Column, Precharge, Refresh};
use crate::line::Line;
use crate::memory::layout::{Checks, Layout};
use crate::memory::parameters::{MemoryParameters, RefreshRule, Scheduler, Timing};
use crate::memory::{Memory, Requester};
use crate::time::Ps;

fn at(command: &Command) -> Ps {
    match command {
        Precharge { at, .. } | Activate { at, .. } | Column { at, .. } | Refresh { at, .. } => *at,
    }
}

fn bank(command: &Command) -> usize {
    match command {
        Precharge { bank, .. } | Activate { bank, .. } | Column { bank, .. } | Refresh { bank, .. } => *bank,
    }
}

/// From a write command to what is due so long after the end of its data; nothing is due after 0.
fn after_write(timing: &Timing, after: Ps) -> Ps {
    if after == Ps::ZERO { Ps::ZERO } else { timing.cwl + timing.transfer + after }
}

/// The first rule that a sequence of commands breaks.
fn broken(log: &[Command], timing: &Timing, banks: usize) -> Option<String> {
    let mut log = log.to_vec();
    log.sort_by_key(at);
    let rank = |command: &Command| bank(command) / banks;
    let is_activation = |command: &&Command| matches!(command, Activate { .. });
    for (position, command) in log.iter().enumerate() {
        let before = &log[..position];
        let in_bank = || before.iter().filter(|earlier| bank(earlier) == bank(command));
        let in_rank = || before.iter().filter(|earlier| rank(earlier) == rank(command));
        let since = |earlier: &Command| at(command) - at(earlier);
        let need = |rule: &str, ok: bool| if ok { None } else { Some(format!("{rule}: {command:?} after {before:?}")) };
        let verdict = match command {
            Precharge { .. } => {
                need("tRAS", in_bank().filter(is_activation).all(|earlier| since(earlier) >= timing.trc - timing.trp))
                    .or_else(|| {
                        need(
                            "tRTP, tWR",
                            in_bank().all(|earlier| match earlier {
                                Column { write: false, .. } => since(earlier) >= timing.trtp,
                                Column { write: true, .. } => since(earlier) >= after_write(timing, timing.twr),
                                _ => true,
                            }),
                        )
                    })
            }
            Refresh { .. } => need(
                "row closed for a refresh",
                in_bank().all(|earlier| match earlier {
                    Activate { .. } => since(earlier) >= timing.trc,
                    Precharge { .. } => since(earlier) >= timing.trp,
                    Column { write: false, .. } => since(earlier) >= timing.trtp + timing.trp,
                    Column { write: true, .. } => since(earlier) >= after_write(timing, timing.twr) + timing.trp,
                    Refresh { until, .. } => at(command) >= *until,
                }),
            ),
            Activate { .. } => need("tRC", in_bank().filter(is_activation).all(|earlier| since(earlier) >= timing.trc))
                .or_else(|| need("tRP", in_bank().all(|e| !matches!(e, Precharge { .. }) || since(e) >= timing.trp)))
                .or_else(|| {
                    let over = |e: &Command| !matches!(e, Refresh { until, .. } if *until > at(command));
                    need("tRFC", in_bank().all(over))
                })
                .or_else(|| need("tRRD", in_rank().filter(is_activation).all(|e| since(e) >= timing.trrd)))
                .or_else(|| {
                    let fourth = in_rank().filter(is_activation).rev().nth(3);
                    need("tFAW", fourth.is_none_or(|e| since(e) >= timing.tfaw))
                }),
            Column { write, row, .. } => {
                let open = in_bank().rev().find(|earlier| !matches!(earlier, Column { .. }));
                need("open row", matches!(open, Some(Activate { row: open, .. }) if open == row))
                    .or_else(|| need("tRCD", in_bank().filter(is_activation).all(|e| since(e) >= timing.trcd)))
                    .or_else(|| {
                        need(
                            "tWTR",
                            *write
                                || in_rank().all(|e| match e {
                                    Column { write: true, .. } => since(e) >= after_write(timing, timing.twtr),
                                    _ => true,
                                }),
                        )
                    })
                    .or_else(|| need("data bus", bus_is_free(before, command, timing, banks)))
            }
        };
        if verdict.is_some() {
            return verdict;
        }
    }
    None
}

/// Whether the data of a column command meet no others, with room to turn round where the direction or the rank changes.
fn bus_is_free(before: &[Command], command: &Command, timing: &Timing, banks: usize) -> bool {
    let data = |command: &Command| match command {
        Column { at, write, bank, .. } => {
            Some((*at + if *write { timing.cwl } else { timing.cl }, *write, bank / banks))
        }
        _ => None,
    };
    let (begin, write, rank) = data(command).expect("it is a column command");
    before.iter().filter_map(data).all(|(other, other_write, other_rank)| {
        let turn = if (write, rank) == (other_write, other_rank) { Ps::ZERO } else { timing.turnaround };
        begin >= other + timing.transfer + turn || other >= begin + timing.transfer + turn
    })
}

/// A rank's times, DDR4-like, with each of the optional ones absent or not.
fn timings() -> impl Strategy<Value = Timing> {
    let optional = |value: u64| prop_oneof![Just(0), Just(value), 0..4 * value].prop_map(Ps::new);
    (
        (optional(6_000), optional(35_000), optional(15_000), optional(7_500), optional(6_000), optional(2_000)),
        (1_000..20_000u64).prop_map(Ps::new),
    )
        .prop_map(|((trrd, tfaw, twr, trtp, twtr, turnaround), cwl)| Timing {
            trc: Ps::new(45_750),
            trcd: Ps::new(13_750),
            trp: Ps::new(13_750),
            cl: Ps::new(14_060),
            cwl,
            transfer: Ps::new(7_500),
            trrd,
            tfaw,
            twr,
            trtp,
            twtr,
            turnaround,
        })
}

fn parameters() -> impl Strategy<Value = MemoryParameters> {
    let layout = (
        1..=2usize,
        any::<bool>(),
        prop_oneof![Just(Checks::Nowhere), Just(Checks::SameRow), Just(Checks::BehindData)],
    )
        .prop_map(|(ranks, bank_hash, checks)| Layout {
            channels: 1,
            channel_lines: 1,
            channel_hash: false,
            ranks,
            banks: 4,
            bank_hash,
            row_lines: 16,
            checks,
            lines: 4096,
        });
    let scheduler = (1..16usize, 0..200_000u64, any::<bool>(), any::<bool>(), 0..4u32).prop_map(
        |(queue_entries, write_age, drains_channel, priorities_in_banks, row_hits_in_a_row)| Scheduler {
            queue_entries,
            write_age: Ps::new(write_age),
            write_entries: usize::MAX,
            write_high: 6,
            write_low: 2,
            drains_channel,
            read_after_write: if drains_channel { ReadAfterWrite::First } else { ReadAfterWrite::Last },
            priorities_in_banks,
            row_hits_in_a_row,
        },
    );
    let refresh = (any::<bool>(), 0..500_000u64, prop_oneof![Just(u64::MAX / 8), 300_000..2_000_000u64]).prop_map(
        |(per_bank, phase, trefi)| {
            let [trefi, trfc, phase] = [trefi, 200_000, phase].map(Ps::new);
            RefreshRule { per_bank, trefi, trfc, phase }
        },
    );
    (layout, timings(), refresh, scheduler).prop_map(|(layout, timing, refresh, scheduler)| MemoryParameters {
        line_bytes: 64,
        layout,
        timing,
        refresh,
        check_lines: 2,
        crossing: Ps::new(10_000),
        scheduler,
        line_time: Ps::ZERO,
        regulation: None,
        cache: None,
    })
}

/// A request: picoseconds after the one before, its line, whether it writes, whether it goes first.
type Request = (u64, u32, bool, bool);

/// Sends the memory its requests; returns the lines read, in the order of the answers, and the commands to the dies.
fn run(parameters: &MemoryParameters, requests: &[Request]) -> (Vec<u32>, Vec<Command>) {
    let mut memory = Memory::new(parameters);
    let (mut now, mut answered) = (Ps::ZERO, Vec::new());
    let mut until = |memory: &mut Memory, end: Ps| {
        while memory.next_time() <= end && memory.next_time() != Ps::NEVER {
            answered.extend(memory.step(memory.next_time()));
        }
    };
    for (after, line, write, first) in requests {
        now += Ps::new(*after);
        until(&mut memory, now);
        let source = Requester { first: *first, ..Requester::default() };
        if *write {
            memory.write(Line::new(*line), source, now);
        } else {
            memory.read(Line::new(*line), *line, source, now);
        }
    }
    until(&mut memory, Ps::new(u64::MAX - 1));
    let dram = &memory.channels[0].dram;
    let mut log = dram.log.clone();
    for (unit, at) in &dram.refresh.log {
        let of_unit = |bank: &usize| !parameters.refresh.per_bank || bank % parameters.layout.banks == *unit;
        let banks = (0..parameters.layout.all_banks()).filter(of_unit);
        log.extend(banks.map(|bank| Refresh { at: *at, bank, until: *at + parameters.refresh.trfc }));
    }
    (answered, log)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_command_breaks_a_constraint_and_every_request_is_served(
        parameters in parameters(),
        requests in prop::collection::vec((0..40_000u64, 0..2048u32, any::<bool>(), any::<bool>()), 1..60),
    ) {
        let (mut answered, log) = run(&parameters, &requests);
        prop_assert_eq!(broken(&log, &parameters.timing, parameters.layout.banks), None);
        let mut reads: Vec<_> = requests.iter().filter(|request| !request.2).map(|request| request.1).collect();
        reads.sort_unstable();
        answered.sort_unstable();
        prop_assert_eq!(answered, reads);
        let writes = log.iter().filter(|command| matches!(command, Column { write: true, .. })).count();
        let asked = requests.iter().filter(|request| request.2).count();
        // Lines of check bits that were changed and had to make room are written beside the data.
        let none = parameters.layout.checks == Checks::Nowhere;
        prop_assert!(if none { writes == asked } else { writes >= asked }, "{} of {}", writes, asked);
    }
}

#[test]
fn the_checker_sees_what_is_wrong() {
    let timing = Timing {
        trc: Ps::new(40),
        trcd: Ps::new(10),
        trp: Ps::new(10),
        cl: Ps::new(20),
        cwl: Ps::new(15),
        transfer: Ps::new(5),
        trrd: Ps::new(4),
        tfaw: Ps::new(30),
        twr: Ps::new(12),
        trtp: Ps::new(6),
        twtr: Ps::new(7),
        turnaround: Ps::new(3),
    };
    let activate = |at, bank| Activate { at: Ps::new(at), bank, row: 1 };
    let column = |at, bank, write| Column { at: Ps::new(at), bank, row: 1, write };
    let refresh = |at| Refresh { at: Ps::new(at), bank: 0, until: Ps::new(90) };
    let (open, read, write) = (activate(0, 0), column(10, 0, false), column(10, 0, true));
    let precharge = |at| Precharge { at: Ps::new(at), bank: 0 };
    // A write's data are on the bus 15 to 20 after the command, so a precharge is due 32 after it, a read 27 after it.
    for (log, rule) in [
        (vec![open, read, precharge(30), activate(40, 0)], None),
        (vec![open, read, precharge(29)], Some("tRAS")),
        (vec![open, column(29, 0, false), precharge(34)], Some("tRTP")),
        (vec![open, write, precharge(41)], Some("tWR")),
        (vec![open, precharge(30), activate(39, 0)], Some("tRC")),
        (vec![open, precharge(35), activate(44, 0)], Some("tRP")),
        (vec![open, activate(3, 1)], Some("tRRD")),
        (vec![open, activate(4, 1), activate(8, 2), activate(12, 3), activate(29, 4)], Some("tFAW")),
        (vec![open, column(9, 0, false)], Some("tRCD")),
        (vec![open, precharge(30), column(35, 0, false)], Some("open row")),
        (vec![open, write, column(36, 0, false)], Some("tWTR")),
        (vec![open, write, column(37, 0, false)], None),
        (vec![open, read, column(14, 0, false)], Some("data bus")),
        // Read data from 30 to 35, written data from 38 on: the command is due at 23.
        (vec![open, read, column(22, 0, true)], Some("data bus")),
        (vec![open, read, column(23, 0, true)], None),
        (vec![open, read, refresh(39)], Some("row closed")),
        (vec![open, write, refresh(51)], Some("row closed")),
        (vec![open, refresh(40), activate(89, 0)], Some("tRFC")),
        (vec![open, refresh(40), activate(90, 0), column(100, 0, false)], None),
        (vec![open, refresh(40), column(95, 0, false)], Some("open row")),
        // The other rank's data from 38 on.
        (vec![open, activate(1, 8), read, column(17, 8, false)], Some("data bus")),
        (vec![open, activate(1, 8), read, column(18, 8, false)], None),
    ] {
        let found = broken(&log, &timing, 8);
        assert_eq!(found.is_some(), rule.is_some(), "{rule:?}: {found:?}");
        assert!(found.unwrap_or_default().contains(rule.unwrap_or_default()), "{rule:?}");
    }
}
