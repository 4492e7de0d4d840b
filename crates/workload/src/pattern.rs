//! A workload on one machine: every size is a number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::interrupt::InterruptSource;
use crate::packets::{PacketLink, PacketWait, SensorPackets};
use crate::passes::Passes;
use crate::trace::TraceSource;
use crate::wakeup::WakeupFigure;

/// What an access does to its address. Every access is 8 bytes wide and aligned, but for those of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A load and a store to the same address.
    Modify,
    /// A software prefetch into the first level.
    Prefetch,
    /// An atomic add within a line.
    Atomic,
    /// A store past the caches (host only).
    NonTemporal,
    /// A store, then a flush of the line from all caches (host only; unfair).
    Flush,
    /// An atomic add across the boundary of two lines (host with x86-64 only; unfair).
    SplitLock,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Read,
        Self::Write,
        Self::Modify,
        Self::Prefetch,
        Self::Atomic,
        Self::NonTemporal,
        Self::Flush,
        Self::SplitLock,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Modify => "modify",
            Self::Prefetch => "prefetch",
            Self::Atomic => "atomic",
            Self::NonTemporal => "non_temporal",
            Self::Flush => "flush",
            Self::SplitLock => "split_lock",
        }
    }

    /// Whether it can stall all cores of a machine, those of others too.
    pub fn is_unfair(self) -> bool {
        matches!(self, Self::Flush | Self::SplitLock)
    }

    /// Whether simulated cores have it.
    pub fn is_simulated(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Modify | Self::Prefetch | Self::Atomic)
    }

    /// Whether a processor of this architecture, such as `x86_64`, has it for programs.
    pub fn is_on(self, architecture: &str) -> bool {
        match self {
            Self::Read | Self::Write | Self::Modify | Self::Prefetch => true,
            Self::Atomic | Self::NonTemporal | Self::Flush => ["x86_64", "aarch64"].contains(&architecture),
            Self::SplitLock => architecture == "x86_64",
        }
    }
}

/// Bytes beyond the last access of a walk or buffer that its operation touches: a split lock ends on the line after it.
fn beyond(operation: Operation) -> u64 {
    if operation == Operation::SplitLock { 64 } else { 0 }
}

/// The order of a chase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// One random cycle through all elements.
    #[default]
    Random,
    /// Ascending addresses, then back to the first.
    Linear,
}

/// One affine loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loop {
    /// Iterations, at least 1.
    pub count: u64,
    /// Bytes between iterations, at least 8 and a multiple of 8.
    pub stride: u64,
}

/// What a tick loop does between two readings of the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TickBody {
    /// Only the statistics.
    Nothing,
    /// This many dependent adds in a straight line, 4 bytes of code each; at most [`TickBody::MOST_ADDS`].
    Adds(u64),
    /// A loop of this many increments.
    Loop(u64),
}

impl TickBody {
    /// The longest straight line of adds that the C kernel holds.
    pub const MOST_ADDS: u64 = 8192;
}

