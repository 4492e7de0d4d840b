//! What a thread of this machine runs: a timed loop, a whole program (a sample is one pass of the real one), a sleeper, or a
//! control loop between packets.

use std::sync::atomic::{AtomicU32, Ordering};

use waykeeper_kernels::{AccessCounter, Kernel, KernelError, MappedMemory, Recorder, clock};
use waykeeper_linux::memory::Mapping;
use waykeeper_packets::role::RoleError;
use waykeeper_programs::{NoProbe, WholeProgram};
use waykeeper_workload::{Pattern, TraceSource};

use super::packets::PacketLoop;
use super::woken::Sleeper;
use super::woken::rest::Rest;

/// What a thread runs: a timed loop or a whole program. It works in a mapping that must outlive it.
pub enum Runner {
    /// A timed loop.
    Kernel(Kernel),
    /// A program.
    Program(Box<WholeProgram>, Words),
    /// A thread that sleeps until it is woken.
    Sleeper(Sleeper),
    /// A thread that answers packets.
    Packets(Box<PacketLoop>),
}

/// Why a pattern cannot run here.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// As a timed loop.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// As a sleeper.
    #[error("nothing wakes this thread by `{source_name}`: {error}; another `source` would do")]
    NotWoken {
        /// Its key in a file.
        source_name: &'static str,
        /// The system's answer.
        error: std::io::Error,
    },
    /// As a control loop between packets.
    #[error(transparent)]
    Packets(#[from] RoleError),
}

/// The memory that a program works in.
pub struct Words {
    start: *mut u32,
    length: usize,
}

impl Words {
    /// The words.
    ///
    /// # Safety
    /// The mapping still exists.
    unsafe fn get(&mut self) -> &mut [u32] {
        // SAFETY: the mapping has so many words (`Runner::new` compared), begins on a page, was written to, and is used by
        // this value alone.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

impl Runner {
    /// Lays the workload into a mapping; nothing else may use it.
    ///
    /// # Safety
    /// The mapping outlives the runner.
    ///
    /// # Errors
    /// A pattern that cannot run, or a mapping that is too small for it.
    pub unsafe fn new(pattern: &Pattern, mapping: Option<&Mapping>, seed: u64) -> Result<Self, RunnerError> {
        if let Pattern::Wakeup { period_ns, figure, body } = pattern {
            // SAFETY: the mapping is handed on under the same terms.
            let body = body.as_ref().map(|body| unsafe { Self::new(body, mapping, seed) }).transpose()?;
            return Ok(Self::Sleeper(Sleeper::wakeup(*period_ns, *figure, body)));
        }
        if let Pattern::Interrupt { source, period_ns } = pattern {
            let cannot = |error| RunnerError::NotWoken { source_name: source.name(), error };
            return Ok(Self::Sleeper(Sleeper::interrupt(*source, *period_ns).map_err(cannot)?));
        }
        if let Pattern::Packets { link, body, instructions, .. } = pattern {
            let bytes = pattern.data_bytes();
            // SAFETY: the mapping is handed on under the same terms.
            let body = body.as_ref().map(|body| unsafe { Self::new(body, mapping, seed) }).transpose()?;
            return Ok(Self::Packets(Box::new(PacketLoop::open(link, body, *instructions, bytes)?)));
        }
        if let Pattern::Trace { source: TraceSource::Program(spec), .. } = pattern {
            let program = WholeProgram::new(*spec);
            let (needed, given) = (4 * program.words() as u64, mapping.map_or(0, |mapping| mapping.length() as u64));
            let Some(mapping) = mapping.filter(|_| given >= needed) else {
                return Err(KernelError::TooLittleMemory { needed, given }.into());
            };
            let mut words = Words { start: mapping.start().cast(), length: program.words() };
            // SAFETY: the mapping was given just now.
            program.lay_out(unsafe { words.get() });
            return Ok(Self::Program(Box::new(program), words));
        }
        let memory = mapping.map_or_else(MappedMemory::none, |mapping| {
            // SAFETY: the mapping is the runner's own, and outlives it.
            unsafe { MappedMemory::new(mapping.start(), mapping.length()) }
        });
        Ok(Self::Kernel(Kernel::new(pattern, memory, seed)?))
    }

    /// Runs as target until the counter reads `deadline` or `stop` is set, and records every sample. A sample that has
    /// begun is finished.
    pub fn run_target(&mut self, recorder: &mut Recorder, deadline: u64, stop: &AtomicU32) {
        match self {
            Self::Kernel(kernel) => kernel.run_target(recorder, deadline, stop),
            Self::Sleeper(sleeper) => sleeper.run_target(recorder, deadline, stop),
            Self::Packets(packets) => packets.run_target(recorder, deadline, stop),
            Self::Program(program, words) => loop {
                // SAFETY: the mapping outlives the runner.
                let words = unsafe { words.get() };
                let start = clock::now();
                program.run(words);
                let end = clock::now();
                recorder.record(start, end);
                if end >= deadline || stop.load(Ordering::Relaxed) != 0 {
                    return recorder.close_cluster();
                }
            },
        }
    }

    /// Runs as neighbour until `stop` is set. The accesses of a program are not counted.
    pub fn run_neighbour(&mut self, progress: &AccessCounter, stop: &AtomicU32) {
        match self {
            Self::Kernel(kernel) => kernel.run_neighbour(progress, u64::MAX, stop),
            Self::Sleeper(sleeper) => sleeper.run_neighbour(progress, stop),
            // Refused before: as a neighbour nobody would see what it does.
            Self::Packets(_) => {}
            Self::Program(program, words) => {
                // SAFETY: the mapping outlives the runner.
                let words = unsafe { words.get() };
                while stop.load(Ordering::Relaxed) == 0 {
                    program.step(words, &mut NoProbe);
                }
            }
        }
    }

    /// Runs one pass and times nothing; a sleeper is no body of another, and does nothing.
    pub fn run_pass(&mut self) {
        match self {
            Self::Kernel(kernel) => kernel.run_pass(),
            Self::Program(program, words) => {
                // SAFETY: the mapping outlives the runner.
                program.run(unsafe { words.get() });
            }
            Self::Sleeper(_) | Self::Packets(_) => {}
        }
    }

    /// Sleeps of the thread's own will so far; none but for a sleeper.
    pub fn rest(&self) -> Rest {
        match self {
            Self::Sleeper(sleeper) => sleeper.rest(),
            Self::Packets(packets) => packets.rest(),
            _ => Rest::default(),
        }
    }

    /// The common start of all loops of a repeat, a reading of the counter: see [`Kernel::start_at`].
    pub fn start_at(&mut self, start: u64) {
        if let Self::Kernel(kernel) = self {
            kernel.start_at(start);
        }
    }

    /// Begins somewhere else than other neighbours with the same workload: see [`Kernel::start_at_outer`].
    pub fn start_at_outer(&mut self, iteration: u64) {
        if let Self::Kernel(kernel) = self {
            kernel.start_at_outer(iteration);
        }
    }
}
