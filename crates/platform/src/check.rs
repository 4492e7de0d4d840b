//! What a platform file must fulfil beyond its grammar.

mod front;
mod levels;
mod memory;
pub(crate) mod settings;

use std::collections::BTreeSet;

use toml::Value;

use crate::describe::Platform;
use crate::param::Param;
use crate::shared::{Monitoring, SharedCache, SnoopFilterDescription};

/// A key and what is wrong with it.
pub(crate) type Finding = (String, String);

/// The first thing that is wrong with a platform.
pub(crate) fn check(platform: &Platform) -> Result<(), Finding> {
    let value = Value::try_from(platform)
        .map_err(|_| finding("", format!("a number is too large; at most {} would do", i64::MAX)))?;
    if platform.name.trim().is_empty() {
        return Err(finding("name", "it is empty; a platform needs a name"));
    }
    rates_are_positive(platform)?;
    parameters_say_where_they_come_from(&value, "")?;
    cores_are_distinct(platform)?;
    let line = platform.line_bytes.value;
    if !line.is_power_of_two() || line < 8 {
        return Err(finding("line_bytes.value", format!("{line} is not a power of two of at least 8; 64 would do")));
    }
    for (i, kind) in platform.cores.iter().enumerate() {
        for (name, cache) in [("l1d", &kind.l1d), ("l1i", &kind.l1i), ("l2", &kind.l2)] {
            if let Some(cache) = cache {
                divides_into_sets(&format!("cores.{i}.{name}"), &cache.size_kib, &cache.ways, line)?;
            }
        }
    }
    for (i, cache) in platform.shared_caches.iter().enumerate() {
        shared_cache_is_whole(platform, &format!("shared_caches.{i}"), cache, line)?;
    }
    levels::levels_rise_outward(platform)?;
    if let Some(filter) = platform.interconnect.as_ref().and_then(|interconnect| interconnect.snoop_filter.as_ref()) {
        filter_is_whole("interconnect.snoop_filter", filter)?;
    }
    memory::memories_are_whole(platform)?;
    front::fronts_are_whole(platform)?;
    flaws_have_something_to_break(platform)?;
    for (name, mitigation) in &platform.mitigations {
        settings::controls_exist(platform, &format!("mitigations.{name}.set"), &mitigation.set)?;
    }
    Ok(())
}

/// Above this a clock was meant in other units.
const MOST_GHZ: f64 = 100.0;

/// A megahertz: below it a clock was meant in other units, and simulations would have no end.
const LEAST_GHZ: f64 = 0.001;

/// More cycles than any core takes for anything: a second at 1 GHz.
const MOST_CYCLES: u64 = 1_000_000_000;

/// Simulated time counts picoseconds.
const LEAST_NS: f64 = 0.001;

/// A second: above it a time was meant in other units.
const MOST_NS: f64 = 1e9;

/// The largest cache that is taken: more would not fit into the memory of the machine that simulates it.
const MOST_KIB: u64 = 1024 * 1024;

/// The most entries of a filter, a TLB or a buffer: as many as the largest cache has lines of 64 bytes.
const MOST_ENTRIES: u64 = MOST_KIB * 16;

/// A millisecond: with a coarser counter no loop could be timed.
const MOST_TICK_NS: f64 = 1e6;

/// What others are divided by.
fn rates_are_positive(platform: &Platform) -> Result<(), Finding> {
    if let Some(counter) = &platform.counter {
        let (path, ns) = ("counter.tick_ns.value", counter.tick_ns.value);
        is_positive(path, ns)?;
        if ns > MOST_TICK_NS {
            return Err(finding(path, format!("{ns} ns from one value to the next; at most {MOST_TICK_NS} would do")));
        }
    }
    let clocks = platform.cores.iter().enumerate().filter_map(|(i, kind)| Some((i, kind.clock_ghz.as_ref()?.value)));
    for (i, ghz) in clocks {
        is_clock(&format!("cores.{i}.clock_ghz.value"), ghz)?;
    }
    Ok(())
}

/// A clock in GHz.
fn is_clock(path: &str, ghz: f64) -> Result<(), Finding> {
    is_positive(path, ghz)?;
    if ghz > MOST_GHZ {
        return Err(finding(path, format!("{ghz} GHz is faster than any core; 1.82 would be 1820 MHz")));
    }
    if ghz < LEAST_GHZ {
        return Err(finding(path, format!("{ghz} GHz is slower than any core; at least {LEAST_GHZ} can be simulated")));
    }
    Ok(())
}

/// The value of a parameter whose key ends in `_ns`.
fn is_time(path: &str, value: &Value) -> Result<(), Finding> {
    let ns = value.as_float().or(value.as_integer().map(|whole| whole as f64));
    match ns.filter(|_| path.ends_with("_ns")) {
        Some(ns) => is_time_or_none(&format!("{path}.value"), ns),
        None => Ok(()),
    }
}

