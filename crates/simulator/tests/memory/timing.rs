//! What each of the dies' times does. Without the one in question: tRC 40, tRCD 10, tRP 10, CL and CWL 20, 5 on the bus a
//! line, and 100 for the way; so a read of a closed row at 1000 is answered at 1000 + 10 + 20 + 5 + 100 = 1135.

use proptest::prelude::*;
use waykeeper_simulator::line::Line;
use waykeeper_simulator::memory::layout::{Checks, Layout};
use waykeeper_simulator::memory::parameters::{RefreshRule, Timing};
use waykeeper_simulator::memory::{Memory, Requester};
use waykeeper_simulator::time::Ps;

use crate::common::{answers, changed, parameters, read, row, write};

/// Line 0 of the first row of a bank.
fn bank(n: u32) -> u32 {
    n * 8
}

fn timed(change: impl Fn(&mut Timing)) -> Memory {
    changed(|parameters| change(&mut parameters.timing))
}

/// Refreshes of all banks: from `phase` on, each `trefi`, `trfc` long.
fn refresh(phase: u64, trefi: u64, trfc: u64) -> RefreshRule {
    let [phase, trefi, trfc] = [phase, trefi, trfc].map(Ps::new);
    RefreshRule { per_bank: false, trefi, trfc, phase }
}

/// A write at 1000 (row 0 of bank 0: activation 1000, command 1010), then a read of `line` at 1001; gives its answer.
fn read_behind_write(mut memory: Memory, line: u32) -> u64 {
    write(&mut memory, 0);
    assert_eq!((memory.next_time(), memory.step(Ps::new(1000))), (Ps::new(1000), None));
    memory.read(Line::new(line), 1, Requester::default(), Ps::new(1001));
    answers(&mut memory)[0].1
}

/// Reads of these lines at 1000; gives the times of their answers.
fn reads(mut memory: Memory, lines: &[u32]) -> Vec<u64> {
    lines.iter().for_each(|line| read(&mut memory, *line, *line));
    answers(&mut memory).into_iter().map(|(_, at)| at).collect()
}

#[test]
fn cwl_is_from_a_write_command_to_its_data() {
    // CWL 20: the write's data are on the bus from 1030 to 1035. The read's activation is at 1001, its data could come
    // at 1031 and come at 1035 to 1040. CWL 15: the bus is free at 1030, so they come at 1031 to 1036.
    assert_eq!(read_behind_write(timed(|_| {}), bank(1)), 1140);
    assert_eq!(read_behind_write(timed(|times| times.cwl = Ps::new(15)), bank(1)), 1136);
}

#[test]
fn trrd_is_between_activations_of_a_rank() {
    // The second activation at 1006: data from 1036 instead of 1035.
    assert_eq!(reads(timed(|times| times.trrd = Ps::new(6)), &[bank(0), bank(1)]), [1135, 1141]);
    // Another rank has its own: row 4 is the first bank of rank 1.
    let ranks = changed(|parameters| {
        parameters.timing.trrd = Ps::new(6);
        parameters.layout.ranks = 2;
    });
    assert_eq!(reads(ranks, &[bank(0), bank(4)]), [1135, 1140]);
}

#[test]
fn tfaw_holds_back_the_fifth_activation() {
    let memory = changed(|parameters| {
        parameters.timing.tfaw = Ps::new(37);
        parameters.layout.banks = 8;
    });
    // Four activations at 1000, the fifth at 1037.
    let lines: Vec<_> = (0..5).map(bank).collect();
    assert_eq!(reads(memory, &lines), [1135, 1140, 1145, 1150, 1172]);
}

#[test]
fn twr_is_from_written_data_to_the_precharge() {
    // tRC alone: activations at 1000 and 1040. tWR 12: data until 1035, precharge at 1047, activation at 1057.
    assert_eq!(read_behind_write(timed(|_| {}), row(1)), 1175);
    assert_eq!(read_behind_write(timed(|times| times.twr = Ps::new(12)), row(1)), 1192);
}

#[test]
fn trtp_is_from_a_read_command_to_the_precharge() {
    // The read command at 1010, the precharge at 1035 instead of 1030, the activation at 1045 instead of 1040.
    assert_eq!(reads(timed(|times| times.trtp = Ps::new(25)), &[row(0), row(1)]), [1135, 1180]);
}

#[test]
fn twtr_is_from_written_data_to_a_read_command_of_the_rank() {
    // Data until 1035, the read command at 1043, so its data end at 1068. Without: see above, 1140.
    assert_eq!(read_behind_write(timed(|times| times.twtr = Ps::new(8)), bank(1)), 1168);
    // An open row: the command at 1043 as well.
    assert_eq!(read_behind_write(timed(|times| times.twtr = Ps::new(8)), 1), 1168);
    let ranks = changed(|parameters| {
        parameters.timing.twtr = Ps::new(8);
        parameters.layout.ranks = 2;
    });
    assert_eq!(read_behind_write(ranks, bank(4)), 1140);
}

#[test]
fn the_data_bus_turns_round_between_directions_and_ranks() {
    // Written data until 1035, read data from 1038.
    assert_eq!(read_behind_write(timed(|times| times.turnaround = Ps::new(3)), bank(1)), 1143);
    assert_eq!(reads(timed(|times| times.turnaround = Ps::new(3)), &[bank(0), bank(1)]), [1135, 1140]);
    let ranks = changed(|parameters| {
        parameters.timing.turnaround = Ps::new(3);
        parameters.layout.ranks = 2;
    });
    assert_eq!(reads(ranks, &[bank(0), bank(4)]), [1135, 1143]);
}

