//! The miss-status holding registers (MSHRs) of a core: how many lines it can wait for at one time, and for which it does.

use crate::bits::bits;
use crate::caches::access::Want;
use crate::caches::array::tags;
use crate::line::Line;
use crate::time::Ps;

/// The most MSHRs of a core.
pub const MOST_MSHRS: usize = 64;

/// How many lines a core can wait for at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Lines that its first level waits for: 1 to [`MOST_MSHRS`].
    pub all: usize,
    /// Those among them that come from beyond its own caches.
    pub beyond: Option<usize>,
    /// Further lines that only prefetchers of its second level wait for.
    pub for_second: usize,
}

/// When a line comes, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The time.
    pub at: Ps,
    /// Whether it comes from beyond the core's own caches.
    pub beyond: bool,
}

/// What memory was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// The line.
    pub line: Line,
    /// What it is wanted for.
    pub want: Want,
    /// On the short way: the entry of the line in the shared cache's filter.
    pub entry: u8,
}

/// The lines that a core waits for, an MSHR each.
#[derive(Debug, Clone)]
pub struct Mshrs {
    /// All MSHRs of its own accesses, one bit each.
    all: u64,
    /// The MSHRs that only prefetches to the second level may take, one bit each.
    for_second: u64,
    /// MSHRs that memory owes a line.
    owed: u64,
    /// MSHRs that are taken until a known time.
    timed: u64,
    /// MSHRs whose lines come, or came, from beyond the core's own caches.
    beyond: u64,
    most_beyond: Option<usize>,
    done: [Ps; MOST_MSHRS],
    /// The line that each was asked for last, apart from the rest so that all are compared at once.
    lines: [Line; MOST_MSHRS],
    asked: [(Want, u8); MOST_MSHRS],
}