/// The value of a parameter whose key ends in `_cycles`.
fn are_cycles(path: &str, value: &Value) -> Result<(), Finding> {
    match value.as_integer().filter(|_| path.ends_with("_cycles")) {
        Some(cycles) => is_at_most(&format!("{path}.value"), cycles as u64, " cycles", MOST_CYCLES),
        None => Ok(()),
    }
}

/// Nanoseconds: simulated time has steps of a picosecond, and ends.
fn is_time_or_none(path: &str, ns: f64) -> Result<(), Finding> {
    if ns == 0.0 || (LEAST_NS..=MOST_NS).contains(&ns) {
        return Ok(());
    }
    Err(finding(path, format!("{ns:?} ns cannot be simulated; {LEAST_NS} to {MOST_NS} would do")))
}

fn finding(key: impl Into<String>, message: impl Into<String>) -> Finding {
    (key.into(), message.into())
}

fn parameters_say_where_they_come_from(value: &Value, path: &str) -> Result<(), Finding> {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Table(table) if table.contains_key("value") && table.contains_key("is") => {
            if let Some(number) = table["value"].as_float().filter(|number| !number.is_finite()) {
                return Err(finding(format!("{path}.value"), format!("{number} is not a finite number")));
            }
            if let Some(number) = table["value"].as_float().filter(|number| *number < 0.0) {
                return Err(finding(format!("{path}.value"), format!("{number} is below zero")));
            }
            is_time(path, &table["value"])?;
            are_cycles(path, &table["value"])?;
            let has = |key: &str| match table.get(key) {
                Some(Value::String(text)) => !text.trim().is_empty(),
                Some(Value::Array(items)) => !items.is_empty(),
                _ => false,
            };
            let need = |key: &str, what: &str| {
                if has(key) { Ok(()) } else { Err(finding(path, format!("a parameter that is {what} needs `{key}`"))) }
            };
            match table["is"].as_str() {
                Some(word @ ("documented" | "measured")) => need("source", word),
                Some("fitted") => need("fitted_on", "fitted").and_then(|()| need("reason", "fitted")),
                Some("imposed") => need("reason", "imposed"),
                _ => {
                    need("reason", "assumed")?;
                    need("range", "assumed")?;
                    value_in_range(&table["value"], &table["range"])
                        .map_err(|message| finding(format!("{path}.value"), message))
                }
            }
        }
        Value::Table(table) => {
            table.iter().try_for_each(|(key, inner)| parameters_say_where_they_come_from(inner, &below(key)))
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(i, inner)| parameters_say_where_they_come_from(inner, &below(&i.to_string()))),
        _ => Ok(()),
    }
}

/// For words there is no order: the range then names two alternatives, one of which is the value.
fn value_in_range(value: &Value, range: &Value) -> Result<(), String> {
    let ends: Vec<_> = range.as_array().map(Vec::as_slice).unwrap_or_default().to_vec();
    let number = |v: &Value| v.as_float().or(v.as_integer().map(|i| i as f64));
    let inside = match (number(value), ends.first().and_then(number), ends.last().and_then(number)) {
        (Some(value), Some(low), Some(high)) => low <= value && value <= high,
        _ => ends.contains(value),
    };
    if inside { Ok(()) } else { Err(format!("{value} is outside its range {range}")) }
}

fn cores_are_distinct(platform: &Platform) -> Result<(), Finding> {
    let mut seen = BTreeSet::new();
    for (i, kind) in platform.cores.iter().enumerate() {
        if kind.ids.is_empty() {
            return Err(finding(format!("cores.{i}.ids"), "it is empty; each kind needs at least one core"));
        }
        for (j, id) in kind.ids.iter().enumerate() {
            if !seen.insert(*id) {
                return Err(finding(format!("cores.{i}.ids.{j}"), format!("core {id} is listed twice")));
            }
        }
    }
    if seen.is_empty() { Err(finding("cores", "a platform needs at least one core")) } else { Ok(()) }
}

fn divides_into_sets(path: &str, size_kib: &Param<u64>, ways: &Param<u64>, line: u64) -> Result<(), Finding> {
    let (size, per_set) = (size_kib.value.saturating_mul(1024), ways.value.saturating_mul(line));
    if ways.value == 0 {
        return Err(finding(format!("{path}.ways"), "0 ways; at least 1 is needed"));
    }
    is_at_most(&format!("{path}.size_kib"), size_kib.value, " KiB", MOST_KIB)?;
    if size == 0 || !size.is_multiple_of(per_set) {
        let message = format!("{} KiB do not divide into sets of {} lines of {line} bytes", size_kib.value, ways.value);
        return Err(finding(format!("{path}.size_kib"), message));
    }
    Ok(())
}

