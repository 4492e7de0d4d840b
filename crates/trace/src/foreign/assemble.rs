//! From instructions and accesses to records with gaps.

use crate::record::{Record, RecordKind};

/// Bytes of a block of code: a fetch is recorded when an instruction begins in another block than the one before. Half of
/// the usual line, so that machines with lines of 32 bytes see each of theirs.
pub const CODE_BLOCK: u64 = 32;

/// Counts instructions between accesses.
#[derive(Debug, Clone)]
pub struct Assembler {
    fetches: bool,
    gap: u64,
    /// The instruction in progress has made no access yet.
    uncounted: bool,
    block: Option<u64>,
}

impl Assembler {
    /// Begins; `fetches` says whether fetches get records.
    pub fn new(fetches: bool) -> Self {
        Self { fetches, gap: 0, uncounted: false, block: None }
    }

    /// An instruction begins. Returns the record of its fetch, where it has one.
    pub fn instruction(&mut self, address: u64, bytes: u32) -> Option<Record> {
        self.gap += u64::from(std::mem::replace(&mut self.uncounted, true));
        let block = Some(address / CODE_BLOCK);
        if !self.fetches || std::mem::replace(&mut self.block, block) == block {
            return None;
        }
        Some(self.record(RecordKind::Fetch, address, bytes))
    }

    /// The instruction in progress makes an access.
    pub fn access(&mut self, kind: RecordKind, address: u64, bytes: u32) -> Record {
        self.uncounted = false;
        self.record(kind, address, bytes)
    }

    fn record(&mut self, kind: RecordKind, address: u64, bytes: u32) -> Record {
        Record { address, gap: std::mem::take(&mut self.gap), bytes: bytes.max(1), kind, dependent: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_counts_the_instructions_without_a_record() {
        let mut assembler = Assembler::new(false);
        // Two instructions without access, one with a load and a store, one without, one with a load.
        for address in [0, 4, 8] {
            assert_eq!(assembler.instruction(address, 4), None);
        }
        let gaps = [assembler.access(RecordKind::Load, 100, 8).gap, assembler.access(RecordKind::Store, 200, 8).gap];
        assembler.instruction(12, 4);
        assembler.instruction(16, 4);
        assert_eq!((gaps, assembler.access(RecordKind::Load, 300, 8).gap), ([2, 0], 1));
    }

    #[test]
    fn a_fetch_is_recorded_once_for_each_block_entered() {
        let mut assembler = Assembler::new(true);
        let fetches: Vec<_> =
            [0, 8, 28, 32, 60, 0].map(|at| assembler.instruction(at, 4).map(|fetch| fetch.gap)).into();
        // 8 and 28 are in the block of 0; 32 begins the next; 60 is in that; 0 is back.
        assert_eq!(fetches, [Some(0), None, None, Some(3), None, Some(2)]);
    }

    #[test]
    fn an_instruction_counts_once_whether_it_is_fetched_from_a_new_block_or_not() {
        let mut assembler = Assembler::new(true);
        let mut instructions = 0;
        // Each is in a block of its own; every second one loads.
        for at in 0..100 {
            instructions += assembler.instruction(at * CODE_BLOCK, 4).map_or(0, |fetch| fetch.gap);
            if at % 2 == 1 {
                instructions += assembler.access(RecordKind::Load, 8 * at, 8).gap + 1;
            }
        }
        assert_eq!(instructions, 100);
    }
}
