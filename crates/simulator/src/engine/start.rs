//! Allocates the memory of programs and starts them.

use waykeeper_platform::{CoreKind, Locked, Platform, Settings};
use waykeeper_workload::{Pattern, TickBody, Xorshift, recorder};

use crate::core::devices::Devices;
use crate::core::front::translation::TableShape;
use crate::core::placement::{Allocator, Colour, MemoryRegion, PAGE, Wanted};
use crate::core::program::{Program as Stream, SampleRecorder};
use crate::core::tick::{IdleJitter, RunningTick};
use crate::engine::build::{self, need};
use crate::engine::programs::{Program, Role};
use crate::engine::running::Running;
use crate::refused::Refused;
use crate::time::Ps;

/// Small arenas of each core's program: code, recorder, stack; and page tables, where any core translates.
const SMALL_ARENAS: u64 = 3;

/// Lines of on-chip RAM that follow those of the memory, at most.
const MOST_ON_CHIP_LINES: u64 = 1 << 20;

/// The longest time after which a program begins; the seed decides when.
const START_WITHIN: Ps = Ps::new(1_000_000);

/// Hands out memory and random beginnings.
#[derive(Debug, Clone)]
pub struct Starter {
    platform: Platform,
    /// Those that decide where memory lies.
    settings: Settings,
    allocator: Allocator,
    bytes: u64,
    /// Bytes of the on-chip RAM that are given out.
    on_chip: u64,
    /// By core, and one for what no program has: so that what a program draws does not depend on the others.
    randoms: Vec<Xorshift>,
}

/// How a program's memory is laid out.
#[derive(Clone, Copy)]
struct Layout {
    colour: Option<Colour>,
    /// Bytes of a page.
    page: u64,
    /// Whether its buffer must be contiguous.
    contiguous: bool,
    /// Whether this is its buffer.
    buffer: bool,
}

impl Starter {
    /// A starter for the cores of a platform. The memory of each core's program, and of what no program has, is the same
    /// whether others run or not.
    pub fn new(platform: &Platform, settings: &Settings, mut random: Xorshift) -> Result<Self, Refused> {
        let memory = need(&platform.memory, "memory")?;
        let bytes = memory.size_mib.value << 20;
        let line = platform.line_bytes.value;
        if bytes / line >= u64::from(u32::MAX) - MOST_ON_CHIP_LINES {
            return Err(Refused::new("memory.size_mib", "the simulator numbers lines with 32 bits"));
        }
        let tables = u64::from(platform.cores.iter().any(|kind| !kind.tlbs.is_empty()));
        let owners = platform.core_ids().len() + 1;
        let allocator = Allocator::new(bytes, owners as u64, SMALL_ARENAS + tables, memory.placement.value, line);
        let randoms = (0..owners).map(|_| Xorshift::new(random.next_u64())).collect();
        let (platform, settings) = (platform.clone(), settings.clone());
        Ok(Self { platform, settings, allocator, bytes, on_chip: 0, randoms })
    }

    /// Sets a program going on the core with that index, shortly after `now`; in this buffer, if one is given. Returns the
    /// memory that it has, for [`Starter::take_back`]. After an error nothing has changed.
    pub fn start(
        &mut self,
        program: &Program,
        core: usize,
        buffer: Option<MemoryRegion>,
        now: Ps,
    ) -> Result<(Running, Vec<u64>), Refused> {
        let before = (self.allocator.clone(), self.on_chip, self.randoms.clone());
        match self.place(program, core, buffer, now) {
            Ok(running) => Ok((running, self.allocator.take_given())),
            Err(refused) => {
                (self.allocator, self.on_chip, self.randoms) = before;
                Err(refused)
            }
        }
    }

    /// A contiguous piece of memory for no program; with what to give back.
    pub fn contiguous(&mut self, bytes: u64) -> Result<(MemoryRegion, Vec<u64>), Refused> {
        let region =
            self.region(bytes, Layout { colour: None, page: PAGE, contiguous: true, buffer: false }, self.no_core())?;
        Ok((region, self.allocator.take_given()))
    }

    /// A piece of memory as a program of such a core would get it for its buffer; with what to give back.
    pub fn buffer(&mut self, kind: &CoreKind, bytes: u64) -> Result<(MemoryRegion, Vec<u64>), Refused> {
        let translation = kind.translation.as_ref().filter(|_| !kind.tlbs.is_empty());
        let page = translation.map_or(PAGE, |translation| translation.page_kib.value << 10);
        let region =
            self.region(bytes, Layout { colour: None, page, contiguous: false, buffer: false }, self.no_core())?;
        Ok((region, self.allocator.take_given()))
    }

    /// Who has what no program has.
    fn no_core(&self) -> usize {
        self.randoms.len() - 1
    }

