//! A pattern, ready to run.

use std::ptr;
use std::sync::atomic::AtomicU32;

use rustix::io::Errno;
use waykeeper_workload::{Pattern, TickBody, Xorshift};

use crate::arena::Arena;
#[cfg(target_arch = "aarch64")]
use crate::clock::cycles::CycleUnit;
use crate::grid::ReleaseGrid;
use crate::memory::{AccessCounter, MappedMemory};
use crate::params::{BufferParams, ChaseParams, RandomParams, RunParams, TickParams, WalkParams, operation_number};
use crate::recorder::Recorder;
use crate::{clock, ffi};

/// How often a target looks at the stop flag. The look is between two samples and costs tens of nanoseconds that are in
/// no sample: a hundred-thousandth of the time.
const TARGET_LOOK_S: f64 = 0.01;

/// Why a pattern cannot run here.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// An external program is not a timed loop.
    #[error("`{program}` is an external program; there is no kernel for it, start it as a process")]
    ExternalProgram {
        /// The program.
        program: String,
    },
    /// A whole program is not a timed loop either.
    #[error("`{program}` is a whole program; there is no kernel for it")]
    WholeProgram {
        /// The program, or the file of its trace.
        program: String,
    },
    /// A thread that sleeps needs an operating system, which the freestanding loops do without.
    #[error("`{kind}` waits for the operating system; there is no kernel for it")]
    Waits {
        /// Its kind.
        kind: &'static str,
    },
    /// The memory is too small.
    #[error("the workload needs {needed} bytes of memory and was given {given}")]
    TooLittleMemory {
        /// Bytes that the pattern touches.
        needed: u64,
        /// Bytes given.
        given: u64,
    },
    /// The memory does not start on a page.
    #[error("the memory starts at {start:#x}, which is not a multiple of 4096")]
    NotPageAligned {
        /// Its address.
        start: usize,
    },
    /// A number in the pattern has no meaning.
    #[error("`{field}` is {found}; {expected}")]
    BadNumber {
        /// The field of the pattern.
        field: &'static str,
        /// Its value.
        found: u64,
        /// What would do.
        expected: &'static str,
    },
    /// The processor has no such operation.
    #[error("this processor has no `{operation}` for programs; {expected}")]
    NoOperation {
        /// The operation.
        operation: &'static str,
        /// What would do.
        expected: &'static str,
    },
    /// The system gave no executable memory.
    #[error("the {bytes} bytes of code that the workload calls into could not be mapped: {error}")]
    NoCodeArena {
        /// Bytes asked for.
        bytes: u64,
        /// The system's answer.
        error: Errno,
    },
}

/// A pattern with its memory laid out and its parameter block ready.
pub struct Kernel {
    block: Block,
    code: Option<Arena>,
    look_ticks: u64,
    /// When passes begin, for a buffer with an offset.
    grid: Option<ReleaseGrid>,
    /// In what samples are counted where the cycle counter times them.
    #[cfg(target_arch = "aarch64")]
    cycles: Option<CycleUnit>,
}

enum Block {
    Walk(WalkParams),
    Chase(ChaseParams),
    Buffer(BufferParams),
    Random(RandomParams),
    Tick(TickParams),
}

// SAFETY: the pointers in the blocks lead into the `Memory` (Send by its contract) and into `code` (Send).
unsafe impl Send for Kernel {}

