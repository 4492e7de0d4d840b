//! Where the samples of targets go.

use waykeeper_platform::CoreId;

/// Receives the targets' samples.
pub trait SampleReceiver {
    /// `count` consecutive samples of `ticks` counter ticks each, the last of them ending at `at_ps`.
    ///
    /// A quiet stretch of a `tick` workload has two neighbouring values in turn, because the pass is no multiple of the
    /// counter's tick: it is reported as one call for each value, both with the end of the stretch.
    fn record(&mut self, ticks: u64, count: u64, at_ps: u64);

    /// The same with the core of the target; what an engine calls. Where there is one target at a time, the core need not
    /// be looked at.
    fn record_of(&mut self, core: CoreId, ticks: u64, count: u64, at_ps: u64) {
        let _ = core;
        self.record(ticks, count, at_ps);
    }
}

/// Drops all samples.
#[derive(Debug, Default)]
pub struct Discard;

impl SampleReceiver for Discard {
    fn record(&mut self, _ticks: u64, _count: u64, _at_ps: u64) {}
}
