//! A look as lines of text, for a terminal that cannot draw, and for logs.

use super::{Look, ShareLook, TargetLook, Usage, name};
use crate::figure::{scaled, three_digits, time};

/// One line a group, and one for the target.
pub fn lines(look: &Look) -> String {
    let mut text = format!("{:.1} s  {}\n", look.at_s, look.machine);
    for group in &look.groups {
        let mut parts = vec![format!("  {}", name(&group.group))];
        if !group.cpus.is_empty() {
            parts.push(format!("cpus {}", group.cpus));
        }
        parts.extend(group.shares.iter().map(share));
        parts.extend(group.usage.iter().map(usage).filter(|text| !text.is_empty()));
        text += &(parts.join("  ") + "\n");
    }
    if let Some(it) = &look.target {
        text += &format!("  target {}\n", target(it));
    }
    text
}

/// A mask as ways, the highest one first, or a limit.
pub(super) fn share(share: &ShareLook) -> String {
    match share.bits {
        Some(bits) => format!("{} {}", share.what, ways(share.value, bits)),
        None => format!("{} {}", share.what, share.value),
    }
}

/// The ways of a mask, the highest one first.
pub(super) fn ways(mask: u64, bits: u32) -> String {
    (0..bits).rev().map(|bit| if mask >> bit & 1 == 1 { '#' } else { '.' }).collect()
}

pub(super) fn usage(usage: &Usage) -> String {
    let occupancy = usage.occupancy_bytes.map(|bytes| format!("holds {}", bytes_of(bytes)));
    let total = usage.total_bytes_s.map(|rate| format!("moves {}", scaled(rate.round(), "B/s")));
    let parts: Vec<String> = occupancy.into_iter().chain(total).collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!("{} {}", usage.domain, parts.join(", ")),
    }
}

/// Bytes of a cache, which is sized in powers of two.
pub(super) fn bytes_of(bytes: u64) -> String {
    match bytes {
        b if b >= 10 << 20 => format!("{:.1} MiB", b as f64 / f64::from(1 << 20)),
        b if b >= 10 << 10 => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

pub(super) fn target(target: &TargetLook) -> String {
    let TargetLook { name, samples, mean_ns, min_ns, max_ns, misses_per_sample } = target;
    if *samples == 0 {
        return format!("{name}: no sample since the last look");
    }
    let misses = misses_per_sample.map(|it| format!(", {} misses a sample", three_digits(it))).unwrap_or_default();
    let (min, mean, max) = (time(*min_ns), time(*mean_ns), time(*max_ns));
    format!("{name}: {samples} samples, min {min}, mean {mean}, max seen {max}{misses}")
}
