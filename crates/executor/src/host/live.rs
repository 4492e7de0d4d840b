//! Workloads that run on and on: a target that reports now and then what its samples were like, and neighbours.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use waykeeper_kernels::{AccessCounter, Recorder, clock};
use waykeeper_linux::memory::{Mapping, Pages};
use waykeeper_linux::schedule;
use waykeeper_linux::thread::spawn;
use waykeeper_workload::Pattern;

use super::command::External;
use super::program::Runner;

/// Samples are handed over this often.
const SLICE_NS: f64 = 20e6;

/// Samples since they were last asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Recent {
    /// How many.
    pub samples: u64,
    /// Their sum, nanoseconds.
    pub sum_ns: f64,
    /// The shortest, nanoseconds; of no meaning without samples.
    pub min_ns: f64,
    /// The longest, nanoseconds; of no meaning without samples.
    pub max_ns: f64,
}

impl Recent {
    fn add(&mut self, recorder: &Recorder, tick_ns: f64) {
        let (Some(min), Some(max)) = (recorder.min(), recorder.max()) else { return };
        let (min, max) = (min as f64 * tick_ns, max as f64 * tick_ns);
        self.min_ns = if self.samples == 0 { min } else { self.min_ns.min(min) };
        self.max_ns = if self.samples == 0 { max } else { self.max_ns.max(max) };
        self.samples += recorder.samples();
        self.sum_ns += recorder.sum() as f64 * tick_ns;
    }
}

/// A thread that runs a target. It ends with this value.
#[derive(Debug)]
pub struct LiveTarget {
    recent: Arc<Mutex<Recent>>,
    stop: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

impl LiveTarget {
    /// Starts a workload on a core, with ordinary priority: a real-time loop that never ends would starve the core. Its
    /// memory is its own, or lies in a region that a cache holds, by the region's device.
    ///
    /// # Errors
    /// A core or memory that is unavailable, or a workload that cannot run here.
    pub fn start(pattern: Pattern, core: u32, region: Option<PathBuf>) -> Result<Self, String> {
        let (recent, stop) = (Arc::new(Mutex::new(Recent::default())), Arc::new(AtomicU32::new(0)));
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (shared, stopped) = (Arc::clone(&recent), Arc::clone(&stop));
        let work = move || {
            let tick_ns = 1e9 / clock::measure().frequency_hz;
            let (_mapping, mut runner) = match lay_out(&pattern, core, region.as_deref()) {
                Ok(both) => both,
                Err(why) => return drop(ready.send(Err(why))),
            };
            let _ = ready.send(Ok(()));
            let mut recorder = Recorder::new_boxed();
            let slice = (SLICE_NS / tick_ns) as u64;
            while stopped.load(Ordering::Relaxed) == 0 {
                recorder.reset(u64::MAX, 0);
                runner.run_target(&mut recorder, clock::now() + slice, &stopped);
                shared.lock().unwrap_or_else(PoisonError::into_inner).add(&recorder, tick_ns);
            }
        };
        let thread = spawn("target", work).map_err(|error| error.to_string())?;
        match is_ready.recv() {
            Ok(Ok(())) => Ok(Self { recent, stop, thread: Some(thread) }),
            Ok(Err(why)) => Err(why),
            Err(_) => Err("the target's thread ended before it was set up".into()),
        }
    }

