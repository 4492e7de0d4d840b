//! The no-allocate mode of a shared cache: on while its snoop filter evicts too often.

use crate::time::Ps;

/// When the mode is on.
#[derive(Debug, Clone)]
pub struct NoAllocateMode {
    /// Times of the last evictions, as many as it takes; `at` is the oldest.
    recent: Vec<Ps>,
    at: usize,
    window: Ps,
    quiet: Ps,
    enabled: bool,
    since: Option<Ps>,
    last: Ps,
    past: Ps,
    entries: u64,
}

impl NoAllocateMode {
    /// A mode that begins with `evictions` (at least 1) within `window` and ends after `quiet` without one.
    pub fn new(evictions: usize, window: Ps, quiet: Ps) -> Self {
        let recent = vec![Ps::NEVER; evictions.max(1)];
        Self { recent, at: 0, window, quiet, enabled: true, since: None, last: Ps::ZERO, past: Ps::ZERO, entries: 0 }
    }

    /// Allows or forbids the mode.
    pub fn set_enabled(&mut self, enabled: bool, now: Ps) {
        self.leave_if_quiet(now);
        if !enabled && let Some(since) = self.since.take() {
            self.past += now - since;
        }
        self.enabled = enabled;
    }

    /// The filter evicted a line.
    #[inline(always)]
    pub fn evicted(&mut self, now: Ps) {
        self.leave_if_quiet(now);
        self.recent[self.at] = now;
        self.at = if self.at + 1 == self.recent.len() { 0 } else { self.at + 1 };
        self.last = now;
        let oldest = self.recent[self.at];
        if self.enabled && self.since.is_none() && oldest != Ps::NEVER && now - oldest <= self.window {
            self.since = Some(now);
            self.entries += 1;
        }
    }

    /// Whether the mode is allowed.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Whether the mode is on.
    #[inline]
    pub fn is_on(&mut self, now: Ps) -> bool {
        self.leave_if_quiet(now);
        self.since.is_some()
    }

    fn leave_if_quiet(&mut self, now: Ps) {
        if let Some(since) = self.since
            && now > self.last + self.quiet
        {
            self.past += self.last + self.quiet - since;
            self.since = None;
        }
    }

    /// How long the mode was on up to `now`, and how often it began.
    pub fn totals(&self, now: Ps) -> (Ps, u64) {
        let current = self.since.map_or(Ps::ZERO, |since| now.min(self.last + self.quiet) - since);
        (self.past + current, self.entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_begins_with_a_burst_and_ends_with_quiet() {
        let mut mode = NoAllocateMode::new(3, Ps::new(100), Ps::new(500));
        mode.evicted(Ps::new(1000));
        mode.evicted(Ps::new(1090));
        assert!(!mode.is_on(Ps::new(1090)));
        // The third within 100 of the first would be at 1100; at 1101 it is too late, but 1090, 1101, 1190 are within.
        mode.evicted(Ps::new(1101));
        assert!(!mode.is_on(Ps::new(1101)));
        mode.evicted(Ps::new(1190));
        assert!(mode.is_on(Ps::new(1190)));
        mode.evicted(Ps::new(1400));
        assert!(mode.is_on(Ps::new(1900)));
        assert!(!mode.is_on(Ps::new(1901)));
        // From 1190 to 1400 + 500.
        assert_eq!(mode.totals(Ps::new(5000)), (Ps::new(710), 1));
    }

    #[test]
    fn a_forbidden_mode_never_begins() {
        let mut mode = NoAllocateMode::new(1, Ps::new(100), Ps::new(500));
        mode.evicted(Ps::new(10));
        assert!(mode.is_on(Ps::new(10)));
        mode.set_enabled(false, Ps::new(50));
        mode.evicted(Ps::new(60));
        assert!(!mode.is_on(Ps::new(60)));
        assert_eq!(mode.totals(Ps::new(60)), (Ps::new(40), 1));
    }
}
