//! Checks of what a core does before its caches.

use super::{Finding, MOST_KIB, are_entries, finding, is_at_most};
use crate::describe::{CoreKind, Execution, Platform};
use crate::front::{PrefetcherDescription, PrefetcherKind, TlbDescription, TranslationDescription};
use crate::param::Param;

/// The most instructions that begin in one cycle.
const MOST_WIDTH: u64 = 64;

/// The first thing that is wrong with a core's front.
pub fn fronts_are_whole(platform: &Platform) -> Result<(), Finding> {
    for (i, cache) in platform.shared_caches.iter().enumerate() {
        let path = format!("shared_caches.{i}.outstanding_misses");
        cache.outstanding_misses.iter().try_for_each(|most| at_least_one(&path, most))?;
        if cache.hits_wait_when_full.is_some() && cache.outstanding_misses.is_none() {
            let why = "without `outstanding_misses` the cache is never full; give that, too, or leave this out";
            return Err(finding(format!("shared_caches.{i}.hits_wait_when_full"), why));
        }
    }
    for (i, kind) in platform.cores.iter().enumerate() {
        let path = format!("cores.{i}");
        widths_are_positive(&path, kind)?;
        window_has_a_use(&path, kind)?;
        if let Some(streaming) = &kind.write_streaming {
            at_least_one(&format!("{path}.write_streaming.after_lines"), &streaming.after_lines)?;
            let path = format!("{path}.write_streaming.to_level");
            level_is_outside(&path, &streaming.to_level, 2, deepest_level(platform, kind))?;
        }
        for (j, prefetcher) in kind.prefetchers.iter().enumerate() {
            prefetcher_is_whole(&format!("{path}.prefetchers.{j}"), prefetcher)?;
        }
        for (j, tlb) in kind.tlbs.iter().enumerate() {
            tlb_is_whole(&format!("{path}.tlbs.{j}"), tlb)?;
        }
        match &kind.translation {
            Some(translation) => {
                translation_is_whole(&format!("{path}.translation"), translation, deepest_level(platform, kind))?;
            }
            None if !kind.tlbs.is_empty() => {
                let why = "there are TLBs but no `translation`, which says what a walk reads";
                return Err(finding(format!("{path}.tlbs"), why));
            }
            None => {}
        }
    }
    Ok(())
}

/// An in-order core stops at the first use of a load; one that is out of order at the end of its window.
fn window_has_a_use(path: &str, kind: &CoreKind) -> Result<(), Finding> {
    let in_order = kind.execution.as_ref().is_some_and(|execution| execution.value == Execution::InOrder);
    if in_order && kind.window_instructions.is_some() {
        let why =
            "an in-order core has no window; `first_use_instructions` says how far it goes beside a load that waits";
        return Err(finding(format!("{path}.window_instructions"), why));
    }
    if !in_order && kind.first_use_instructions.is_some() {
        let why = "only an in-order core stops at the first use of a load; this one has `window_instructions`";
        return Err(finding(format!("{path}.first_use_instructions"), why));
    }
    Ok(())
}

fn widths_are_positive(path: &str, kind: &CoreKind) -> Result<(), Finding> {
    let of_core = [
        ("outstanding_misses", &kind.outstanding_misses),
        ("issue_width", &kind.issue_width),
        ("window_instructions", &kind.window_instructions),
        ("first_use_instructions", &kind.first_use_instructions),
        ("store_buffer_entries", &kind.store_buffer_entries),
    ];
    let of_caches = [("l1d", &kind.l1d), ("l1i", &kind.l1i), ("l2", &kind.l2)];
    for (key, value) in of_core {
        value.iter().try_for_each(|value| at_least_one(&format!("{path}.{key}"), value))?;
    }
    if let Some(width) = &kind.issue_width {
        is_at_most(&format!("{path}.issue_width"), width.value, " instructions in a cycle", MOST_WIDTH)?;
    }
    if let Some(instructions) = &kind.instructions_per_cycle {
        let width = kind.issue_width.as_ref().map_or(1, |width| width.value);
        if !(instructions.value > 0.0 && instructions.value <= width as f64) {
            let why = format!("{} is not above zero and at most the issue width, {width}", instructions.value);
            return Err(finding(format!("{path}.instructions_per_cycle"), why));
        }
    }
    for (key, cache) in of_caches {
        let misses = cache.as_ref().and_then(|cache| cache.outstanding_misses.as_ref());
        misses.map_or(Ok(()), |misses| at_least_one(&format!("{path}.{key}.outstanding_misses"), misses))?;
    }
    Ok(())
}

