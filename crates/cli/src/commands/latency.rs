//! Whose latency is watched: a loop on this machine.

use std::path::Path;
use std::time::Instant;

use waykeeper_executor::{ExecutorError, LiveTarget, Recent};
use waykeeper_experiment::InputError;
use waykeeper_experiment::site::cache_shapes;
use waykeeper_linux::{Root, discover};
use waykeeper_platform::explain::read_toml_text;
use waykeeper_platform::{format_cpulist, read_text};
use waykeeper_report::live::TargetLook;
use waykeeper_room::Load;
use waykeeper_room::socket::client::Client;
use waykeeper_room::socket::protocol::{Latency as Latencies, LoadStatus, Start};
use waykeeper_workload::{Pattern, Workload};

use super::load::refused;

use crate::failure::Failure;

/// Where the kernel has the devices of pseudo-locked regions.
const PSEUDO_LOCK: &str = "/dev/pseudo_lock";

/// Where figures of a target come from.
pub enum Latency {
    /// Nowhere: only groups are looked at.
    None(Instant),
    /// A loop of this program's own.
    Here { begun: Instant, name: String, target: LiveTarget },
    /// A room's target: one that this program started, or the first that it has.
    Room { client: Box<Client>, target: Option<u64>, sample_reads: u64 },
}

/// What a source says at one time.
pub struct Reading {
    /// What is looked at.
    pub machine: String,
    /// The machine's own time, seconds.
    pub at_s: f64,
    /// The target since the last time.
    pub target: Option<TargetLook>,
}

impl Latency {
    /// A target `WORKLOAD@CORE` that is started here, or none.
    ///
    /// # Errors
    /// A target that cannot be run here.
    pub fn of(target: Option<&str>, region: Option<&str>, root: Option<&Path>) -> Result<Self, Failure> {
        let begun = Instant::now();
        let mut room = waykeeper_room::guest::client()?;
        let Some(text) = target else {
            let in_room = room.map(|client| Self::Room { client: Box::new(client), target: None, sample_reads: 0 });
            return Ok(in_room.unwrap_or(Self::None(begun)));
        };
        let refuse = |why: String| Failure::from(InputError::in_option(format!("--target {text}"), why));
        if root.is_some() {
            return Err(refuse("the target runs on this machine, not in the files below --root".into()));
        }
        // One core, as a load that is a target has.
        let Load { workload, cores, .. } = Load::parse(&format!("target:{text}")).map_err(|bad| refuse(bad.why))?;
        let (name, core) = (workload.as_str(), cores[0]);
        let pattern = timed(name, core).map_err(refuse)?;
        if let Some(client) = &mut room {
            let start = Start { target: true, region: region.map(str::to_owned), ..Start::task(name, pattern, core) };
            let target = Some(client.start(start).map_err(refused)?);
            return Ok(room.map_or(Self::None(begun), |client| Self::Room {
                client: Box::new(client),
                target,
                sample_reads: 0,
            }));
        }
        let target = LiveTarget::start(pattern, core, region.map(|name| Path::new(PSEUDO_LOCK).join(name)))
            .map_err(ExecutorError::Refused)?;
        Ok(Self::Here { begun, name: format!("{name} on core {core}"), target })
    }

    /// Whether there is a target.
    pub fn is_some(&self) -> bool {
        !matches!(self, Self::None(_))
    }

    /// What the target did since the last time.
    ///
    /// # Errors
    /// A target that is gone.
    pub fn take(&mut self) -> Result<Reading, Failure> {
        let machine = "this machine".to_owned();
        Ok(match self {
            Self::None(begun) => Reading { machine, at_s: begun.elapsed().as_secs_f64(), target: None },
            Self::Here { begun, name, target } => {
                let recent = target.take();
                Reading { machine, at_s: begun.elapsed().as_secs_f64(), target: Some(look(name, &recent)) }
            }
            Self::Room { client, target, sample_reads } => {
                let status = client.status().map_err(refused)?;
                let mut loads = status.loads.iter();
                let load = loads.find(|load| target.map_or(load.target, |id| load.id == id));
                Reading {
                    machine: format!("room of {}, {:.3} of real time", status.platform, status.speed),
                    at_s: status.now_ns / 1e9,
                    target: load.map(|load| simulated(load, status.tick_ns, sample_reads)),
                }
            }
        })
    }
}

fn look(name: &str, recent: &Recent) -> TargetLook {
    let any = recent.samples > 0;
    TargetLook {
        name: name.to_owned(),
        samples: recent.samples,
        mean_ns: any.then(|| recent.sum_ns / recent.samples as f64),
        min_ns: any.then_some(recent.min_ns),
        max_ns: any.then_some(recent.max_ns),
        misses_per_sample: None,
    }
}

/// `sample_reads` is how many lines its samples had read from memory at the look before.
fn simulated(load: &LoadStatus, tick_ns: f64, sample_reads: &mut u64) -> TargetLook {
    let latency = load.latency.as_ref();
    let ns = |ticks: fn(&Latencies) -> f64| latency.map(|latency| ticks(latency) * tick_ns);
    let samples = latency.map_or(0, |latency| latency.count);
    let reads = load.counted.sample_reads;
    let misses = reads.checked_sub(*sample_reads).filter(|_| samples > 0).map(|reads| reads as f64 / samples as f64);
    *sample_reads = reads;
    TargetLook {
        name: format!("{} on core {}", load.name, load.core),
        samples,
        mean_ns: ns(|latency| latency.mean),
        min_ns: ns(|latency| latency.min as f64),
        max_ns: ns(|latency| latency.max as f64),
        misses_per_sample: misses,
    }
}

/// A bundled workload or a file of one, with the sizes that this machine's caches give it.
///
/// # Errors
/// A workload that does not exist or does not fit here, or a core that is not there.
pub fn pattern(name: &str, core: u32) -> Result<Pattern, String> {
    let text = match waykeeper_workload::find_bundled(name) {
        Some(bundled) => bundled.text.to_owned(),
        None if Path::new(name).extension().is_some_and(|ending| ending == "toml") => {
            read_text(name).map_err(|error| format!("{name}: {error}"))?
        }
        None => {
            let known: Vec<_> = waykeeper_workload::bundled().iter().map(|bundled| bundled.name).collect();
            return Err(format!(
                "no workload is called `{name}`; expected a .toml file or one of {}",
                known.join(", ")
            ));
        }
    };
    let workload: Workload = read_toml_text(&text).map_err(|why| format!("{name}: {why}"))?;
    let found = discover(&Root::default()).map_err(|error| error.to_string())?;
    if found.platform.core_kind(core).is_none() {
        let cores = format_cpulist(&found.platform.core_ids());
        return Err(format!("found core {core}, which this machine does not have; expected {cores}"));
    }
    workload
        .resolve(&cache_shapes(&found.platform, core))
        .map_err(|refused| format!("workload `{name}` does not fit here: {}: {}", refused.key, refused.why))
}

/// The same for a target.
fn timed(name: &str, core: u32) -> Result<Pattern, String> {
    match pattern(name, core)? {
        Pattern::Command { .. } => Err(format!(
            "`{name}` is an external program, whose passes are not shown live; expected a timed loop, or \
             `waykeeper run -- PROGRAM`, which measures it"
        )),
        pattern => Ok(pattern),
    }
}
