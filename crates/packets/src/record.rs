//! What a role leaves: the keys of its JSON. A key that does not apply is absent. Times are nanoseconds unless the key says otherwise.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::accounts::{CycleCounts, LateCycle, LostCycles, SensorCounts, StrangerCounts};
use crate::figure::CycleFigure;
use crate::frame::{VlanTag, WorkOfResponder};
use crate::path::{PathDrops, PathInUse};
use crate::role::RoleThread;

/// The version of both records.
pub const SCHEMA: u32 = 1;

/// What a responder computes in each cycle.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkRecord {
    /// Instructions; absent where they are not counted.
    pub instructions: Option<u64>,
    /// Bytes that they work in.
    pub bytes: u64,
}

impl WorkRecord {
    /// Of a greeting.
    pub fn of(work: WorkOfResponder) -> Self {
        Self { instructions: (work.instructions > 0).then_some(work.instructions), bytes: work.bytes }
    }
}

/// Launch times of a generator's packets, and the clocks that they rest on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchRecord {
    /// A packet was handed to the kernel so long before its launch time.
    pub lead_ns: u64,
    /// The interface's queueing disciplines, as the kernel lists them.
    pub disciplines: Vec<String>,
    /// In software a packet leaves up to so long before its launch time.
    pub delta_ns: u64,
    /// The interface keeps the launch time itself.
    pub offload: bool,
    /// What became of the packets.
    pub counts: LaunchCounts,
    /// CLOCK_TAI is so many seconds ahead of CLOCK_REALTIME; 0 where nobody has set the difference.
    pub tai_ahead_s: i64,
    /// Whether `ptp4l` ran: `yes`, `no`, or why that was not seen.
    pub ptp4l: String,
    /// Whether `phc2sys` ran.
    pub phc2sys: String,
    /// The clocks of devices, or why they were not seen.
    pub device_clocks: String,
}

/// What became of packets with launch times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LaunchCounts {
    /// Packets with a time stamp of their departure.
    pub left: u64,
    /// Packets that the kernel dropped, because their launch time was over before they could leave.
    pub missed: u64,
    /// Packets that the kernel did not take into its queue, because their launch time was over: they were not sent.
    pub refused: u64,
    /// Packets that were sent, and of which nothing was reported.
    pub not_seen: u64,
}

/// What a generator saw.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GenerateRecord {
    /// Version of this record.
    pub schema: u32,
    /// `generate`.
    pub role: String,
    /// Its interface.
    pub interface: String,
    /// The address of that.
    pub mac: String,
    /// The responder's address.
    pub peer: String,
    /// Time between two sensor packets.
    pub period_ns: u64,
    /// An answer later than this is late.
    pub deadline_ns: u64,
    /// Sensor packets as asked.
    pub cycles_asked: Option<u64>,
    /// Length as asked, seconds.
    pub length_asked_s: Option<f64>,
    /// Bytes of a packet after its Ethernet header.
    pub payload_bytes: u64,
    /// The tag of its packets.
    pub vlan: Option<VlanTag>,
    /// Launch times, where its packets had them.
    pub launch: Option<LaunchRecord>,
    /// The path that its packets took on this side.
    pub path: PathInUse,
    /// How its thread ran.
    pub thread: RoleThread,
    /// The kernel's random number of this boot: two sides on one machine have the same.
    pub boot_id: Option<String>,
    /// What the responder says that it computes.
    pub responder: WorkRecord,
    /// From the first release to the end, seconds.
    pub run_length_s: f64,
    /// It ended before all cycles were sent.
    pub cut_short: bool,
    /// What the system said when the interface went away.
    pub interface_lost: Option<String>,
    /// What the kernel dropped in front of this program.
    pub drops: Option<PathDrops>,
    /// What became of the cycles.
    pub counts: CycleCounts,
    /// Frames that were none of this run.
    pub strangers: StrangerCounts,
    /// Cycles whose answer was late: the first 100.
    pub late: Vec<LateCycle>,
    /// Cycles without an answer: the first 100 stretches.
    pub lost: Vec<LostCycles>,
    /// Lost cycles that are in no stretch of the list.
    pub unlisted_lost: u64,
    /// The highest cycle that was answered.
    pub last_answered: Option<u64>,
    /// What was measured.
    pub figures: Vec<CycleFigure>,
}

/// What a responder saw.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RespondRecord {
    /// Version of this record.
    pub schema: u32,
    /// `respond`.
    pub role: String,
    /// Its interface.
    pub interface: String,
    /// The address of that.
    pub mac: String,
    /// Bytes of a packet after its Ethernet header.
    pub payload_bytes: u64,
    /// The path that its packets took.
    pub path: PathInUse,
    /// How its thread ran.
    pub thread: RoleThread,
    /// What it computed in each cycle.
    pub work: WorkRecord,
    /// From its start to its end, seconds; it waited in most of it.
    pub run_length_s: f64,
    /// It was interrupted before its end.
    pub cut_short: bool,
    /// What the system said when the interface went away.
    pub interface_lost: Option<String>,
    /// What the kernel dropped in front of this program.
    pub drops: Option<PathDrops>,
    /// What came.
    pub counts: SensorCounts,
    /// Frames that were none of the generator that was served.
    pub strangers: StrangerCounts,
    /// What was measured.
    pub figures: Vec<CycleFigure>,
}
