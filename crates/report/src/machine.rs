//! What a machine is: cores, caches and controls at a glance.

use waykeeper_linux::machine::{
    CacheKind, CacheUse, Control, CoresOfKind, How, Limits, Machine, MeasuredLatencies, Shares, Unit,
};
use waykeeper_platform::format_cpulist;

use crate::table::{columns, table};
use crate::text::{paragraph, section};

/// The machine as text; with its latencies, where they were measured.
pub fn machine(machine: &Machine, latencies: &[MeasuredLatencies]) -> String {
    let sections = [
        Some(heading(machine)),
        Some(cores(machine)),
        (!machine.caches.is_empty()).then(|| caches(machine)),
        (machine.nodes.len() > 1).then(|| nodes(machine)),
        measured(latencies),
        Some(controls(machine)),
        section("notes", machine.notes.clone()),
    ];
    sections.into_iter().flatten().collect::<Vec<_>>().join("\n\n") + "\n"
}

fn heading(machine: &Machine) -> String {
    let identity = &machine.identity;
    let mut lines =
        vec![identity.processor.clone().unwrap_or_else(|| "a processor that does not tell its name".into())];
    let mut what = Vec::new();
    what.extend(identity.architecture.clone());
    what.extend(
        identity
            .signature
            .map(|[family, model, stepping]| format!("family {family}, model {model}, stepping {stepping}")),
    );
    what.extend(machine.memory_mib.map(memory));
    what.extend(identity.catalogue.as_ref().map(|sku| format!("in the catalogue as {sku}")));
    what.extend(identity.hypervisor.as_ref().map(|below| match below.as_str() {
        "present" => "virtual".to_owned(),
        name => format!("virtual ({name})"),
    }));
    lines.push(what.join("; "));
    lines.extend(identity.kernel.as_ref().map(|kernel| format!("Linux {kernel}")));
    let clock = &machine.clock;
    let mut counter = Vec::new();
    counter.extend(clock.counter_khz.map(|khz| format!("at {:.3} GHz", khz as f64 / 1e6)));
    counter.extend(clock.found.as_ref().map(|found| format!("by {found}")));
    if let Some(constant) = clock.constant {
        counter.push(if constant { "of constant rate" } else { "whose rate changes with the clock" }.into());
        if clock.counter_khz.is_none() {
            counter.push("its frequency unknown".into());
        }
    }
    let counter = (!counter.is_empty()).then(|| format!("counter {}", counter.join(", ")));
    let source = clock.source.as_ref().map(|source| format!("the kernel keeps time by {source}"));
    let cycles = clock.cycle_counter_readable.map(|readable| match readable {
        true => "programs may read the core's cycle counter, a finer clock (`run --clock pmccntr`)".to_owned(),
        false => "programs may not read the core's cycle counter (`sysctl -w kernel.perf_user_access=1`; `run --clock pmccntr`)"
            .to_owned(),
    });
    let clocks: Vec<_> = counter.into_iter().chain(source).chain(cycles).collect();
    if !clocks.is_empty() {
        lines.push(clocks.join("; "));
    }
    if let Some(recorded) = &identity.recorded {
        let day = recorded.date.as_ref().map_or(String::new(), |day| format!(" on {day}"));
        lines.push(format!("recorded{day}: {}", recorded.made_by));
    }
    lines.iter().map(|line| paragraph(line, "  ")).collect::<Vec<_>>().join("\n")
}

fn memory(mib: u64) -> String {
    format!("{} GiB of memory", (mib as f64 / 1024.0).round())
}

