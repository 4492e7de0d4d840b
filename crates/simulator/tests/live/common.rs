//! Platforms, workloads and a log of samples.

use waykeeper_platform::{Platform, find_bundled};
use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Loop, Operation, Order, Pattern, TickBody};

pub const MICROSECOND: u64 = 1_000_000;
pub const MILLISECOND: u64 = 1_000_000_000;
pub const LINE: u64 = 64;

pub fn platform(name: &str) -> Platform {
    Platform::from_toml(find_bundled(name).unwrap().text, name).unwrap()
}

pub fn idle(name: &str, seed: u64) -> Engine {
    Engine::idle(&platform(name), seed).unwrap()
}

/// Samples as they come: core, ticks, count, time.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Log(pub Vec<(u32, u64, u64, u64)>);

impl SampleReceiver for Log {
    fn record(&mut self, _ticks: u64, _count: u64, _at_ps: u64) {
        panic!("an engine names the core");
    }

    fn record_of(&mut self, core: u32, ticks: u64, count: u64, at_ps: u64) {
        self.0.push((core, ticks, count, at_ps));
    }
}

impl Log {
    /// The mean of a core's samples.
    pub fn mean(&self, core: u32) -> f64 {
        let of_core = || self.0.iter().filter(|(at, ..)| *at == core);
        let ticks: u64 = of_core().map(|(_, ticks, count, _)| ticks * count).sum();
        ticks as f64 / of_core().map(|(_, _, count, _)| count).sum::<u64>() as f64
    }
}

pub fn target(core: u32, pattern: Pattern) -> Program {
    Program { core, pattern, role: Role::Target }
}

pub fn neighbour(core: u32, pattern: Pattern) -> Program {
    Program { core, pattern, role: Role::Neighbour }
}

/// Dependent loads over so many bytes.
pub fn chase(bytes: u64) -> Pattern {
    Pattern::Chase { elements: bytes / LINE, stride: LINE, order: Order::Random, batch: 64 }
}

/// Every line of so many bytes, in order.
pub fn stream(operation: Operation, bytes: u64) -> Pattern {
    Pattern::Walk {
        operation,
        outer: Loop { count: 1 << 20, stride: 0 },
        inner: Loop { count: bytes / LINE, stride: LINE },
    }
}

pub fn latency_loop() -> Pattern {
    Pattern::Tick { body: TickBody::Nothing }
}

/// Runs for so long from now on.
pub fn run(engine: &mut Engine, ps: u64) -> Log {
    let mut log = Log::default();
    engine.advance(engine.now_ps() + ps, &mut log);
    log
}

/// Everything outstanding has come, and writes that waited are done.
pub fn drain(engine: &mut Engine) {
    run(engine, 100 * MICROSECOND);
}
