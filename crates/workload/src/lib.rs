//! Access patterns as data.
//!
//! A [`Workload`] is what a file says: sizes may be relative to a machine (`"4 x L3"`). [`Workload::resolve`] turns it
//! into a [`Pattern`], in which every size is a number. One [`Pattern`] has two readers: the simulator asks for its
//! [`stream`](Pattern::stream) of addresses, the host asks for its parameter block and hands that to a C kernel. A test
//! in the `kernels` crate checks that both touch the same addresses.

mod bundled;
mod duration;
mod interrupt;
mod packets;
mod passes;
mod pattern;
mod quantity;
mod random;
pub mod recorder;
mod stream;
mod trace;
mod wakeup;
mod workload;

pub use bundled::{bundled, find_bundled};
pub use duration::{BadDuration, Nanoseconds, format_ns, parse_duration_ns};
pub use interrupt::{Interrupt, InterruptSource};
pub use packets::{
    BadInstructionCount, INSTRUCTIONS_PER_LOAD, InstructionCount, PacketLink, PacketWait, Packets, PathKind,
    SHORTEST_PACKET_PERIOD_NS, SensorPackets,
};
pub use passes::{PassSource, Passes, Phase};
pub use pattern::{Loop, Operation, Order, Pattern, TickBody};
pub use quantity::{BadQuantity, CacheLevel, CacheShape, CacheShapes, Count, Size};
pub use random::Xorshift;
pub use stream::{Access, Region, Stream, WorkloadStep};
pub use trace::{PassLength, Trace, TraceSource, load as load_trace, record_program};
pub use wakeup::{Wakeup, WakeupFigure};
pub use waykeeper_programs::{ImageSize, ProgramName, Spec};
pub use workload::{
    Body, Buffer, Chase, Command, CountedLoop, Random, SHORTEST_GRID_NS, Streaming, Tick, Walk, Workload, WorkloadError,
};
