//! Who sent what and what came of it: lost, late, doubled and reordered cycles, counted exactly and in bounded memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// So many cycles can be unanswered at a time; an answer that comes later than that is not matched any more.
pub const WINDOW: usize = 1 << 16;

/// So many late cycles, and so many stretches of lost ones, are listed; further ones are counted.
pub const MOST_LISTED: usize = 100;

/// What became of the cycles of a generator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CycleCounts {
    /// Sensor packets that the interface took.
    pub sent: u64,
    /// Cycles whose first answer came, late ones included.
    pub answered: u64,
    /// Cycles without an answer.
    pub lost: u64,
    /// Cycles whose first answer came after their deadline.
    pub late: u64,
    /// Answers beyond the first of their cycle.
    pub doubled: u64,
    /// First answers that came after the answer of a later cycle (RFC 4737, type-P-reordered).
    pub reordered: u64,
    /// Answers of cycles that were given up, 65536 cycles later.
    pub given_up: u64,
    /// Answers of cycles that were never sent.
    pub never_sent: u64,
    /// Releases that passed without a packet, because the generator came a whole period too late.
    pub missed_periods: u64,
    /// Releases whose packet the interface refused.
    pub refused: u64,
}

/// A cycle whose answer came after its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LateCycle {
    /// Its number.
    pub cycle: u64,
    /// When its answer came, seconds from the start.
    pub at_s: f64,
    /// Its round trip, ns.
    pub round_trip_ns: u64,
}

/// Cycles in a row that were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostCycles {
    /// The first.
    pub from: u64,
    /// The last.
    pub to: u64,
}

/// What an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CycleAnswer {
    /// The first one of its cycle, so many nanoseconds after the cycle was sent.
    First {
        /// The round trip.
        round_trip_ns: i64,
    },
    /// A further one.
    Doubled,
    /// None of a cycle in flight.
    Unmatched,
}

/// The account of a generator.
pub struct CycleAccount {
    deadline_ns: i64,
    began_ns: i64,
    /// When each of the last cycles was sent; negative where it was answered.
    window: Box<[i64]>,
    highest: u64,
    counts: CycleCounts,
    late: Vec<LateCycle>,
    lost: Vec<LostCycles>,
    unlisted_lost: u64,
}

const ANSWERED: i64 = -1;

impl CycleAccount {
    /// An account that begins at a time; an answer later than the deadline is late.
    pub fn new(began_ns: i64, deadline_ns: i64) -> Self {
        Self {
            deadline_ns,
            began_ns,
            window: vec![ANSWERED; WINDOW].into(),
            highest: 0,
            counts: CycleCounts::default(),
            late: Vec::with_capacity(MOST_LISTED),
            lost: Vec::with_capacity(MOST_LISTED),
            unlisted_lost: 0,
        }
    }

    /// The number of the next cycle.
    pub fn next_cycle(&self) -> u64 {
        self.counts.sent + 1
    }

    /// The next cycle was sent.
    pub fn send(&mut self, now_ns: i64) {
        self.counts.sent += 1;
        let cycle = self.counts.sent;
        let before = std::mem::replace(&mut self.window[place(cycle)], now_ns);
        if before != ANSWERED {
            self.lose(cycle - WINDOW as u64);
        }
    }

    /// An answer came.
    pub fn answer(&mut self, cycle: u64, now_ns: i64) -> CycleAnswer {
        let counts = &mut self.counts;
        if cycle == 0 || cycle > counts.sent {
            counts.never_sent += 1;
            return CycleAnswer::Unmatched;
        }
        if counts.sent - cycle >= WINDOW as u64 {
            counts.given_up += 1;
            return CycleAnswer::Unmatched;
        }
        let sent_ns = std::mem::replace(&mut self.window[place(cycle)], ANSWERED);
        if sent_ns == ANSWERED {
            counts.doubled += 1;
            return CycleAnswer::Doubled;
        }
        counts.answered += 1;
        counts.reordered += u64::from(cycle < self.highest);
        self.highest = self.highest.max(cycle);
        let round_trip_ns = now_ns - sent_ns;
        if round_trip_ns > self.deadline_ns {
            counts.late += 1;
            if self.late.len() < MOST_LISTED {
                let at_s = (now_ns - self.began_ns) as f64 / 1e9;
                self.late.push(LateCycle { cycle, at_s, round_trip_ns: round_trip_ns.max(0) as u64 });
            }
        }
        CycleAnswer::First { round_trip_ns }
    }

