//! A program under way, of either kind.

use crate::latencies::Latencies;
use crate::port::Port;
use crate::program::Program as Stream;
use crate::tick::Tick;

/// A program under way.
#[derive(Debug, Clone)]
pub enum Running {
    /// Steps of a stream.
    Stream(Box<Stream>),
    /// Passes of a tick loop.
    Tick(Box<Tick>),
}

impl Running {
    /// When it acts next.
    #[inline]
    pub fn wake(&self) -> u64 {
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
}
