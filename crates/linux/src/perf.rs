//! Hardware counters of the calling thread, where the kernel gives them.

use std::collections::BTreeMap;

use perf_event::events::Hardware;
use perf_event::{Builder, Counter};

/// Running counters; those that the kernel refused are not among them.
#[derive(Debug)]
pub struct Counters(Vec<(&'static str, Counter)>);

const EVENTS: [(&str, Hardware); 4] = [
    ("cycles", Hardware::CPU_CYCLES),
    ("instructions", Hardware::INSTRUCTIONS),
    ("llc_references", Hardware::CACHE_REFERENCES),
    ("llc_misses", Hardware::CACHE_MISSES),
];

impl Counters {
    /// Starts what can be started. Never fails: absent counters are absent.
    pub fn start() -> Self {
        let counters = EVENTS.into_iter().filter_map(|(name, event)| {
            let mut counter = Builder::new(event).observe_self().any_cpu().build().ok()?;
            counter.enable().ok()?;
            Some((name, counter))
        });
        Self(counters.collect())
    }

    /// Stops them and gives their values by name.
    pub fn stop(mut self) -> BTreeMap<String, u64> {
        let read = self.0.iter_mut().filter_map(|(name, counter)| {
            counter.disable().ok()?;
            Some(((*name).to_owned(), counter.read().ok()?))
        });
        read.collect()
    }
}
