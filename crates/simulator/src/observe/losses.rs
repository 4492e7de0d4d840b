//! Why lines that a watched core brought in are no longer where they were.

use crate::line::Line;
use crate::observe::counters::Misses;

/// Events that are kept.
const KEPT: usize = 1024;

/// Lines whose reasons are kept together, as a power of two.
const REGION_LOG2: u32 = 10;

/// Why a line went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// It was never there.
    Cold,
    /// A line that the core itself brought in took its place.
    Own,
    /// A line that another core brought in took its place.
    Neighbour,
    /// The filter of a shared cache needed its entry.
    ClusterFilter,
    /// The interconnect's filter needed its entry.
    InterconnectFilter,
    /// An inclusive cache further out lost it.
    Inclusion,
    /// Another core wrote it.
    Write,
    /// The shared cache was in its no-allocate mode when the line left the core.
    NotAllocated,
    /// Every way that it may fill was locked, or it may fill none.
    Refused,
}

/// A line that was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// Which line.
    pub line: Line,
    /// Why.
    pub cause: Cause,
    /// The level of the shared cache that lost it, or 0 for the private caches.
    pub level: u8,
    /// Index of the core whose access made room by it.
    pub by: usize,
    /// When, in picoseconds.
    pub at: u64,
}

/// The last losses of watched cores, and the last reason for each of their lines.
#[derive(Debug, Clone, Default)]
pub struct Losses {
    /// The watched cores, one bit each.
    watched: u32,
    last: Vec<Lost>,
    /// Where in `last` the next one goes.
    next: usize,
    /// By region, one reason a line.
    reasons: Vec<Option<Box<[Cause; 1 << REGION_LOG2]>>>,
}

impl Losses {
    /// Watches a core from now on.
    pub fn watch(&mut self, core: usize) {
        self.watched |= 1 << core;
    }

    /// Whether a core is watched.
    #[inline]
    pub fn watches(&self, core: usize) -> bool {
        self.watched >> core & 1 == 1
    }

    /// Remembers a loss.
    #[inline(never)]
    pub fn add(&mut self, lost: Lost) {
        let region = lost.line.block(REGION_LOG2) as usize;
        if region >= self.reasons.len() {
            self.reasons.resize(region + 1, None);
        }
        let reasons = self.reasons[region].get_or_insert_with(|| Box::new([Cause::Cold; 1 << REGION_LOG2]));
        reasons[lost.line.index(reasons.len())] = lost.cause;
        if self.last.len() < KEPT {
            self.last.push(lost);
        } else {
            self.last[self.next] = lost;
        }
        self.next = (self.next + 1) % KEPT;
    }

    /// Why a line that is asked for again is not there.
    pub fn cause(&self, line: Line) -> Cause {
        let reasons = self.reasons.get(line.block(REGION_LOG2) as usize).and_then(Option::as_ref);
        reasons.map_or(Cause::Cold, |reasons| reasons[line.index(reasons.len())])
    }

    /// The last losses, the oldest first.
    pub fn last(&self) -> impl Iterator<Item = &Lost> {
        let (newer, older) = self.last.split_at(if self.last.len() < KEPT { 0 } else { self.next });
        older.iter().chain(newer)
    }

    /// Bytes of memory that this takes.
    pub fn bytes(&self) -> usize {
        let regions = self.reasons.iter().flatten().count();
        size_of_val(&*self.reasons) + (regions << REGION_LOG2) + size_of_val(&*self.last)
    }
}

impl Misses {
    /// Counts a miss.
    pub fn add(&mut self, cause: Cause) {
        *match cause {
            Cause::Cold => &mut self.cold,
            Cause::Own => &mut self.own,
            Cause::Neighbour => &mut self.neighbour,
            Cause::ClusterFilter => &mut self.cluster_filter,
            Cause::InterconnectFilter => &mut self.interconnect_filter,
            Cause::Inclusion => &mut self.inclusion,
            Cause::Write => &mut self.write,
            Cause::NotAllocated => &mut self.not_allocated,
            Cause::Refused => &mut self.refused,
        } += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_losses_are_kept_in_order_and_the_last_reason_of_each_line() {
        let mut losses = Losses::default();
        let lost = |line, cause, at| Lost { line, cause, level: 0, by: 1, at };
        (0..KEPT as u64 + 3).for_each(|at| losses.add(lost(Line::new(at as u32), Cause::Own, at)));
        losses.add(lost(Line::new(7), Cause::Write, 5000));
        let times: Vec<_> = losses.last().map(|lost| lost.at).collect();
        assert_eq!((times.len(), times[0], times[KEPT - 2], times[KEPT - 1]), (KEPT, 4, KEPT as u64 + 2, 5000));
        assert_eq!([7, 8, 5000].map(|line| losses.cause(Line::new(line))), [Cause::Write, Cause::Own, Cause::Cold]);
    }
}
