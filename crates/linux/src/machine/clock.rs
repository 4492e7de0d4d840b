//! The counter that timed loops read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Reading;

/// The counter that timed loops read, and the clock of the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// Its frequency in kHz, where it is reported.
    pub counter_khz: Option<u64>,
    /// How that was found.
    pub found: Option<String>,
    /// Whether it runs at one speed in all states.
    pub constant: Option<bool>,
    /// The kernel's clock source.
    pub source: Option<String>,
    /// AArch64: whether the kernel lets programs read the core's cycle counter, where it has a switch for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle_counter_readable: Option<bool>,
}

pub(super) fn read(reading: &Reading) -> Clock {
    let (counter_khz, found) = match frequency(reading) {
        Some((khz, found)) => (Some(khz), Some(found.to_owned())),
        None => (None, None),
    };
    let known = reading.root.text("/proc/cpuinfo").is_some_and(|text| text.contains("flags"));
    Clock {
        counter_khz,
        found,
        constant: known.then(|| reading.has_flag("constant_tsc") && reading.has_flag("nonstop_tsc")),
        source: reading.root.text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        cycle_counter_readable: reading.root.text("/proc/sys/kernel/perf_user_access").map(|text| text != "0"),
    }
}

fn frequency(reading: &Reading) -> Option<(u64, &'static str)> {
    if let Some((_, leaves)) = reading.leaves.first() {
        // 0x15: ECX Hz of the crystal times EBX over EAX (Intel SDM, volume 2).
        let crystal = leaves.get(0x15, 0);
        if crystal.eax > 0 && crystal.ebx > 0 && crystal.ecx > 0 {
            let hz = u64::from(crystal.ecx) * u64::from(crystal.ebx) / u64::from(crystal.eax);
            return Some((hz / 1000, "CPUID leaf 0x15"));
        }
        // Hypervisors tell theirs in kHz.
        let told = leaves.get(0x4000_0010, 0).eax;
        if told > 0 {
            return Some((told.into(), "CPUID leaf 0x40000010"));
        }
    }
    architected(reading)
}

/// CNTFRQ_EL0 of the running machine; no file has it.
#[cfg(target_arch = "aarch64")]
fn architected(reading: &Reading) -> Option<(u64, &'static str)> {
    let hz: u64;
    // SAFETY: the register is readable at EL0, and reading it has no effect.
    unsafe { std::arch::asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nomem, nostack, preserves_flags)) };
    (reading.root.is_running() && hz > 0).then_some((hz / 1000, "CNTFRQ_EL0"))
}

#[cfg(not(target_arch = "aarch64"))]
fn architected(_: &Reading) -> Option<(u64, &'static str)> {
    None
}
