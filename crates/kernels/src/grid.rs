//! Times at which a periodic loop is released, in ticks of the counter and parts of them.

/// Parts of a tick: so many bits.
const FRACTION_BITS: u32 = 64;

/// Releases so long after a common start, and a whole number of periods later: in 2^-64 ticks, so that nothing adds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReleaseGrid {
    start: u64,
    offset: u128,
    period: u128,
}

/// A time of the counter: whole ticks, and 2^-64 ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Release {
    pub ticks: u64,
    pub fraction: u64,
}

impl Release {
    fn new(parts: u128) -> Self {
        Self { ticks: (parts >> FRACTION_BITS) as u64, fraction: parts as u64 }
    }
}

/// Nanoseconds in 2^-64 ticks; the longest time that fits for more.
fn parts(ns: f64, frequency_hz: f64) -> u128 {
    (ns * 1e-9 * frequency_hz * f64::from(FRACTION_BITS).exp2()) as u128
}

impl ReleaseGrid {
    /// Periods of so many nanoseconds on a counter of this frequency; the first release is `offset_ns` after the counter reads
    /// `start`.
    pub fn new(start: u64, offset_ns: f64, period_ns: f64, frequency_hz: f64) -> Self {
        let period = parts(period_ns, frequency_hz).max(1 << FRACTION_BITS);
        Self { start, offset: parts(offset_ns, frequency_hz), period }
    }

    /// The same from another start.
    #[must_use]
    pub fn starting_at(self, start: u64) -> Self {
        Self { start, ..self }
    }

    /// The first release that is not past when the counter reads `now`.
    pub fn at_or_after(&self, now: u64) -> Release {
        let start = u128::from(self.start) << FRACTION_BITS;
        let first = start.saturating_add(self.offset);
        let since = (u128::from(now) << FRACTION_BITS).saturating_sub(first);
        Release::new(first.saturating_add(since.div_ceil(self.period).saturating_mul(self.period)))
    }

    /// The time between two releases.
    pub fn period(&self) -> Release {
        Release::new(self.period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_whole_periods_after_the_start_and_the_offset() {
        // At 1 GHz a tick is a nanosecond: 1000 + 250 + k * 1000.
        let grid = ReleaseGrid::new(1000, 250.0, 1000.0, 1e9);
        for (now, expected) in [(0, 1250), (1250, 1250), (1251, 2250), (2250, 2250), (1_000_000, 1_000_250)] {
            assert_eq!(grid.at_or_after(now).ticks, expected, "{now}");
        }
        assert_eq!(grid.starting_at(5000).at_or_after(0).ticks, 5250);
    }

    #[test]
    fn two_loops_are_an_offset_apart_after_any_number_of_periods() {
        // 100 us at 2.4 GHz and a third are 240 000 ticks and 33 333.3...: half a period is 120 016 666.6... thousandths.
        let frequency = 2_400_333_333.333;
        let [first, second] = [0.0, 50_000.0].map(|offset| ReleaseGrid::new(77, offset, 100_000.0, frequency));
        let apart = 50_000.0 * 1e-9 * frequency;
        for periods in [0u64, 1, 1000, 1_000_000_000] {
            let now = 77 + (periods as f64 * 1e-4 * frequency) as u64;
            let one = first.at_or_after(now);
            let other = second.at_or_after(one.ticks);
            let ticks = (other.ticks - one.ticks) as f64;
            assert!((ticks - apart).abs() <= 1.0, "after {periods} periods: {ticks} for {apart}");
        }
    }

    #[test]
    fn times_beyond_the_counter_are_never_reached() {
        let grid = ReleaseGrid::new(u64::MAX - 10, 0.0, 1e18, 4e9);
        assert_eq!(grid.at_or_after(u64::MAX).ticks, u64::MAX);
    }
}
