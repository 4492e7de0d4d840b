//! Hardware counters of the calling thread, where the kernel gives them. On ARMv7 there are none: the library that opens them
//! knows no kernel of 32 bits.

use std::collections::BTreeMap;

#[cfg(not(target_arch = "arm"))]
use perf_event::{Builder, Counter, events::Hardware};

/// Running counters; those that the kernel refused are not among them.
#[cfg(not(target_arch = "arm"))]
#[derive(Debug)]
pub struct PerfCounters(Vec<(&'static str, Counter)>);

#[cfg(not(target_arch = "arm"))]
const EVENTS: [(&str, Hardware); 4] = [
    ("cycles", Hardware::CPU_CYCLES),
    ("instructions", Hardware::INSTRUCTIONS),
    ("llc_references", Hardware::CACHE_REFERENCES),
    ("llc_misses", Hardware::CACHE_MISSES),
];

#[cfg(not(target_arch = "arm"))]
impl PerfCounters {
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

/// No counters.
#[cfg(target_arch = "arm")]
#[derive(Debug)]
pub struct PerfCounters;

#[cfg(target_arch = "arm")]
impl PerfCounters {
    /// Starts nothing.
    pub fn start() -> Self {
        Self
    }

    /// No values.
    pub fn stop(self) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
}
