//! Perfetto's trace JSON (the trace event format): explained samples as slices, occupancy of the last shared cache as counters.
//!
//! A case is a process, a repeat a row of it. Parts of a sample may overlap without nesting, which slices of one row must
//! not: such parts go to further rows.

use serde_json::{Value, json};
use waykeeper_report::part_in_words;
use waykeeper_report::shown::one_line;
use waykeeper_run::{CaseRecord, LongSample, Run};

use crate::NotExported;

/// Rows are numbered repeat after repeat, with room for so many a repeat.
const ROWS_OF_A_REPEAT: u64 = 10_000;

/// The trace.
///
/// # Errors
/// A run without explained samples and without occupancy.
pub fn perfetto(run: &Run) -> Result<Value, NotExported> {
    let mut events = Vec::new();
    for (case, process) in run.cases.iter().zip(1u64..) {
        let mut of_case = samples(case, process);
        of_case.extend(occupancy(case, process));
        if !of_case.is_empty() {
            events.push(name("process_name", process, 0, &case.name));
            events.extend(of_case);
        }
    }
    if events.is_empty() {
        return Err(NotExported(
            "found no explained sample and no occupancy in the run; expected a simulated run with `--explain N`, or with \
             `occupancy = true` in `[table]`"
                .into(),
        ));
    }
    let about = json!({
        "experiment": one_line(&run.experiment), "platform": one_line(&run.platform), "started": one_line(&run.started),
        "tool": format!("{} {}", one_line(&run.tool.name), one_line(&run.tool.version)),
    });
    Ok(json!({ "traceEvents": events, "displayTimeUnit": "ns", "otherData": about }))
}

fn samples(case: &CaseRecord, process: u64) -> Vec<Value> {
    let mut events = Vec::new();
    let mut rows: Vec<u64> = Vec::new();
    for sample in &case.longest {
        for (row, event) in of_sample(sample) {
            let thread = u64::from(sample.repeat) * ROWS_OF_A_REPEAT + row;
            if !rows.contains(&thread) {
                rows.push(thread);
                let what = if row == 0 { "samples" } else { "parts" };
                events.push(name("thread_name", process, thread, &format!("repeat {}, {what}", sample.repeat)));
            }
            let mut event = event;
            event["pid"] = json!(process);
            event["tid"] = json!(thread);
            events.push(event);
        }
    }
    events
}

/// The sample in row 0, its parts in the rows below, each with its row.
fn of_sample(sample: &LongSample) -> Vec<(u64, Value)> {
    let begun_ns = sample.at_s * 1e9 - sample.ns;
    let slice = |what: &str, from_ns: f64, ns: f64, arguments: Value| json!({ "ph": "X", "name": one_line(what), "ts": (begun_ns + from_ns) / 1e3, "dur": ns / 1e3, "args": arguments });
    let further = json!({ "repeat": sample.repeat, "ns": sample.ns, "further_parts": sample.further_parts });
    let mut slices = vec![(0, slice("sample", 0.0, sample.ns, further))];
    // Where the last part of each row ends.
    let mut ends: Vec<f64> = Vec::new();
    let mut parts: Vec<_> = sample.parts.iter().collect();
    parts.sort_by(|a, b| a.from_ns.total_cmp(&b.from_ns));
    for part in parts {
        let row = ends.iter().position(|end| *end <= part.from_ns).unwrap_or_else(|| {
            ends.push(0.0);
            ends.len() - 1
        });
        ends[row] = part.from_ns + part.ns;
        let arguments = json!({ "for": one_line(&part.line), "text": one_line(&part_in_words(part)) });
        slices.push((row as u64 + 1, slice(&part.from, part.from_ns, part.ns, arguments)));
    }
    slices
}

fn occupancy(case: &CaseRecord, process: u64) -> Vec<Value> {
    let Some(held) = &case.occupancy else { return Vec::new() };
    let each = held.at_s.iter().zip(held.target_lines.iter().zip(&held.others_lines));
    let counter = |(at_s, (target, others)): (&f64, (&u64, &u64))| {
        json!({
            "ph": "C", "name": format!("L{} lines, repeat 1", held.level), "pid": process, "ts": at_s * 1e6,
            "args": { "target": target, "others": others },
        })
    };
    each.map(counter).collect()
}

fn name(what: &str, process: u64, thread: u64, name: &str) -> Value {
    json!({ "ph": "M", "name": what, "pid": process, "tid": thread, "args": { "name": one_line(name) } })
}
