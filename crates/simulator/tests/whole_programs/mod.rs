//! mser on the CD8180, pass by pass.

use waykeeper_platform::{CoreId, Platform, find_bundled};
use waykeeper_simulator::{Engine, SampleReceiver};
use waykeeper_workload::{CacheShape, CacheShapes, ImageSize, Pattern, ProgramName, Trace, Workload};

pub const MICROSECOND: u64 = 1_000_000;

/// Cores of the platform: one in order, and one out of order.
pub const IN_ORDER: CoreId = 1;
pub const OUT_OF_ORDER: CoreId = 11;

#[derive(Default)]
struct Log(Vec<u64>);

impl SampleReceiver for Log {
    fn record(&mut self, ticks: u64, count: u64, _at_ps: u64) {
        (0..count).for_each(|_| self.0.push(ticks));
    }
}

/// With a counter of a picosecond, so that nothing is rounded.
pub fn platform() -> Platform {
    let mut platform = Platform::from_toml(find_bundled("cd8180").unwrap().text, "platforms/cd8180.toml").unwrap();
    platform.counter.as_mut().unwrap().tick_ns.value = 0.001;
    platform
}

pub fn mser(size: ImageSize) -> Pattern {
    let caches = CacheShapes(vec![CacheShape { level: 1, size_bytes: 32 << 10, ways: 4, line_bytes: 64 }]);
    let (program, size) = (Some(ProgramName::Mser), Some(size));
    let trace = Trace { program, size, ..Trace::default() };
    Workload::Trace(trace).resolve(&caches).unwrap()
}

/// The sample of a pass, from 0 on.
pub fn sample(engine: &mut Engine, pass: usize) -> u64 {
    let mut log = Log::default();
    for slice in 1..10_000 {
        engine.advance(slice * 100 * MICROSECOND, &mut log);
        if let Some(ticks) = log.0.get(pass) {
            return *ticks;
        }
    }
    panic!("pass {pass} did not end in a second");
}
