//! From a platform's memory to its channel.

use waykeeper_platform::Platform;
use waykeeper_workload::Xorshift;

use crate::build::{need, ps};
use crate::memory::Memory;
use crate::parameters::Parameters;
use crate::refused::Refused;

/// The memory, with its refresh at a phase that `random` decides.
pub fn memory(platform: &Platform, random: &mut Xorshift) -> Result<Memory, Refused> {
    let memory = need(&platform.memory, "memory")?;
    let crossing = need(&platform.interconnect, "interconnect")?.crossing_ns.value;
    let row_lines = memory.row_bytes.value / platform.line_bytes.value;
    if row_lines == 0 {
        return Err(Refused::new("memory.row_bytes", "a row holds less than a line"));
    }
    if memory.banks.value > 64 {
        return Err(Refused::new(
            "memory.banks",
            format!("{} banks; the simulator holds up to 64", memory.banks.value),
        ));
    }
    let scheduler = &memory.scheduler;
    let trefi = ps(memory.trefi_ns.value);
    Ok(Memory::new(Parameters {
        banks: memory.banks.value as usize,
        row_lines_log2: row_lines.trailing_zeros(),
        trc: ps(memory.trc_ns.value),
        trcd: ps(memory.trcd_ns.value),
        trp: ps(memory.trp_ns.value),
        cl: ps(memory.cl_ns.value),
        transfer: ps(memory.line_transfer_ns.value),
        trefi,
        trfc: ps(memory.trfc_ns.value),
        refresh_phase: random.below(trefi.min(u64::from(u32::MAX))),
        crossing: ps(crossing),
        queue_entries: scheduler.queue_entries.value as usize,
        write_age: ps(scheduler.write_age_ns.value),
        write_high: scheduler.write_high_watermark.value as usize,
        write_low: scheduler.write_low_watermark.value as usize,
        read_after_write: scheduler.read_after_write.value,
    }))
}
