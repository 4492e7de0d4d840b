//! Where the passes of a recorded program begin and end.

use std::collections::BTreeMap;

use crate::varint::{put, take};

/// A recording has at most this many passes.
pub const MOST_PASSES: usize = 1 << 20;
/// The name of a phase has at most this many bytes.
const MOST_NAME: u64 = 256;
/// A list of passes has at most this many bytes before compression: three numbers of 10 bytes a pass, and the phases.
pub const MOST_MARKED_RAW: u64 = 30 * MOST_PASSES as u64 + 64 * (MOST_NAME + 20) + 30;

/// One pass of a phase: its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordedPass {
    /// The number of its first record.
    pub first: u64,
    /// The number of the first record after it.
    pub end: u64,
    /// Its phase.
    pub phase: u32,
}

/// The passes of a recorded program, in the order of their beginnings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedPasses {
    /// Names of phases, where the program gave them.
    pub names: BTreeMap<u32, String>,
    /// Nanoseconds from one beginning to the next, as the program ran without a recorder; `None` for a program without pauses,
    /// and where it was not seen.
    pub period_ns: Option<f64>,
    passes: Vec<RecordedPass>,
}

impl RecordedPasses {
    /// Passes in any order; those without records are left out, and all beyond [`MOST_PASSES`].
    pub fn new(mut passes: Vec<RecordedPass>) -> Self {
        passes.retain(|pass| pass.first < pass.end);
        passes.sort_unstable();
        passes.truncate(MOST_PASSES);
        Self { passes, ..Self::default() }
    }

    /// All passes.
    pub fn all(&self) -> &[RecordedPass] {
        &self.passes
    }

    /// The phases that have passes, and how many.
    pub fn phases(&self) -> BTreeMap<u32, usize> {
        let mut phases = BTreeMap::new();
        for pass in &self.passes {
            *phases.entry(pass.phase).or_insert(0) += 1;
        }
        phases
    }

    /// What a phase is called: its name, or its number.
    pub fn called(&self, phase: u32) -> String {
        self.names.get(&phase).cloned().unwrap_or_else(|| phase.to_string())
    }

    /// The passes of one phase, each of which begins after the one before has ended. Threads make passes at the same time: a
    /// pass that begins within another one of its phase is left out.
    pub fn of(&self, phase: u32) -> Vec<RecordedPass> {
        let mut end = 0;
        let mut apart = self.passes.clone();
        apart.retain(|pass| {
            let is_apart = pass.phase == phase && pass.first >= end;
            if is_apart {
                end = pass.end;
            }
            is_apart
        });
        apart
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.passes.is_empty()
    }

    /// The list as bytes: the period in picoseconds (0 where there is none), the names, the passes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put(&mut bytes, self.period_ns.map_or(0, |ns| (ns * 1e3) as u64));
        put(&mut bytes, self.names.len() as u64);
        for (phase, name) in &self.names {
            let mut length = name.len().min(MOST_NAME as usize);
            while !name.is_char_boundary(length) {
                length -= 1;
            }
            let name = &name.as_bytes()[..length];
            put(&mut bytes, (*phase).into());
            put(&mut bytes, name.len() as u64);
            bytes.extend(name);
        }
        put(&mut bytes, self.passes.len() as u64);
        let mut before = 0;
        for pass in &self.passes {
            put(&mut bytes, pass.phase.into());
            put(&mut bytes, pass.first - before);
            put(&mut bytes, pass.end - pass.first);
            before = pass.first;
        }
        bytes
    }

    /// The list of a trace of so many records; `None` where it makes no sense.
    pub(crate) fn decode(mut bytes: &[u8], records: u64) -> Option<Self> {
        let period = take(&mut bytes)?;
        let mut read = Self { period_ns: (period > 0).then_some(period as f64 / 1e3), ..Self::default() };
        for _ in 0..take(&mut bytes)? {
            let (phase, length) = (take(&mut bytes)?, take(&mut bytes)?);
            let name = bytes.split_off(..usize::try_from(length).ok()?)?;
            read.names.insert(u32::try_from(phase).ok()?, String::from_utf8(name.to_vec()).ok()?);
        }
        let count = take(&mut bytes)?;
        if count > MOST_PASSES as u64 {
            return None;
        }
        let mut first = 0u64;
        for _ in 0..count {
            let phase = u32::try_from(take(&mut bytes)?).ok()?;
            first = first.checked_add(take(&mut bytes)?)?;
            let end = first.checked_add(take(&mut bytes)?).filter(|end| first < *end && *end <= records)?;
            read.passes.push(RecordedPass { first, end, phase });
        }
        bytes.is_empty().then_some(read)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pass(phase: u32, first: u64, end: u64) -> RecordedPass {
        RecordedPass { first, end, phase }
    }

    #[test]
    fn a_pass_within_another_of_its_phase_is_left_out() {
        let passes = RecordedPasses::new(vec![
            pass(1, 40, 50),
            pass(1, 0, 10),
            pass(2, 5, 45),
            pass(1, 10, 30),
            pass(1, 20, 35),
            pass(1, 60, 60),
        ]);
        assert_eq!(passes.of(1), [pass(1, 0, 10), pass(1, 10, 30), pass(1, 40, 50)]);
        assert_eq!(passes.phases(), BTreeMap::from([(1, 4), (2, 1)]));
    }

    #[test]
    fn a_list_that_goes_beyond_the_records_makes_no_sense() {
        let bytes = RecordedPasses::new(vec![pass(0, 5, 10)]).encode();
        assert!(RecordedPasses::decode(&bytes, 10).is_some());
        assert_eq!(RecordedPasses::decode(&bytes, 9), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            passes in proptest::collection::vec((0u32..64, 0u64..1000, 1u64..1000), 0..50),
            names in proptest::collection::btree_map(0u32..64, ".{0,20}", 0..4),
            period in proptest::option::of(1u32..1_000_000_000),
        ) {
            let passes = passes.into_iter().map(|(phase, first, length)| pass(phase, first, first + length)).collect();
            let passes = RecordedPasses { names, period_ns: period.map(f64::from), ..RecordedPasses::new(passes) };
            prop_assert_eq!(RecordedPasses::decode(&passes.encode(), 2000), Some(passes));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            if let Some(read) = RecordedPasses::decode(&bytes, 1000) {
                prop_assert!(read.all().iter().all(|pass| pass.first < pass.end && pass.end <= 1000));
            }
        }
    }
}
