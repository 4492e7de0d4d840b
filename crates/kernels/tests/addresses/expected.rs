//! What the stream of a pattern says that one sees from outside.

use waykeeper_workload::{Operation, Pattern, Region, WorkloadStep};

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Fetch,
    Load,
    Store,
    Prefetch,
}

/// One access to the workload's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    pub kind: Kind,
    pub region: Region,
    pub offset: u64,
}

/// The accesses of the stream; a modify is a load and a store.
pub fn expected(pattern: &Pattern, seed: u64) -> impl Iterator<Item = Touch> {
    let accesses = pattern.stream(seed).filter_map(|step| match step {
        WorkloadStep::Access(access) => Some(access),
        _ => None,
    });
    accesses.flat_map(|access| {
        let kinds: &[Kind] = match (access.region, access.operation) {
            (Region::Code, _) => &[Kind::Fetch],
            (_, Operation::Read) => &[Kind::Load],
            (_, Operation::Prefetch) => &[Kind::Prefetch],
            (_, Operation::Write | Operation::NonTemporal | Operation::Flush) => &[Kind::Store],
            (_, Operation::Modify | Operation::Atomic | Operation::SplitLock) => &[Kind::Load, Kind::Store],
        };
        kinds.iter().map(move |kind| Touch { kind: *kind, region: access.region, offset: access.offset })
    })
}