impl Kernel {
    /// Lays the workload into `memory`, which starts on a page and has at least
    /// [`data_bytes`](Pattern::data_bytes); it must stay mapped while the kernel lives. `seed` is that of
    /// [`Pattern::stream`]. For `random` also maps and fills the code. The first kernel of a process takes 20 ms, in
    /// which the counter's frequency is measured.
    ///
    /// # Errors
    /// See [`KernelError`]; a pattern that came from `Workload::resolve` does not meet [`KernelError::BadNumber`].
    pub fn new(pattern: &Pattern, memory: MappedMemory, seed: u64) -> Result<Self, KernelError> {
        check(pattern)?;
        if !memory.start.addr().is_multiple_of(4096) && memory.bytes != 0 {
            return Err(KernelError::NotPageAligned { start: memory.start.addr() });
        }
        if pattern.data_bytes() > memory.bytes as u64 {
            return Err(KernelError::TooLittleMemory { needed: pattern.data_bytes(), given: memory.bytes as u64 });
        }
        let code = match pattern.code_bytes() {
            0 => None,
            bytes => {
                let arena = Arena::filled_with_returns(bytes as usize);
                Some(arena.map_err(|error| KernelError::NoCodeArena { bytes, error })?)
            }
        };
        let block = lay_out(pattern, &memory, code.as_ref(), seed);
        let look_ticks = (clock::frequency_hz() * TARGET_LOOK_S) as u64;
        let grid = pattern
            .offset_ns()
            .zip(pattern.period_ns())
            .map(|(offset_ns, period_ns)| ReleaseGrid::new(clock::now(), offset_ns, period_ns, clock::frequency_hz()));
        Ok(Self {
            block,
            code,
            look_ticks,
            grid,
            #[cfg(target_arch = "aarch64")]
            cycles: None,
        })
    }

    /// Runs as target on this thread until the counter reads `deadline` or `stop` is not 0, and records every sample.
    ///
    /// A sample that has begun is finished: the run ends with the first sample that ends at or after the deadline. The
    /// stop flag is looked at every 10 ms, between two samples; where it is set from the start, one sample is taken (by
    /// `buffer`, which first waits for a period to pass, none).
    /// The next run goes on where this one ended.
    pub fn run_target(&mut self, recorder: &mut Recorder, deadline: u64, stop: &AtomicU32) {
        self.set_next_release();
        let run = RunParams::until(deadline, self.look_ticks, stop, ptr::null_mut());
        #[cfg(target_arch = "aarch64")]
        if let Some(unit) = self.cycles {
            return self.run_target_in_cycles(&run.in_units(unit), recorder);
        }
        let run = &run;
        // SAFETY: the blocks point into memory that lives as long as `self`; the loops stay within the pattern's bytes,
        // which `new` checked; the layouts are compared by layout.rs.
        unsafe {
            match &mut self.block {
                Block::Walk(walk) => ffi::wk_walk_target(run, walk, recorder),
                Block::Chase(chase) => ffi::wk_chase_target(run, chase, recorder),
                Block::Buffer(buffer) => ffi::wk_buffer_target(run, buffer, recorder),
                Block::Random(random) => ffi::wk_random_target(run, random, recorder),
                Block::Tick(tick) => ffi::wk_tick_target(run, tick, recorder),
            }
        }
    }

    /// Has the core's cycle counter time the samples from now on: they are counted in these units. When a run ends and when
    /// its passes begin is read from the counter as before.
    ///
    /// # Safety
    /// While the kernel runs as target, this thread may read `PMCCNTR_EL0`: otherwise it gets SIGILL.
    #[cfg(target_arch = "aarch64")]
    pub unsafe fn time_in_cycles(&mut self, unit: CycleUnit) {
        self.cycles = Some(unit);
    }

    #[cfg(target_arch = "aarch64")]
    fn run_target_in_cycles(&mut self, run: &RunParams, recorder: &mut Recorder) {
        // SAFETY: as in `run_target`; the cycle counter can be read by the contract of `time_in_cycles`.
        unsafe {
            match &mut self.block {
                Block::Walk(walk) => ffi::wk_walk_target_in_cycles(run, walk, recorder),
                Block::Chase(chase) => ffi::wk_chase_target_in_cycles(run, chase, recorder),
                Block::Buffer(buffer) => ffi::wk_buffer_target_in_cycles(run, buffer, recorder),
                Block::Random(random) => ffi::wk_random_target_in_cycles(run, random, recorder),
                Block::Tick(tick) => ffi::wk_tick_target_in_cycles(run, tick, recorder),
            }
        }
    }

