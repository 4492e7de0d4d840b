//! What is said over a room's socket.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_platform::CoreId;
use waykeeper_workload::{Pattern, Workload};

/// The version of the protocol. It goes up when an older client would misunderstand.
pub const VERSION: u32 = 1;

/// A request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoomRequest {
    /// [`VERSION`].
    pub version: u32,
    /// What is asked.
    #[serde(flatten)]
    pub ask: RoomQuestion,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum RoomQuestion {
    /// The room and what runs there. Its summaries of latencies are of the samples since the last such request.
    Status,
    /// Start a workload on an idle core.
    Start(Box<Start>),
    /// End a workload.
    Stop {
        /// Its number.
        id: u64,
    },
    /// All samples of a workload since it began, also after its end.
    Samples {
        /// Its number.
        id: u64,
    },
    /// Give out memory that outlives the workloads that use it as their buffer: a later one finds in caches what an
    /// earlier one left there.
    Memory {
        /// The core for which it is laid out.
        core: CoreId,
        /// Its size.
        bytes: u64,
    },
    /// Take such memory back.
    Free {
        /// Its number.
        memory: u64,
    },
    /// Answer when a workload has so many samples, or has ended.
    Until {
        /// Its number.
        id: u64,
        /// Samples since it began.
        samples: u64,
    },
    /// Answer when so much simulated time has passed.
    Wait {
        /// Simulated nanoseconds.
        ns: u64,
    },
}

/// A workload to start.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// What it is called.
    pub name: String,
    /// The workload, as in a workload file. Its sizes are resolved for the core.
    pub workload: Option<Workload>,
    /// In its place: what it does, with all sizes.
    pub pattern: Option<Pattern>,
    /// The core.
    pub core: CoreId,
    /// Whether its latency is recorded.
    #[serde(default)]
    pub target: bool,
    /// The task whose groups are the workload's, by its number in the room; those of the core without.
    pub pid: Option<i32>,
    /// The group of a pseudo-locked region that is its buffer.
    pub region: Option<String>,
    /// The number of the memory that is its buffer.
    pub memory: Option<u64>,
    /// Only so many samples are kept, the first ones.
    pub samples: Option<u64>,
    /// Whether it runs on when the connection that started it ends.
    #[serde(default)]
    pub stay: bool,
}

impl Start {
    /// A workload in the groups of the calling process, which is no target, has a buffer of its own, and ends with the
    /// connection.
    pub fn task(name: impl Into<String>, pattern: Pattern, core: CoreId) -> Self {
        Self {
            name: name.into(),
            workload: None,
            pattern: Some(pattern),
            core,
            target: false,
            pid: i32::try_from(std::process::id()).ok(),
            region: None,
            memory: None,
            samples: None,
            stay: false,
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoomAnswer {
    /// [`VERSION`].
    pub version: u32,
    /// What is answered.
    #[serde(flatten)]
    pub outcome: RoomOutcome,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum RoomOutcome {
    /// To `status`.
    Status(RoomStatus),
    /// To `start`.
    Started {
        /// The workload's number.
        id: u64,
    },
    /// To `stop`.
    Stopped,
    /// To `samples`.
    Samples(WorkloadSamples),
    /// To `memory`.
    Given {
        /// Its number.
        memory: u64,
    },
    /// To `free`.
    Freed,
    /// To `wait` and `until`.
    Waited {
        /// Simulated nanoseconds since the room began.
        now_ns: f64,
    },
    /// It cannot be done.
    Refused {
        /// Why.
        why: String,
    },
}

/// The room and what runs there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoomStatus {
    /// The platform's name.
    pub platform: String,
    /// The generation of the kernel.
    pub kernel: String,
    /// Simulated nanoseconds since the room began.
    pub now_ns: f64,
    /// Simulated over real time of late; 1 when nothing runs.
    pub speed: f64,
    /// Nanoseconds of a tick.
    pub tick_ns: f64,
    /// What runs.
    pub loads: Vec<LoadStatus>,
    /// Settings that this simulation does not have, each named once.
    pub not_simulated: Vec<String>,
}

/// A workload that runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadStatus {
    /// Its number.
    pub id: u64,
    /// What it is called.
    pub name: String,
    /// The core.
    pub core: CoreId,
    /// Whether its latency is what counts.
    pub target: bool,
    /// The task whose groups are the workload's.
    pub pid: Option<i32>,
    /// What it did since it began.
    #[serde(flatten)]
    pub counted: WorkloadCounts,
    /// Its latency since the last such request; absent without samples.
    pub latency: Option<Latency>,
}

/// What a workload did since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadCounts {
    /// Accesses.
    pub accesses: u64,
    /// Lines that it had to read from memory.
    pub memory_reads: u64,
    /// Those among them that are part of samples: not those of what records them.
    pub sample_reads: u64,
}

/// A summary of samples, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// The shortest.
    pub min: u64,
    /// The longest.
    pub max: u64,
    /// Their mean.
    pub mean: f64,
}

/// All samples of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadSamples {
    /// Simulated nanoseconds from its start to its end, or to now.
    pub ran_ns: f64,
    /// Nanoseconds of a tick.
    pub tick_ns: f64,
    /// What it did.
    #[serde(flatten)]
    pub counted: WorkloadCounts,
    /// The summary; absent without samples.
    pub latency: Option<Latency>,
    /// Ticks and how many samples took so many, ascending. Above 2047 ticks neighbouring values are counted together, within
    /// a thousandth, under the highest.
    pub buckets: Vec<(u64, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_flat_object() {
        let text = r#"{"version":1,"ask":"start","name":"probe","workload":{"kind":"stream","operation":"read","size":"64 KiB"},"core":2,"pid":7}"#;
        let request: RoomRequest = serde_json::from_str(text).unwrap();
        let RoomQuestion::Start(start) = &request.ask else { panic!("{request:?}") };
        assert_eq!((start.core, start.pid, start.target, &start.region), (2, Some(7), false, &None));
        let again: RoomRequest = serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
        assert_eq!(again, request);
        assert!(serde_json::from_str::<RoomRequest>(r#"{"version":1,"ask":"masks"}"#).is_err());
    }
}