#[test]
fn a_bank_that_is_refreshed_keeps_no_other_bank_waiting() {
    let mut memory = changed(|parameters| {
        parameters.refresh = RefreshRule { per_bank: true, ..refresh(900, 500, 400) };
    });
    // Bank 0 from 900 to 1300. The read of bank 1 does not wait for it, though it came later.
    read(&mut memory, bank(0), 0);
    read(&mut memory, bank(1), 1);
    assert_eq!(answers(&mut memory), [(1, 1135), (0, 1435)]);
}

#[test]
fn refreshing_bank_by_bank_costs_no_more_than_the_banks_time() {
    // Reads of rows that take the banks in turn, 64 waiting at any time.
    let served = |per_bank: Option<bool>| {
        let mut memory = changed(|parameters| {
            (parameters.layout.banks, parameters.scheduler.queue_entries) = (16, 32);
            let every = if per_bank == Some(true) { 1000 } else { 16_000 };
            let length = if per_bank.is_some() { 600 } else { 0 };
            parameters.refresh = RefreshRule { per_bank: per_bank == Some(true), ..refresh(every, every, length) };
        });
        (0..64).for_each(|next| read(&mut memory, bank(next), next));
        let mut served = 0;
        while memory.next_time() < Ps::new(1_000_000) {
            let now = memory.next_time();
            if memory.step(now).is_some() {
                memory.read(Line::new(bank(64 + served)), 64 + served, Requester::default(), now);
                served += 1;
            }
        }
        served
    };
    let [none, all, each] = [None, Some(false), Some(true)].map(served);
    // Each bank is away for 600 of 16,000 in both. Where all are at one time, so is the bus; else it has the others' data.
    assert!((95..98).contains(&(100 * all / none)), "{none} {all}");
    assert!((99..=100).contains(&(100 * each / none)), "{none} {each}");
}

#[test]
fn one_bank_after_the_other_is_refreshed() {
    let mut memory = changed(|parameters| {
        parameters.refresh = RefreshRule { per_bank: true, ..refresh(2000, 100, 50) };
    });
    // Bank 1 from 2100 to 2150, the others at other times: bank 0 at 2000, bank 2 at 2200.
    memory.read(Line::new(bank(0)), 0, Requester::default(), Ps::new(2110));
    memory.read(Line::new(bank(1)), 1, Requester::default(), Ps::new(2110));
    memory.read(Line::new(bank(2)), 2, Requester::default(), Ps::new(2110));
    assert_eq!(answers(&mut memory), [(0, 2245), (2, 2250), (1, 2285)]);
}

#[test]
fn channels_have_buses_of_their_own() {
    let two = |channel_lines| {
        changed(move |parameters| (parameters.layout.channels, parameters.layout.channel_lines) = (2, channel_lines))
    };
    assert_eq!(reads(two(1), &[0, 1, 2]), [1135, 1135, 1140]);
    assert_eq!(reads(two(2), &[0, 1, 2]), [1135, 1135, 1140]);
    assert_eq!(reads(two(4), &[0, 1, 2]), [1135, 1140, 1145]);
}

#[test]
fn a_hash_of_the_bank_spreads_rows_that_would_meet() {
    // Rows 0, 4, 8, 12 of four banks are all in bank 0; with the bits above them they are in banks 0, 1, 2, 3.
    let lines: Vec<_> = (0..4).map(row).collect();
    assert_eq!(reads(changed(|_| {}), &lines), [1135, 1175, 1215, 1255]);
    assert_eq!(reads(changed(|parameters| parameters.layout.bank_hash = true), &lines), [1135, 1140, 1145, 1150]);
}

proptest! {
    #[test]
    fn each_line_has_a_place_of_its_own(
        channel_bits in 0..3u32,
        piece_bits in 0..4u32,
        channel_hash in any::<bool>(),
        line in 0..u32::MAX / 2,
    ) {
        let layout = Layout {
            channels: 1 << channel_bits,
            channel_lines: 1 << piece_bits,
            channel_hash,
            ..parameters().layout
        };
        let (channel, in_channel) = layout.channel(Line::new(line));
        prop_assert!(channel < layout.channels);
        prop_assert_eq!(layout.line(channel, in_channel), Line::new(line));
    }

    #[test]
    fn check_bits_lie_beside_their_data_or_behind_all_of_it(line in 0..8192u32, same_row in any::<bool>(), hash in any::<bool>()) {
        let layout = Layout {
            checks: if same_row { Checks::SameRow } else { Checks::BehindData },
            row_lines: 16,
            bank_hash: hash,
            lines: 8192,
            ..parameters().layout
        };
        let (place, checks) = (layout.place(Line::new(line)), layout.place_of_checks(Line::new(line)));
        if same_row {
            // A row of 16 lines has 14 of data and 2 of check bits, which cover 8 and 6.
            prop_assert_eq!(place.row, line / 14);
            prop_assert_eq!(checks, place);
            prop_assert_eq!(layout.checks_of(Line::new(line)), Line::new(u32::MAX - (line / 14 * 2 + line % 14 / 8)));
        } else {
            prop_assert_eq!(place.row, line / 16);
            prop_assert_eq!(checks.row, (8192 + line / 8) / 16);
            prop_assert_eq!(layout.checks_of(Line::new(line)), Line::new(u32::MAX - line / 8));
        }
    }
}
