//! A workload as a file describes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::duration::Nanoseconds;
use crate::interrupt::Interrupt;
use crate::packets::Packets;
use crate::passes::{PassSource, Passes, Phase};
use crate::pattern::{Loop, Operation, Order, Pattern, TickBody};
use crate::quantity::{BadQuantity, CacheShapes, Count, Size};
use crate::trace::Trace;
use crate::wakeup::Wakeup;

/// An access pattern. `kind` says which; the other keys belong to that kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Workload {
    /// Two nested affine loops.
    Walk(Walk),
    /// Every line of a buffer, again and again.
    Stream(Streaming),
    /// Dependent loads over a permutation.
    Chase(Chase),
    /// A buffer that is walked once every period.
    Buffer(Buffer),
    /// Random data and instruction accesses, then an event.
    Random(Box<Random>),
    /// A loop that reads the counter.
    Tick(Tick),
    /// A whole program, or what was recorded of one.
    Trace(Trace),
    /// An external program (host only).
    Command(Command),
    /// A thread that sleeps until a programmed time, once every period (host only).
    Wakeup(Wakeup),
    /// A thread that sleeps until an event of the kernel, once every period (host only).
    Interrupt(Interrupt),
    /// A control loop from sensor packets to actuator packets (host only).
    Packets(Box<Packets>),
}

/// One loop of a walk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountedLoop {
    /// Iterations.
    pub count: Count,
    /// Bytes between iterations; a multiple of 8.
    pub stride: Size,
}

/// Two nested affine loops: the inner one runs fully for each step of the outer one. One sample is one inner loop.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Walk {
    /// One line for `waykeeper list`.
    pub title: Option<String>,
    /// What each access does.
    pub operation: Operation,
    /// The outer loop.
    pub outer: CountedLoop,
    /// The inner loop.
    pub inner: CountedLoop,
}

/// Every line of a buffer, again and again: line after line, or with a longer `stride` in passes that begin one line
/// further each. One sample is 4 KiB, or one pass with a longer stride.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Streaming {
    /// One line for `waykeeper list`.
    pub title: Option<String>,
    /// What each access does.
    pub operation: Operation,
    /// Bytes of the buffer.
    pub size: Size,
    /// Bytes from one access to the next; one line where absent. Above a line it is a whole number of lines.
    pub stride: Option<Size>,
}

/// Dependent loads: each returns the address of the next. One sample is `batch` loads.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chase {
    /// One line for `waykeeper list`.
    pub title: Option<String>,
    /// Bytes covered.
    pub size: Size,
    /// Bytes between places; one line where absent.
    pub stride: Option<Size>,
    /// Random or linear.
    #[serde(default)]
    pub order: Order,
    /// Loads in one sample; 64 where absent.
    pub batch: Option<Count>,
}

/// A buffer that is walked once every period. One sample is one pass.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// One line for `waykeeper list`.
    pub title: Option<String>,
    /// Bytes walked.
    pub size: Size,
    /// Bytes between accesses.
    pub stride: Size,
    /// What each access does.
    #[serde(default = "read")]
    pub operation: Operation,
    /// Time from the start of one pass to the start of the next.
    pub period: Nanoseconds,
    /// Time from the common start of a repeat to the first pass; from 0 to less than `period`. The passes then begin at `offset`
    /// plus a whole number of periods after that start, and a pass that is too late waits for the next such time. Where absent,
    /// the first pass begins after one period.
    pub offset: Option<Nanoseconds>,
}

/// The shortest period of passes with an `offset`, nanoseconds.
pub const SHORTEST_GRID_NS: f64 = 100.0;

impl Buffer {
    fn resolve(&self, caches: &CacheShapes) -> Result<Pattern, WorkloadError> {
        let size = at("size", self.size.resolve(caches))?;
        let stride = at("stride", self.stride.resolve(caches))?;
        aligned("stride", stride)?;
        if size < 8 {
            return Err(refused("size", "the buffer must hold at least one access of 8 bytes"));
        }
        let period_ns = self.period.0;
        if period_ns <= 0.0 {
            return Err(refused("period", "the period is zero; `10 ms` would do"));
        }
        if let Some(offset) = self.offset {
            if period_ns < SHORTEST_GRID_NS {
                let why = format!("found {}; with `offset`, 100 ns or more is accepted", self.period);
                return Err(refused("period", &why));
            }
            if offset.0 >= period_ns {
                let why = format!("found {offset}; accepted is 0 to less than `period`, which is {}", self.period);
                return Err(refused("offset", &why));
            }
        }
        let offset_ns = self.offset.map(|offset| offset.0);
        Ok(Pattern::Buffer { bytes: size, stride, operation: self.operation, period_ns, offset_ns })
    }
}

