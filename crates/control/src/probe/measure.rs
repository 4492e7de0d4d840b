//! Measuring: a chase on one core, a stream on another, one after the other.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;

use serde::Serialize;
use waykeeper_kernels::{Kernel, KernelError, MappedMemory, Recorder, clock};
use waykeeper_linux::memory::{Mapping, Pages};
use waykeeper_linux::schedule;
use waykeeper_linux::thread::{NoThread, spawn_scoped};
use waykeeper_workload::{Loop, Operation, Order, Pattern};

use super::judge::ProbeSamples;

/// The lowest real-time priority: above everything ordinary, and for the length of a walk only.
pub(super) const PRIORITY: i32 = 1;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ProbePlan {
    /// The core of the chase.
    pub core: u32,
    /// The core of the neighbour in the other class.
    pub neighbour: u32,
    /// The core that streams in the chase's own class: where that has no second core, the chase's.
    pub same_class: u32,
    /// Bytes of the chase.
    pub chase_bytes: u64,
    /// Bytes that a neighbour streams through.
    pub stream_bytes: u64,
    /// Bytes of a line.
    pub line_bytes: u64,
    /// How often each arrangement is measured.
    pub repeats: usize,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum NotMeasured {
    /// A core that this process may not use.
    #[error("core {core}: {error}")]
    Core {
        /// The core.
        core: u32,
        /// What the system said.
        error: io::Error,
    },
    /// No memory.
    #[error("memory for the probe: {0}")]
    Memory(io::Error),
    /// The timed loops do not take it.
    #[error("{0}")]
    Kernel(#[from] KernelError),
    /// A thread ended early.
    #[error("a thread of the probe was lost")]
    Lost,
    /// The system refused a thread.
    #[error(transparent)]
    Thread(#[from] NoThread),
    /// The place of the probe says no.
    #[error("{0}")]
    Refused(String),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

/// A thread on one core that walks its workload once for every request.
struct Walker {
    requests: mpsc::Sender<()>,
    /// Ticks that the walk took.
    answers: mpsc::Receiver<u64>,
}

impl Walker {
    /// One pass is one sample: a run that is asked to stop before it begins does that much.
    fn start<'s>(scope: &'s thread::Scope<'s, '_>, core: u32, pattern: Pattern) -> Result<Self, NotMeasured> {
        let (requests, inbox) = mpsc::channel::<()>();
        let (outbox, answers) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let work = move || {
            let set_up = || -> Result<(Mapping, Kernel), NotMeasured> {
                schedule::pin(core).map_err(|error| NotMeasured::Core { core, error })?;
                // Others on this core would count as misses. Who may not do this measures with more noise.
                let _ = schedule::fifo(PRIORITY);
                let bytes = pattern.data_bytes();
                let mapping = Mapping::new(bytes as usize, Pages::Huge).map_err(NotMeasured::Memory)?;
                // SAFETY: the mapping is this thread's alone. Both end with the thread, and the kernel first: of two locals
                // the later one is dropped first.
                let memory = unsafe { MappedMemory::new(mapping.start(), mapping.length()) };
                let kernel = Kernel::new(&pattern, memory, u64::from(core) + 1)?;
                Ok((mapping, kernel))
            };
            let (_mapping, mut kernel) = match set_up() {
                Ok(both) => both,
                Err(error) => return drop(ready.send(Err(error))),
            };
            let _ = ready.send(Ok(()));
            let mut recorder = Recorder::new_boxed();
            let one_pass = AtomicU32::new(1);
            while inbox.recv().is_ok() {
                recorder.reset(u64::MAX, 0);
                kernel.run_target(&mut recorder, u64::MAX, &one_pass);
                let _ = outbox.send(recorder.max().unwrap_or(0));
            }
        };
        spawn_scoped(scope, "probe", work)?;
        is_ready.recv().map_err(|_| NotMeasured::Lost)??;
        Ok(Self { requests, answers })
    }

    fn walk(&self) -> Result<u64, NotMeasured> {
        self.requests.send(()).map_err(|_| NotMeasured::Lost)?;
        self.answers.recv().map_err(|_| NotMeasured::Lost)
    }
}

/// Where a probe's walks are done.
pub trait Prober {
    /// Measures all arrangements, in turn, so that slow changes of the machine meet all three alike.
    ///
    /// # Errors
    /// See [`NotMeasured`].
    fn measure(&self, plan: &ProbePlan, stop: &AtomicBool) -> Result<ProbeSamples, NotMeasured>;
}

/// The cores of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Here;

impl Prober for Here {
    fn measure(&self, plan: &ProbePlan, stop: &AtomicBool) -> Result<ProbeSamples, NotMeasured> {
        measure(plan, stop)
    }
}

impl ProbePlan {
    /// How many elements the chase has.
    pub fn elements(&self) -> u64 {
        (self.chase_bytes / self.line_bytes).max(2)
    }

    /// The chase; a sample is one walk through all of it.
    pub fn chase(&self) -> Pattern {
        let elements = self.elements();
        Pattern::Chase { elements, stride: self.line_bytes, order: Order::Random, batch: elements }
    }

    /// What a neighbour streams; a sample is one time through.
    pub fn stream(&self) -> Pattern {
        Pattern::Walk {
            operation: Operation::Read,
            outer: Loop { count: 1, stride: self.line_bytes },
            inner: Loop { count: (self.stream_bytes / self.line_bytes).max(1), stride: self.line_bytes },
        }
    }
}

fn measure(plan: &ProbePlan, stop: &AtomicBool) -> Result<ProbeSamples, NotMeasured> {
    let elements = plan.elements();
    let tick_ns = 1e9 / clock::measure().frequency_hz;
    thread::scope(|scope| {
        let chase = Walker::start(scope, plan.core, plan.chase())?;
        let other = Walker::start(scope, plan.neighbour, plan.stream())?;
        let same = Walker::start(scope, plan.same_class, plan.stream())?;
        let mut samples = ProbeSamples::default();
        for _ in 0..plan.repeats {
            if stop.load(Ordering::Relaxed) {
                return Err(NotMeasured::Interrupted);
            }
            for (times, streams) in [
                (&mut samples.positive, None),
                (&mut samples.negative, Some(&same)),
                (&mut samples.treated, Some(&other)),
            ] {
                // Twice: the first walk brings the lines in, the second lets the replacement policy see them used.
                chase.walk()?;
                chase.walk()?;
                if let Some(walker) = streams {
                    walker.walk()?;
                }
                times.push(chase.walk()? as f64 * tick_ns / elements as f64);
            }
        }
        Ok(samples)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arrangement_is_measured_every_time() {
        let cores = schedule::allowed();
        let (first, last) = (cores[0], cores[cores.len() - 1]);
        let plan = ProbePlan {
            core: first,
            neighbour: last,
            same_class: first,
            chase_bytes: 64 << 10,
            stream_bytes: 1 << 20,
            line_bytes: 64,
            repeats: 3,
        };
        let samples = measure(&plan, &AtomicBool::new(false)).unwrap();
        for times in [samples.positive, samples.negative, samples.treated] {
            assert_eq!(times.len(), 3);
            assert!(times.iter().all(|time| *time > 0.0 && time.is_finite()), "{times:?}");
        }
        assert!(matches!(measure(&plan, &AtomicBool::new(true)), Err(NotMeasured::Interrupted)));
        let nowhere = ProbePlan { neighbour: 1_000_000, ..plan };
        assert!(matches!(measure(&nowhere, &AtomicBool::new(false)), Err(NotMeasured::Core { core: 1_000_000, .. })));
    }
}
