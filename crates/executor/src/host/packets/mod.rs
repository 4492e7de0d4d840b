//! A control loop between sensor and actuator packets as target, and the generator that plays the sensor.

mod generator;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use waykeeper_kernels::{Recorder, clock};
use waykeeper_packets::control_loop::{ControlCycle, ControlLoop, Served};
use waykeeper_packets::frame::WorkOfResponder;
use waykeeper_packets::role::RoleError;
use waykeeper_run::PacketRecord;
use waykeeper_workload::{PacketLink, PacketWait};

use super::program::Runner;
use super::woken::record;
use super::woken::rest::{Rest, Resting};
use super::woken::time::{now_ns, until_reading_ns};

pub use generator::{Generator, GeneratorEnd};

/// The thread looks at its stop flag this often.
const LOOK_NS: i64 = 50_000_000;

/// After the last sample, packets are answered until the generator has ended, and no longer than this: it waits a second for
/// answers that are lost, and over a network it takes time to start.
pub const LINGER: Duration = Duration::from_secs(15);

/// The control loop.
pub struct PacketLoop {
    control: ControlLoop,
    body: Option<Box<Runner>>,
    instructions: u64,
    bytes: u64,
    tick_ns: f64,
    resting: Resting,
    sleeps: bool,
    /// What the system said when the interface took no packets any more.
    lost: Option<String>,
}

impl PacketLoop {
    /// Opens the interface. The calling thread is the one that serves.
    ///
    /// # Errors
    /// An interface or a path that cannot be used.
    pub fn open(link: &PacketLink, body: Option<Runner>, instructions: u64, bytes: u64) -> Result<Self, RoleError> {
        let control = ControlLoop::open(link, WorkOfResponder { instructions, bytes, path: 0 })?;
        let tick_ns = 1e9 / clock::frequency_hz();
        let sleeps = link.wait == PacketWait::Interrupt;
        let (body, resting) = (body.map(Box::new), Resting::default());
        Ok(Self { control, body, instructions, bytes, tick_ns, resting, sleeps, lost: None })
    }

    /// Sleeps of the thread's own will so far.
    pub fn rest(&self) -> Rest {
        self.resting.rest()
    }

    /// Answers until the counter reads `deadline` or `stop` is set, and records each cycle.
    pub fn run_target(&mut self, recorder: &mut Recorder, deadline: u64, stop: &AtomicU32) {
        let ends = now_ns().saturating_add(until_reading_ns(deadline, self.tick_ns));
        let tick_ns = self.tick_ns;
        self.serve_until(ends, &|| stop.load(Ordering::Relaxed) != 0, |cycle| {
            record(recorder, cycle.seen_ns, cycle.sent_ns, tick_ns);
        });
        recorder.close_cluster();
    }

    /// Answers without samples until the generator has ended: what is lost or late is then no work of the measurement's own end.
    pub fn linger(&mut self, generator_ended: &AtomicBool, stop: &AtomicU32) {
        let begun = Instant::now();
        let done =
            || generator_ended.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed) != 0 || begun.elapsed() > LINGER;
        self.serve_until(i64::MAX, &done, |_| {});
    }

    fn serve_until(&mut self, ends: i64, done: &dyn Fn() -> bool, mut served: impl FnMut(ControlCycle)) {
        while self.lost.is_none() {
            match self.serve_once(ends, done, &mut served) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => self.lost = Some(error.to_string()),
            }
        }
        self.resting.end();
    }

    /// Answers what has come, and waits for more; false at the end.
    fn serve_once(
        &mut self,
        ends: i64,
        done: &dyn Fn() -> bool,
        served: &mut impl FnMut(ControlCycle),
    ) -> std::io::Result<bool> {
        loop {
            let mut compute = self.body.as_mut().map(|body| || body.run_pass());
            match self.control.serve(compute.as_mut().map(|compute| compute as &mut dyn FnMut()))? {
                Served::Nothing => break,
                Served::Other => {}
                Served::Cycle(cycle) => served(cycle),
            }
        }
        let now = now_ns();
        if done() || now >= ends {
            return Ok(false);
        }
        let most = Duration::from_nanos((ends - now).min(LOOK_NS) as u64);
        if !self.sleeps {
            self.control.pass_time(most)?;
            return Ok(true);
        }
        self.resting.begin();
        let begins = now_ns();
        self.control.pass_time(most)?;
        self.resting.add(begins, now_ns());
        Ok(true)
    }

    /// What was counted so far, and why the repeat does not count, where the interface went away.
    pub fn account(&mut self) -> (PacketRecord, Option<String>) {
        let counts = self.control.counts();
        let record = PacketRecord {
            path: self.control.path_in_use().to_string(),
            instructions: (self.instructions > 0).then_some(self.instructions),
            bytes: self.bytes,
            received: counts.received,
            doubled: counts.doubled,
            reordered: counts.reordered,
            missing: counts.missing,
            refused: counts.refused,
            ignored: self.control.strangers().all(),
            dropped: self.control.drops().map(|drops| drops.ring_full + drops.other),
            generator: None,
        };
        let name = &self.control.interface().name;
        let lost = self.lost.as_ref().map(|error| format!("`{name}` takes no packets any more: {error}"));
        (record, lost)
    }
}
