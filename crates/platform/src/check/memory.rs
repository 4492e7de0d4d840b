//! What a memory must fulfil beyond the grammar.

use super::{Finding, MOST_KIB, are_entries, finding, is_at_most, is_positive, is_power_of_two};
use crate::describe::Platform;
use crate::memory::{Ecc, Interconnect, MemoryCache, MemoryDescription, RefreshKind};
use crate::param::Param;
use crate::shared::{BandwidthControl, BandwidthScheme};

/// Each has a controller of its own, which is looked at for every command.
const MOST_CHANNELS: u64 = 64;

/// A pebibyte.
const MOST_MIB: u64 = 1 << 30;

/// A gibibyte: no row is longer, and no piece of a channel.
const MOST_BYTES: u64 = 1 << 30;

/// Refreshes are counted one by one.
const LEAST_REFRESH_NS: f64 = 1.0;

/// The memory of a platform, its alternatives, and what lies before them.
pub(super) fn memories_are_whole(platform: &Platform) -> Result<(), Finding> {
    let line = platform.line_bytes.value;
    if let Some(memory) = &platform.memory {
        memory_is_whole("memory", memory, line)?;
    }
    if platform.memory.is_none() && !platform.alternative_memories.is_empty() {
        return Err(finding("alternative_memories", "there is no `memory` that they could stand in for"));
    }
    for (name, memory) in &platform.alternative_memories {
        memory_is_whole(&format!("alternative_memories.{name}"), memory, line)?;
    }
    if let Some(interconnect) = &platform.interconnect {
        interconnect_is_whole(interconnect, line)?;
    }
    for (i, cache) in platform.shared_caches.iter().enumerate() {
        if let Some(control) = &cache.bandwidth_control {
            bandwidth_control_is_whole(&format!("shared_caches.{i}.bandwidth_control"), control)?;
        }
    }
    Ok(())
}

fn interconnect_is_whole(interconnect: &Interconnect, line: u64) -> Result<(), Finding> {
    if let Some(line_ns) = &interconnect.line_ns {
        is_positive("interconnect.line_ns", line_ns.value)?;
    }
    interconnect.memory_cache.as_ref().map_or(Ok(()), |cache| memory_cache_is_whole(cache, line))
}

fn memory_cache_is_whole(cache: &MemoryCache, line: u64) -> Result<(), Finding> {
    let path = "interconnect.memory_cache";
    super::divides_into_sets(path, &cache.size_kib, &cache.ways, line)?;
    is_power_of_two(&format!("{path}.parts"), cache.parts.value)?;
    let in_all = cache.parts.value.saturating_mul(cache.size_kib.value);
    is_at_most(&format!("{path}.parts"), in_all, " KiB in all parts", MOST_KIB)?;
    let sets = cache.size_kib.value * 1024 / line / cache.ways.value;
    if !sets.is_power_of_two() {
        let message = format!("{sets} sets in a part; address bits choose one, so they must be a power of two");
        return Err(finding(format!("{path}.size_kib"), message));
    }
    is_positive(&format!("{path}.hit_ns"), cache.hit_ns.value)
}

fn bandwidth_control_is_whole(path: &str, control: &BandwidthControl) -> Result<(), Finding> {
    let scheme = control.scheme.value;
    if control.steps.value == 0 {
        return Err(finding(format!("{path}.steps"), "0 steps; at least 1 is needed"));
    }
    if scheme == BandwidthScheme::Delay && control.steps.value != 100 {
        let message = format!("{} steps; a delay counts in percent, so 100 would do", control.steps.value);
        return Err(finding(format!("{path}.steps"), message));
    }
    if scheme == BandwidthScheme::Portions && control.steps.value > 64 {
        let message = format!("{} portions; one bit each, 64 at most", control.steps.value);
        return Err(finding(format!("{path}.steps"), message));
    }
    if control.queue_entries.value == 0 {
        return Err(finding(format!("{path}.queue_entries"), "0 entries; at least 1 is needed"));
    }
    let needs = |key: &str, what: &str, value: &Option<Param<f64>>| match value {
        Some(value) => is_positive(&format!("{path}.{key}"), value.value),
        None => Err(finding(path, format!("the scheme `{what}` needs `{key}`"))),
    };
    match scheme {
        BandwidthScheme::Delay => needs("delay_step_ns", "delay", &control.delay_step_ns),
        BandwidthScheme::Stride => Ok(()),
        BandwidthScheme::Maximum => needs("window_ns", "maximum", &control.window_ns),
        BandwidthScheme::Minimum => needs("window_ns", "minimum", &control.window_ns),
        BandwidthScheme::Portions => needs("window_ns", "portions", &control.window_ns),
    }
}

pub(super) fn share_is_possible(path: &str, control: &BandwidthControl, share: u64) -> Result<(), Finding> {
    let shares = control.shares();
    if shares.contains(&share) {
        return Ok(());
    }
    let (low, high) = shares.into_inner();
    Err(finding(path, format!("{share} is not possible here; {low} to {high} would do")))
}

