//! The search of one ladder: candidates of one kind, from the smallest share to the largest.
//!
//! A larger share is expected to hold where a smaller one holds. The search halves the ladder between the largest share that
//! was seen broken and the smallest that was not, then confirms the latter in fresh repeats. A confirmation that fails moves it
//! one rung up. What is expected is only used to choose the next rung: no rung counts as broken that was not seen so.

/// What is to be measured next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A few repeats of this rung, to see whether it breaks.
    Screen(usize),
    /// Fresh repeats of this rung, as many as the budget needs.
    Confirm(usize),
    /// Nothing: this is the end.
    Ended(LadderEnd),
}

/// How a ladder ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LadderEnd {
    /// The largest share was seen broken.
    NoneHolds,
    /// The smallest rung that was confirmed.
    Holds {
        /// The rung.
        rung: usize,
    },
    /// The place refused a rung.
    Refused,
    /// This rung was not seen broken, but there is too little data to say more.
    TooThin {
        /// The rung.
        rung: usize,
    },
}

/// What a measurement of a rung showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RungOutcome {
    /// It was seen broken.
    Broken,
    /// It was not seen broken; in a confirmation: in as much data as the budget needs.
    NotSeenBroken,
    /// It was not seen broken, in less data than the budget needs. Only a confirmation ends so; `higher` says whether a
    /// larger share can need less data.
    TooThin {
        /// Whether the next rung is worth a confirmation.
        higher: bool,
    },
}

/// The state of a search.
#[derive(Debug, Clone)]
pub struct RungLadder {
    rungs: usize,
    /// Where the first look below the top is, by computation.
    hint: Option<usize>,
    /// The highest rung that was seen broken.
    broken: Option<usize>,
    /// The lowest rung that was screened and not seen broken.
    open: Option<usize>,
    ended: Option<LadderEnd>,
}

impl RungLadder {
    /// A ladder of so many rungs, at least one.
    pub fn new(rungs: usize, hint: Option<usize>) -> Self {
        let ended = (rungs == 0).then_some(LadderEnd::NoneHolds);
        Self { rungs, hint, broken: None, open: None, ended }
    }

    /// What is to be measured next.
    pub fn next(&self) -> Next {
        if let Some(end) = self.ended {
            return Next::Ended(end);
        }
        let Some(open) = self.open else { return Next::Screen(self.rungs - 1) };
        let from = self.broken.map_or(0, |broken| broken + 1);
        if from >= open {
            return Next::Confirm(open);
        }
        let middle = (from + open) / 2;
        Next::Screen(match self.hint {
            Some(hint) if (from..open).contains(&hint) => hint,
            Some(hint) if hint == open => open - 1,
            _ => middle,
        })
    }

    /// Takes in what [`next`](Self::next) asked for.
    pub fn screened(&mut self, rung: usize, outcome: RungOutcome) {
        match outcome {
            RungOutcome::Broken if rung + 1 == self.rungs => self.ended = Some(LadderEnd::NoneHolds),
            RungOutcome::Broken => self.broken = Some(self.broken.map_or(rung, |broken| broken.max(rung))),
            RungOutcome::NotSeenBroken | RungOutcome::TooThin { .. } => self.open = Some(rung),
        }
    }

    /// Takes in a confirmation.
    pub fn confirmed(&mut self, rung: usize, outcome: RungOutcome) {
        let is_top = rung + 1 == self.rungs;
        match outcome {
            RungOutcome::NotSeenBroken => self.ended = Some(LadderEnd::Holds { rung }),
            RungOutcome::Broken if is_top => self.ended = Some(LadderEnd::NoneHolds),
            RungOutcome::TooThin { higher } if is_top || !higher => self.ended = Some(LadderEnd::TooThin { rung }),
            RungOutcome::Broken => (self.broken, self.open) = (Some(rung), Some(rung + 1)),
            RungOutcome::TooThin { .. } => (self.broken, self.open) = (self.broken.max(Some(rung)), Some(rung + 1)),
        }
    }

    /// Ends the search because the place refuses a rung.
    pub fn refuse(&mut self) {
        self.ended = Some(LadderEnd::Refused);
    }

    /// Ends the search where it is, as the time is up.
    pub fn give_up(&mut self) {
        if self.ended.is_none() {
            self.ended = self.open.map(|rung| LadderEnd::TooThin { rung });
        }
    }

    /// The end, where it has come.
    pub fn end(&self) -> Option<LadderEnd> {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a ladder on which each rung below `need` breaks at once; returns the end and the rungs that were screened.
    fn search(rungs: usize, hint: Option<usize>, need: usize) -> (LadderEnd, Vec<usize>) {
        let mut ladder = RungLadder::new(rungs, hint);
        let mut screened = Vec::new();
        let outcome = |rung| if rung < need { RungOutcome::Broken } else { RungOutcome::NotSeenBroken };
        loop {
            match ladder.next() {
                Next::Screen(rung) => {
                    screened.push(rung);
                    ladder.screened(rung, outcome(rung));
                }
                Next::Confirm(rung) => ladder.confirmed(rung, outcome(rung)),
                Next::Ended(end) => return (end, screened),
            }
        }
    }

    #[test]
    fn every_need_is_found_by_halving() {
        for rungs in 1..20 {
            for need in 0..rungs {
                for hint in [None, Some(0), Some(need), Some(rungs - 1), Some(rungs / 2)] {
                    let (end, screened) = search(rungs, hint, need);
                    assert_eq!(end, LadderEnd::Holds { rung: need }, "{rungs} rungs, need {need}, hint {hint:?}");
                    let halvings = usize::BITS - rungs.leading_zeros();
                    assert!(screened.len() <= halvings as usize + 3, "{rungs}, {need}, {hint:?}: {screened:?}");
                }
            }
            assert_eq!(search(rungs, None, rungs).0, LadderEnd::NoneHolds);
        }
        assert_eq!(RungLadder::new(0, None).next(), Next::Ended(LadderEnd::NoneHolds));
    }

    #[test]
    fn a_right_hint_takes_three_looks() {
        assert_eq!(search(16, Some(5), 5).1, [15, 5, 4]);
    }

    #[test]
    fn a_failed_confirmation_moves_one_rung_up() {
        let mut ladder = RungLadder::new(4, None);
        ladder.screened(3, RungOutcome::NotSeenBroken);
        ladder.screened(1, RungOutcome::NotSeenBroken);
        ladder.screened(0, RungOutcome::Broken);
        assert_eq!(ladder.next(), Next::Confirm(1));
        ladder.confirmed(1, RungOutcome::Broken);
        assert_eq!(ladder.next(), Next::Confirm(2));
        ladder.confirmed(2, RungOutcome::TooThin { higher: true });
        assert_eq!(ladder.next(), Next::Confirm(3));
        ladder.confirmed(3, RungOutcome::TooThin { higher: true });
        assert_eq!(ladder.next(), Next::Ended(LadderEnd::TooThin { rung: 3 }));
    }
}