impl Mshrs {
    /// All are free.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            all: u64::MAX >> (MOST_MSHRS - bounds.all),
            for_second: match bounds.for_second {
                0 => 0,
                more => (u64::MAX >> (MOST_MSHRS - more)) << bounds.all,
            },
            owed: 0,
            timed: 0,
            beyond: 0,
            most_beyond: bounds.beyond,
            done: [Ps::ZERO; MOST_MSHRS],
            lines: [Line::EMPTY; MOST_MSHRS],
            asked: [(Want::Read, 0); MOST_MSHRS],
        }
    }

    /// The free MSHRs, one bit each.
    #[inline(always)]
    pub fn free(&self) -> u64 {
        self.all & !(self.owed | self.timed)
    }

    /// A free MSHR.
    #[inline(always)]
    pub fn free_mshr(&self) -> Option<usize> {
        let free = self.free();
        (free != 0).then(|| free.trailing_zeros() as usize)
    }

    /// Whether lines from beyond the core's own caches have a limit of their own.
    #[inline(always)]
    pub fn tell_beyond(&self) -> bool {
        self.most_beyond.is_some()
    }

    /// Whether [`Mshrs::full`] must be asked.
    #[inline(always)]
    pub fn may_be_full(&self) -> bool {
        self.free() == 0 || self.tell_beyond()
    }

    /// If no line can be waited for besides those that are: the MSHRs, one bit each, that are free at a known time.
    #[inline(always)]
    pub fn full(&mut self, now: Ps) -> Option<u64> {
        self.limit_reached()?;
        self.reclaim(now);
        self.limit_reached()
    }

    fn limit_reached(&self) -> Option<u64> {
        match self.most_beyond {
            _ if self.free() == 0 => Some(self.timed),
            Some(most) => {
                let beyond = self.beyond & (self.owed | self.timed);
                (beyond.count_ones() as usize >= most).then_some(self.timed & beyond)
            }
            None => None,
        }
    }

    /// When the first of some MSHRs has its line; [`Ps::NEVER`] for none.
    pub fn first_done(&self, mshrs: u64) -> Ps {
        bits(mshrs).map(|mshr| self.done[mshr]).min().unwrap_or(Ps::NEVER)
    }

    /// An MSHR for a prefetch to a level, if one is left to it.
    pub fn for_prefetch(&mut self, level: u8, now: Ps) -> Option<usize> {
        let suitable = if level == 1 { self.all } else { self.all | self.for_second };
        // The MSHRs that nothing else may take come first; the last one of the core's own is left to it.
        let offered = |mshrs: &Self| {
            let free = suitable & !(mshrs.owed | mshrs.timed);
            if free & !mshrs.all != 0 || (free & mshrs.all).count_ones() > 1 { free } else { 0 }
        };
        if offered(self) == 0 {
            self.reclaim(now);
        }
        let full = self.most_beyond.is_some_and(|most| {
            self.reclaim(now);
            (self.beyond & (self.owed | self.timed)).count_ones() as usize >= most
        });
        let offered = if full { 0 } else { offered(self) };
        (offered != 0).then(|| 63 - offered.leading_zeros() as usize)
    }

    /// Memory owes an MSHR a line from now on.
    #[inline(always)]
    pub fn ask(&mut self, mshr: usize, asked: Asked) {
        self.owed |= 1 << mshr;
        self.beyond |= 1 << mshr;
        self.lines[mshr] = asked.line;
        self.asked[mshr] = (asked.want, asked.entry);
    }

    /// What memory was asked for.
    #[inline(always)]
    pub fn asked(&self, mshr: usize) -> Asked {
        let (want, entry) = self.asked[mshr];
        Asked { line: self.lines[mshr], want, entry }
    }

    /// The MSHRs that memory owes this line.
    #[inline(always)]
    pub fn owed_for(&self, line: Line) -> impl Iterator<Item = usize> + use<> {
        bits(self.owed_bits(line))
    }

    /// Whether memory owes this line.
    #[inline(always)]
    pub fn is_owed(&self, line: Line) -> bool {
        self.owed_bits(line) != 0
    }

    #[inline(always)]
    fn owed_bits(&self, line: Line) -> u64 {
        let (halves, _) = self.lines.as_chunks::<{ MOST_MSHRS / 2 }>();
        let equal = |half: &[Line; MOST_MSHRS / 2]| u64::from(tags::equal(half, line));
        self.owed & halves.iter().rev().fold(0, |mask, half| mask << (MOST_MSHRS / 2) | equal(half))
    }

    /// A further access waits for the line of an MSHR.
    #[inline(always)]
    pub fn join(&mut self, mshr: usize, want: Want) {
        self.asked[mshr].0 = self.asked[mshr].0.joined(want);
    }

    /// Memory has answered an MSHR: what it was asked for.
    #[inline(always)]
    pub fn answered(&mut self, mshr: usize) -> Asked {
        self.owed &= !(1 << mshr);
        self.asked(mshr)
    }

    /// Takes an MSHR for a line that comes at a known time.
    #[inline(always)]
    pub fn take(&mut self, mshr: usize, arrival: Arrival) {
        self.timed |= 1 << mshr;
        self.beyond = self.beyond & !(1 << mshr) | u64::from(arrival.beyond) << mshr;
        self.done[mshr] = arrival.at;
    }

    /// The same for a free MSHR, which is returned; none if all are taken.
    #[inline]
    pub fn keep_until(&mut self, arrival: Arrival) -> Option<usize> {
        let mshr = self.free_mshr()?;
        self.take(mshr, arrival);
        Some(mshr)
    }

    /// Takes over the lines in flight that another program of the same core has asked for.
    pub fn take_over(&mut self, before: Self) {
        let Self { owed, timed, beyond, done, lines, asked, .. } = before;
        (self.owed, self.timed, self.beyond) = (owed, timed, beyond);
        (self.done, self.lines, self.asked) = (done, lines, asked);
    }

    /// When everything outstanding is there: [`Ps::NEVER`] while memory owes an answer, 0 if there is nothing.
    #[inline]
    pub fn all_done(&self) -> Ps {
        match self.owed {
            0 => bits(self.timed).map(|mshr| self.done[mshr]).max().unwrap_or(Ps::ZERO),
            _ => Ps::NEVER,
        }
    }

    /// MSHRs whose lines are not there at `now`, one bit each.
    pub fn unfinished(&self, now: Ps) -> u64 {
        self.owed | bits(self.timed).filter(|mshr| self.done[*mshr] > now).fold(0, |mask, mshr| mask | 1 << mshr)
    }

    /// When an MSHR has its line: [`Ps::NEVER`] while memory owes it.
    pub fn done_at(&self, mshr: usize) -> Ps {
        if self.owed >> mshr & 1 == 1 { Ps::NEVER } else { self.done[mshr] }
    }

    #[inline]
    fn reclaim(&mut self, now: Ps) {
        for mshr in bits(self.timed) {
            if self.done[mshr] <= now {
                self.timed &= !(1 << mshr);
            }
        }
    }
}
