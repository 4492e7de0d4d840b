//! A backing in which nothing happens but what is asked: for platforms that nothing runs on, and for tests of the files.

use std::collections::BTreeMap;

use waykeeper_platform::CoreId;

use crate::backing::{Backing, ControlChange, CoreCounts, MonitorCounts, SampleSink, Work};

/// Time passes, and every core that runs something occupies and moves bytes for its monitor at a steady rate.
#[derive(Debug, Default)]
pub struct Still {
    now_ps: u64,
    running: BTreeMap<CoreId, Work>,
    assigned: BTreeMap<CoreId, u8>,
    counted: BTreeMap<u8, MonitorCounts>,
    /// Regions and memories that were given out.
    regions: u64,
}

/// Bytes to memory in a simulated microsecond.
const RATE: u64 = 4096;

impl Backing for Still {
    fn advance(&mut self, until_ps: u64, sink: &mut dyn SampleSink) {
        let passed = until_ps.saturating_sub(self.now_ps) / 1_000_000;
        for (core, work) in &self.running {
            let monitor = self.assigned.get(core).copied().unwrap_or(0);
            let counted = self.counted.entry(monitor).or_default();
            counted.total_bytes += passed * RATE;
            counted.local_bytes += passed * RATE;
            counted.occupancy_bytes = 1 << 20;
            if work.watched && passed > 0 {
                sink.record(*core, 100, passed);
            }
        }
        self.now_ps = self.now_ps.max(until_ps);
    }

    fn now_ps(&self) -> u64 {
        self.now_ps
    }

    fn tick_ns(&self) -> f64 {
        1.0
    }

    fn start(&mut self, work: &Work) -> Result<(), String> {
        if self.running.contains_key(&work.core) {
            return Err(format!("core {} runs something already", work.core));
        }
        self.running.insert(work.core, work.clone());
        Ok(())
    }

    fn stop(&mut self, core: CoreId) -> Result<(), String> {
        self.running.remove(&core).map(|_| ()).ok_or_else(|| format!("nothing runs on core {core}"))
    }

    fn set(&mut self, control: ControlChange) -> Result<(), String> {
        if let ControlChange::Assign { core, monitor, .. } = control {
            self.assigned.insert(core, monitor);
        }
        Ok(())
    }

    fn lock(&mut self, _level: u8, _core: CoreId, _ways: u32) -> Result<u64, String> {
        self.regions += 1;
        Ok(self.regions)
    }

    fn unlock(&mut self, _region: u64) -> Result<(), String> {
        Ok(())
    }

    fn give(&mut self, _core: CoreId, _bytes: u64) -> Result<u64, String> {
        self.regions += 1;
        Ok(self.regions)
    }

    fn take_back(&mut self, _memory: u64) -> Result<(), String> {
        Ok(())
    }

    fn monitored(&self, _level: u8, _core: CoreId, monitor: u8) -> MonitorCounts {
        self.counted.get(&monitor).copied().unwrap_or_default()
    }

    fn counts(&self, _core: CoreId) -> CoreCounts {
        CoreCounts::default()
    }

    fn monitors(&self) -> u8 {
        64
    }
}