fn memory_is_whole(path: &str, memory: &MemoryDescription, line: u64) -> Result<(), Finding> {
    counts_are_powers_of_two(path, memory, line)?;
    times_are_positive(path, memory)?;
    let units = if memory.refresh.as_ref().is_some_and(|refresh| refresh.value == RefreshKind::PerBank) {
        memory.banks.value as f64
    } else {
        1.0
    };
    if memory.trefi_ns.value < LEAST_REFRESH_NS {
        let why =
            format!("{} ns from one refresh to the next; at least {LEAST_REFRESH_NS} is needed", memory.trefi_ns.value);
        return Err(finding(format!("{path}.trefi_ns"), why));
    }
    if memory.trfc_ns.value >= memory.trefi_ns.value * units {
        return Err(finding(format!("{path}.trfc_ns"), "a refresh takes as long as the time from one to the next"));
    }
    if memory.trc_ns.value < memory.trp_ns.value {
        return Err(finding(format!("{path}.trc_ns"), "it is less than trp_ns, which is a part of it"));
    }
    let inline = memory.ecc.as_ref().is_some_and(|ecc| ecc.value == Ecc::Inline);
    for (key, given) in
        [("check_bits", memory.check_bits.is_some()), ("check_buffer_lines", memory.check_buffer_lines.is_some())]
    {
        if given && !inline {
            return Err(finding(format!("{path}.{key}"), "it is of no meaning without `ecc` inline"));
        }
    }
    if let Some(lines) = &memory.check_buffer_lines {
        let path = format!("{path}.check_buffer_lines");
        if lines.value == 0 {
            return Err(finding(path, "0 lines; at least 1 is needed"));
        }
        are_entries(&path, lines.value)?;
    }
    scheduler_is_whole(path, memory)
}

fn counts_are_powers_of_two(path: &str, memory: &MemoryDescription, line: u64) -> Result<(), Finding> {
    let counts = [("banks", Some(&memory.banks)), ("row_bytes", Some(&memory.row_bytes))];
    let optional = [
        ("channels", &memory.channels),
        ("channel_interleave_bytes", &memory.channel_interleave_bytes),
        ("ranks", &memory.ranks),
    ];
    for (key, count) in counts.into_iter().chain(optional.map(|(key, count)| (key, count.as_ref()))) {
        if let Some(count) = count {
            is_power_of_two(&format!("{path}.{key}"), count.value)?;
        }
    }
    is_at_most(&format!("{path}.size_mib"), memory.size_mib.value, " MiB", MOST_MIB)?;
    let bytes = [("row_bytes", Some(&memory.row_bytes)), ("channel_interleave_bytes", optional[1].1.as_ref())];
    for (key, bytes) in bytes.into_iter().filter_map(|(key, bytes)| Some((key, bytes?.value))) {
        is_at_most(&format!("{path}.{key}"), bytes, " bytes", MOST_BYTES)?;
    }
    if let Some(channels) = &memory.channels {
        is_at_most(&format!("{path}.channels"), channels.value, "", MOST_CHANNELS)?;
    }
    match &memory.channel_interleave_bytes {
        Some(bytes) if bytes.value < line => Err(finding(
            format!("{path}.channel_interleave_bytes"),
            format!("{} is less than a line of {line} bytes", bytes.value),
        )),
        _ => Ok(()),
    }
}

fn times_are_positive(path: &str, memory: &MemoryDescription) -> Result<(), Finding> {
    let needed = [
        ("trc_ns", &memory.trc_ns),
        ("trcd_ns", &memory.trcd_ns),
        ("trp_ns", &memory.trp_ns),
        ("cl_ns", &memory.cl_ns),
        ("line_transfer_ns", &memory.line_transfer_ns),
        ("trefi_ns", &memory.trefi_ns),
        ("trfc_ns", &memory.trfc_ns),
        ("scheduler.write_age_ns", &memory.scheduler.write_age_ns),
    ];
    let optional = [
        ("cwl_ns", &memory.cwl_ns),
        ("trrd_ns", &memory.trrd_ns),
        ("tfaw_ns", &memory.tfaw_ns),
        ("twr_ns", &memory.twr_ns),
        ("trtp_ns", &memory.trtp_ns),
        ("twtr_ns", &memory.twtr_ns),
        ("turnaround_ns", &memory.turnaround_ns),
    ];
    let given = optional.into_iter().filter_map(|(key, time)| Some((key, time.as_ref()?)));
    needed.into_iter().chain(given).try_for_each(|(key, time)| is_positive(&format!("{path}.{key}"), time.value))
}

fn scheduler_is_whole(path: &str, memory: &MemoryDescription) -> Result<(), Finding> {
    let scheduler = &memory.scheduler;
    let refuse = |key: &str, message: String| Err(finding(format!("{path}.scheduler.{key}"), message));
    if scheduler.queue_entries.value == 0 {
        return refuse("queue_entries", "0 entries; at least 1 is needed".into());
    }
    let (low, high) = (scheduler.write_low_watermark.value, scheduler.write_high_watermark.value);
    if low >= high {
        return refuse("write_low_watermark", format!("{low} is not below the high watermark of {high}"));
    }
    match &scheduler.write_entries {
        Some(entries) if entries.value < high => {
            refuse("write_entries", format!("{} entries never reach the high watermark of {high}", entries.value))
        }
        _ => Ok(()),
    }
}
