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
//! There are no sizes: an access counts as one byte, so that none lies on two lines.

use std::io::BufRead;

use crate::error::TraceError;
use crate::foreign::{Event, Events};
use crate::record::Kind;

const RECORD: usize = 64;
const STORES: [usize; 2] = [16, 24];
const LOADS: [usize; 4] = [32, 40, 48, 56];

/// Reads ChampSim's records.
pub struct ChampSim {
    input: Box<dyn BufRead>,
    at: u64,
    /// Accesses of the instruction read last, the next one at the end.
    accesses: Vec<Event>,
}

impl ChampSim {
    /// A reader of those records, decompressed.
    pub fn new(input: Box<dyn BufRead>) -> Self {
        Self { input, at: 0, accesses: Vec::with_capacity(6) }
    }

    fn record(&mut self) -> Result<Option<[u8; RECORD]>, TraceError> {
        let mut record = [0; RECORD];
        let mut filled = 0;
        while filled < RECORD {
            match self.input.read(&mut record[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => {
                    let what = format!("the last record has {filled} bytes in place of {RECORD}");
                    return Err(TraceError::damaged(self.at, what));
                }
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.at += RECORD as u64;
        Ok(Some(record))
    }
}

impl Events for ChampSim {
    fn next_event(&mut self) -> Result<Option<Event>, TraceError> {
        if let Some(access) = self.accesses.pop() {
            return Ok(Some(access));
        }
        let Some(record) = self.record()? else { return Ok(None) };
        if record[8] > 1 || record[9] > 1 {
            let what = "a record says of a branch neither yes nor no; is this ChampSim's format?";
            return Err(TraceError::damaged(self.at - RECORD as u64, what));
        }
        let stores = STORES.map(|at| number(&record, at));
        let loads = LOADS.map(|at| number(&record, at));
        let access = |kind, address| Event::Access { kind, address, bytes: 1 };
        // Loads come before stores; what is loaded and stored is modified.
        for store in stores.into_iter().rev().filter(|store| *store != 0 && !loads.contains(store)) {
            self.accesses.push(access(Kind::Store, store));
        }
        for load in loads.into_iter().rev().filter(|load| *load != 0) {
            let kind = if stores.contains(&load) { Kind::Modify } else { Kind::Load };
            self.accesses.push(access(kind, load));
        }
        Ok(Some(Event::Instruction { address: number(&record, 0), bytes: 4 }))
    }
}

fn number(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| record[at + byte]))
}

/// Whole records whose flags are flags.
pub(super) fn looks_like(begin: &[u8]) -> bool {
    let mut records = begin.chunks_exact(RECORD).peekable();
    records.peek().is_some() && records.all(|record| record[8] <= 1 && record[9] <= 1)
}