    /// Runs as neighbour on this thread until the counter reads `deadline` or `stop` is not 0. Adds the accesses done
    /// to `progress` every 1024 of a walk, 256 of a chase, 64 passes of a tick, or pass of a buffer or of `random`, and
    /// looks at both conditions then.
    pub fn run_neighbour(&mut self, progress: &AccessCounter, deadline: u64, stop: &AtomicU32) {
        self.set_next_release();
        let run = &RunParams::until(deadline, 0, stop, progress.as_ptr());
        // SAFETY: as in `run_target`.
        unsafe {
            match &mut self.block {
                Block::Walk(walk) => ffi::wk_walk_neighbour(run, walk),
                Block::Chase(chase) => ffi::wk_chase_neighbour(run, chase),
                Block::Buffer(buffer) => ffi::wk_buffer_neighbour(run, buffer),
                Block::Random(random) => ffi::wk_random_neighbour(run, random),
                Block::Tick(tick) => ffi::wk_tick_neighbour(run, tick),
            }
        }
    }

    /// Runs one pass on this thread and times nothing: both loops of a walk, a batch of a chase, a buffer once, the
    /// background and the event of `random`, the body of a tick.
    pub fn run_pass(&mut self) {
        // SAFETY: as in `run_target`.
        unsafe {
            match &mut self.block {
                Block::Walk(walk) => ffi::wk_walk_pass(walk),
                Block::Chase(chase) => ffi::wk_chase_pass(chase),
                Block::Buffer(buffer) => ffi::wk_buffer_pass(buffer),
                Block::Random(random) => ffi::wk_random_pass(random),
                Block::Tick(tick) => ffi::wk_tick_pass(tick),
            }
        }
    }

    /// For a walk: begins at this iteration of the outer loop (modulo its count), so that several neighbours do not run
    /// in lock step. Does nothing to other patterns. The twin of
    /// [`Stream::start_at_outer`](waykeeper_workload::Stream::start_at_outer).
    pub fn start_at_outer(&mut self, iteration: u64) {
        if let Block::Walk(walk) = &mut self.block {
            walk.outer_at = iteration % walk.outer_count;
            walk.inner_at = 0;
        }
    }

    /// For a buffer with an offset: its first pass begins so long after the counter reads `start`; after it was laid out where
    /// this is not called. Kernels with the same start keep their offsets to each other. Does nothing to other patterns.
    pub fn start_at(&mut self, start: u64) {
        self.grid = self.grid.map(|grid| grid.starting_at(start));
    }

    /// For a buffer with an offset: the reading of the counter, rounded down, at which its next pass is to begin, as planned
    /// when the last run ended. `None` for other patterns.
    pub fn next_release(&self) -> Option<u64> {
        match &self.block {
            Block::Buffer(buffer) if buffer.on_grid != 0 => Some(buffer.next_ticks),
            _ => None,
        }
    }

    /// Releases between two runs are no missed ones.
    fn set_next_release(&mut self) {
        if let (Block::Buffer(buffer), Some(grid)) = (&mut self.block, &self.grid) {
            let (next, period) = (grid.at_or_after(clock::now()), grid.period());
            (buffer.next_ticks, buffer.next_fraction) = (next.ticks, next.fraction);
            (buffer.period_ticks, buffer.period_fraction) = (period.ticks, period.fraction);
        }
    }

    /// The code that `random` calls into; empty for other patterns.
    pub fn code(&self) -> &[u8] {
        self.code.as_ref().map_or(&[], Arena::as_bytes)
    }
}

