//! What a trace holds, in a few lines.

use std::collections::BTreeMap;

use serde::Serialize;
use waykeeper_trace::foreign::Format;
use waykeeper_trace::{PAGE, RecordKind, StoredTrace};
use waykeeper_workload::format_ns;

use crate::figure::{count, counted, three_digits};
use crate::shown::one_line;

/// What a trace holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceSummary {
    /// The file.
    pub file: String,
    /// Its format.
    pub format: &'static str,
    /// What was recorded.
    pub source: String,
    /// Whether the recording was ended before what was recorded had ended.
    pub is_part: bool,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Loads and stores of one instruction to the same place.
    pub modifies: u64,
    /// Blocks of code entered; 0 where fetches were not recorded.
    pub fetches: u64,
    /// Instructions, those with an access included.
    pub instructions: u64,
    /// Bytes of the data pages that were touched.
    pub data_bytes: u64,
    /// Pieces of memory without a gap that they make.
    pub data_pieces: u64,
    /// Bytes of the code pages that were touched.
    pub code_bytes: u64,
    /// Passes of each phase, by the phase's name or number; empty where they were not recorded.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub passes: BTreeMap<String, usize>,
    /// Nanoseconds from one pass to the next, where the recording says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<f64>,
    /// Bytes of the trace, compressed.
    pub stored_bytes: u64,
}

impl TraceSummary {
    /// Of a trace in a file.
    pub fn of(file: &str, trace: &StoredTrace) -> Self {
        let header = trace.header();
        Self {
            file: file.into(),
            format: match trace.format() {
                Format::Waykeeper => "Waykeeper",
                Format::Lackey => "valgrind lackey",
                Format::Din => "Dinero din",
                Format::ChampSim => "ChampSim",
            },
            source: header.source.clone(),
            is_part: header.is_part,
            loads: header.count(RecordKind::Load),
            stores: header.count(RecordKind::Store),
            modifies: header.count(RecordKind::Modify),
            fetches: header.count(RecordKind::Fetch),
            instructions: header.instructions,
            data_bytes: trace.data_pages().pages() * PAGE,
            data_pieces: trace.data_pages().runs() as u64,
            code_bytes: trace.code_pages().pages() * PAGE,
            passes: {
                let passes = trace.recorded_passes();
                passes.phases().into_keys().map(|phase| (passes.called(phase), passes.of(phase).len())).collect()
            },
            period_ns: trace.recorded_passes().period_ns,
            stored_bytes: trace.stored_bytes(),
        }
    }
}

/// The lines for a person.
pub fn trace(summary: &TraceSummary) -> String {
    let s = summary;
    let accesses = s.loads + s.stores + s.modifies;
    let fetches = match s.fetches {
        0 => "not recorded".into(),
        fetches => format!("{} in {} of code", counted(fetches, "block entered", "blocks entered"), size(s.code_bytes)),
    };
    let pieces = counted(s.data_pieces, "piece", "pieces");
    let per_record = s.stored_bytes as f64 / (accesses + s.fetches).max(1) as f64;
    let mut lines = vec![
        ("trace", format!("{} ({} format)", s.file, s.format)),
        ("recorded", format!("{}{}", s.source, if s.is_part { ", not to its end" } else { "" })),
        (
            "accesses",
            format!(
                "{}: {} loads, {} stores, {} modifies",
                count(accesses),
                count(s.loads),
                count(s.stores),
                count(s.modifies)
            ),
        ),
        ("instructions", count(s.instructions)),
        ("fetches", fetches),
        ("data", format!("{} in {pieces}", size(s.data_bytes))),
    ];
    if !s.passes.is_empty() {
        let of = |(called, passes): (&String, &usize)| format!("{} of `{called}`", count(*passes as u64));
        let passes: Vec<_> = s.passes.iter().map(of).collect();
        let period = s.period_ns.map(|ns| format!(", one every {}", format_ns(ns))).unwrap_or_default();
        lines.push(("passes", passes.join(", ") + &period));
    }
    lines.push(("stored", format!("{}, {} bytes a record", size(s.stored_bytes), three_digits(per_record))));
    lines.into_iter().map(|(what, told)| format!("{what:12}  {}\n", one_line(&told))).collect()
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", three_digits(bytes as f64 / 1024.0)),
        _ => format!("{} MiB", three_digits(bytes as f64 / 1_048_576.0)),
    }
}
