//! A workload as a file describes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::Nanoseconds;
use crate::pattern::{Loop, Operation, Order, Pattern, TickBody};
use crate::quantity::{BadQuantity, CacheShapes, Count, Size};

/// An access pattern. `kind` says which; the other keys belong to that kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Workload {
    /// Two nested affine loops.
    Walk(Walk),
    /// Dependent loads over a permutation.
    Chase(Chase),
    /// A buffer that is walked once every period.
    Buffer(Buffer),
    /// Random data and instruction accesses, then an event.
    Random(Random),
    /// A loop that reads the counter.
    Tick(Tick),
    /// An external program (host only).
    Command(Command),
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Walk {
    /// One line for `waykeeper list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What each access does.
    pub operation: Operation,
    /// The outer loop.
    pub outer: CountedLoop,
    /// The inner loop.
    pub inner: CountedLoop,
}

/// Dependent loads: each gives the address of the next. One sample is `batch` loads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chase {
    /// One line for `waykeeper list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Bytes covered.
    pub size: Size,
    /// Bytes between places; one line where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<Size>,
    /// Random or linear.
    #[serde(default)]
    pub order: Order,
    /// Loads in one sample; 64 where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<Count>,
}

/// A buffer that is walked once every period. One sample is one pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// One line for `waykeeper list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
}

fn read() -> Operation {
    Operation::Read
}

/// Random reads and calls in the background, then an event whose lines are its own. One sample is one event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Random {
    /// One line for `waykeeper list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Data that the background reads.
    pub data: Size,
    /// Reads between two events.
    pub data_accesses: Count,
    /// Code that the background calls into.
    pub code: Size,
    /// Calls between two events.
    pub code_calls: Count,
    /// Data lines that the event reads.
    pub event_data_lines: Count,
    /// Code lines that the event runs through.
    pub event_code_lines: Count,
}

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tick {
    /// One line for `waykeeper list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Work between two readings; none where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
}

/// A program of someone else's, such as stress-ng, as a neighbour. Host only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// One line for `waykeeper list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Program and arguments; it is pinned to the neighbour's core and killed at the end.
    pub argv: Vec<String>,
}

/// Why a workload has no meaning on a machine: the key within the workload, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refused {
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
            Self::Chase(w) => &w.title,
            Self::Buffer(w) => &w.title,
            Self::Random(w) => &w.title,
            Self::Tick(w) => &w.title,
            Self::Command(w) => &w.title,
        }
        .as_deref()
        .unwrap_or_default()
    }

    /// The pattern on a core that sees these caches.
    ///
    /// # Errors
    /// The first key that has no value there.
    pub fn resolve(&self, caches: &CacheShapes) -> Result<Pattern, Refused> {
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
            Self::Buffer(buffer) => {
                let (size, stride) = (bytes("size", &buffer.size)?, bytes("stride", &buffer.stride)?);
                aligned("stride", stride)?;
                if size < 8 {
                    return Err(refused("size", "the buffer must hold at least one access of 8 bytes"));
                }
                if buffer.period.0 <= 0.0 {
                    return Err(refused("period", "the period is zero; `10 ms` would do"));
                }
                Pattern::Buffer { bytes: size, stride, operation: buffer.operation, period_ns: buffer.period.0 }
            }
            Self::Random(random) => {
                let line_bytes = caches.line_bytes();
                let whole_lines = |key: &str, size: &Size| match bytes(key, size)? / line_bytes {
                    0 => Err(refused(key, &format!("`{size}` is less than one line of {line_bytes} bytes"))),
                    lines => Ok(lines * line_bytes),
                };
                Pattern::Random {
                    data_bytes: whole_lines("data", &random.data)?,
                    data_accesses: number("data_accesses", &random.data_accesses)?,
                    code_bytes: whole_lines("code", &random.code)?,
                    code_calls: number("code_calls", &random.code_calls)?,
                    event_data_lines: number("event_data_lines", &random.event_data_lines)?,
                    event_code_lines: number("event_code_lines", &random.event_code_lines)?,
                    line_bytes,
                }
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
            Self::Command(command) => {
                if command.argv.is_empty() || command.argv[0].is_empty() {
                    return Err(refused("argv", "it names no program; `[\"stress-ng\", \"--vm\", \"1\"]` would do"));
                }
                Pattern::Command { argv: command.argv.clone() }
            }
        })
    }
}

fn refused(key: &str, why: &str) -> Refused {
    Refused { key: key.into(), why: why.into() }
}

fn at(key: &str, value: Result<u64, BadQuantity>) -> Result<u64, Refused> {
    value.map_err(|error| refused(key, &error.to_string()))
}

fn aligned(key: &str, stride: u64) -> Result<(), Refused> {
    if stride.is_multiple_of(8) {
        Ok(())
    } else {
        Err(refused(key, &format!("a stride of {stride} bytes is not a multiple of 8; accesses are 8 bytes wide")))
    }
}

fn resolve_loop(key: &str, counted: &CountedLoop, caches: &CacheShapes) -> Result<Loop, Refused> {
    let count = at(&format!("{key}.count"), counted.count.resolve(caches))?;
    let stride = at(&format!("{key}.stride"), counted.stride.resolve(caches))?;
    aligned(&format!("{key}.stride"), stride)?;
    Ok(Loop { count, stride })
}
