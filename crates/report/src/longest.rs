//! The longest samples, part by part.

use waykeeper_run::{CaseRecord, LongSample, MemoryPart, Run, SamplePart};

use crate::figure::{counted, seconds, time};
use crate::text::paragraph;

/// The longest samples of every case; nothing where nobody asked for them.
pub fn longest(run: &Run) -> Option<String> {
    let lines: Vec<String> = run.cases.iter().flat_map(of_case).collect();
    (!lines.is_empty()).then(|| format!("longest samples\n{}", lines.join("\n")))
}

fn of_case(case: &CaseRecord) -> Vec<String> {
    let mut lines = Vec::new();
    for sample in &case.longest {
        let LongSample { repeat, at_s, ns, parts, further_parts } = sample;
        lines.push(format!("  {}: {}, ended {} into repeat {repeat}", case.name, time(Some(*ns)), seconds(*at_s)));
        if parts.is_empty() {
            lines.push("    nothing that it waited for".into());
        }
        lines.extend(parts.iter().map(|part| paragraph(&format!("    {}", part_in_words(part)), "      ")));
        if *further_parts > 0 {
            lines
                .push(format!("    and {} after these, which were not kept", counted(*further_parts, "part", "parts")));
        }
    }
    lines
}

/// What the core waited for in one part of a sample, from when, for how long and why.
pub fn part_in_words(part: &SamplePart) -> String {
    let (took, line, from) = (time(Some(part.ns)), &part.line, &part.from);
    let what = match from.as_str() {
        before if before.starts_with("an entry") => format!("{before}, before {line}"),
        "a line under way" => format!("{line}, which was in flight"),
        from => format!("{line} from {from}"),
    };
    let mut text = format!("{:+.0} ns: {took} for {what}", part.from_ns);
    if let Some(memory) = &part.memory {
        text += &format!(" ({})", of_memory(memory));
    }
    if let Some(lost) = &part.lost {
        let before = part.lost_before_ns.map(|ns| format!(" {} before", time(Some(ns)))).unwrap_or_default();
        text += &format!("; lost{before}: {lost}");
    }
    text
}

fn of_memory(memory: &MemoryPart) -> String {
    let mut parts = Vec::new();
    if memory.in_front_ns > 0.0 {
        parts.push(format!("{} in front of the controller", time(Some(memory.in_front_ns))));
    }
    if memory.for_write_ns > 0.0 {
        parts.push(format!("{} for a write of the same line", time(Some(memory.for_write_ns))));
    }
    if memory.in_bank_ns > 0.0 {
        let mut why = Vec::new();
        if memory.reads_ahead > 0 {
            why.push(format!("behind {}", counted(memory.reads_ahead.into(), "read", "reads")));
        }
        if memory.passed_by > 0 {
            why.push(format!("passed by {}", counted(memory.passed_by.into(), "command", "commands")));
        }
        if memory.refreshes > 0 {
            why.push(counted(memory.refreshes.into(), "refresh", "refreshes"));
        }
        let why = if why.is_empty() { String::new() } else { format!(", {}", why.join(", ")) };
        parts.push(format!("{} in its bank{why}", time(Some(memory.in_bank_ns))));
    }
    parts.push(format!("{} to read it", time(Some(memory.to_read_ns))));
    parts.join(", ")
}
