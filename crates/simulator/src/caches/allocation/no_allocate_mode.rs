//! The no-allocate mode of a shared cache: on while its snoop filter evicts too often.

/// When the mode is on. Times are picoseconds.
#[derive(Debug, Clone)]
pub struct NoAllocateMode {
    /// Times of the last evictions, as many as it takes; `at` is the oldest.
    recent: Vec<u64>,
    at: usize,
    window: u64,
    quiet: u64,
    enabled: bool,
    since: Option<u64>,
    last: u64,
    past: u64,
    entries: u64,
}

impl NoAllocateMode {
    /// A mode that begins with `evictions` (at least 1) within `window` and ends after `quiet` without one.
    pub fn new(evictions: usize, window: u64, quiet: u64) -> Self {
        let recent = vec![u64::MAX; evictions.max(1)];
        Self { recent, at: 0, window, quiet, enabled: true, since: None, last: 0, past: 0, entries: 0 }
    }

    /// Allows or forbids the mode.
    pub fn set_enabled(&mut self, enabled: bool, now: u64) {
        self.leave_if_quiet(now);
        if !enabled && let Some(since) = self.since.take() {
            self.past += now - since;
        }
        self.enabled = enabled;
    }

    /// The filter evicted a line.
    #[inline(always)]
    pub fn evicted(&mut self, now: u64) {
        self.leave_if_quiet(now);
        self.recent[self.at] = now;
        self.at = if self.at + 1 == self.recent.len() { 0 } else { self.at + 1 };
        self.last = now;
        let oldest = self.recent[self.at];
        if self.enabled && self.since.is_none() && oldest != u64::MAX && now - oldest <= self.window {
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
    pub fn is_on(&mut self, now: u64) -> bool {
        self.leave_if_quiet(now);
        self.since.is_some()
    }

    fn leave_if_quiet(&mut self, now: u64) {
        if let Some(since) = self.since
            && now > self.last + self.quiet
        {
            self.past += self.last + self.quiet - since;
            self.since = None;
        }
    }

    /// How long the mode was on up to `now`, and how often it began.
    pub fn totals(&self, now: u64) -> (u64, u64) {
        let current = self.since.map_or(0, |since| now.min(self.last + self.quiet) - since);
        (self.past + current, self.entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_begins_with_a_burst_and_ends_with_quiet() {
        let mut mode = NoAllocateMode::new(3, 100, 500);
        mode.evicted(1000);
        mode.evicted(1090);
        assert!(!mode.is_on(1090));
        // The third within 100 of the first would be at 1100; at 1101 it is too late, but 1090, 1101, 1190 are within.
        mode.evicted(1101);
        assert!(!mode.is_on(1101));
        mode.evicted(1190);
        assert!(mode.is_on(1190));
        mode.evicted(1400);
        assert!(mode.is_on(1900));
        assert!(!mode.is_on(1901));
        // From 1190 to 1400 + 500.
        assert_eq!(mode.totals(5000), (710, 1));
    }

    #[test]
    fn a_forbidden_mode_never_begins() {
        let mut mode = NoAllocateMode::new(1, 100, 500);
        mode.evicted(10);
        assert!(mode.is_on(10));
        mode.set_enabled(false, 50);
        mode.evicted(60);
        assert!(!mode.is_on(60));
        assert_eq!(mode.totals(60), (40, 1));
    }
}