    /// Memory is no longer in use. What caches hold of it stays there.
    pub fn take_back(&mut self, memory: Vec<u64>) {
        self.allocator.take_back(memory);
    }

    fn place(
        &mut self,
        program: &Program,
        core: usize,
        buffer: Option<MemoryRegion>,
        now: Ps,
    ) -> Result<Running, Refused> {
        let platform = self.platform.clone();
        let (at, kind) = build::kind_of(&platform, program.core)?;
        let layout = self.layout(program, kind)?;
        let pattern = &program.pattern;
        let mut data = match buffer {
            Some(region) => region,
            None => self.region(pattern.data_bytes(), layout, core)?,
        };
        let others = Layout { contiguous: false, buffer: false, ..layout };
        let [code, recorder, stack] =
            [code_bytes(&platform, program)?, recorder::BYTES, 4096].map(|bytes| self.region(bytes, others, core));
        let (mut code, recorder, mut stack) = (code?, recorder?, stack?);
        if self.settings.on_chip_ram == Some(true) && program.role == Role::Target {
            self.move_event(program, [&mut code, &mut data, &mut stack])?;
        }
        let devices = Devices::of(pattern, kind, layout.page, self.mapped(), platform.line_bytes.value);
        let tables = self.tables(kind, others, &devices, core)?;
        let begin = now + Ps::new(self.randoms[core].below(START_WITHIN.get()));
        if let Pattern::Tick { body } = pattern {
            return self.tick(program, *body, core, code, recorder, &stack, begin);
        }
        let mut stream = pattern.stream(self.randoms[core].next_u64());
        if program.role != Role::Target
            && let Pattern::Walk { outer, .. } = pattern
        {
            stream.start_at_outer(self.randoms[core].below(outer.count.min(1 << 32)));
        }
        let recorder = match program.role {
            Role::Target => Some(SampleRecorder {
                region: recorder,
                counter_tick: self.counter_tick()?,
                base: base(pattern, kind, at, None)?,
            }),
            Role::Throughput | Role::Neighbour | Role::Sharing => None,
        };
        let port = build::port(&self.platform, core)?;
        let window = build::window(&self.platform, core)?;
        let front = build::front(&self.platform, core, layout.page, tables)?;
        let mut stream = Stream::new(port, (window, front), stream, [data, code], recorder, begin);
        stream.devices = devices.pages;
        Ok(Running::Stream(Box::new(stream)))
    }

    fn layout(&self, program: &Program, kind: &CoreKind) -> Result<Layout, Refused> {
        let settings = &self.settings;
        let target = program.role == Role::Target;
        let translation = kind.translation.as_ref().filter(|_| !kind.tlbs.is_empty());
        let page = match (translation, settings.page_kib) {
            (None, _) => PAGE,
            (Some(translation), None) => translation.page_kib.value << 10,
            (Some(_), Some(kib)) => kib << 10,
        };
        if let Some(colouring) = settings.colouring
            && page > 1 << colouring.address_bit
        {
            let why = format!("a page of {} KiB has both colours of bit {}", page >> 10, colouring.address_bit);
            return Err(Refused::new("colouring", why));
        }
        let buffer = settings.lock.as_ref().is_some_and(|lock| lock.what == Locked::Buffer);
        let colour = settings.colouring.map(|colouring| Colour::new(colouring, target));
        Ok(Layout { colour, page, contiguous: target && buffer, buffer: true })
    }

    /// Puts the lines of the target's event into the on-chip RAM, whose addresses follow those of the memory: those of its
    /// event, or the code and the stack of a tick loop.
    fn move_event(&mut self, program: &Program, [code, data, stack]: [&mut MemoryRegion; 3]) -> Result<(), Refused> {
        let refuse = |why: String| Err(Refused::new("on_chip_ram", why));
        let Some(ram) = &self.platform.on_chip_ram else { return refuse("the platform has none".into()) };
        let (pattern, code_bytes) = (&program.pattern, code_bytes(&self.platform, program)?);
        let parts = match pattern {
            Pattern::Random { data_bytes, code_bytes: called, .. } => {
                [(code, *called, code_bytes), (data, *data_bytes, pattern.data_bytes())]
            }
            Pattern::Tick { .. } => [(code, 0, code_bytes), (stack, 0, PAGE)],
            _ => return refuse("the target has no event; a `random` workload with event lines has".into()),
        };
        for (region, from, until) in parts {
            region.move_from(from, self.bytes + self.on_chip);
            self.on_chip += until - from;
        }
        let most = ram.size_kib.value << 10;
        if self.on_chip > most {
            return refuse(format!("the event's {} bytes do not fit into {most}", self.on_chip));
        }
        if self.platform.cores.iter().any(|kind| kind.l2.is_some()) {
            return refuse("it cannot be simulated beside private second levels".into());
        }
        Ok(())
    }

