//! The live view: who holds which ways, what they occupy and move, and how long the target takes.

mod draw;
mod history;
mod line;

pub use draw::draw;
pub use history::History;
pub use line::lines;

use serde::{Deserialize, Serialize};

/// One look at a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// What is looked at.
    pub machine: String,
    /// Seconds since the first look, of the machine's own time: simulated where the machine is.
    pub at_s: f64,
    /// Groups, the root first.
    pub groups: Vec<GroupLook>,
    /// The target's latency, where there is a target.
    pub target: Option<TargetLook>,
}

/// One group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupLook {
    /// Its path; the root is the empty text.
    pub group: String,
    /// Its mode, where it is a control group.
    pub mode: Option<String>,
    /// Its CPUs as a list such as `0-3,7`.
    pub cpus: String,
    /// How many tasks it has.
    pub tasks: usize,
    /// Its masks and limits.
    pub shares: Vec<ShareLook>,
    /// What it holds and moves, by domain.
    pub usage: Vec<Usage>,
}

/// A mask or limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ShareLook {
    /// Of what: `L3:0`, `MB:0`.
    pub what: String,
    /// The mask or limit.
    pub value: u64,
    /// Bits of a whole mask; absent for limits.
    pub bits: Option<u32>,
}

/// What a group holds and moves in one domain. What the machine does not tell is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// The domain: `L3:0`.
    pub domain: String,
    /// Bytes that it occupies.
    pub occupancy_bytes: Option<u64>,
    /// Bytes a second that it moved since the look before.
    pub total_bytes_s: Option<f64>,
    /// The same to and from this domain's own memory.
    pub local_bytes_s: Option<f64>,
}

/// The target since the look before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetLook {
    /// What it is: a workload and its core.
    pub name: String,
    /// Samples.
    pub samples: u64,
    /// Their mean, nanoseconds; absent without samples.
    pub mean_ns: Option<f64>,
    /// The shortest.
    pub min_ns: Option<f64>,
    /// The longest that was seen.
    pub max_ns: Option<f64>,
    /// Misses to memory by the target's core for each sample, where that is counted.
    pub misses_per_sample: Option<f64>,
}

/// How a group is called.
pub(crate) fn name(group: &str) -> &str {
    if group.is_empty() { "(root)" } else { group }
}
