//! Times of the system's clock as ticks of the counter.

use waykeeper_kernels::clock;

/// A moment in both clocks.
#[derive(Debug, Clone, Copy)]
pub struct Anchor {
    ticks: u64,
    raw_ns: i128,
    tick_ns: f64,
}

impl Anchor {
    /// Reads both clocks.
    pub fn new(tick_ns: f64) -> Self {
        let (ticks, raw_ns) = clock::paired_reading();
        Self { ticks, raw_ns, tick_ns }
    }

    /// Ticks of the counter at a time of `CLOCK_MONOTONIC_RAW`, nanoseconds.
    pub fn ticks(&self, raw_ns: u64) -> u64 {
        let since = (i128::from(raw_ns) - self.raw_ns) as f64 / self.tick_ns;
        self.ticks.saturating_add_signed(since as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::Anchor;

    #[test]
    fn times_before_and_after_the_anchor_are_ticks() {
        let anchor = Anchor { ticks: 1_000_000, raw_ns: 500_000, tick_ns: 0.5 };
        assert_eq!(anchor.ticks(500_100), 1_000_200);
        assert_eq!(anchor.ticks(499_900), 999_800);
        assert_eq!(anchor.ticks(0), 0);
    }
}
