//! A running program, of either kind.

use waykeeper_workload::Pattern;

use crate::core::front::Front;
use crate::core::latencies::Latencies;
use crate::core::placement::MemoryRegion;
use crate::core::port::Port;
use crate::core::program::EventLine;
use crate::core::program::Program as Stream;
use crate::core::tick::RunningTick;
use crate::line::Line;
use crate::observe::counters::FrontCounters;
use crate::time::Ps;

/// A running program.
#[derive(Debug, Clone)]
pub enum Running {
    /// Steps of a stream.
    Stream(Box<Stream>),
    /// Passes of a tick loop.
    Tick(Box<RunningTick>),
}

impl Running {
    /// When it acts next.
    #[inline]
    pub fn wake(&self) -> Ps {
        match self {
            Self::Stream(stream) => stream.wake,
            Self::Tick(tick) => tick.wake,
        }
    }

    /// Index of its core.
    pub fn core(&self) -> usize {
        match self {
            Self::Stream(stream) => stream.port.core,
            Self::Tick(tick) => tick.port.core,
        }
    }

    /// Its buffer, where it has one.
    pub fn buffer(&self) -> Option<MemoryRegion> {
        match self {
            Self::Stream(stream) => Some(stream.data.clone()),
            Self::Tick(_) => None,
        }
    }

    /// The tick loop, if it is one.
    pub fn tick(&self) -> Option<&RunningTick> {
        match self {
            Self::Stream(_) => None,
            Self::Tick(tick) => Some(tick),
        }
    }

    /// Its way to the memory.
    #[inline]
    pub fn port(&mut self) -> &mut Port {
        match self {
            Self::Stream(stream) => &mut stream.port,
            Self::Tick(tick) => &mut tick.port,
        }
    }

    /// Its core goes on at another clock.
    pub fn set_latencies(&mut self, latencies: Latencies, cycle_ns: f64) {
        self.port().latencies = latencies;
        if let Self::Tick(tick) = self {
            tick.set_clock(cycle_ns);
        }
    }

    /// What its core did before its caches.
    pub fn front_counters(&self) -> FrontCounters {
        match self {
            Self::Stream(stream) => stream.port.counts,
            Self::Tick(tick) => tick.port.counts,
        }
    }

    /// Accesses that its detour left out; none if it takes none that leaves any out.
    pub fn skipped(&self) -> Option<u64> {
        match self {
            Self::Stream(stream) => stream.detour.as_ref()?.skipped(),
            Self::Tick(_) => None,
        }
    }

    /// Whether its samples, if it takes any, are measured in full.
    pub fn measures_all(&self) -> bool {
        match self {
            Self::Stream(stream) => stream.detour.as_ref().is_none_or(|detour| detour.measures_all()),
            Self::Tick(_) => true,
        }
    }

    /// The lines that its event touches: those of a tick loop, or of the event of a `random` workload.
    pub fn event(&self, pattern: &Pattern) -> Vec<EventLine> {
        match self {
            Self::Stream(stream) => stream.event(pattern),
            Self::Tick(tick) => tick.event(),
        }
    }

    /// Lines of its instructions, one of each block that [`crate::caches::allocation::code::Code`] distinguishes at least.
    pub fn code(&self, pattern: &Pattern, line_bytes: u64) -> Vec<Line> {
        match self {
            Self::Stream(stream) => stream.code(pattern.code_bytes(), line_bytes),
            Self::Tick(tick) => tick.code.clone(),
        }
    }

    /// What its core does before its caches, if anything.
    pub fn front(&mut self) -> Option<&mut Front> {
        match self {
            Self::Stream(stream) => stream.front.as_deref_mut(),
            Self::Tick(_) => None,
        }
    }
}
