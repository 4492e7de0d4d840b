//! ChampSim's trace: one `input_instr` of 64 bytes for each instruction (ChampSim `inc/trace_instruction.h`):
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | address of the instruction |
//! | 8, 9 | is a branch; was taken |
//! | 10..12, 12..16 | numbers of the registers written and read |
//! | 16..32 | two addresses stored to, 0 for none |
//! | 32..64 | four addresses loaded from, 0 for none |
//!
//! Traces of CloudSuite have records of 96 bytes (`cloudsuite_instr`): four registers written and four read in 10..18,
//! four addresses stored to in 24..56, four loaded from in 56..88, two address-space numbers.
//!
//! No instruction lies at address 0 (ChampSim's own reader asserts it), which distinguishes records of one size from the other's.
//!
//! There are no sizes: an access counts as one byte, so that none lies on two lines.

use std::io::BufRead;

use crate::error::TraceError;
use crate::foreign::{Events, ForeignEvent};
use crate::record::RecordKind;

/// Where the fields of a record lie.
struct Layout {
    bytes: usize,
    stores: &'static [usize],
    loads: &'static [usize],
}

const LAYOUTS: [Layout; 2] = [
    Layout { bytes: 64, stores: &[16, 24], loads: &[32, 40, 48, 56] },
    Layout { bytes: MOST_BYTES, stores: &[24, 32, 40, 48], loads: &[56, 64, 72, 80] },
];
const MOST_BYTES: usize = 96;

/// Reads ChampSim's records.
pub struct ChampSim {
    input: Box<dyn BufRead>,
    layout: &'static Layout,
    at: u64,
    /// Accesses of the instruction read last, the next one at the end.
    accesses: Vec<ForeignEvent>,
}

impl ChampSim {
    /// A reader of those records, decompressed; their size is found from the beginning.
    ///
    /// # Errors
    /// A beginning that cannot be read.
    pub fn new(mut input: Box<dyn BufRead>) -> Result<Self, TraceError> {
        let layout = layout_of(input.fill_buf()?).unwrap_or(&LAYOUTS[0]);
        Ok(Self { input, layout, at: 0, accesses: Vec::with_capacity(8) })
    }

    fn record(&mut self) -> Result<Option<[u8; MOST_BYTES]>, TraceError> {
        let bytes = self.layout.bytes;
        let mut record = [0; MOST_BYTES];
        let mut filled = 0;
        while filled < bytes {
            match self.input.read(&mut record[filled..bytes]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => {
                    let what = format!("the last record has {filled} bytes in place of {bytes}");
                    return Err(TraceError::damaged(self.at, what));
                }
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.at += bytes as u64;
        Ok(Some(record))
    }
}

impl Events for ChampSim {
    fn next_event(&mut self) -> Result<Option<ForeignEvent>, TraceError> {
        if let Some(access) = self.accesses.pop() {
            return Ok(Some(access));
        }
        let Some(record) = self.record()? else { return Ok(None) };
        let refuse = |what: &str| Err(TraceError::damaged(self.at - self.layout.bytes as u64, what));
        if record[8] > 1 || record[9] > 1 {
            return refuse("a record says of a branch neither yes nor no; is this ChampSim's format?");
        }
        if number(&record, 0) == 0 {
            return refuse("a record has its instruction at address 0, which no ChampSim trace has");
        }
        let numbers = |all: &[usize]| all.iter().map(|at| number(&record, *at)).collect::<Vec<u64>>();
        let (stores, loads) = (numbers(self.layout.stores), numbers(self.layout.loads));
        let access = |kind, address| ForeignEvent::Access { kind, address, bytes: 1 };
        // Loads come before stores; what is loaded and stored is modified.
        for store in stores.iter().copied().rev().filter(|store| *store != 0 && !loads.contains(store)) {
            self.accesses.push(access(RecordKind::Store, store));
        }
        for load in loads.into_iter().rev().filter(|load| *load != 0) {
            let kind = if stores.contains(&load) { RecordKind::Modify } else { RecordKind::Load };
            self.accesses.push(access(kind, load));
        }
        Ok(Some(ForeignEvent::Instruction { address: number(&record, 0), bytes: 4 }))
    }
}

fn is_record(record: &[u8]) -> bool {
    record[8] <= 1 && record[9] <= 1 && number(record, 0) != 0
}

fn number(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| record[at + byte]))
}

/// The layout in which the beginning is whole records of instructions.
fn layout_of(begin: &[u8]) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| {
        let mut records = begin.chunks_exact(layout.bytes).peekable();
        records.peek().is_some() && records.all(is_record)
    })
}

/// Whole records of either size.
pub(super) fn looks_like(begin: &[u8]) -> bool {
    layout_of(begin).is_some()
}