/// The level of the last cache that a kind of cores has.
fn deepest_level(platform: &Platform, kind: &CoreKind) -> u64 {
    let shared = platform.shared_caches.iter().filter(|cache| kind.ids.iter().any(|core| cache.serves(*core)));
    let private = if kind.l2.is_some() { 2 } else { 1 };
    shared.map(|cache| u64::from(cache.level)).max().unwrap_or(1).max(private)
}

fn prefetcher_is_whole(path: &str, prefetcher: &PrefetcherDescription) -> Result<(), Finding> {
    if !(1..=2).contains(&prefetcher.fills_level.value) {
        let why =
            format!("{} is not a level that a prefetcher can fill; 1 or 2 would do", prefetcher.fills_level.value);
        return Err(finding(format!("{path}.fills_level"), why));
    }
    at_least_one(&format!("{path}.distance"), &prefetcher.distance)?;
    at_least_one(&format!("{path}.degree"), &prefetcher.degree)?;
    match prefetcher.kind.value {
        PrefetcherKind::NextLine => Ok(()),
        PrefetcherKind::Stride => at_least_one(&format!("{path}.after_accesses"), &prefetcher.after_accesses),
    }
}

fn tlb_is_whole(path: &str, tlb: &TlbDescription) -> Result<(), Finding> {
    at_least_one(&format!("{path}.ways"), &tlb.ways)?;
    let (entries, ways) = (tlb.entries.value, tlb.ways.value);
    if entries == 0 || !entries.is_multiple_of(ways) || !(entries / ways).is_power_of_two() {
        let why = format!("{entries} entries of {ways} ways do not form a power of two of sets");
        return Err(finding(format!("{path}.entries"), why));
    }
    are_entries(&format!("{path}.entries"), entries)?;
    tlb.lockable_entries.iter().try_for_each(|locked| at_least_one(&format!("{path}.lockable_entries"), locked))
}

fn translation_is_whole(path: &str, translation: &TranslationDescription, deepest: u64) -> Result<(), Finding> {
    let page = translation.page_kib.value;
    if !page.is_power_of_two() || page < 4 {
        let why = format!("{page} KiB are no page; a power of two of at least 4 would do");
        return Err(finding(format!("{path}.page_kib"), why));
    }
    is_at_most(&format!("{path}.page_kib"), page, " KiB", MOST_KIB)?;
    if !(1..=5).contains(&translation.walk_reads.value) {
        let why = format!("{} reads; a walk has 1 to 5", translation.walk_reads.value);
        return Err(finding(format!("{path}.walk_reads"), why));
    }
    let bytes = translation.descriptor_bytes.value;
    if !bytes.is_power_of_two() || !(4..=64).contains(&bytes) {
        return Err(finding(format!("{path}.descriptor_bytes"), format!("{bytes} bytes; 4 or 8 would do")));
    }
    translation.walkers.iter().try_for_each(|walkers| at_least_one(&format!("{path}.walkers"), walkers))?;
    level_is_outside(&format!("{path}.walks_from_level"), &translation.walks_from_level, 1, deepest)
}

/// A level from `first` to the memory, which is one beyond the last cache.
fn level_is_outside(path: &str, level: &Param<u64>, first: u64, deepest: u64) -> Result<(), Finding> {
    if (first..=deepest + 1).contains(&level.value) {
        return Ok(());
    }
    let memory = deepest + 1;
    let caches = match deepest.checked_sub(first) {
        None => String::new(),
        Some(0) => format!("{first} is a cache and "),
        Some(_) => format!("{first} to {deepest} are caches and "),
    };
    let why = format!("there is no level {}; {caches}{memory} is the memory", level.value);
    Err(finding(path, why))
}

fn at_least_one(path: &str, value: &Param<u64>) -> Result<(), Finding> {
    if value.value > 0 { Ok(()) } else { Err(finding(path, "0; at least 1 is needed")) }
}
