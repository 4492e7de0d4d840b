//! The programmed times of a periodic thread, one period after the other.

/// Programmed times, nanoseconds of CLOCK_MONOTONIC. The grid stays the same, however late the thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Releases {
    period_ns: i64,
    next_ns: i64,
}

impl Releases {
    /// The first is one period from now.
    pub fn from(now_ns: i64, period_ns: i64) -> Self {
        Self { period_ns, next_ns: now_ns.saturating_add(period_ns) }
    }

    /// The next one.
    pub fn next_ns(&self) -> i64 {
        self.next_ns
    }

    /// Goes past so many.
    pub fn advance(&mut self, releases: u64) {
        let releases = i64::try_from(releases).unwrap_or(i64::MAX);
        self.next_ns = self.next_ns.saturating_add(self.period_ns.saturating_mul(releases));
    }

    /// Goes past all that are not after `now_ns`. Returns how many those were.
    pub fn skip(&mut self, now_ns: i64) -> u64 {
        if now_ns < self.next_ns {
            return 0;
        }
        let passed = ((now_ns - self.next_ns) / self.period_ns + 1) as u64;
        self.advance(passed);
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_in_time_skips_none_and_one_that_is_late_skips_those_that_passed() {
        let mut releases = Releases::from(0, 100);
        assert_eq!(releases.next_ns(), 100);
        let mut ready = |now| {
            releases.advance(1);
            (releases.skip(now), releases.next_ns())
        };
        // Ready for 200 at 150, and for 300 at 299.
        assert_eq!(ready(150), (0, 200));
        assert_eq!(ready(299), (0, 300));
        // Ready for 400 at 400: that one has passed, as a sleep until then would not sleep.
        assert_eq!(ready(400), (1, 500));
        // Ready for 600 at 850: 600, 700 and 800 have passed.
        assert_eq!(ready(850), (3, 900));
    }

    #[test]
    fn times_beyond_the_clock_are_never_reached() {
        let mut releases = Releases::from(i64::MAX - 10, 100);
        assert_eq!((releases.skip(i64::MAX - 1), releases.next_ns()), (0, i64::MAX));
        releases.advance(u64::MAX);
        assert_eq!(releases.next_ns(), i64::MAX);
    }
}
