//! What a person reads of `rtcp`.

use waykeeper_linux::KeptTime;
use waykeeper_packets::accounts::StrangerCounts;
use waykeeper_packets::figure::CycleFigure;
use waykeeper_packets::path::{PathDrops, PathInUse, PathKind};
use waykeeper_packets::record::{GenerateRecord, LaunchRecord, RespondRecord, WorkRecord};
use waykeeper_packets::role::RoleThread;
use waykeeper_report::figure::{counted, seconds, time};
use waykeeper_report::table::{columns, table};

/// So many late cycles are shown; the JSON has up to 100.
const SHOWN: usize = 10;

/// What a busy-polling thread under SCHED_FIFO loses on a core, and what would do.
pub fn throttled(kept: &KeptTime, core: u32) -> String {
    let (loses, sets) = match kept {
        KeptTime::NotSeen(why) => {
            return format!(
                "not seen whether the kernel takes the core from a busy-polling SCHED_FIFO thread: {why}; --interrupt avoids it"
            );
        }
        KeptTime::Throttling { runtime_us, period_us } => (
            format!("{} of every {period_us} us", period_us - runtime_us),
            "sysctl kernel.sched_rt_runtime_us=-1".to_owned(),
        ),
        KeptTime::FairServer { runtime_ns, period_ns, file } => (
            format!("{runtime_ns} of every {period_ns} ns, by the fair server of core {core}"),
            format!("echo 0 > {file}"),
        ),
    };
    format!(
        "the kernel can take the core from a busy-polling SCHED_FIFO thread while an ordinary task waits there: {loses}; \
         --interrupt, or `{sets}`, which removes that protection, would do"
    )
}

/// What a generator saw.
pub fn generated(record: &GenerateRecord) -> String {
    let counts = &record.counts;
    let mut lines = vec![
        format!(
            "generate on {} to {}: period {}, deadline {}, {}",
            record.interface,
            record.peer,
            ns(record.period_ns),
            ns(record.deadline_ns),
            thread(&record.thread)
        ),
        format!("responder: {}", work(&record.responder)),
        String::new(),
        figures(&record.figures),
        String::new(),
        format!(
            "{} in {}: {} answered, {} lost, {} late, {} doubled, {} reordered",
            counted(counts.sent, "cycle", "cycles"),
            seconds(record.run_length_s),
            counts.answered,
            counts.lost,
            counts.late,
            counts.doubled,
            counts.reordered
        ),
    ];
    for (what, count) in [
        ("periods passed without a packet, because the generator came too late", counts.missed_periods),
        ("packets were refused by the interface", counts.refused),
        ("answers came 65536 cycles after their packet or later", counts.given_up),
        ("answers were for cycles that were never sent", counts.never_sent),
    ] {
        push_count(&mut lines, count, what);
    }
    lines.extend(record.launch.iter().flat_map(launches));
    lines.extend(late(record));
    lines.extend(lost(record));
    lines.extend(strangers(&record.strangers));
    lines.extend(drops(record.drops));
    lines.extend(label(&record.path, record.cut_short));
    lines.join("\n") + "\n"
}

/// What a responder saw.
pub fn responded(record: &RespondRecord) -> String {
    let counts = &record.counts;
    let mut lines = vec![
        format!("respond on {} ({}): {}", record.interface, record.mac, thread(&record.thread)),
        format!("computes {}", work(&record.work)),
        String::new(),
        figures(&record.figures),
        String::new(),
        format!(
            "{} in {}, {}: {} doubled, {} reordered, {} missing",
            counted(counts.received, "sensor packet", "sensor packets"),
            seconds(record.run_length_s),
            counted(counts.sessions, "generator", "generators"),
            counts.doubled,
            counts.reordered,
            counts.missing
        ),
    ];
    push_count(&mut lines, counts.refused, "answers were refused by the interface");
    push_count(&mut lines, counts.far_behind, "sensor packets were 65536 cycles behind or more");
    lines.extend(strangers(&record.strangers));
    lines.extend(drops(record.drops));
    lines.extend(label(&record.path, record.cut_short));
    lines.join("\n") + "\n"
}

fn push_count(lines: &mut Vec<String>, count: u64, what: &str) {
    if count > 0 {
        lines.push(format!("{count} {what}"));
    }
}

fn ns(ns: u64) -> String {
    time(Some(ns as f64))
}

fn thread(thread: &RoleThread) -> String {
    let core = thread.core.map_or("any core".into(), |core| format!("core {core}"));
    let priority = thread.priority.map_or(String::new(), |priority| format!(" {priority}"));
    let memory = if thread.memory_locked { "memory locked" } else { "memory not locked" };
    format!("{core}, {}{priority}, {memory}", thread.scheduler)
}

fn work(work: &WorkRecord) -> String {
    let kib = work.bytes as f64 / 1024.0;
    match work.instructions {
        Some(instructions) => format!("{instructions} instructions in {kib} KiB a cycle"),
        None if work.bytes > 0 => format!("a workload of {kib:.0} KiB a cycle; its instructions are not counted"),
        None => "nothing in a cycle".into(),
    }
}

