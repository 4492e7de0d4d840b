//! Passes out of marks.

use std::collections::BTreeMap;

use crate::rings::{Mark, PHASES};

/// One pass of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// The thread that made it.
    pub thread: u32,
    /// Its phase.
    pub phase: u32,
    /// When it began, in units of the thread's clock.
    pub start: u64,
    /// When it ended.
    pub end: u64,
}

/// Marks that are part of no pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unpaired {
    /// A phase began while it was open: the earlier beginning is part of no pass.
    pub begins: u64,
    /// A phase ended that had not begun.
    pub ends: u64,
    /// Marks that a thread dropped because its ring was full.
    pub lost: u64,
    /// Marks with a phase that does not exist.
    pub unknown_phase: u64,
}

/// Pairs the marks of each thread and phase.
#[derive(Debug, Clone, Default)]
pub struct Pairs {
    threads: BTreeMap<u32, Thread>,
    unpaired: Unpaired,
}

#[derive(Debug, Clone, Default)]
struct Thread {
    /// The beginning of each open phase.
    open: BTreeMap<u32, u64>,
    /// The number of the next mark.
    next: u32,
}

impl Pairs {
    /// The next mark of its thread. A pass, where the mark ends one.
    pub fn take(&mut self, mark: Mark) -> Option<Pass> {
        let thread = self.threads.entry(mark.thread).or_default();
        let gap = mark.sequence.wrapping_sub(thread.next);
        if gap != 0 {
            // Any open phase may have ended among the marks that are missing.
            self.unpaired.lost += u64::from(gap);
            thread.open.clear();
        }
        thread.next = mark.sequence.wrapping_add(1);
        if mark.phase >= PHASES {
            self.unpaired.unknown_phase += 1;
            return None;
        }
        if mark.begins {
            self.unpaired.begins += u64::from(thread.open.insert(mark.phase, mark.at).is_some());
            return None;
        }
        match thread.open.remove(&mark.phase) {
            Some(start) => Some(Pass { thread: mark.thread, phase: mark.phase, start, end: mark.at }),
            // After a gap, the beginning is among the marks that are missing.
            None => {
                self.unpaired.ends += u64::from(gap == 0);
                None
            }
        }
    }

    /// What was part of no pass so far.
    pub fn unpaired(&self) -> Unpaired {
        self.unpaired
    }

    /// The beginnings of a phase that has not ended, in units of the threads' clocks.
    pub fn open(&self, phase: u32) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.threads.iter().filter_map(move |(thread, state)| Some((*thread, *state.open.get(&phase)?)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mark(sequence: u32, phase: u32, begins: bool, at: u64) -> Mark {
        Mark { thread: 0, phase, begins, at, sequence }
    }

    fn passes(pairs: &mut Pairs, marks: &[Mark]) -> Vec<(u32, u64, u64)> {
        let passes = marks.iter().filter_map(|mark| pairs.take(*mark));
        passes.map(|pass| (pass.phase, pass.start, pass.end)).collect()
    }

    #[test]
    fn phases_nest_and_overlap() {
        let mut pairs = Pairs::default();
        let marks = [
            mark(0, 1, true, 10),
            mark(1, 2, true, 20),
            mark(2, 1, false, 30),
            mark(3, 2, false, 50),
            mark(4, 1, true, 60),
        ];
        assert_eq!(passes(&mut pairs, &marks), [(1, 10, 30), (2, 20, 50)]);
        assert_eq!(pairs.unpaired(), Unpaired::default());
        assert_eq!(pairs.open(1).collect::<Vec<_>>(), [(0, 60)]);
    }

    #[test]
    fn marks_without_their_other_are_counted() {
        let mut pairs = Pairs::default();
        let marks = [
            mark(0, 1, false, 5),
            mark(1, 1, true, 10),
            mark(2, 1, true, 20),
            mark(3, 1, false, 25),
            mark(4, 64, true, 30),
        ];
        assert_eq!(passes(&mut pairs, &marks), [(1, 20, 25)]);
        assert_eq!(pairs.unpaired(), Unpaired { begins: 1, ends: 1, lost: 0, unknown_phase: 1 });
    }

    #[test]
    fn no_pass_is_made_across_marks_that_are_missing() {
        let mut pairs = Pairs::default();
        // Two marks are missing: the end of the first pass and the beginning of the second.
        let marks = [mark(0, 1, true, 10), mark(3, 1, false, 40), mark(4, 1, true, 50), mark(5, 1, false, 60)];
        assert_eq!(passes(&mut pairs, &marks), [(1, 50, 60)]);
        assert_eq!(pairs.unpaired(), Unpaired { begins: 0, ends: 0, lost: 2, unknown_phase: 0 });
    }

    #[test]
    fn sequences_go_on_after_their_largest_number() {
        let mut pairs = Pairs::default();
        pairs.threads.entry(0).or_default().next = u32::MAX;
        assert_eq!(passes(&mut pairs, &[mark(u32::MAX, 0, true, 1), mark(0, 0, false, 3)]), [(0, 1, 3)]);
        assert_eq!(pairs.unpaired().lost, 0);
    }

    proptest! {
        /// Whatever is dropped between them, passes are among those that were really made.
        #[test]
        fn passes_are_real(drops in proptest::collection::vec(any::<bool>(), 2..200)) {
            let all = (0..drops.len() as u32).map(|number| mark(number, 7, number % 2 == 0, u64::from(number) * 10));
            let mut pairs = Pairs::default();
            for (mark, dropped) in all.zip(&drops) {
                if *dropped {
                    continue;
                }
                if let Some(pass) = pairs.take(mark) {
                    prop_assert_eq!((pass.start % 20, pass.end), (0, pass.start + 10));
                }
            }
        }
    }
}