    /// The samples since the last call.
    pub fn take(&mut self) -> Recent {
        std::mem::take(&mut *self.recent.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for LiveTarget {
    fn drop(&mut self) {
        self.stop.store(1, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A neighbour that runs until this value goes.
#[derive(Debug)]
pub struct LiveNeighbour {
    stop: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
    /// Ends with this value.
    external: Option<External>,
}

impl LiveNeighbour {
    /// Starts a workload on a core.
    ///
    /// # Errors
    /// A core or memory that is unavailable, or a workload that cannot run here.
    pub fn start(pattern: Pattern, core: u32) -> Result<Self, String> {
        if matches!(pattern, Pattern::Packets { .. }) {
            return Err(
                "a control loop between packets is a target only; `waykeeper rtcp respond` answers packets".into()
            );
        }
        let stop = Arc::new(AtomicU32::new(0));
        if let Pattern::Command { argv, .. } = &pattern {
            let external = External::start(argv, core).map_err(|error| error.to_string())?;
            return Ok(Self { stop, thread: None, external: Some(external) });
        }
        let (ready, is_ready) = std::sync::mpsc::channel();
        let stopped = Arc::clone(&stop);
        let work = move || match lay_out(&pattern, core, None) {
            Ok((_mapping, mut runner)) => {
                let _ = ready.send(Ok(()));
                runner.run_neighbour(&AccessCounter::new(), &stopped);
            }
            Err(why) => drop(ready.send(Err(why))),
        };
        let thread = spawn("neighbour", work).map_err(|error| error.to_string())?;
        match is_ready.recv() {
            Ok(Ok(())) => Ok(Self { stop, thread: Some(thread), external: None }),
            Ok(Err(why)) => Err(why),
            Err(_) => Err("the neighbour's thread ended before it was set up".into()),
        }
    }
}

impl LiveNeighbour {
    /// Processor time of an external program and all its descendants so far; `None` for other workloads.
    pub fn cpu_time(&self) -> Option<std::time::Duration> {
        self.external.as_ref()?.cpu_time()
    }
}

impl Drop for LiveNeighbour {
    fn drop(&mut self) {
        self.stop.store(1, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lay_out(pattern: &Pattern, core: u32, region: Option<&Path>) -> Result<(Option<Mapping>, Runner), String> {
    schedule::pin(core).map_err(|error| format!("core {core} cannot be used: {error}"))?;
    let bytes = pattern.data_bytes() as usize;
    let mapping = match (bytes, region) {
        (0, _) => None,
        (_, None) => Some(Mapping::new(bytes, Pages::Small)),
        (_, Some(region)) => Some(Mapping::of_file(region, bytes)),
    };
    let of = region.map_or_else(String::new, |region| format!(" of the locked region {}", region.display()));
    let cannot = |error| format!("{} KiB{of} is unavailable: {error}", bytes.div_ceil(1024));
    let mapping = mapping.transpose().map_err(cannot)?;
    // SAFETY: both live in the calling thread, which drops the runner first: of two locals the later one goes first.
    let runner = unsafe { Runner::new(pattern, mapping.as_ref(), 1) }.map_err(|error| error.to_string())?;
    Ok((mapping, runner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use waykeeper_workload::TickBody;

    #[test]
    fn a_live_target_gives_its_samples_once() {
        let core = schedule::allowed()[0];
        let mut live = LiveTarget::start(Pattern::Tick { body: TickBody::Nothing }, core, None).unwrap();
        let mut first = Recent::default();
        while first.samples == 0 {
            std::thread::yield_now();
            first = live.take();
        }
        assert!(first.min_ns > 0.0 && first.min_ns <= first.sum_ns / first.samples as f64);
        assert!(first.max_ns >= first.sum_ns / first.samples as f64);
        drop(live);
    }

    #[test]
    fn a_control_loop_is_no_neighbour() {
        let text = "kind = 'packets'\ninterface = 'lo'\nperiod = '1 ms'\n";
        let workload: waykeeper_workload::Workload = toml::from_str(text).unwrap();
        let pattern = workload.resolve(&Default::default()).unwrap();
        assert!(LiveNeighbour::start(pattern, 0).unwrap_err().contains("a target only"));
    }

    #[test]
    fn a_core_that_is_not_there_is_named() {
        let refused = LiveTarget::start(Pattern::Tick { body: TickBody::Nothing }, 4000, None).unwrap_err();
        assert!(refused.starts_with("core 4000 cannot be used"), "{refused}");
    }
}
