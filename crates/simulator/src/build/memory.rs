//! From a platform's memory to its channels.

use waykeeper_platform::{CheckBits, CommandOrder, Drain, Ecc, Memory as Description, Param, Platform};
use waykeeper_platform::{PriorityReach, Refresh};
use waykeeper_workload::Xorshift;

use crate::build::{need, ps};
use crate::memory::layout::{COVERED, Checks, Layout};
use crate::memory::parameters::{Parameters, RefreshRule, Scheduler, Timing};
use crate::memory::{MOST_BANKS, Memory};
use crate::refused::Refused;

/// The memory that a platform is simulated with: one of its alternatives, or the one that it has.
pub fn chosen_memory<'a>(platform: &'a Platform, alternative: Option<&str>) -> Result<&'a Description, Refused> {
    let Some(name) = alternative else { return need(&platform.memory, "memory") };
    platform.alternative_memories.get(name).ok_or_else(|| {
        let known: Vec<_> = platform.alternative_memories.keys().map(String::as_str).collect();
        let why = format!("{} has no such alternative; it has {}", platform.name, known.join(", "));
        Refused::new(format!("alternative_memories.{name}"), why)
    })
}

/// A memory as described, with its refreshes at a phase that `random` decides.
pub fn memory(platform: &Platform, memory: &Description, random: &mut Xorshift) -> Result<Memory, Refused> {
    let parameters = parameters(platform, memory, random)?;
    Ok(Memory::new(&parameters))
}

fn parameters(platform: &Platform, memory: &Description, random: &mut Xorshift) -> Result<Parameters, Refused> {
    let interconnect = need(&platform.interconnect, "interconnect")?;
    let line_bytes = platform.line_bytes.value;
    let trefi = ps(memory.trefi_ns.value);
    let scheduler = &memory.scheduler;
    let row_hits = scheduler.row_hits_in_a_row.as_ref().map_or(16, |count| count.value);
    Ok(Parameters {
        line_bytes,
        layout: layout(memory, line_bytes)?,
        timing: timing(memory),
        refresh: RefreshRule {
            per_bank: memory.refresh.as_ref().is_some_and(|refresh| refresh.value == Refresh::PerBank),
            trefi,
            trfc: ps(memory.trfc_ns.value),
            phase: random.below(trefi.min(u64::from(u32::MAX))),
        },
        check_lines: memory.check_buffer_lines.as_ref().map_or(8, |lines| lines.value as usize),
        crossing: ps(interconnect.crossing_ns.value),
        scheduler: Scheduler {
            queue_entries: scheduler.queue_entries.value as usize,
            write_age: ps(scheduler.write_age_ns.value),
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
    })
}

fn count(parameter: &Option<Param<u64>>, absent: u64) -> u64 {
    parameter.as_ref().map_or(absent, |parameter| parameter.value)
}

fn layout(memory: &Description, line_bytes: u64) -> Result<Layout, Refused> {
    let (channels, ranks) = (count(&memory.channels, 1), count(&memory.ranks, 1));
    let row_lines = memory.row_bytes.value / line_bytes;
    if row_lines == 0 {
        return Err(Refused::new("memory.row_bytes", "a row holds less than a line"));
    }
    let banks = memory.banks.value * ranks;
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

fn timing(memory: &Description) -> Timing {
    let time = |parameter: &Option<Param<f64>>| parameter.as_ref().map_or(0, |parameter| ps(parameter.value));
    let cl = ps(memory.cl_ns.value);
    Timing {
        trc: ps(memory.trc_ns.value),
        trcd: ps(memory.trcd_ns.value),
        trp: ps(memory.trp_ns.value),
        cl,
        cwl: memory.cwl_ns.as_ref().map_or(cl, |cwl| ps(cwl.value)),
        transfer: ps(memory.line_transfer_ns.value),
        trrd: time(&memory.trrd_ns),
        tfaw: time(&memory.tfaw_ns),
        twr: time(&memory.twr_ns),
        trtp: time(&memory.trtp_ns),
        twtr: time(&memory.twtr_ns),
        turnaround: time(&memory.turnaround_ns),
    }
}