fn cores(machine: &Machine) -> String {
    let columns = columns(&[
        ("cores", false),
        ("kind", false),
        ("found by", false),
        ("physical", true),
        ("capacity", true),
        ("MHz", true),
        ("base", true),
        ("driver, governor", false),
    ]);
    let rows: Vec<Vec<String>> = machine.cores.iter().map(core_row).collect();
    let mut text = table(&columns, &rows);
    if !machine.siblings.is_empty() {
        let pairs: Vec<_> = machine.siblings.iter().map(|group| format_cpulist(group)).collect();
        text += "\n\n";
        text += &paragraph(&format!("threads of one core: {}", pairs.join("; ")), "  ");
    }
    if !machine.isolated.is_empty() {
        text += &format!("\n\nisolated: {}", format_cpulist(&machine.isolated));
    }
    text
}

fn core_row(cores: &CoresOfKind) -> Vec<String> {
    let number = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    let highest = match (cores.slowest_max_mhz, cores.max_mhz) {
        (Some(slow), Some(fast)) => format!("{slow} to {fast}"),
        (None, Some(fast)) => fast.to_string(),
        _ => number(cores.told_mhz),
    };
    let range = match cores.min_mhz {
        Some(least) => format!("{least} .. {highest}"),
        None => highest,
    };
    vec![
        format_cpulist(&cores.cpus),
        cores.kind.clone(),
        cores.found.clone(),
        cores.physical.to_string(),
        number(cores.capacity),
        range,
        number(cores.base_mhz),
        [&cores.driver, &cores.governor].into_iter().flatten().cloned().collect::<Vec<_>>().join(", "),
    ]
}

fn size(kib: u64) -> String {
    if kib.is_multiple_of(1024) { format!("{} MiB", kib / 1024) } else { format!("{kib} KiB") }
}

fn caches(machine: &Machine) -> String {
    let columns = columns(&[
        ("cache", false),
        ("size", true),
        ("ways", true),
        ("sets", true),
        ("line", true),
        ("mask bits", true),
        ("inclusive", false),
        ("sets by", false),
        ("shared by", false),
        ("found by", false),
    ]);
    let rows: Vec<Vec<String>> = machine.caches.iter().map(|cache| cache_row(machine, cache)).collect();
    table(&columns, &rows)
}

fn cache_row(machine: &Machine, cache: &CacheKind) -> Vec<String> {
    let number = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    let kind = match cache.holds {
        CacheUse::Data => "d",
        CacheUse::Instructions => "i",
        CacheUse::Unified => "",
    };
    let mine = |control: &&Control| {
        control.shares.as_ref().is_some_and(|shares| shares.level == cache.level)
            && control.cpus.as_ref().is_none_or(|of| cache.shared_by.iter().flatten().any(|cpu| of.contains(cpu)))
    };
    let bits = machine.controls.iter().find(mine).and_then(|it| it.shares.as_ref()?.bits);
    let bits = bits.filter(|_| cache.holds != CacheUse::Instructions);
    let word = |answer: Option<bool>| answer.map_or("", |answer| if answer { "yes" } else { "no" }).to_owned();
    vec![
        format!("L{}{kind}", cache.level),
        size(cache.size_kib),
        number(cache.ways),
        number(cache.sets),
        number(cache.line_bytes),
        number(bits.map(u64::from)),
        word(cache.inclusive),
        cache.hashed.map_or("", |hashed| if hashed { "hash" } else { "address" }).to_owned(),
        groups(&cache.shared_by),
        cache.found.clone(),
    ]
}

/// Few groups by their cores, many by their number.
fn groups(groups: &[Vec<u32>]) -> String {
    const MOST: usize = 4;
    let lists: Vec<_> = groups.iter().map(|group| format_cpulist(group)).collect();
    if lists.len() <= MOST {
        return lists.join(" | ");
    }
    format!("{} | {} | .. ({} in all)", lists[0], lists[1], lists.len())
}

fn nodes(machine: &Machine) -> String {
    let columns = columns(&[("node", false), ("cores", false), ("distances", false)]);
    let rows: Vec<Vec<String>> = machine
        .nodes
        .iter()
        .map(|node| {
            let distances: Vec<_> = node.distances.iter().map(u32::to_string).collect();
            vec![node.number.to_string(), format_cpulist(&node.cpus), distances.join(" ")]
        })
        .collect();
    table(&columns, &rows)
}