fn read() -> Operation {
    Operation::Read
}

/// Random reads and calls in the background, then an event whose lines are its own. One sample is one event.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Random {
    /// One line for `waykeeper list`.
    pub title: Option<String>,
    /// Data that the background reads.
    pub data: Size,
    /// Reads between two events.
    pub data_accesses: Count,
    /// Changes of data that the background makes between two events, after the reads; none where absent.
    pub data_modifies: Option<Count>,
    /// Whether the numbers of reads, changes and calls are drawn anew before each event, each of them from 0 to twice the
    /// one given; otherwise they are those given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub random_counts: bool,
    /// Code that the background calls into.
    pub code: Size,
    /// Calls between two events.
    pub code_calls: Count,
    /// Data lines that the event reads.
    pub event_data_lines: Count,
    /// Code lines that the event runs through.
    pub event_code_lines: Count,
    /// Pages of devices that the event uses, on simulated platforms: their addresses are translated like all others, and what
    /// the devices take is part of the core's base cost. None where absent. On this machine a target that has them is refused, and
    /// neighbours leave them out.
    pub event_device_pages: Option<Count>,
    /// Lines from one line of the event to the next one, code and data; 1 (they follow each other) where absent.
    pub event_stride_lines: Option<Count>,
}

/// The most pages of devices that an event can use.
const MOST_DEVICE_PAGES: u64 = 64;

/// The extra work of one pass of a tick loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// Straight-line dependent adds, 4 bytes of code each.
    Adds(Count),
    /// A loop of increments.
    Loop(Count),
}

/// Read the counter in a loop and keep statistics. One sample is one pass.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tick {
    /// One line for `waykeeper list`.
    pub title: Option<String>,
    /// Work between two readings; none where absent.
    pub body: Option<Body>,
}

/// An external program: a neighbour, such as stress-ng, or a target, whose passes are measured. Host only.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// One line for `waykeeper list`.
    pub title: Option<String>,
    /// Program and arguments; it is pinned to its core and ended after the measurement.
    pub argv: Vec<String>,
    /// How a pass of a target is known; by markers where absent. A neighbour has no passes.
    pub passes: Option<PassSource>,
    /// The phase whose passes are measured, by number or name, where the program marks several (`markers` only).
    pub phase: Option<Phase>,
    /// The function at whose entry a pass begins: of the program, or of a shared library as `libcontrol.so:step` (`functions`
    /// only).
    pub begin: Option<String>,
    /// The function at whose return a pass ends; that of `begin` where absent (`functions` only).
    pub end: Option<String>,
}

/// Phases are numbers below this: as in `waykeeper.h`.
const PHASES: u32 = 64;

impl Command {
    /// Its passes.
    ///
    /// # Errors
    /// A key that belongs to another source of passes, or that is missing for this one.
    fn passes(&self) -> Result<Passes, WorkloadError> {
        let functions = self.begin.is_some() || self.end.is_some();
        let implied = if functions { PassSource::Functions } else { PassSource::Markers };
        let source = self.passes.unwrap_or(implied);
        let only = |key: &str, set: bool, of: PassSource| match set && source != of {
            true => Err(refused(key, &format!("it is for passes from `{of}`, and `passes` is `{source}`"))),
            false => Ok(()),
        };
        only("phase", self.phase.is_some(), PassSource::Markers)?;
        only("begin", self.begin.is_some(), PassSource::Functions)?;
        only("end", self.end.is_some(), PassSource::Functions)?;
        Ok(match source {
            PassSource::Markers => match &self.phase {
                Some(Phase::Number(number)) if *number >= PHASES => {
                    return Err(refused("phase", &format!("found {number}; phases are numbered 0 to {}", PHASES - 1)));
                }
                phase => Passes::Markers { phase: phase.clone() },
            },
            PassSource::Functions => match (&self.begin, &self.end) {
                (Some(begin), end) if !begin.is_empty() && end.as_deref() != Some("") => {
                    Passes::Functions { begin: begin.clone(), end: end.as_ref().unwrap_or(begin).clone() }
                }
                _ => {
                    return Err(refused(
                        "begin",
                        "it names no function; expected the function at whose entry a pass begins (`--begin FUNCTION` of `run`)",
                    ));
                }
            },
            PassSource::Period => Passes::Period,
            PassSource::Process => Passes::Process,
            PassSource::Cyclictest => Passes::Cyclictest,
        })
    }
}

