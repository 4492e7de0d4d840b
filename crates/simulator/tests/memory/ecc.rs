//! Inline ECC: traffic by hand, and what an answer waits for.

use waykeeper_simulator::memory::Memory;
use waykeeper_simulator::memory::layout::Checks;

use crate::common::{answers, changed, read, write};

/// Rows of 16 lines; with check bits in the same row 14 of them are data, in groups of 8 and 6.
fn memory(checks: Checks, buffer: usize) -> Memory {
    changed(|parameters| {
        (parameters.layout.checks, parameters.layout.row_lines, parameters.check_lines) = (checks, 16, buffer);
        parameters.scheduler.queue_entries = 64;
    })
}

fn traffic(memory: &mut Memory) -> [u64; 4] {
    answers(memory);
    let counts = memory.counts();
    [counts.reads, counts.writes, counts.check_reads, counts.check_writes]
}

#[test]
fn a_line_of_check_bits_is_read_once_for_its_eight_lines() {
    let mut same_row = memory(Checks::SameRow, 1);
    (0..28).for_each(|line| read(&mut same_row, line, line));
    // Two rows with two groups each.
    assert_eq!(traffic(&mut same_row), [28 + 4, 0, 4, 0]);
    let mut behind = memory(Checks::BehindData, 1);
    (0..32).for_each(|line| read(&mut behind, line, line));
    assert_eq!(traffic(&mut behind), [32 + 4, 0, 4, 0]);
    let mut none = memory(Checks::Nowhere, 1);
    (0..32).for_each(|line| read(&mut none, line, line));
    assert_eq!(traffic(&mut none), [32, 0, 0, 0]);
}

#[test]
fn the_controller_holds_so_many_lines_of_check_bits() {
    for (buffer, checks) in [(1, 4), (2, 2)] {
        let mut memory = memory(Checks::BehindData, buffer);
        for (handle, line) in [0, 800, 1, 801].into_iter().enumerate() {
            read(&mut memory, line, handle as u32);
        }
        assert_eq!(traffic(&mut memory), [4 + checks, 0, checks, 0]);
    }
}

#[test]
fn a_write_reads_its_check_bits_and_writes_them_when_they_must_make_room() {
    let mut memory = memory(Checks::BehindData, 1);
    write(&mut memory, 0);
    write(&mut memory, 1);
    // One line of check bits for both, changed and held.
    assert_eq!(traffic(&mut memory), [1, 2, 1, 0]);
    read(&mut memory, 800, 1);
    assert_eq!(traffic(&mut memory), [1 + 2, 2 + 1, 2, 1]);
    read(&mut memory, 0, 2);
    // That of line 800 was only read.
    assert_eq!(traffic(&mut memory), [3 + 2, 3, 3, 1]);
}

#[test]
fn an_answer_waits_for_its_check_bits() {
    // Data 1030 to 1035, check bits 1035 to 1040: of the same row, or of row 65536 + 0, which is in bank 0 too and so has
    // its activation at 1040.
    for (checks, expected) in [(Checks::Nowhere, 1135), (Checks::SameRow, 1140), (Checks::BehindData, 1175)] {
        let mut memory = memory(checks, 1);
        read(&mut memory, 0, 7);
        assert_eq!(answers(&mut memory), [(7, expected)], "{checks:?}");
        // The next line of the group needs no check bits: only the row, if it was closed meanwhile.
        read(&mut memory, 1, 8);
        assert_eq!(answers(&mut memory).len(), 1);
        assert_eq!(memory.counts().check_reads, u64::from(checks != Checks::Nowhere));
    }
}
