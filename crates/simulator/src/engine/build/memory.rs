//! From a platform's memory to its channels.

use waykeeper_platform::{
    BandwidthControl, BandwidthScheme, CheckBits, CommandOrder, Drain, Ecc, MemoryCache, MemoryDescription, Param,
    Platform, PriorityReach, RefreshKind,
};
use waykeeper_workload::Xorshift;

use crate::engine::build::need;
use crate::memory::layout::{COVERED, Checks, Layout};
use crate::memory::parameters::{MemoryParameters, RefreshRule, Scheduler, Timing};
use crate::memory::regulator::{Portions, Scheme, Windows};
use crate::memory::side_cache::SideCacheParameters;
use crate::memory::{MOST_BANKS, Memory};
use crate::refused::Refused;
use crate::time::Ps;

/// The memory that a platform is simulated with: one of its alternatives, or the one that it has.
pub fn chosen_memory<'a>(platform: &'a Platform, alternative: Option<&str>) -> Result<&'a MemoryDescription, Refused> {
    let Some(name) = alternative else { return need(&platform.memory, "memory") };
    platform.alternative_memories.get(name).ok_or_else(|| {
        let known: Vec<_> = platform.alternative_memories.keys().map(String::as_str).collect();
        let why = format!("{} has no such alternative; it has {}", platform.name, known.join(", "));
        Refused::new(format!("alternative_memories.{name}"), why)
    })
}

/// A memory as described, with its refreshes at a phase that `random` decides.
pub fn memory(platform: &Platform, memory: &MemoryDescription, random: &mut Xorshift) -> Result<Memory, Refused> {
    let parameters = parameters(platform, memory, random)?;
    Ok(Memory::new(&parameters))
}

fn parameters(
    platform: &Platform,
    memory: &MemoryDescription,
    random: &mut Xorshift,
) -> Result<MemoryParameters, Refused> {
    let interconnect = need(&platform.interconnect, "interconnect")?;
    let line_bytes = platform.line_bytes.value;
    let trefi = Ps::from_ns(memory.trefi_ns.value);
    let scheduler = &memory.scheduler;
    let row_hits = scheduler.row_hits_in_a_row.as_ref().map_or(16, |count| count.value);
    let phase = random.below(trefi.get().min(u64::from(u32::MAX)));
    let timing = timing(memory);
    let channels = count(&memory.channels, 1);
    let line_time = interconnect.line_ns.as_ref().map_or(Ps::ZERO, |line| Ps::from_ns(line.value).max(Ps::new(1)));
    let best = line_time.max(timing.transfer / channels);
    Ok(MemoryParameters {
        line_bytes,
        layout: layout(memory, line_bytes)?,
        timing,
        refresh: RefreshRule {
            per_bank: memory.refresh.as_ref().is_some_and(|refresh| refresh.value == RefreshKind::PerBank),
            trefi,
            trfc: Ps::from_ns(memory.trfc_ns.value),
            phase: Ps::new(phase),
        },
        check_lines: memory.check_buffer_lines.as_ref().map_or(8, |lines| lines.value as usize),
        crossing: Ps::from_ns(interconnect.crossing_ns.value),
        scheduler: Scheduler {
            queue_entries: scheduler.queue_entries.value as usize,
            write_age: Ps::from_ns(scheduler.write_age_ns.value),
            write_entries: scheduler.write_entries.as_ref().map_or(usize::MAX, |entries| entries.value as usize),
            write_high: scheduler.write_high_watermark.value as usize,
            write_low: scheduler.write_low_watermark.value as usize,
            drains_channel: scheduler.drain.as_ref().is_some_and(|drain| drain.value == Drain::Channel),
            read_after_write: scheduler.read_after_write.value,
            priorities_in_banks: scheduler.priorities.value
                && scheduler.priority_reach.as_ref().is_some_and(|reach| reach.value == PriorityReach::BankQueues),
            row_hits_in_a_row: match scheduler.order.as_ref().map(|order| order.value) {
                Some(CommandOrder::RowHitsFirst) => row_hits as u32,
                Some(CommandOrder::Arrival) | None => 0,
            },
        },
        line_time,
        regulation: regulation(platform, best)?,
        // The phase decides the cache's random choices too, so that they take no random number from anybody else.
        cache: interconnect.memory_cache.as_ref().map(|cache| side_cache(cache, line_bytes, phase)),
    })
}

fn side_cache(cache: &MemoryCache, line_bytes: u64, seed: u64) -> SideCacheParameters {
    SideCacheParameters {
        parts: cache.parts.value as usize,
        sets: (cache.size_kib.value * 1024 / line_bytes / cache.ways.value) as usize,
        ways: cache.ways.value as usize,
        replacement: cache.replacement.value,
        hit: Ps::from_ns(cache.hit_ns.value),
        read_allocation: cache.read_allocation.value,
        dirty_write_allocation: cache.dirty_write_allocation.value,
        seed,
    }
}

