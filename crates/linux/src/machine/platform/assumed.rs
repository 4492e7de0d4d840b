//! Values that nothing on a machine reports: assumed before any comparison, with ranges.

use waykeeper_platform::{Basis, Param, Platform, TickLoop};

use super::LADDER;

pub(super) fn assumed<T>(value: T, range: [T; 2], reason: &str) -> Param<T> {
    Param { value, is: Basis::Assumed, source: None, range: Some(range), reason: Some(reason.into()), fitted_on: None }
}

pub(super) fn imposed<T>(value: T, reason: &str) -> Param<T> {
    Param { value, is: Basis::Imposed, source: None, range: None, reason: Some(reason.into()), fitted_on: None }
}

pub(super) fn measured<T>(value: T, reason: String) -> Param<T> {
    Param {
        value,
        is: Basis::Measured,
        source: Some(LADDER.into()),
        range: None,
        reason: Some(reason),
        fitted_on: None,
    }
}

/// The bundled memory that stands for one that nobody described.
const PART: &str = "ddr4-3200-2x64";

/// Lines of 64 bytes have numbers of 32 bits in the simulator: less than 256 GiB.
const MOST_MIB: u64 = 196_608;

/// The memory's table.
pub(super) fn memory(mib: Option<u64>) -> String {
    let size = match mib {
        Some(mib) if mib <= MOST_MIB => {
            format!(r#"{{ value = {}, is = "documented", source = "sysfs", reason = "/proc/meminfo" }}"#, mib.max(1024))
        }
        Some(mib) => format!(
            r#"{{ value = {MOST_MIB}, is = "imposed", reason = "it has {mib}; the simulator numbers lines with 32 bits" }}"#
        ),
        None => {
            r#"{ value = 8192, is = "assumed", range = [1024, 196608], reason = "/proc/meminfo was not read" }"#.into()
        }
    };
    format!(
        r#"[memory]
part = "{PART}"
kind = "not known: taken for DDR4-3200, two channels of 64 bits"
size_mib = {size}
placement = {{ value = "random_pages", is = "assumed", range = ["contiguous", "random_pages"], reason = "run under Linux" }}

[memory.scheduler]
queue_entries = {{ value = 32, is = "assumed", range = [16, 64], reason = "usual" }}
write_age_ns = {{ value = 2000.0, is = "assumed", range = [250.0, 8000.0], reason = "not public" }}
write_high_watermark = {{ value = 32, is = "assumed", range = [16, 64], reason = "usual" }}
write_low_watermark = {{ value = 8, is = "assumed", range = [4, 16], reason = "usual" }}
read_after_write = {{ value = "last", is = "assumed", range = ["first", "last"], reason = "not public" }}
priorities = {{ value = false, is = "assumed", range = [false, true], reason = "no sign of any" }}
order = {{ value = "row_hits_first", is = "assumed", range = ["arrival", "row_hits_first"], reason = "usual" }}
write_entries = {{ value = 64, is = "assumed", range = [64, 128], reason = "usual: twice the watermark" }}
"#
    )
}

/// Nanoseconds of a row conflict in that memory: precharge, activation, column, transfer.
pub(super) fn times() -> f64 {
    let text = format!(
        "name = \"x\"\ntitle = \"x\"\nline_bytes = {{ value = 64, is = \"imposed\", reason = \"x\" }}\n\
         [[cores]]\nkind = \"x\"\nids = [0]\n{}",
        memory(None)
    );
    let memory = Platform::from_toml(&text, "").ok().and_then(|platform| platform.memory);
    memory.map_or(0.0, |memory| {
        memory.trp_ns.value + memory.trcd_ns.value + memory.cl_ns.value + memory.line_transfer_ns.value
    })
}

/// The costs of a `tick` pass; no machine reports them.
pub(super) fn tick_loop() -> TickLoop {
    const WHY: &str = "no loop is published for this core; the Cortex-A55's";
    TickLoop {
        pass_cycles: imposed(72, WHY),
        increment_cycles: imposed(1, WHY),
        code_lines: imposed(3, WHY),
        stack_lines: imposed(2, WHY),
        idle_jitter_ns: imposed(0.0, "no idle figure is known"),
        idle_jitter_every_passes: imposed(4096, "of no effect without jitter"),
    }
}