/// Why a workload has no meaning on a machine: the key within the workload, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct WorkloadError {
    /// Path of the key within the workload, such as `inner.stride`.
    pub key: String,
    /// What was found and what would do.
    pub why: String,
}

impl Workload {
    /// The one-line description, or the empty string.
    pub fn title(&self) -> &str {
        match self {
            Self::Walk(w) => &w.title,
            Self::Stream(w) => &w.title,
            Self::Chase(w) => &w.title,
            Self::Buffer(w) => &w.title,
            Self::Random(w) => &w.title,
            Self::Tick(w) => &w.title,
            Self::Trace(w) => &w.title,
            Self::Command(w) => &w.title,
            Self::Wakeup(w) => &w.title,
            Self::Interrupt(w) => &w.title,
            Self::Packets(w) => &w.title,
        }
        .as_deref()
        .unwrap_or_default()
    }

    /// The pattern on a core that sees these caches.
    ///
    /// # Errors
    /// The first key that has no value there.
    #[expect(clippy::too_many_lines, reason = "one arm a kind of workload")]
    pub fn resolve(&self, caches: &CacheShapes) -> Result<Pattern, WorkloadError> {
        let bytes = |key: &str, size: &Size| at(key, size.resolve(caches));
        let number = |key: &str, count: &Count| at(key, count.resolve(caches));
        Ok(match self {
            Self::Walk(walk) => {
                let pattern = Pattern::Walk {
                    operation: walk.operation,
                    outer: resolve_loop("outer", &walk.outer, caches)?,
                    inner: resolve_loop("inner", &walk.inner, caches)?,
                };
                let Pattern::Walk { outer, inner, .. } = &pattern else { unreachable!() };
                let span = u128::from(outer.count) * u128::from(outer.stride)
                    + u128::from(inner.count) * u128::from(inner.stride);
                if span > 1 << 40 {
                    return Err(refused("outer.count", "the two loops span more than 1 TiB"));
                }
                pattern
            }
            Self::Stream(stream) => streaming(stream, caches)?,
            Self::Chase(chase) => {
                let stride = chase.stride.as_ref().map_or(Ok(caches.line_bytes()), |s| bytes("stride", s))?;
                aligned("stride", stride)?;
                let elements = bytes("size", &chase.size)? / stride;
                if !(2..=u64::from(u32::MAX)).contains(&elements) {
                    let why = format!(
                        "`{}` holds {elements} places {stride} bytes apart; a chase needs 2 to 2^32 - 1",
                        chase.size
                    );
                    return Err(refused("size", &why));
                }
                let batch = chase.batch.as_ref().map_or(Ok(64), |n| number("batch", n))?;
                Pattern::Chase { elements, stride, order: chase.order, batch }
            }
            Self::Buffer(buffer) => buffer.resolve(caches)?,
            Self::Random(random) => {
                let line_bytes = caches.line_bytes();
                let whole_lines = |key: &str, size: &Size| match bytes(key, size)? / line_bytes {
                    0 => Err(refused(key, &format!("`{size}` is less than one line of {line_bytes} bytes"))),
                    lines => Ok(lines * line_bytes),
                };
                let draws = |key: &str, count: &Count| match number(key, count)? {
                    many if random.random_counts && many >= 1 << 31 => Err(refused(
                        key,
                        &format!("a mean of {many} is too large to draw numbers; 2147483647 would do"),
                    )),
                    count => Ok(count),
                };
                let pattern = Pattern::Random {
                    data_bytes: whole_lines("data", &random.data)?,
                    data_accesses: draws("data_accesses", &random.data_accesses)?,
                    data_modifies: random.data_modifies.as_ref().map_or(Ok(0), |n| draws("data_modifies", n))?,
                    random_counts: random.random_counts,
                    code_bytes: whole_lines("code", &random.code)?,
                    code_calls: draws("code_calls", &random.code_calls)?,
                    event_data_lines: number("event_data_lines", &random.event_data_lines)?,
                    event_code_lines: number("event_code_lines", &random.event_code_lines)?,
                    event_device_pages: match &random.event_device_pages {
                        Some(pages) => match number("event_device_pages", pages)? {
                            most @ 0..=MOST_DEVICE_PAGES => most,
                            many => {
                                let why =
                                    format!("{many} pages are more than an event uses; {MOST_DEVICE_PAGES} would do");
                                return Err(refused("event_device_pages", &why));
                            }
                        },
                        None => 0,
                    },
                    event_stride_lines: match &random.event_stride_lines {
                        Some(stride) => number("event_stride_lines", stride)?.max(1),
                        None => 1,
                    },
                    line_bytes,
                };
                let Pattern::Random { event_data_lines, event_code_lines, event_stride_lines, .. } = &pattern else {
                    unreachable!()
                };
                let lines = u128::from(*event_data_lines.max(event_code_lines));
                if lines * u128::from(*event_stride_lines) * u128::from(line_bytes) > 1 << 40 {
                    return Err(refused("event_stride_lines", "the event's lines span more than 1 TiB"));
                }
                pattern
            }
            Self::Tick(tick) => Pattern::Tick {
                body: match &tick.body {
                    None => TickBody::Nothing,
                    Some(Body::Adds(n)) => {
                        let adds = number("body.adds", n)?;
                        if adds > TickBody::MOST_ADDS {
                            let why =
                                format!("{adds} adds are more than the {} that the kernel holds", TickBody::MOST_ADDS);
                            return Err(refused("body.adds", &why));
                        }
                        TickBody::Adds(adds)
                    }
                    Some(Body::Loop(n)) => TickBody::Loop(number("body.loop", n)?),
                },
            },
            Self::Trace(trace) => trace.resolve(caches.line_bytes())?,
            Self::Command(command) => {
                if command.argv.is_empty() || command.argv[0].is_empty() {
                    return Err(refused("argv", "it names no program; `[\"stress-ng\", \"--vm\", \"1\"]` would do"));
                }
                Pattern::Command { argv: command.argv.clone(), passes: command.passes()? }
            }
            Self::Wakeup(wakeup) => wakeup.resolve(caches)?,
            Self::Interrupt(interrupt) => interrupt.resolve()?,
            Self::Packets(packets) => packets.resolve(caches)?,
        })
    }
}

