//! Where the target's samples go.

/// Receives the target's samples.
pub trait Samples {
    /// `count` consecutive samples of `ticks` counter ticks each, the last of them ending at `at_ps`.
    ///
    /// A quiet stretch of a `tick` workload has two neighbouring values in turn, because the pass is no multiple of the
    /// counter's tick: it is given as one call for each value, both with the end of the stretch.
    fn record(&mut self, ticks: u64, count: u64, at_ps: u64);
}

/// Drops the samples of a neighbour.
#[derive(Debug, Default)]
pub struct Discard;

impl Samples for Discard {
    fn record(&mut self, _ticks: u64, _count: u64, _at_ps: u64) {}
}
