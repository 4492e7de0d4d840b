//! What the value of a field means, in words; for a platform with its sizes and clocks.

use serde::Serialize;
use waykeeper_platform::{Platform, WayControl};

use crate::amount::size;
use crate::mask::Mask;

use super::DecodedField;

/// How the value of a field is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldEncoding {
    /// A number.
    Number,
    /// One bit.
    Flag {
        /// What it says when it is clear.
        clear: &'static str,
        /// What it says when it is set.
        set: &'static str,
    },
    /// One of several values.
    Choice(&'static [(u64, &'static str)]),
    /// A bit for each part of a cache of this level that may be filled.
    MayFill(u8),
    /// The same where Intel's processors refuse masks that are empty or have holes.
    CapacityMask(u8),
    /// A bit for each way of a cache of this level that may not be filled.
    MayNotFill(u8),
    /// A bit for each group of ways that is kept for a scheme alone.
    KeptGroups,
    /// A bit for each way that is meant.
    Ways,
    /// Priority on the bus, 0 the lowest.
    Priority,
    /// Percent by which the bandwidth is reduced.
    TakenPercent,
    /// Eighths of GB/s.
    Eighths,
    /// A clock in steps of 100 MHz.
    HundredsOfMhz,
    /// A level of performance, by which the hardware counts clocks (HWP).
    Performance,
    /// A preference for energy: 0 is performance, 255 energy.
    Preference,
    /// Sixteenth binary places of one: the part of the whole that a value of v allows is (v + 1) / 65536 at most.
    Fraction,
    /// A stride less one.
    StrideLessOne,
}

impl DecodedField {
    /// What the value means; with a platform also in its sizes and clocks.
    pub fn explain(&self, platform: Option<&Platform>) -> String {
        let value = self.value;
        match self.field.meaning {
            FieldEncoding::Number => value.to_string(),
            FieldEncoding::Flag { clear, set } => if value == 0 { clear } else { set }.to_owned(),
            FieldEncoding::Choice(choices) => choices
                .iter()
                .find(|(choice, _)| *choice == value)
                .map_or_else(|| format!("{value}, which has no meaning here"), |(_, said)| (*said).to_owned()),
            FieldEncoding::MayFill(level) => match bits("bit", value) {
                None => "nothing may be filled".into(),
                Some(bits) => format!("{bits} may be filled{}", of_cache(platform, level, value, false)),
            },
            FieldEncoding::CapacityMask(level) => match bits("bit", value) {
                None => "empty: Intel's processors refuse it".into(),
                Some(bits) => {
                    let holes = match Mask(value as u32).is_contiguous() {
                        true => "",
                        false => "; it has holes, which Intel's processors refuse unless CPUID leaf 0x10 allows them",
                    };
                    format!("{bits} may be filled{}{holes}", of_cache(platform, level, value, false))
                }
            },
            FieldEncoding::MayNotFill(level) => match bits("way", value) {
                None => "every way may be filled".into(),
                Some(ways) => {
                    format!("{ways} may not be filled; hits go on{}", of_cache(platform, level, value, true))
                }
            },
            FieldEncoding::KeptGroups => match bits("group", value) {
                None => "keeps no group for itself".into(),
                Some(groups) => format!("keeps {groups}{}", of_cache(platform, 3, value, false)),
            },
            FieldEncoding::Ways => bits("way", value).unwrap_or_else(|| "none".into()),
            FieldEncoding::Priority => {
                format!("{value} of 0 (lowest) to {} (highest)", super::low_bits(self.field.width()))
            }
            FieldEncoding::TakenPercent => {
                format!("throttled by {value} %: {} % of the bandwidth", 100_u64.saturating_sub(value))
            }
            FieldEncoding::Eighths => format!("{} GB/s", value as f64 / 8.0),
            FieldEncoding::HundredsOfMhz => ghz(value as f64 / 10.0),
            FieldEncoding::Performance => performance(value, platform),
            FieldEncoding::Preference => match value {
                0 => "0: performance".into(),
                255 => "255: energy".into(),
                _ => format!("{value} of 0 (performance) to 255 (energy)"),
            },
            FieldEncoding::Fraction => format!("{:.2} % at most", (value + 1) as f64 * 100.0 / 65_536.0),
            FieldEncoding::StrideLessOne => format!("{value}: a stride of {}", value + 1),
        }
    }
}

/// `bit 5`, `bits 0-5`, or nothing for an empty mask. Fields that are masks have at most 32 bits.
fn bits(what: &str, value: u64) -> Option<String> {
    (value != 0).then(|| Mask(value as u32).named(what))
}

fn ghz(clock: f64) -> String {
    format!("{clock:.1} GHz")
}

/// How much of a platform's cache a mask is: of its parts, or of its ways.
fn of_cache(platform: Option<&Platform>, level: u8, mask: u64, allowed_are_clear: bool) -> String {
    let Some(platform) = platform else { return String::new() };
    let shared = platform.shared_caches.iter().filter(|cache| cache.level == level).map(|cache| {
        (
            cache.size_kib.value,
            cache.ways.value,
            cache.way_groups.as_ref().map(|groups| groups.value),
            &cache.way_control,
        )
    });
    let private = platform.cores.iter().filter(|_| level == 2).filter_map(|kind| {
        let cache = kind.l2.as_ref()?;
        Some((
            cache.size_kib.value,
            cache.ways.value,
            cache.way_groups.as_ref().map(|groups| groups.value),
            &cache.way_control,
        ))
    });
    let mut said = Vec::new();
    for (size_kib, ways, groups, control) in shared.chain(private) {
        let Some(groups) = groups.filter(|groups| (1..=32).contains(groups)) else { continue };
        let full = super::low_bits(groups as u32);
        let beyond = mask & !full != 0 && control.as_ref().is_none_or(|control| control.value != WayControl::Lockdown);
        let allowed = if allowed_are_clear { full & !mask } else { full & mask };
        let count = u64::from(allowed.count_ones());
        let bytes = size_kib * 1024 / groups * count;
        let mut text = format!("{} of {ways} ways of the L{level}, {}", count * (ways / groups), size(bytes));
        if allowed_are_clear {
            text = format!("leaves {text}");
        }
        if beyond {
            text += &format!("; it has {groups} parts, and the mask has bits beyond them");
        }
        if !said.contains(&text) {
            said.push(text);
        }
    }
    if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) }
}

/// A level of performance, as a clock for each kind of core whose levels are known.
fn performance(level: u64, platform: Option<&Platform>) -> String {
    let kinds = platform.iter().flat_map(|platform| &platform.cores);
    let clock = |kind: &waykeeper_platform::CoreKind| {
        let per_100_mhz = kind.performance_per_100_mhz.as_ref()?.value;
        Some(format!("{} on {}", ghz(level as f64 / per_100_mhz / 10.0), kind.kind))
    };
    let clocks: Vec<String> = kinds.filter_map(clock).collect();
    match (level, clocks.is_empty()) {
        (0, _) => "0: left to the hardware".into(),
        (_, true) => format!("level {level}"),
        (_, false) => format!("level {level}: {}", clocks.join(", ")),
    }
}
