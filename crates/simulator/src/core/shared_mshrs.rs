//! How many lines a shared cache can wait for at one time, over all cores.

use std::collections::VecDeque;

use crate::time::Ps;

/// The lines that a shared cache waits for. Cores that find no room get it in the order in which they came.
#[derive(Debug, Clone)]
pub struct SharedMshrs {
    /// Level of the cache.
    pub level: u8,
    /// A request that a cache up to this level answers does not wait: those of its own level do while it is full if it then
    /// takes no requests at all.
    pub passes: u8,
    most: usize,
    /// Lines that memory owes.
    owed: usize,
    /// Lines that come from caches further out, at these times.
    timed: Vec<Ps>,
    waiting: VecDeque<usize>,
}

impl SharedMshrs {
    /// A cache of a level that waits for `most` lines, and meanwhile answers what it holds or lets that wait, too.
    pub fn new(level: u8, most: usize, hits_wait: bool) -> Self {
        Self { level, passes: level - u8::from(hits_wait), most, owed: 0, timed: Vec::new(), waiting: VecDeque::new() }
    }

    /// Whether a core may begin another miss at `now`. If not, it is in the queue from then on.
    pub fn may_begin(&mut self, core: usize, now: Ps) -> bool {
        let room = self.has_room(now);
        match self.waiting.iter().position(|waits| *waits == core) {
            Some(0) if room => {
                self.waiting.pop_front();
                true
            }
            None if room && self.waiting.is_empty() => true,
            None => {
                self.waiting.push_back(core);
                false
            }
            Some(_) => false,
        }
    }

    fn has_room(&mut self, now: Ps) -> bool {
        if self.owed + self.timed.len() >= self.most {
            self.timed.retain(|at| *at > now);
        }
        self.owed + self.timed.len() < self.most
    }

    /// Whether it may be the turn of a core that waits.
    pub fn is_next(&mut self, core: usize, now: Ps) -> bool {
        self.waiting.front() == Some(&core) && self.has_room(now)
    }

    /// The cores whose turn it may be, one bit each: while nothing comes at a known time, the first one alone, if there is
    /// room.
    pub fn may_be_next(&self) -> u32 {
        match self.waiting.front() {
            _ if !self.timed.is_empty() => u32::MAX,
            Some(core) if self.owed < self.most => 1 << core,
            _ => 0,
        }
    }

    /// Whether a core that waits could begin.
    pub fn has_news(&mut self, now: Ps) -> bool {
        !self.waiting.is_empty() && self.has_room(now)
    }

    /// A core no longer waits: it asks for something else, or found its line.
    pub fn leave(&mut self, core: usize) {
        self.waiting.retain(|waits| *waits != core);
    }

    /// Whether a core waits.
    pub fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// When there is room again: never if there is some, which others wait for, or if memory decides.
    pub fn next_time(&mut self, now: Ps) -> Ps {
        if self.has_room(now) { Ps::NEVER } else { self.timed.iter().copied().min().unwrap_or(Ps::NEVER) }
    }

    /// Whether there is room that nobody waits for.
    pub fn is_free(&mut self, now: Ps) -> bool {
        self.waiting.is_empty() && self.has_room(now)
    }

    /// A miss began whose line memory owes.
    pub fn owe(&mut self) {
        self.owed += 1;
    }

    /// Memory has answered one.
    pub fn answered(&mut self) {
        self.owed -= 1;
    }

    /// A miss began whose line comes at a known time.
    pub fn take_until(&mut self, at: Ps) {
        self.timed.push(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_get_room_in_the_order_in_which_they_came() {
        let mut misses = SharedMshrs::new(2, 2, false);
        assert!(misses.may_begin(0, Ps::new(0)));
        misses.owe();
        assert!(misses.may_begin(1, Ps::new(0)));
        misses.take_until(Ps::new(100));
        assert_eq!(
            (misses.may_begin(2, Ps::new(10)), misses.may_begin(0, Ps::new(20)), misses.has_news(Ps::new(20))),
            (false, false, false)
        );
        assert_eq!((misses.next_time(Ps::new(20)), misses.is_free(Ps::new(20))), (Ps::new(100), false));
        assert_eq!(misses.may_be_next(), u32::MAX);
        // At 100 the timed one has come: core 2 is first, and core 0 must wait for its turn.
        assert!(misses.has_news(Ps::new(100)) && misses.is_next(2, Ps::new(100)) && !misses.is_next(0, Ps::new(100)));
        assert_eq!((misses.may_begin(0, Ps::new(100)), misses.may_begin(2, Ps::new(100))), (false, true));
        misses.owe();
        assert_eq!(misses.may_be_next(), 0);
        misses.answered();
        // There is room, for core 0.
        assert_eq!(misses.may_be_next(), 1);
        assert_eq!((misses.next_time(Ps::new(150)), misses.is_free(Ps::new(150))), (Ps::NEVER, false));
        assert!(misses.may_begin(0, Ps::new(200)) && !misses.has_news(Ps::new(200)));
    }
}