/// A maximum stands beside the time in which it was seen, and every figure beside its path and its time stamps.
fn figures(figures: &[CycleFigure]) -> String {
    let columns = columns(&[
        ("time", false),
        ("n", true),
        ("min", true),
        ("mean", true),
        ("p50", true),
        ("p99", true),
        ("p99.9", true),
        ("p99.99", true),
        ("max", true),
        ("jitter", true),
        ("in cycle", true),
        ("seen in", true),
        ("path", false),
    ]);
    let row = |figure: &CycleFigure| {
        vec![
            figure.what.clone(),
            figure.samples.to_string(),
            time(figure.min_ns),
            time(figure.mean_ns),
            time(figure.p50_ns),
            time(figure.p99_ns),
            time(figure.p99_9_ns),
            time(figure.p99_99_ns),
            time(figure.max_ns),
            time(figure.jitter_ns),
            figure.max_cycle.map(|cycle| cycle.to_string()).unwrap_or_default(),
            seconds(figure.run_length_s),
            figure.path.clone(),
        ]
    };
    let stamps = figures.iter().map(|figure| format!("{}: time stamps {}", figure.what, figure.time_stamps));
    let rows: Vec<_> = figures.iter().map(row).collect();
    let mut text = table(&columns, &rows).trim_end().to_owned();
    for line in stamps {
        text.push('\n');
        text.push_str(&line);
    }
    text
}

/// What became of packets with launch times, and which clocks that rests on.
fn launches(launch: &LaunchRecord) -> [String; 3] {
    let by = if launch.offload {
        "by the interface"
    } else {
        "in software: packets leave within `delta` before their launch time"
    };
    let counts = launch.counts;
    [
        format!("launch times, handed over {} before: {}; {by}", ns(launch.lead_ns), launch.disciplines.join("; ")),
        format!(
            "{} left, {} missed their launch time (these are lost), {} were not seen leaving; {} were refused, because it was over",
            counts.left, counts.missed, counts.not_seen, counts.refused
        ),
        format!(
            "CLOCK_TAI is {} s ahead of CLOCK_REALTIME; ptp4l runs: {}; phc2sys runs: {}; clocks of devices: {}",
            launch.tai_ahead_s, launch.ptp4l, launch.phc2sys, launch.device_clocks
        ),
    ]
}

fn late(record: &GenerateRecord) -> Vec<String> {
    let shown = record.late.iter().take(SHOWN);
    let mut lines: Vec<String> = shown
        .map(|late| format!("late: cycle {}, {} at {}", late.cycle, ns(late.round_trip_ns), seconds(late.at_s)))
        .collect();
    let more = record.counts.late - lines.len() as u64;
    push_count(&mut lines, more, "further late cycles; --json lists the first 100 of all");
    lines
}

fn lost(record: &GenerateRecord) -> Vec<String> {
    let stretches = record.lost.iter().take(SHOWN);
    let shown: u64 = stretches.clone().map(|lost| lost.to - lost.from + 1).sum();
    let mut lines: Vec<String> = stretches
        .map(|lost| match lost.to == lost.from {
            true => format!("lost: cycle {}", lost.from),
            false => format!("lost: cycles {} to {}", lost.from, lost.to),
        })
        .collect();
    push_count(&mut lines, record.counts.lost - shown, "further lost cycles");
    let after_last = record.last_answered.map_or(record.counts.sent, |last| record.counts.sent - last);
    if after_last > 0 && record.counts.sent > 0 {
        let since = record.last_answered.map_or("at all".into(), |last| format!("after cycle {last}"));
        lines.push(format!("no answer came {since}: the responder ended, or the network did not carry packets"));
    }
    lines
}

fn strangers(strangers: &StrangerCounts) -> Option<String> {
    (strangers.all() > 0).then(|| {
        format!(
            "ignored packets: {} foreign, {} too short, {} of another version",
            strangers.foreign, strangers.short, strangers.wrong_version
        )
    })
}

fn drops(drops: Option<PathDrops>) -> Option<String> {
    let Some(drops) = drops else {
        return Some("what the kernel dropped in front of this program was not seen".into());
    };
    (drops != PathDrops::default()).then(|| {
        format!("the kernel dropped {} in front of a full ring and {} for other reasons", drops.ring_full, drops.other)
    })
}

fn label(path: &PathInUse, cut_short: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if path.kind == PathKind::AfXdp {
        lines.push("AF_XDP: not comparable with figures of DPDK, whose driver runs in user space".into());
    }
    if cut_short {
        lines.push("cut short: interrupted before its end".into());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_names_the_setting_that_the_kernel_obeys() {
        let note = |kept: KeptTime| throttled(&kept, 3);
        let throttling = note(KeptTime::Throttling { runtime_us: 950_000, period_us: 1_000_000 });
        assert!(throttling.contains("50000 of every 1000000 us;"), "{throttling}");
        assert!(throttling.contains("`sysctl kernel.sched_rt_runtime_us=-1`"), "{throttling}");
        let file = "/sys/kernel/debug/sched/fair_server/cpu3/runtime".to_owned();
        let fair = note(KeptTime::FairServer { runtime_ns: 50_000_000, period_ns: 1_000_000_000, file: file.clone() });
        assert!(fair.contains("50000000 of every 1000000000 ns, by the fair server of core 3"), "{fair}");
        assert!(fair.contains(&format!("`echo 0 > {file}`")) && !fair.contains("sysctl"), "{fair}");
        let hidden = note(KeptTime::NotSeen("no debugfs".into()));
        assert!(hidden.contains("not seen") && hidden.contains("no debugfs"), "{hidden}");
    }
}
