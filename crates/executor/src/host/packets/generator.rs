//! The generator of sensor packets: a command, here or on another machine, that ends by itself and then says what it saw.

use std::io::{PipeReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use waykeeper_linux::schedule;
use waykeeper_linux::thread::spawn;
use waykeeper_packets::interface::NetInterface;
use waykeeper_packets::record::GenerateRecord;
use waykeeper_platform::explain::read_json_text;
use waykeeper_run::{GeneratorAccount, LatePacket};
use waykeeper_workload::Pattern;

use super::super::command::External;
use super::super::job::Job;
use super::super::target::WARM_UP_NS;

/// What it says is some kilobytes; with a histogram a megabyte.
const LONGEST_ANSWER: u64 = 64 << 20;

/// It ends this much before the last sample, so that the answers to its last packets are samples too, nanoseconds.
const SPARE_NS: f64 = 50e6;

/// The shortest time for which it sends, nanoseconds.
const SHORTEST_NS: f64 = 50e6;

/// A generator: behind its guardian, and not started yet.
pub struct Generator {
    name: String,
    /// The core that it is started on; a command that reaches another machine leaves it.
    core: u32,
    external: External,
    output: Option<PipeReader>,
    ended: Arc<AtomicBool>,
    answer: Option<JoinHandle<String>>,
}

/// How a generator ended.
#[derive(Debug)]
pub enum GeneratorEnd {
    /// It said what it saw.
    Said(Box<GeneratorAccount>),
    /// It failed, or still runs: why.
    Failed(String),
}

impl Generator {
    /// Prepares the generator of the job's target, where it has one: before memory is laid out, for its guardian is a fork.
    ///
    /// # Errors
    /// An interface that is not there, or a program that cannot be started.
    pub fn prepare(job: &Job) -> Result<Option<Self>, String> {
        let Pattern::Packets { link, sensor, .. } = &job.target.pattern else { return Ok(None) };
        let Some(name) = sensor.generator.first() else { return Ok(None) };
        let interface = NetInterface::find(&link.interface).map_err(|error| error.to_string())?;
        let observed_ns = job.duration_ticks as f64 * job.tick_ns + WARM_UP_NS;
        let whole = |ns: f64| format!("{}ns", ns.max(1.0) as u64);
        let mut argv = sensor.generator.clone();
        argv.extend(["--period".into(), whole(sensor.period_ns), "--deadline".into(), whole(sensor.deadline_ns)]);
        argv.extend(["--duration".into(), whole((observed_ns - SPARE_NS).max(SHORTEST_NS).max(sensor.period_ns))]);
        argv.extend(["--peer".into(), interface.mac.to_string(), "--size".into(), link.payload.to_string()]);
        argv.push("--json".into());
        let core = core_beside(job.target.core);
        let (external, output) = External::prepare_speaking(&argv, core, job.parent)?;
        let (name, ended) = (name.clone(), Arc::default());
        Ok(Some(Self { name, core, external, output: Some(output), ended, answer: None }))
    }

    /// Starts it.
    ///
    /// # Errors
    /// A program that cannot be started.
    pub fn start(&mut self) -> Result<(), String> {
        self.external.go().map_err(|error| error.to_string())?;
        let (ended, output) = (Arc::clone(&self.ended), self.output.take());
        let read = move || {
            let mut text = Vec::new();
            let _ = output.map(|output| output.take(LONGEST_ANSWER).read_to_end(&mut text));
            ended.store(true, Ordering::Relaxed);
            String::from_utf8_lossy(&text).into_owned()
        };
        self.answer = Some(spawn("generator", read).map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Set as soon as it has said everything.
    pub fn ended(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.ended)
    }

    /// What it said, where it has ended.
    pub fn end(mut self) -> GeneratorEnd {
        if !self.ended.load(Ordering::Relaxed) {
            return GeneratorEnd::Failed(format!("the generator `{}` had not ended seconds after its time", self.name));
        }
        let text = self.answer.take().and_then(|answer| answer.join().ok()).unwrap_or_default();
        let how = self.external.wait(Duration::from_secs(1));
        match read_json_text::<GenerateRecord>(text.as_bytes()) {
            Ok(said) => GeneratorEnd::Said(Box::new(account(said, self.core))),
            Err(_) if text.trim().is_empty() => {
                let how = how.map_or("it closed its standard output".into(), |ended| match ended {
                    Ok(_) => "it ended without a result".to_owned(),
                    Err(_) => "its guardian was killed".to_owned(),
                });
                GeneratorEnd::Failed(format!("the generator `{}`: {}", self.name, self.external.with_last_words(how)))
            }
            Err(error) => GeneratorEnd::Failed(format!(
                "the generator `{}` printed something that is no result of `waykeeper rtcp generate --json` of this version ({error})",
                self.name
            )),
        }
    }
}

/// `started_on` is its core where it ran on this machine and chose none itself.
fn account(said: GenerateRecord, started_on: u32) -> GeneratorAccount {
    let round_trip = said.figures.iter().find(|figure| figure.what == "round trip");
    let late = said.late.iter().map(|late| LatePacket {
        cycle: late.cycle,
        at_s: late.at_s,
        round_trip_ns: late.round_trip_ns,
    });
    let is_here = said.boot_id.is_some() && said.boot_id == waykeeper_linux::boot_id();
    GeneratorAccount {
        core: is_here.then(|| said.thread.core.unwrap_or(started_on)),
        period_ns: said.period_ns,
        deadline_ns: said.deadline_ns,
        path: said.path.to_string(),
        sent: said.counts.sent,
        answered: said.counts.answered,
        lost: said.counts.lost,
        late: said.counts.late,
        doubled: said.counts.doubled,
        reordered: said.counts.reordered,
        missed_periods: said.counts.missed_periods,
        round_trip_min_ns: round_trip.and_then(|figure| figure.min_ns),
        round_trip_mean_ns: round_trip.and_then(|figure| figure.mean_ns),
        round_trip_max_ns: round_trip.and_then(|figure| figure.max_ns),
        late_cycles: late.collect(),
    }
}

/// A core that is not the target's, where there is one: a generator on this machine must not take the core whose answers count.
fn core_beside(target: u32) -> u32 {
    schedule::allowed().into_iter().find(|core| *core != target).unwrap_or(target)
}