    /// A cycle in flight left the machine at another time than it was sent for. Returns when that was, and `None` where the cycle is
    /// not in flight any more.
    pub fn depart(&mut self, cycle: u64, now_ns: i64) -> Option<i64> {
        let counts = &self.counts;
        if cycle == 0 || cycle > counts.sent || counts.sent - cycle >= WINDOW as u64 {
            return None;
        }
        let sent = &mut self.window[place(cycle)];
        (*sent != ANSWERED).then(|| std::mem::replace(sent, now_ns))
    }

    /// Releases that passed without a packet.
    pub fn miss(&mut self, releases: u64) {
        self.counts.missed_periods += releases;
    }

    /// The interface refused a packet.
    pub fn refuse(&mut self) {
        self.counts.refused += 1;
    }

    /// The highest cycle that was answered; 0 where none was.
    pub fn highest_answered(&self) -> u64 {
        self.highest
    }

    /// Cycles that were answered so far.
    pub fn answered(&self) -> u64 {
        self.counts.answered
    }

    /// Whether every cycle was answered.
    pub fn is_complete(&self) -> bool {
        self.counts.answered == self.counts.sent
    }

    fn lose(&mut self, cycle: u64) {
        self.counts.lost += 1;
        let has_room = self.lost.len() < MOST_LISTED;
        match self.lost.last_mut() {
            Some(last) if last.to + 1 == cycle => last.to = cycle,
            _ if has_room => self.lost.push(LostCycles { from: cycle, to: cycle }),
            _ => self.unlisted_lost += 1,
        }
    }

    /// Ends the account: what is unanswered now is lost. Returns the counts, the late cycles, the lost ones, and how many of
    /// these are not in the list.
    pub fn finish(mut self) -> (CycleCounts, Vec<LateCycle>, Vec<LostCycles>, u64) {
        let sent = self.counts.sent;
        for cycle in sent.saturating_sub(WINDOW as u64 - 1).max(1)..=sent {
            if self.window[place(cycle)] != ANSWERED {
                self.lose(cycle);
            }
        }
        (self.counts, self.late, self.lost, self.unlisted_lost)
    }
}

fn place(cycle: u64) -> usize {
    (cycle % WINDOW as u64) as usize
}

/// Frames that are no packets of this run: counted and ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StrangerCounts {
    /// Another beginning, kind or destination, or another session.
    pub foreign: u64,
    /// Too short.
    pub short: u64,
    /// Another version of the format.
    pub wrong_version: u64,
}

impl StrangerCounts {
    /// Counts one.
    pub fn add(&mut self, what: crate::frame::NotOurs) {
        use crate::frame::NotOurs;
        *match what {
            NotOurs::Foreign => &mut self.foreign,
            NotOurs::Short => &mut self.short,
            NotOurs::Version => &mut self.wrong_version,
        } += 1;
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.foreign + self.short + self.wrong_version
    }
}

/// What came to a responder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SensorCounts {
    /// Sensor packets, doubled ones included. Each was computed and answered.
    pub received: u64,
    /// Sensor packets of a cycle that had come before.
    pub doubled: u64,
    /// Sensor packets that came after that of a later cycle, doubled ones not included.
    pub reordered: u64,
    /// Cycles between the first and the last one that did not come.
    pub missing: u64,
    /// Sensor packets more than 65536 cycles behind: doubled or not is not known any more.
    pub far_behind: u64,
    /// Answers that the interface refused.
    pub refused: u64,
    /// Generators that were served, one after the other.
    pub sessions: u64,
}

/// The account of a responder.
pub struct SensorAccount {
    /// Whether each of the last cycles has come.
    window: Box<[bool]>,
    first: u64,
    highest: u64,
    /// Cycles of this session that came, each once.
    distinct: u64,
    counts: SensorCounts,
}

impl Default for SensorAccount {
    fn default() -> Self {
        Self { window: vec![false; WINDOW].into(), first: 0, highest: 0, distinct: 0, counts: SensorCounts::default() }
    }
}

impl SensorAccount {
    /// Another generator begins.
    pub fn begin_session(&mut self) {
        self.counts = self.counts();
        self.counts.sessions += 1;
        self.window.fill(false);
        (self.first, self.highest, self.distinct) = (0, 0, 0);
    }

    /// A sensor packet came.
    pub fn receive(&mut self, cycle: u64) {
        self.counts.received += 1;
        if self.first == 0 {
            self.first = cycle;
        }
        if cycle > self.highest {
            // What is between was not seen yet.
            let between = (cycle - self.highest).min(WINDOW as u64);
            for passed in cycle - between + 1..=cycle {
                self.window[place(passed)] = false;
            }
            self.highest = cycle;
        } else if self.highest - cycle >= WINDOW as u64 {
            self.counts.far_behind += 1;
            return;
        } else if self.window[place(cycle)] {
            self.counts.doubled += 1;
            return;
        } else {
            self.counts.reordered += 1;
            self.first = self.first.min(cycle);
        }
        self.window[place(cycle)] = true;
        self.distinct += 1;
    }

