//! Refreshes: nobody plans them; a bank catches up with those that have passed when it is used next. A refresh that is due
//! waits until the transactions that began before are through and their rows are closed.

use crate::memory::parameters::RefreshRule;
use crate::time::Ps;

#[derive(Debug, Clone, Copy)]
struct Unit {
    next: Ps,
    /// When all its rows can be closed.
    busy: Ps,
    end: Ps,
    count: u64,
}

impl Unit {
    /// The next refresh takes place; returns its start. One that was kept waiting until the next is due takes its time all the
    /// same.
    #[inline(always)]
    fn refresh(&mut self, every: Ps, length: Ps) -> Ps {
        let start = self.next.max(self.busy).max(self.end);
        self.end = start + length;
        self.next += every;
        self.count += 1;
        start
    }
}

/// The refreshes of a channel's banks: of all at one time, or of one bank of each rank after the other.
#[derive(Debug, Clone)]
pub struct Refresh {
    units: Vec<Unit>,
    every: Ps,
    length: Ps,
    /// Every refresh: its unit and its start.
    #[cfg(test)]
    pub log: Vec<(usize, Ps)>,
}

/// What the refreshes of a bank mean for its next command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refreshed {
    /// From when on the bank can be used.
    pub free: Ps,
    /// How many there have been: a different number than before means that no row is open.
    pub count: u64,
    /// How many of them are counted for the first time.
    pub new: u64,
}

impl Refresh {
    /// Refreshes of ranks with `banks` banks.
    pub fn new(rule: RefreshRule, banks: usize) -> Self {
        let units = if rule.per_bank { banks } else { 1 };
        let unit =
            |at: usize| Unit { next: rule.phase + rule.trefi * at as u64, busy: Ps::ZERO, end: Ps::ZERO, count: 0 };
        Self {
            units: (0..units).map(unit).collect(),
            every: rule.trefi * units as u64,
            length: rule.trfc,
            #[cfg(test)]
            log: Vec::new(),
        }
    }

    /// The refreshes of a bank up to `now`.
    #[inline]
    pub fn catch_up(&mut self, bank: usize, now: Ps) -> Refreshed {
        // The units are as many as the banks of a rank, or one: a power of two.
        let at = bank & (self.units.len() - 1);
        let unit = &self.units[at];
        let before = unit.count;
        if now >= unit.next {
            self.refresh_until(at, now);
        }
        let unit = &self.units[at];
        Refreshed { free: now.max(unit.end), count: unit.count, new: unit.count - before }
    }

    #[cold]
    #[inline(never)]
    fn refresh_until(&mut self, at: usize, now: Ps) {
        let unit = &mut self.units[at];
        while now >= unit.next {
            let _start = unit.refresh(self.every, self.length);
            #[cfg(test)]
            self.log.push((at, _start));
        }
    }

    /// From when on, at `now` or later, a bank can be used that is refreshed by itself. The banks of a rank that are refreshed
    /// at one time need no such look: while they are, there is nobody else whom a command could keep waiting.
    #[inline]
    pub fn free(&self, bank: usize, now: Ps) -> Ps {
        if self.units.len() == 1 {
            return now;
        }
        let mut unit = self.units[bank & (self.units.len() - 1)];
        let mut at = now.max(unit.end);
        while at >= unit.next {
            unit.refresh(self.every, self.length);
            at = at.max(unit.end);
        }
        at
    }

    /// Refreshes of a bank that were due by `now`, and those whose length had passed since.
    pub fn due(&self, bank: usize, now: Ps) -> [u64; 2] {
        let unit = &self.units[bank & (self.units.len() - 1)];
        let start = unit.next.saturating_sub(self.every.saturating_mul(unit.count));
        [Some(now), now.checked_sub(self.length)].map(|at| match at {
            Some(at) if at >= start && self.every != Ps::ZERO => (at - start) / self.every + 1,
            _ => 0,
        })
    }

    /// A bank's row can be closed, and is then, at this time.
    #[inline]
    pub fn busy(&mut self, bank: usize, until: Ps) {
        let at = bank & (self.units.len() - 1);
        self.units[at].busy = self.units[at].busy.max(until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each 300, 200 long, from 100 on.
    fn rule(per_bank: bool) -> RefreshRule {
        let [trefi, trfc, phase] = [300, 200, 100].map(Ps::new);
        RefreshRule { per_bank, trefi, trfc, phase }
    }

    #[test]
    fn refreshes_that_were_kept_waiting_follow_each_other() {
        let rule = rule(false);
        let mut refresh = Refresh::new(rule, 4);
        refresh.busy(2, Ps::new(450));
        // Due at 100 and 400: the first begins when the bank is free, at 450, the second when that one has ended, at 650.
        assert_eq!(refresh.catch_up(0, Ps::new(420)), Refreshed { free: Ps::new(850), count: 2, new: 2 });
    }

    #[test]
    fn a_bank_that_is_refreshed_by_itself_is_free_after_it() {
        let rule = rule(true);
        let mut refresh = Refresh::new(rule, 4);
        // Bank 1 is due at 400 and 1600, bank 0 at 100 and 1300.
        let free = |refresh: &Refresh, bank, now| refresh.free(bank, Ps::new(now)).get();
        assert_eq!([399, 400, 599, 600].map(|now| free(&refresh, 1, now)), [399, 600, 600, 600]);
        assert_eq!(free(&refresh, 0, 1350), 1500);
        refresh.busy(1, Ps::new(450));
        assert_eq!(free(&refresh, 1, 400), 650, "it waits for the row to be closed");
        assert_eq!(refresh.catch_up(1, Ps::new(400)).free, Ps::new(650));
        assert_eq!([400, 700].map(|now| free(&refresh, 1, now)), [650, 700]);
    }
}