/// Regulation beyond the outermost shared cache; `line` is the time of a line at best.
fn regulation(platform: &Platform, line: Ps) -> Result<Option<(Scheme, usize)>, Refused> {
    let outermost = platform.shared_caches.iter().map(|cache| cache.level).max();
    let mut found = None;
    for (at, cache) in platform.shared_caches.iter().enumerate() {
        let Some(control) = &cache.bandwidth_control else { continue };
        let refuse = |why: &str| Err(Refused::new(format!("shared_caches.{at}.bandwidth_control"), why));
        if Some(cache.level) != outermost {
            return refuse("the simulator regulates what goes to memory; beyond this cache is another one");
        }
        if !cache.copies.is_empty() || found.is_some() {
            return refuse("the simulator has one regulator, and this platform has several caches with one");
        }
        let scheme = scheme(control, line);
        let entries = match scheme {
            // Requests wait where they come from, each for itself.
            Scheme::Delay { .. } => usize::MAX,
            _ => control.queue_entries.value as usize,
        };
        found = Some((scheme, entries));
    }
    Ok(found)
}

fn scheme(control: &BandwidthControl, line: Ps) -> Scheme {
    let steps = control.steps.value;
    let one = Ps::new(1);
    let time = |parameter: &Option<Param<f64>>| {
        parameter.as_ref().map_or(one, |parameter| Ps::from_ns(parameter.value).max(one))
    };
    let length = time(&control.window_ns);
    match control.scheme.value {
        BandwidthScheme::Delay => Scheme::Delay { step: time(&control.delay_step_ns), steps },
        BandwidthScheme::Stride => Scheme::Stride,
        BandwidthScheme::Maximum => Scheme::Maximum(Windows { length, steps, line }),
        BandwidthScheme::Minimum => Scheme::Minimum(Windows { length, steps, line }),
        BandwidthScheme::Portions => Scheme::Portions(Portions { slot: (length / steps).max(one), slots: steps, line }),
    }
}

fn count(parameter: &Option<Param<u64>>, absent: u64) -> u64 {
    parameter.as_ref().map_or(absent, |parameter| parameter.value)
}

fn layout(memory: &MemoryDescription, line_bytes: u64) -> Result<Layout, Refused> {
    let (channels, ranks) = (count(&memory.channels, 1), count(&memory.ranks, 1));
    let row_lines = memory.row_bytes.value / line_bytes;
    if row_lines == 0 {
        return Err(Refused::new("memory.row_bytes", "a row holds less than a line"));
    }
    let banks = memory.banks.value.saturating_mul(ranks);
    if banks > MOST_BANKS as u64 {
        let why = format!("{banks} banks in a channel, over all ranks; the simulator holds up to {MOST_BANKS}");
        return Err(Refused::new("memory.banks", why));
    }
    let checks = match memory.ecc.as_ref().map(|ecc| ecc.value) {
        Some(Ecc::Inline) => match memory.check_bits.as_ref().map(|place| place.value) {
            Some(CheckBits::BehindData) => Checks::BehindData,
            Some(CheckBits::SameRow) | None => Checks::SameRow,
        },
        Some(Ecc::None | Ecc::Sideband) | None => Checks::Nowhere,
    };
    if checks == Checks::SameRow && row_lines < u64::from(COVERED) {
        return Err(Refused::new("memory.row_bytes", "a row has no eighth that could hold its check bits"));
    }
    let lines = (memory.size_mib.value << 20) / line_bytes / channels;
    // Data lines are numbered from 0, lines of check bits from the other end.
    if checks != Checks::Nowhere && lines + lines / 4 >= u64::from(u32::MAX) {
        return Err(Refused::new("memory.size_mib", "the simulator numbers lines and their check bits with 32 bits"));
    }
    Ok(Layout {
        channels: channels as usize,
        channel_lines: (count(&memory.channel_interleave_bytes, line_bytes) / line_bytes) as u32,
        channel_hash: memory.channel_hash.as_ref().is_some_and(|hash| hash.value),
        ranks: ranks as usize,
        banks: memory.banks.value as usize,
        bank_hash: memory.bank_hash.as_ref().is_some_and(|hash| hash.value),
        row_lines: row_lines as u32,
        checks,
        lines,
    })
}

fn timing(memory: &MemoryDescription) -> Timing {
    let time =
        |parameter: &Option<Param<f64>>| parameter.as_ref().map_or(Ps::ZERO, |parameter| Ps::from_ns(parameter.value));
    let cl = Ps::from_ns(memory.cl_ns.value);
    Timing {
        trc: Ps::from_ns(memory.trc_ns.value),
        trcd: Ps::from_ns(memory.trcd_ns.value),
        trp: Ps::from_ns(memory.trp_ns.value),
        cl,
        cwl: memory.cwl_ns.as_ref().map_or(cl, |cwl| Ps::from_ns(cwl.value)),
        transfer: Ps::from_ns(memory.line_transfer_ns.value),
        trrd: time(&memory.trrd_ns),
        tfaw: time(&memory.tfaw_ns),
        twr: time(&memory.twr_ns),
        trtp: time(&memory.trtp_ns),
        twtr: time(&memory.twtr_ns),
        turnaround: time(&memory.turnaround_ns),
    }
}
