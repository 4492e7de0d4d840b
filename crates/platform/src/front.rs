//! What a core does before its caches: issue, stores, prefetching, translation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::param::Param;

/// A core that sees a run of full-line stores stops allocating their lines and sends them on as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteStreaming {
    /// Consecutive lines that must be written in full before the core stops allocating.
    pub after_lines: Param<u64>,
    /// The level that such lines are written to, without being read: 2 or 3; one beyond the last cache is the memory.
    pub to_level: Param<u64>,
}

/// A hardware prefetcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrefetcherDescription {
    /// What it recognises.
    pub kind: Param<PrefetcherKind>,
    /// The level that it fills: 1 or 2.
    pub fills_level: Param<u64>,
    /// Accesses with the same stride before it begins; of no meaning for `next_line`.
    pub after_accesses: Param<u64>,
    /// Lines (or strides) that it runs ahead.
    pub distance: Param<u64>,
    /// Requests that one access can cause.
    pub degree: Param<u64>,
}

/// What a prefetcher recognises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrefetcherKind {
    /// Each miss fetches the lines that follow. It stays on the miss's page.
    NextLine,
    /// A constant distance between the misses of a page. It stays on that page.
    Stride,
}

/// A translation look-aside buffer.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlbDescription {
    /// The accesses that it serves.
    pub side: TlbSide,
    /// Entries without the lockable ones.
    pub entries: Param<u64>,
    /// Associativity; as many as entries for a fully associative one.
    pub ways: Param<u64>,
    /// Core cycles that a hit here adds; 0 for a first level.
    pub hit_cycles: Param<u64>,
    /// Control: further fully associative entries that software can fill and lock.
    pub lockable_entries: Option<Param<u64>>,
}

/// The accesses that a TLB serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TlbSide {
    /// Loads and stores.
    Data,
    /// Instructions.
    Instructions,
    /// Both.
    Unified,
}

/// How translations are found that no TLB holds.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TranslationDescription {
    /// KiB that one TLB entry and one descriptor cover.
    pub page_kib: Param<u64>,
    /// Descriptors that a walk reads, one after the other.
    pub walk_reads: Param<u64>,
    /// Bytes of a descriptor.
    pub descriptor_bytes: Param<u64>,
    /// The first cache that a walk looks into: 1 (the data cache) or 2; one beyond the last cache is the memory.
    pub walks_from_level: Param<u64>,
    /// Walks that an out-of-order core can have in flight at one time; 1 where absent.
    pub walkers: Option<Param<u64>>,
}

/// What the event of a `random` workload costs besides its accesses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Core cycles from the trigger to the end of the event when every line is in the first level, without those of its
    /// accesses: exception entry, barriers, arithmetic.
    pub base_cycles: Param<u64>,
}