fn measured(latencies: &[MeasuredLatencies]) -> Option<String> {
    let columns =
        columns(&[("core", false), ("level", false), ("ns a load", true), ("least", true), ("greatest", true)]);
    let mut rows = Vec::new();
    for of in latencies {
        let levels = of.level_ns.iter().map(|(level, ns)| (format!("L{level}"), ns));
        for (level, ns) in levels.chain(of.memory_ns.iter().map(|ns| ("memory".to_owned(), ns))) {
            let figure = |value: f64| format!("{value:.2}");
            rows.push(vec![of.cpu.to_string(), level, figure(ns.value), figure(ns.least), figure(ns.greatest)]);
        }
    }
    let sources: Vec<_> = latencies.iter().map(|of| paragraph(&of.source, "  ")).collect();
    (!rows.is_empty()).then(|| format!("{}\n\n{}", table(&columns, &rows), sources.join("\n")))
}

fn controls(machine: &Machine) -> String {
    if machine.controls.is_empty() {
        return "No control was found.".into();
    }
    let mut text = String::from("controls");
    for control in &machine.controls {
        let cores = control.cpus.as_ref().map_or(String::new(), |cpus| format!(" of cores {}", format_cpulist(cpus)));
        let shares = control.shares.as_ref().map(self::shares);
        let limits = control.limits.as_ref().map(self::limits);
        let mut parts: Vec<String> = [shares, limits].into_iter().flatten().collect();
        parts.extend((!control.detail.is_empty()).then(|| control.detail.clone()));
        if !control.offered_by_linux && control.shares.is_some() {
            parts.push("Linux does not offer it here".into());
        }
        let what = if parts.is_empty() { String::new() } else { format!(": {}", parts.join("; ")) };
        text += &format!("\n{}", paragraph(&format!("  {}{cores}{what}", control.name), "    "));
        for evidence in &control.found {
            text +=
                &format!("\n{}", paragraph(&format!("      {}: {}", place(evidence.by), evidence.says), "        "));
        }
    }
    text
}

fn place(by: How) -> &'static str {
    match by {
        How::Cpuid => "CPUID",
        How::Resctrl => "resctrl",
        How::Mpam => "MPAM through resctrl",
        How::Probe => "probe",
        How::Catalogue => "catalogue",
        How::Sysfs => "sysfs",
        How::Register => "register",
        How::Manual => "manual",
    }
}

fn shares(shares: &Shares) -> String {
    let mut parts = Vec::new();
    parts.extend(shares.bits.map(|bits| format!("masks of {bits} bits")));
    parts.extend(shares.classes.map(|classes| format!("{classes} classes")));
    parts.extend(shares.min_bits.filter(|bits| *bits != 1).map(|bits| match bits {
        0 => "may be empty".to_owned(),
        bits => format!("at least {bits} bits"),
    }));
    parts.extend(shares.holes.map(|holes| if holes { "holes allowed" } else { "no holes" }.to_owned()));
    parts.extend(shares.shareable.filter(|mask| *mask != 0).map(|mask| format!("others fill {mask:#x} too")));
    parts.extend(shares.code_and_data.filter(|it| *it).map(|_| "code and data apart".to_owned()));
    parts.join(", ")
}

fn limits(limits: &Limits) -> String {
    let unit = match limits.unit {
        Unit::Percent => "percent",
        Unit::MegabytesPerSecond => "MiB/s",
        Unit::EighthsOfGigabytePerSecond => "eighths of GB/s",
    };
    let classes = limits.classes.map_or(String::new(), |classes| format!(", {classes} classes"));
    let most = if limits.max == u32::MAX { "no limit".to_owned() } else { limits.max.to_string() };
    format!("{} to {most} {unit} in steps of {}{classes}", limits.min, limits.step)
}