/// Refuses numbers with which a loop would leave its memory or never end.
fn check(pattern: &Pattern) -> Result<(), KernelError> {
    let at_least = |field, found, least: u64, expected| {
        if found < least { Err(KernelError::BadNumber { field, found, expected }) } else { Ok(()) }
    };
    const AT_LEAST_1: &str = "at least 1 would do";
    const AT_LEAST_8: &str = "at least 8 would do";
    if let Some(operation) = pattern.operation().filter(|operation| !operation.is_on(std::env::consts::ARCH)) {
        let expected = "`read`, `write`, `modify` or `prefetch` would do";
        return Err(KernelError::NoOperation { operation: operation.name(), expected });
    }
    match pattern {
        Pattern::Walk { outer, inner, .. } => {
            at_least("outer.count", outer.count, 1, AT_LEAST_1)?;
            at_least("inner.count", inner.count, 1, AT_LEAST_1)
        }
        Pattern::Chase { elements, stride, batch, .. } => {
            at_least("elements", *elements, 1, AT_LEAST_1)?;
            at_least("stride", *stride, 8, AT_LEAST_8)?;
            at_least("batch", *batch, 1, AT_LEAST_1)
        }
        Pattern::Buffer { bytes, stride, .. } => {
            at_least("bytes", *bytes, 8, AT_LEAST_8)?;
            at_least("stride", *stride, 8, AT_LEAST_8)
        }
        Pattern::Random { line_bytes, data_bytes, code_bytes, .. } => {
            at_least("line_bytes", *line_bytes, 8, AT_LEAST_8)?;
            at_least("data_bytes", *data_bytes, *line_bytes, "at least one line would do")?;
            at_least("code_bytes", *code_bytes, *line_bytes, "at least one line would do")
        }
        Pattern::Tick { body: TickBody::Adds(adds) } if *adds > TickBody::MOST_ADDS => {
            Err(KernelError::BadNumber { field: "body.adds", found: *adds, expected: "at most 8192 would do" })
        }
        Pattern::Tick { .. } => Ok(()),
        Pattern::Trace { source, .. } => Err(KernelError::WholeProgram { program: source.to_string() }),
        Pattern::Wakeup { .. } => Err(KernelError::Waits { kind: "wakeup" }),
        Pattern::Interrupt { .. } => Err(KernelError::Waits { kind: "interrupt" }),
        Pattern::Packets { .. } => Err(KernelError::Waits { kind: "packets" }),
        Pattern::Command { argv, .. } => {
            Err(KernelError::ExternalProgram { program: argv.first().cloned().unwrap_or_default() })
        }
    }
}

fn lay_out(pattern: &Pattern, memory: &MappedMemory, code: Option<&Arena>, seed: u64) -> Block {
    let data = memory.start;
    match *pattern {
        Pattern::Walk { operation, outer, inner } => Block::Walk(WalkParams {
            data,
            operation: operation_number(operation),
            outer_count: outer.count,
            outer_stride: outer.stride,
            inner_count: inner.count,
            inner_stride: inner.stride,
            outer_at: 0,
            inner_at: 0,
        }),
        Pattern::Chase { stride, batch, .. } => {
            let place = |number: u64| data.wrapping_add((number * stride) as usize);
            for (number, next) in pattern.permutation(seed).into_iter().enumerate() {
                // SAFETY: places are within `data_bytes`, which `new` compared with the memory's size, and a multiple
                // of 8 bytes apart from a page's start.
                unsafe { place(number as u64).cast::<*mut u8>().write(place(next.into())) };
            }
            Block::Chase(ChaseParams { at: data, batch })
        }
        Pattern::Buffer { bytes, stride, operation, period_ns, offset_ns } => Block::Buffer(BufferParams {
            data,
            operation: operation_number(operation),
            bytes,
            stride,
            period_ticks: (period_ns * 1e-9 * clock::frequency_hz()) as u64,
            period_fraction: 0,
            on_grid: offset_ns.is_some().into(),
            next_ticks: 0,
            next_fraction: 0,
        }),
        Pattern::Random {
            data_bytes,
            data_accesses,
            data_modifies,
            random_counts,
            code_bytes,
            code_calls,
            event_data_lines,
            event_code_lines,
            // Devices are no memory that a process could read.
            event_device_pages: _,
            event_stride_lines,
            line_bytes,
        } => Block::Random(RandomParams {
            data,
            code: code.map_or(ptr::null(), Arena::start),
            generator: Xorshift::new(seed).state(),
            line_bytes,
            data_lines: data_bytes / line_bytes,
            data_accesses,
            code_lines: code_bytes / line_bytes,
            code_calls,
            event_data_lines,
            event_code_lines,
            data_modifies,
            random_counts: random_counts.into(),
            event_stride_lines,
        }),
        Pattern::Tick { body } => Block::Tick(TickParams::from(body)),
        Pattern::Trace { .. }
        | Pattern::Command { .. }
        | Pattern::Wakeup { .. }
        | Pattern::Interrupt { .. }
        | Pattern::Packets { .. } => {
            unreachable!("refused by `check`")
        }
    }
}