    /// The interface refused an answer.
    pub fn refuse(&mut self) {
        self.counts.refused += 1;
    }

    /// The counts so far.
    pub fn counts(&self) -> SensorCounts {
        let span = if self.first == 0 { 0 } else { (self.highest - self.first).saturating_add(1) };
        let missing = span.saturating_sub(self.distinct);
        SensorCounts { missing: self.counts.missing.saturating_add(missing), ..self.counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cycle_is_counted_once() {
        let mut account = CycleAccount::new(0, 100);
        for sent in 0..6 {
            account.send(sent * 1000);
        }
        assert_eq!(account.answer(1, 100), CycleAnswer::First { round_trip_ns: 100 });
        assert_eq!(account.answer(3, 2050), CycleAnswer::First { round_trip_ns: 50 });
        assert_eq!(account.answer(3, 2060), CycleAnswer::Doubled);
        assert_eq!(account.answer(2, 2070), CycleAnswer::First { round_trip_ns: 1070 });
        assert_eq!(account.answer(6, 5101), CycleAnswer::First { round_trip_ns: 101 });
        assert_eq!(account.answer(7, 5200), CycleAnswer::Unmatched);
        assert_eq!(account.answer(0, 5200), CycleAnswer::Unmatched);
        assert!(!account.is_complete());
        let (counts, late, lost, unlisted) = account.finish();
        // 4 and 5 were not answered; 2 came after 3; 2 and 6 came after their deadline.
        let expected = CycleCounts {
            sent: 6,
            answered: 4,
            lost: 2,
            late: 2,
            doubled: 1,
            reordered: 1,
            never_sent: 2,
            ..CycleCounts::default()
        };
        assert_eq!(counts, expected);
        assert_eq!(late.iter().map(|late| late.cycle).collect::<Vec<_>>(), [2, 6]);
        assert_eq!((lost, unlisted), (vec![LostCycles { from: 4, to: 5 }], 0));
    }

    #[test]
    fn a_cycle_that_leaves_the_window_is_lost_and_its_answer_comes_too_late() {
        let mut account = CycleAccount::new(0, 100);
        let window = WINDOW as u64;
        for cycle in 1..=window + 2 {
            account.send(0);
            if cycle != 1 && cycle != 2 {
                account.answer(cycle, 1);
            }
        }
        assert_eq!(account.answer(1, 1), CycleAnswer::Unmatched);
        let (counts, _, lost, _) = account.finish();
        assert_eq!((counts.lost, counts.given_up, counts.answered), (2, 1, window));
        assert_eq!(lost, [LostCycles { from: 1, to: 2 }]);
    }

    #[test]
    fn a_round_trip_begins_with_the_departure() {
        let mut account = CycleAccount::new(0, 100);
        account.send(1000);
        account.send(2000);
        assert_eq!(account.depart(1, 950), Some(1000));
        assert_eq!(account.answer(1, 970), CycleAnswer::First { round_trip_ns: 20 });
        assert_eq!((account.depart(1, 990), account.depart(0, 1), account.depart(3, 1)), (None, None, None));
        assert_eq!(account.answer(2, 2050), CycleAnswer::First { round_trip_ns: 50 });
        assert!(account.is_complete());
    }

    #[test]
    fn lists_are_bounded_and_counts_are_not() {
        let mut account = CycleAccount::new(0, 0);
        // Every second cycle is lost, and the others are late.
        for cycle in 1..=1000 {
            account.send(0);
            if cycle % 2 == 0 {
                account.answer(cycle, 1);
            }
        }
        let (counts, late, lost, unlisted) = account.finish();
        assert_eq!((counts.late, counts.lost), (500, 500));
        assert_eq!((late.len(), lost.len(), unlisted), (100, 100, 400));
    }

    #[test]
    fn a_responder_sees_what_is_missing_doubled_and_reordered() {
        let mut account = SensorAccount::default();
        account.begin_session();
        for cycle in [1, 2, 4, 3, 4, 8] {
            account.receive(cycle);
        }
        // 5, 6 and 7 are missing.
        let expected =
            SensorCounts { received: 6, doubled: 1, reordered: 1, missing: 3, sessions: 1, ..SensorCounts::default() };
        assert_eq!(account.counts(), expected);
        // It joins another session in its middle: what was before is not missing here.
        account.begin_session();
        account.receive(500);
        account.receive(502);
        assert_eq!(account.counts(), SensorCounts { received: 8, missing: 4, sessions: 2, ..expected });
        // A forged number does not end in an overflow.
        account.receive(u64::MAX);
        account.receive(1);
        assert_eq!(account.counts().far_behind, 1);
    }
}
