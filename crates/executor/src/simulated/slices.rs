//! Simulated time in slices, so that Ctrl-C and whoever looks meanwhile get their turn.

use std::sync::atomic::{AtomicBool, Ordering};

use waykeeper_experiment::cases::Case;
use waykeeper_run::samples::Collector;
use waykeeper_simulator::Engine;

/// Advances in slices until a time or a stop; returns the time reached.
pub(crate) fn advance(
    engine: &mut Engine,
    from_ps: u64,
    until_ps: u64,
    stop: &AtomicBool,
    samples: &mut dyn waykeeper_simulator::SampleReceiver,
) -> u64 {
    let mut now = from_ps;
    while now < until_ps && !stop.load(Ordering::Relaxed) {
        now = (now + SLICE_PS).min(until_ps);
        engine.advance(now, samples);
    }
    now
}

/// Samples of the warm-up.
pub(crate) struct Nothing;

impl waykeeper_simulator::SampleReceiver for Nothing {
    fn record(&mut self, _: u64, _: u64, _: u64) {}
}

/// The engine is asked to stop after this much simulated time, so that Ctrl-C and the collector get their turn.
const SLICE_PS: u64 = 1_000_000_000;

/// A pass that is measured in windows takes little more simulated time than its warm-ups: a slice is shorter than that, as
/// going through a pass that is not wanted costs as much as one that is.
pub(super) fn slice_ps(case: &Case) -> u64 {
    match case.sampled {
        None => SLICE_PS,
        Some(sampling) => {
            ((sampling.windows as f64 * sampling.warm_up.0 * 1e3 / 4.0) as u64).clamp(10_000_000, SLICE_PS)
        }
    }
}

/// Hands the engine's samples to the collector, so many at most, with times from the end of the warm-up.
pub(super) struct Collecting<'c> {
    pub collector: &'c mut Collector,
    pub warm: u64,
    pub most: u64,
}

impl waykeeper_simulator::SampleReceiver for Collecting<'_> {
    fn record(&mut self, ticks: u64, count: u64, at_ps: u64) {
        let count = count.min(self.most.saturating_sub(self.collector.count()));
        if count > 0 {
            self.collector.record(ticks, count, at_ps.saturating_sub(self.warm));
        }
    }
}

/// The longest slice where nearly all of its time is skipped. Each begins with steps in full, so that short ones take most
/// of the time then; the next one is short again where less was skipped, so that Ctrl-C never waits long.
const LONGEST_SLICE_PS: u64 = 64 * SLICE_PS;

/// How long the next slice is, from the shortest one, the last one and what was skipped of that.
pub(super) fn next_slice(shortest_ps: u64, last_ps: u64, skipped_ps: u64) -> u64 {
    let nearly_all = last_ps - last_ps / 64;
    if skipped_ps >= nearly_all { (2 * last_ps).min(LONGEST_SLICE_PS) } else { shortest_ps }
}