pub(crate) fn refused(key: &str, why: &str) -> WorkloadError {
    WorkloadError { key: key.into(), why: why.into() }
}

fn at(key: &str, value: Result<u64, BadQuantity>) -> Result<u64, WorkloadError> {
    value.map_err(|error| refused(key, &error.to_string()))
}

fn aligned(key: &str, stride: u64) -> Result<(), WorkloadError> {
    if stride.is_multiple_of(8) {
        Ok(())
    } else {
        Err(refused(key, &format!("a stride of {stride} bytes is not a multiple of 8; accesses are 8 bytes wide")))
    }
}

/// A sample of a stream that goes line after line.
const STREAM_SAMPLE_BYTES: u64 = 4096;

fn streaming(stream: &Streaming, caches: &CacheShapes) -> Result<Pattern, WorkloadError> {
    let line = caches.line_bytes();
    let size = at("size", stream.size.resolve(caches))?;
    let stride = stream.stride.as_ref().map_or(Ok(line), |s| at("stride", s.resolve(caches)))?;
    aligned("stride", stride)?;
    if size < stride || size < 8 {
        return Err(refused("size", &format!("`{}` is less than one stride of {stride} bytes", stream.size)));
    }
    let (outer, inner) = if stride > line {
        if !stride.is_multiple_of(line) {
            return Err(refused("stride", &format!("{stride} bytes are no whole number of lines of {line} bytes")));
        }
        (Loop { count: stride / line, stride: line }, Loop { count: size / stride, stride })
    } else {
        let sample = if size.is_multiple_of(STREAM_SAMPLE_BYTES) { STREAM_SAMPLE_BYTES } else { size };
        (Loop { count: size / sample, stride: sample }, Loop { count: (sample - 8) / stride + 1, stride })
    };
    Ok(Pattern::Walk { operation: stream.operation, outer, inner })
}