/// A workload with its sizes resolved. Addresses are offsets into the workload's own buffer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Pattern {
    /// `for i in outer { for j in inner { access(i * outer.stride + j * inner.stride) } }`; a sample is one inner loop.
    Walk {
        /// What each access does.
        operation: Operation,
        /// The outer loop.
        outer: Loop,
        /// The inner loop.
        inner: Loop,
    },
    /// Dependent loads over a permutation of `elements` places, `stride` bytes apart; a sample is `batch` loads.
    Chase {
        /// Number of places, at least 2.
        elements: u64,
        /// Bytes between places.
        stride: u64,
        /// The order of the places.
        order: Order,
        /// Loads in one sample.
        batch: u64,
    },
    /// Walk the buffer once every period; a sample is one pass.
    Buffer {
        /// Bytes walked.
        bytes: u64,
        /// Bytes between accesses.
        stride: u64,
        /// What each access does.
        operation: Operation,
        /// Nanoseconds from the start of one pass to the start of the next.
        period_ns: f64,
        /// Nanoseconds from the common start of a repeat to the first pass, less than a period. The passes then begin so long after
        /// it plus a whole number of periods; where absent, a period after the previous one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset_ns: Option<f64>,
    },
    /// Random reads and changes of data lines and calls into code lines, then an event that touches its own lines; a sample is one event.
    Random {
        /// Data that the background reads.
        data_bytes: u64,
        /// Reads of it between two events.
        data_accesses: u64,
        /// Changes of it between two events, after the reads.
        data_modifies: u64,
        /// Whether the numbers of reads, changes and calls are drawn anew before each event: any number from 0 to twice the
        /// one given is as likely as another. Otherwise they are those given.
        random_counts: bool,
        /// Code that the background calls into.
        code_bytes: u64,
        /// Calls into it between two events.
        code_calls: u64,
        /// Data lines that the event reads; they follow the background's data.
        event_data_lines: u64,
        /// Code lines that the event runs through; they follow the background's code.
        event_code_lines: u64,
        /// Pages of devices that the event uses: their addresses are translated, and what the devices take is part of the
        /// event's base cost. Simulated only.
        event_device_pages: u64,
        /// Lines from one line of the event to the next one, code and data.
        event_stride_lines: u64,
        /// Bytes in a line, data and code.
        line_bytes: u64,
    },
    /// Read the counter in a loop and keep statistics; a sample is one pass.
    Tick {
        /// Further work of each pass.
        body: TickBody,
    },
    /// The accesses of a whole program, again and again; a sample is one pass.
    Trace {
        /// Where they come from.
        source: TraceSource,
        /// Bytes of the memory that it works in, without gaps.
        data_bytes: u64,
        /// Bytes of its code, without gaps; 0 where the trace has no instruction fetches.
        code_bytes: u64,
        /// Bytes in a line: accesses to a line that was just used are counted as instructions.
        line_bytes: u64,
        /// The phase whose passes are the samples, in a recording that has passes; the whole trace where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<u32>,
        /// Nanoseconds from the start of one pass to the start of the next; without pauses where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        period_ns: Option<f64>,
    },
    /// An external program.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
        /// Its passes, where it is a target.
        #[serde(default)]
        passes: Passes,
    },
    /// Sleep until a programmed time, once every period, then run one pass of the body; a sample is one wake-up.
    Wakeup {
        /// Nanoseconds from one programmed wake-up to the next, at least 1000.
        period_ns: f64,
        /// What is timed.
        figure: WakeupFigure,
        /// What runs after each wake-up.
        body: Option<Box<Pattern>>,
    },
    /// Sleep until an event of the kernel, once every period; a sample is one event.
    Interrupt {
        /// Where the event comes from, and where the thread sees it.
        source: InterruptSource,
        /// Nanoseconds from one event to the next, at least 1000.
        period_ns: f64,
    },
    /// Answer each sensor packet, after one pass of the body; a sample is the time from its receipt to the answer.
    Packets {
        /// Where packets come from, and how.
        link: PacketLink,
        /// Who sends them, and when.
        sensor: SensorPackets,
        /// What is computed between the two packets.
        body: Option<Box<Pattern>>,
        /// Instructions of that, where they are counted.
        instructions: u64,
    },
}

/// Lines from the first of so many to the last one, both included.
fn spread(lines: u64, stride: u64) -> u64 {
    lines.checked_sub(1).map_or(0, |gaps| gaps * stride + 1)
}

impl Pattern {
    /// Why a workload cannot have a target's buffer in the place of one of its own; none where it can.
    pub fn cannot_share(&self, target: &Self) -> Option<String> {
        match (self.data_bytes(), target.data_bytes()) {
            (_, 0) => Some(
                "the target has no buffer; expected one of kind `walk`, `stream`, `chase`, `buffer` or `random`".into(),
            ),
            (own, targets) if own > targets => Some(format!(
                "the neighbour covers {own} bytes, and the target's buffer has {targets}; expected at most as many"
            )),
            _ => None,
        }
    }

    /// Bytes of data that the workload touches, without its recorder.
    pub fn data_bytes(&self) -> u64 {
        match self {
            Self::Walk { operation, outer, inner } => {
                (outer.count - 1) * outer.stride + (inner.count - 1) * inner.stride + 8 + beyond(*operation)
            }
            Self::Chase { elements, stride, .. } => elements * stride,
            Self::Buffer { bytes, operation, .. } => *bytes + beyond(*operation),
            Self::Random { data_bytes, event_data_lines, event_stride_lines, line_bytes, .. } => {
                data_bytes + spread(*event_data_lines, *event_stride_lines) * line_bytes
            }
            Self::Trace { data_bytes, .. } => *data_bytes,
            Self::Wakeup { body, .. } | Self::Packets { body, .. } => body.as_ref().map_or(0, |body| body.data_bytes()),
            Self::Tick { .. } | Self::Command { .. } | Self::Interrupt { .. } => 0,
        }
    }

    /// Bytes of the code that the workload calls into; 0 for all but `random` and traces with instruction fetches.
    pub fn code_bytes(&self) -> u64 {
        match self {
            Self::Random { code_bytes, event_code_lines, event_stride_lines, line_bytes, .. } => {
                code_bytes + spread(*event_code_lines, *event_stride_lines) * line_bytes
            }
            Self::Trace { code_bytes, .. } => *code_bytes,
            Self::Wakeup { body: Some(body), .. } | Self::Packets { body: Some(body), .. } => body.code_bytes(),
            _ => 0,
        }
    }