fn shared_cache_is_whole(platform: &Platform, path: &str, cache: &SharedCache, line: u64) -> Result<(), Finding> {
    divides_into_sets(path, &cache.size_kib, &cache.ways, line)?;
    if !(2..=4).contains(&cache.level) {
        return Err(finding(
            format!("{path}.level"),
            format!("{} is not a level that cores share; 2 or 3 would do", cache.level),
        ));
    }
    for (j, core) in cache.cores.iter().enumerate() {
        if platform.core_kind(*core).is_none() {
            let message = format!("core {core} does not exist; the cores are {:?}", platform.core_ids());
            return Err(finding(format!("{path}.cores.{j}"), message));
        }
    }
    if cache.classes.as_ref().is_some_and(|classes| classes.value == 0) {
        return Err(finding(format!("{path}.classes"), "0 classes; at least 1 is needed"));
    }
    if let Some(groups) = &cache.way_groups
        && (groups.value == 0 || !cache.ways.value.is_multiple_of(groups.value))
    {
        let message = format!("{} ways do not divide into {} groups", cache.ways.value, groups.value);
        return Err(finding(format!("{path}.way_groups"), message));
    }
    if let Some(monitoring) = &cache.monitoring {
        monitoring_is_whole(&format!("{path}.monitoring"), monitoring)?;
    }
    match &cache.snoop_filter {
        Some(filter) => filter_is_whole(&format!("{path}.snoop_filter"), filter),
        None => Ok(()),
    }
}

fn monitoring_is_whole(path: &str, monitoring: &Monitoring) -> Result<(), Finding> {
    for (key, value, least, most) in [
        ("monitors", monitoring.monitors.value, 1, 1 << 16),
        ("scale_bytes", monitoring.scale_bytes.value, 1, 1 << 24),
        // IA32_QM_CTR: data in bits 61:0, at least 24 of them for bandwidth (Intel SDM, volume 3, chapter 19.18).
        ("counter_bits", monitoring.counter_bits.value, 24, 62),
    ] {
        if !(least..=most).contains(&value) {
            return Err(finding(format!("{path}.{key}"), format!("{value} is not within {least} to {most}")));
        }
    }
    Ok(())
}

fn flaws_have_something_to_break(platform: &Platform) -> Result<(), Finding> {
    for (i, level) in platform.flaws.inert_masks.iter().enumerate() {
        let shared = platform.shared_caches.iter().any(|cache| cache.level == *level && cache.way_groups.is_some());
        let private = *level == 2
            && platform.cores.iter().any(|kind| kind.l2.as_ref().is_some_and(|cache| cache.way_groups.is_some()));
        if !shared && !private {
            let message = format!("no cache of level {level} has `way_groups`, so it has no masks that could be inert");
            return Err(finding(format!("flaws.inert_masks.{i}"), message));
        }
    }
    Ok(())
}

fn filter_is_whole(path: &str, filter: &SnoopFilterDescription) -> Result<(), Finding> {
    for (key, value) in [("directories", &filter.directories), ("sets", &filter.sets)] {
        is_power_of_two(&format!("{path}.{key}"), value.value)?;
    }
    if filter.ways.value == 0 {
        return Err(finding(format!("{path}.ways"), "0 ways; at least 1 is needed"));
    }
    let sets = filter.directories.value.saturating_mul(filter.sets.value);
    are_entries(&format!("{path}.sets"), sets.saturating_mul(filter.ways.value))?;
    is_positive(&format!("{path}.retry_ns"), filter.retry_ns.value)
}

/// A number of entries that can be simulated.
fn are_entries(path: &str, entries: u64) -> Result<(), Finding> {
    is_at_most(path, entries, " entries in all", MOST_ENTRIES)
}

/// A number of something that can be simulated.
fn is_at_most(path: &str, value: u64, of: &str, most: u64) -> Result<(), Finding> {
    if value <= most {
        return Ok(());
    }
    Err(finding(path, format!("{value}{of}; at most {most} can be simulated")))
}

/// What address bits choose.
fn is_power_of_two(path: &str, value: u64) -> Result<(), Finding> {
    if value.is_power_of_two() {
        return Ok(());
    }
    let near = match value.checked_next_power_of_two() {
        None => "a smaller one".to_owned(),
        Some(1) => "1".to_owned(),
        Some(above) => format!("{} or {above}", above / 2),
    };
    let message = format!("{value} is not a power of two, and address bits choose it; {near} would do");
    Err(finding(path, message))
}

fn is_positive(path: &str, value: f64) -> Result<(), Finding> {
    match value {
        _ if !value.is_finite() => Err(finding(path, format!("{value} is not a finite number"))),
        ..=0.0 => Err(finding(path, format!("{value} is not above zero"))),
        _ => Ok(()),
    }
}