fn resolve_loop(key: &str, counted: &CountedLoop, caches: &CacheShapes) -> Result<Loop, WorkloadError> {
    let count = at(&format!("{key}.count"), counted.count.resolve(caches))?;
    let stride = at(&format!("{key}.stride"), counted.stride.resolve(caches))?;
    aligned(&format!("{key}.stride"), stride)?;
    Ok(Loop { count, stride })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::CacheShape;

    fn pattern(text: &str) -> Result<Pattern, WorkloadError> {
        let caches = CacheShapes(vec![CacheShape { level: 1, size_bytes: 32 << 10, ways: 4, line_bytes: 64 }]);
        toml::from_str::<Workload>(text).unwrap().resolve(&caches)
    }

    fn walk(outer: (u64, u64), inner: (u64, u64)) -> Pattern {
        let of = |(count, stride)| Loop { count, stride };
        Pattern::Walk { operation: Operation::Modify, outer: of(outer), inner: of(inner) }
    }

    #[test]
    fn a_stream_touches_every_line_of_its_buffer_once_a_round() {
        for (keys, expected) in [
            // 8 KiB are 2 samples of 64 lines.
            ("size = '8 KiB'", walk((2, 4096), (64, 64))),
            ("size = '8 KiB'\nstride = '32 B'", walk((2, 4096), (128, 32))),
            // 1000 B are no whole samples: one sample of the 16 lines that begin at 0 to 960.
            ("size = '1000 B'", walk((1, 1000), (16, 64))),
            // 64 KiB at 4 KiB: 16 accesses a pass, and 64 passes for the 64 lines of each 4 KiB.
            ("size = '64 KiB'\nstride = '4 KiB'", walk((64, 64), (16, 4096))),
            ("size = '8 MiB'\nstride = '8 MiB'", walk((131_072, 64), (1, 8 << 20))),
        ] {
            let text = format!("kind = 'stream'\noperation = 'modify'\n{keys}\n");
            assert_eq!(pattern(&text), Ok(expected), "{keys}");
        }
    }

    #[test]
    fn an_offset_is_less_than_the_period() {
        let buffer = |keys: &str| pattern(&format!("kind = 'buffer'\nsize = '1 KiB'\nstride = '1 line'\n{keys}\n"));
        for (keys, expected) in [
            ("period = '100 us'", None),
            ("period = '100 us'\noffset = '0 us'", Some(0.0)),
            ("period = '100 us'\noffset = '99.999 us'", Some(99_999.0)),
        ] {
            assert_eq!(buffer(keys).unwrap().offset_ns(), expected, "{keys}");
        }
        for (keys, key) in [
            ("period = '100 us'\noffset = '100 us'", "offset"),
            ("period = '100 us'\noffset = '1 ms'", "offset"),
            ("period = '99 ns'\noffset = '0 ns'", "period"),
        ] {
            assert_eq!(buffer(keys).unwrap_err().key, key, "{keys}");
        }
    }

    #[test]
    fn a_stream_that_comes_to_nothing_names_its_key() {
        for (keys, key, word) in [
            ("size = '4 KiB'\nstride = '8 KiB'", "size", "less than one stride"),
            ("size = '4 KiB'\nstride = '96 B'", "stride", "whole number of lines"),
            ("size = '4 KiB'\nstride = '12 B'", "stride", "multiple of 8"),
            ("size = '4 B'", "size", "less than one stride"),
        ] {
            let refused = pattern(&format!("kind = 'stream'\noperation = 'read'\n{keys}\n")).unwrap_err();
            assert!(refused.key == key && refused.why.contains(word), "{keys}: {refused:?}");
        }
    }
}