    /// Bytes of lines that one access touches anew: a whole line, or the stride where that is less. 0 for `tick`, which has
    /// no buffer, for an interrupt, and for a wake-up without a body; `None` for a whole program, whose accesses are of all kinds, and for a body,
    /// whose passes are counted.
    pub fn bytes_per_access(&self, line_bytes: u64) -> Option<u64> {
        match self {
            Self::Walk { inner, outer, .. } => {
                let step = if inner.count > 1 { inner.stride } else { outer.stride };
                Some(step.min(line_bytes))
            }
            Self::Buffer { stride, .. } | Self::Chase { stride, .. } => Some((*stride).min(line_bytes)),
            Self::Random { line_bytes, .. } => Some(*line_bytes),
            Self::Tick { .. } | Self::Wakeup { body: None, .. } | Self::Interrupt { .. } => Some(0),
            Self::Packets { body: None, .. } => Some(0),
            Self::Trace { .. } | Self::Command { .. } | Self::Wakeup { .. } | Self::Packets { .. } => None,
        }
    }

    /// Nanoseconds from one release to the next; `None` for a workload without a period.
    pub fn period_ns(&self) -> Option<f64> {
        match self {
            Self::Buffer { period_ns, .. } | Self::Wakeup { period_ns, .. } | Self::Interrupt { period_ns, .. } => {
                Some(*period_ns)
            }
            Self::Packets { sensor, .. } => Some(sensor.period_ns),
            Self::Trace { period_ns, .. } => *period_ns,
            _ => None,
        }
    }

    /// Nanoseconds from the common start of a repeat to the first pass; `None` where passes are at no chosen times.
    pub fn offset_ns(&self) -> Option<f64> {
        if let Self::Buffer { offset_ns, .. } = self { *offset_ns } else { None }
    }

    /// Whether the workload sleeps, so that others can run on its core meanwhile.
    pub fn sleeps(&self) -> bool {
        match self {
            Self::Wakeup { .. } | Self::Interrupt { .. } => true,
            Self::Packets { link, .. } => link.wait == PacketWait::Interrupt,
            _ => false,
        }
    }

    /// Whether it waits between its samples: for a time, a message or a packet.
    pub fn waits_between_samples(&self) -> bool {
        self.period_ns().is_some() || self.sleeps()
    }

    /// Whether it is a loop of Waykeeper's own, which reads the clock around each sample.
    pub fn is_timed_loop(&self) -> bool {
        matches!(
            self,
            Self::Walk { .. } | Self::Chase { .. } | Self::Buffer { .. } | Self::Random { .. } | Self::Tick { .. }
        )
    }

    /// What each access does; `None` where accesses differ, or there are none. That of its body for a wake-up or packets.
    pub fn operation(&self) -> Option<Operation> {
        match self {
            Self::Walk { operation, .. } | Self::Buffer { operation, .. } => Some(*operation),
            Self::Wakeup { body, .. } | Self::Packets { body, .. } => body.as_ref()?.operation(),
            _ => None,
        }
    }

    /// Why the workload cannot run on a simulated platform.
    pub fn host_only(&self) -> Option<&'static str> {
        match self.operation() {
            Some(Operation::NonTemporal) => return Some("a simulated platform has no stores past its caches"),
            Some(Operation::Flush) => return Some("a simulated platform has no flushes of lines"),
            Some(Operation::SplitLock) => return Some("a simulated platform has no locked bus"),
            _ => {}
        }
        match self {
            Self::Packets { .. } => {
                Some("its packets come from a network interface of Linux, and a simulated platform has none")
            }
            _ => self.sleeps().then_some("Linux wakes it, and nothing sleeps or wakes on a simulated platform"),
        }
    }

    /// Accesses in one sample. None where they are not counted.
    pub fn accesses_per_sample(&self) -> Option<u64> {
        match self {
            Self::Walk { inner, .. } => Some(inner.count),
            Self::Chase { batch, .. } => Some(*batch),
            Self::Buffer { bytes, stride, .. } => Some((bytes - 8) / stride + 1),
            _ => None,
        }
    }

    /// Accesses in one full pass of the pattern. None where a pass has no meaning.
    pub fn accesses_per_pass(&self) -> Option<u64> {
        match self {
            Self::Walk { outer, inner, .. } => Some(outer.count * inner.count),
            Self::Chase { elements, .. } => Some(*elements),
            Self::Buffer { bytes, stride, .. } => Some(bytes.div_ceil(*stride)),
            Self::Random { data_accesses, data_modifies, code_calls, event_data_lines, event_code_lines, .. } => {
                Some(data_accesses + data_modifies + code_calls + event_data_lines + event_code_lines)
            }
            Self::Tick { .. }
            | Self::Trace { .. }
            | Self::Command { .. }
            | Self::Wakeup { .. }
            | Self::Interrupt { .. }
            | Self::Packets { .. } => None,
        }
    }
}
