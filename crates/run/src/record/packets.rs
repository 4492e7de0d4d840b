//! What became of the packets of a control loop during one repeat.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What a control loop and the generator of its sensor packets counted. The warm-up is in the counts, and not in the samples.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PacketRecord {
    /// The path of the packets, in words: figures of different paths do not compare.
    pub path: String,
    /// Instructions of the computation; absent where they are not counted.
    pub instructions: Option<u64>,
    /// Bytes that it works in.
    pub bytes: u64,
    /// Sensor packets, doubled ones included. Each was computed and answered.
    pub received: u64,
    /// Sensor packets of a cycle that had come before.
    pub doubled: u64,
    /// Sensor packets that came after that of a later cycle.
    pub reordered: u64,
    /// Cycles between the first and the last one that did not come.
    pub missing: u64,
    /// Answers that the interface refused.
    pub refused: u64,
    /// Frames that were not for it.
    pub ignored: u64,
    /// Frames that the kernel dropped in front of it; absent where that cannot be read.
    pub dropped: Option<u64>,
    /// What the generator says; absent where it ran elsewhere, unknown to this run.
    pub generator: Option<GeneratorAccount>,
}

/// What the generator of sensor packets says.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorAccount {
    /// Its core, where it ran on this machine.
    pub core: Option<u32>,
    /// Time from one packet to the next.
    pub period_ns: u64,
    /// An answer later than this is late.
    pub deadline_ns: u64,
    /// The path of its packets, in words.
    pub path: String,
    /// Packets that its interface took.
    pub sent: u64,
    /// Cycles whose first answer came, late ones included.
    pub answered: u64,
    /// Cycles without an answer.
    pub lost: u64,
    /// Cycles whose first answer came after its deadline.
    pub late: u64,
    /// Answers beyond the first of their cycle.
    pub doubled: u64,
    /// First answers that came after that of a later cycle.
    pub reordered: u64,
    /// Releases without a packet, because the generator came a whole period too late.
    pub missed_periods: u64,
    /// Smallest round trip.
    pub round_trip_min_ns: Option<f64>,
    /// Mean round trip.
    pub round_trip_mean_ns: Option<f64>,
    /// Largest round trip; it belongs to this repeat and bounds nothing.
    pub round_trip_max_ns: Option<f64>,
    /// The first late cycles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late_cycles: Vec<LatePacket>,
}

/// A cycle whose answer came after its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatePacket {
    /// Its number.
    pub cycle: u64,
    /// When its answer came, seconds from the generator's start.
    pub at_s: f64,
    /// Its round trip.
    pub round_trip_ns: u64,
}
