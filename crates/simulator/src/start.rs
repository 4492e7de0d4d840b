//! Gives programs their memory and sets them going.

use waykeeper_platform::Platform;
use waykeeper_workload::{Pattern, TickBody, Xorshift, recorder};

use crate::build::{self, need, ps};
use crate::placement::{Allocator, Colour, Region, Wanted};
use crate::program::{Program as Stream, Recorder};
use crate::programs::{Program, Role};
use crate::refused::Refused;
use crate::running::Running;
use crate::tick::{IdleJitter, Tick};

/// Arenas of each program: data, code, recorder, stack.
const ARENAS: u64 = 4;

/// Programs begin within so many picoseconds, at a time that the seed decides.
const START_WITHIN: u64 = 1_000_000;

/// Hands out memory and random beginnings.
pub struct Starter<'a> {
    platform: &'a Platform,
    allocator: Allocator,
    random: Xorshift,
}

impl<'a> Starter<'a> {
    /// A starter for so many programs.
    pub fn new(platform: &'a Platform, programs: usize, random: Xorshift) -> Result<Self, Refused> {
        let memory = need(&platform.memory, "memory")?;
        let bytes = memory.size_mib.value << 20;
        let line = platform.line_bytes.value;
        if bytes / line >= u64::from(u32::MAX) {
            return Err(Refused::new("memory.size_mib", "the simulator numbers lines with 32 bits"));
        }
        let arenas = ARENAS * programs.max(1) as u64;
        Ok(Self { platform, allocator: Allocator::new(bytes, arenas, memory.placement.value, line), random })
    }

    /// Sets a program going on the core with that index.
    pub fn start(&mut self, program: &Program, core: usize, colour: Option<Colour>) -> Result<Running, Refused> {
        let pattern = &program.pattern;
        let [data, code, recorder, stack] =
            [pattern.data_bytes(), code_bytes(self.platform, program)?, recorder::BYTES, 4096]
                .map(|bytes| self.region(bytes, colour));
        let (data, code, recorder, stack) = (data?, code?, recorder?, stack?);
        let begin = self.random.below(START_WITHIN);
        if let Pattern::Tick { body } = pattern {
            return self.tick(program, *body, core, code, recorder, &stack, begin);
        }
        let mut stream = pattern.stream(self.random.next_u64());
        if let (Role::Neighbour | Role::Throughput, Pattern::Walk { outer, .. }) = (program.role, pattern) {
            stream.start_at_outer(self.random.below(outer.count.min(1 << 32)));
        }
        let recorder = match program.role {
            Role::Target => Some(Recorder { region: recorder, counter_tick: self.counter_tick()? }),
            Role::Throughput | Role::Neighbour => None,
        };
        let port = build::port(self.platform, core)?;
        let window = build::window(self.platform, core)?;
        Ok(Running::Stream(Box::new(Stream::new(port, window, stream, [data, code], recorder, begin))))
    }

    #[expect(clippy::too_many_arguments, reason = "the pieces of memory and the program they are for")]
    fn tick(
        &mut self,
        program: &Program,
        body: TickBody,
        core: usize,
        code: Region,
        recorder: Region,
        stack: &Region,
        begin: u64,
    ) -> Result<Running, Refused> {
        let (at, kind) = build::kind_of(self.platform, program.core)?;
        let tick_loop = need(&kind.tick_loop, &format!("cores.{at}.tick_loop"))?;
        let cycle_ns = 1.0 / need(&kind.clock_ghz, &format!("cores.{at}.clock_ghz"))?.value;
        let body_cycles = match body {
            TickBody::Nothing => 0,
            TickBody::Adds(adds) => adds,
            TickBody::Loop(increments) => increments * tick_loop.increment_cycles.value,
        };
        let line = self.platform.line_bytes.value;
        let code_lines = code_bytes(self.platform, program)? / line;
        let stack_lines = tick_loop.stack_lines.value.min(4096 / line);
        // A frame begins anywhere on its page.
        let frame = self.random.below(4096 / line - stack_lines + 1);
        let mut data: Vec<_> = (0..stack_lines).map(|i| stack.line((frame + i) * line)).collect();
        data.push(recorder.line(0));
        Ok(Running::Tick(Box::new(Tick::new(
            build::port(self.platform, core)?,
            (0..code_lines).map(|i| code.line(i * line)).collect(),
            data,
            recorder,
            (tick_loop.pass_cycles.value + body_cycles, cycle_ns),
            self.counter_tick()?,
            IdleJitter {
                longest: ps(tick_loop.idle_jitter_ns.value),
                every: tick_loop.idle_jitter_every_passes.value.max(1),
                random: Xorshift::new(self.random.next_u64()),
            },
            begin,
        ))))
    }

    fn counter_tick(&self) -> Result<u64, Refused> {
        Ok(ps(need(&self.platform.counter, "counter")?.tick_ns.value).max(1))
    }

    fn region(&mut self, bytes: u64, colour: Option<Colour>) -> Result<Region, Refused> {
        self.allocator.region(Wanted { colour, ..Wanted::bytes(bytes) }, &mut self.random).ok_or_else(|| {
            let (room, need) = (self.allocator.largest(colour) >> 20, bytes.div_ceil(1 << 20));
            Refused::new(
                "memory.size_mib",
                format!("a workload of {need} MiB does not fit into its share of {room} MiB"),
            )
        })
    }
}

/// Bytes of code that a program runs through: for a `tick`, the loop and the body that stands after it.
fn code_bytes(platform: &Platform, program: &Program) -> Result<u64, Refused> {
    let Pattern::Tick { body } = program.pattern else { return Ok(program.pattern.code_bytes()) };
    let (at, kind) = build::kind_of(platform, program.core)?;
    let tick_loop = need(&kind.tick_loop, &format!("cores.{at}.tick_loop"))?;
    let line = platform.line_bytes.value;
    let body = if let TickBody::Adds(adds) = body { 4 * adds } else { 0 };
    Ok((tick_loop.code_lines.value + body.div_ceil(line)) * line)
}