    /// The first address of the on-chip RAM, if anything lies there.
    pub fn on_chip_from(&self) -> Option<u64> {
        (self.on_chip > 0).then_some(self.bytes)
    }

    /// Bytes of addresses of memory and on-chip RAM.
    fn mapped(&self) -> u64 {
        self.bytes + self.platform.on_chip_ram.as_ref().map_or(0, |ram| ram.size_kib.value << 10)
    }

    /// A program's page tables, which cover all addresses.
    fn tables(
        &mut self,
        kind: &CoreKind,
        layout: Layout,
        devices: &Devices,
        core: usize,
    ) -> Result<Option<(TableShape, MemoryRegion)>, Refused> {
        let Some(shape) = build::tables(kind, layout.page, devices.until) else { return Ok(None) };
        Ok(Some((shape, self.region(shape.bytes(), Layout { page: PAGE, ..layout }, core)?)))
    }

    #[expect(clippy::too_many_arguments, reason = "the pieces of memory and the program they are for")]
    fn tick(
        &mut self,
        program: &Program,
        body: TickBody,
        core: usize,
        code: MemoryRegion,
        recorder: MemoryRegion,
        stack: &MemoryRegion,
        begin: Ps,
    ) -> Result<Running, Refused> {
        let (at, kind) = build::kind_of(&self.platform, program.core)?;
        let tick_loop = need(&kind.tick_loop, &format!("cores.{at}.tick_loop"))?;
        let cycle_ns = 1.0 / need(&kind.clock_ghz, &format!("cores.{at}.clock_ghz"))?.value;
        let body_cycles = match body {
            TickBody::Nothing => 0,
            TickBody::Adds(adds) => adds,
            TickBody::Loop(increments) => increments * tick_loop.increment_cycles.value,
        };
        let line = self.platform.line_bytes.value;
        let code_lines = code_bytes(&self.platform, program)? / line;
        let stack_lines = tick_loop.stack_lines.value.min(4096 / line);
        // A frame begins anywhere on its page.
        let frame = self.randoms[core].below(4096 / line - stack_lines + 1);
        let mut data: Vec<_> = (0..stack_lines).map(|i| stack.line((frame + i) * line)).collect();
        data.push(recorder.line(0));
        Ok(Running::Tick(Box::new(RunningTick::new(
            build::port(&self.platform, core)?,
            (0..code_lines).map(|i| code.line(i * line)).collect(),
            data,
            recorder,
            (tick_loop.pass_cycles.value + body_cycles, cycle_ns),
            self.counter_tick()?,
            IdleJitter {
                longest: Ps::from_ns(tick_loop.idle_jitter_ns.value),
                every: tick_loop.idle_jitter_every_passes.value.max(1),
                random: Xorshift::new(self.randoms[core].next_u64()),
            },
            begin,
        ))))
    }

    fn counter_tick(&self) -> Result<Ps, Refused> {
        Ok(build::tick(need(&self.platform.counter, "counter")?))
    }

    fn region(&mut self, bytes: u64, layout: Layout, owner: usize) -> Result<MemoryRegion, Refused> {
        let Layout { colour, page, contiguous, buffer } = layout;
        let wanted = Wanted { bytes, colour, page, contiguous, large: buffer };
        self.allocator.region(wanted, owner as u64, &mut self.randoms[owner]).ok_or_else(|| {
            if !self.allocator.has_arena() {
                return Refused::new("memory.size_mib", "all memory is given out; stop a program");
            }
            let room = self.allocator.largest(colour);
            let why = match room < page {
                true => format!(
                    "pages of {} do not fit into pieces of {}; smaller pages or more memory would do",
                    size(page),
                    size(room)
                ),
                false => format!(
                    "{} of a workload do not fit into {}: memory is given out in pieces, some for each core (data, \
                     code, stack, recorder, page tables); a smaller workload or more memory would do",
                    size(bytes),
                    size(room)
                ),
            };
            Refused::new("memory.size_mib", why)
        })
    }
}

/// Bytes in the largest unit that shows them to three digits.
fn size(bytes: u64) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} bytes"),
        10_000..=9_999_999 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// The time of a sample besides its accesses, at the core's own clock or another one: only events have any.
pub(crate) fn base(pattern: &Pattern, kind: &CoreKind, at: usize, clock_ghz: Option<f64>) -> Result<Ps, Refused> {
    match (pattern, &kind.event) {
        (Pattern::Random { .. }, Some(event)) => {
            let clock = need(&kind.clock_ghz, &format!("cores.{at}.clock_ghz"))?.value;
            Ok(Ps::from_ns(event.base_cycles.value as f64 / clock_ghz.unwrap_or(clock)))
        }
        _ => Ok(Ps::ZERO),
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
