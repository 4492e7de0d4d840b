//! What the kernel reads the time from.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::{Vendor, View};

const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const AVAILABLE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

pub(super) const CHECK: Check = Check {
    id: "clocksource",
    subject: "what the kernel reads the time from",
    why: "Reading the TSC takes some ten nanoseconds; the HPET and the ACPI timer take a microsecond behind one lock, in \
          every timer and every clock_gettime.",
    source: "Linux Documentation/timers/timekeeping.rst; TCC user guide 3.4 (clocksource=tsc)",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let current = view.text(CURRENT)?;
    let mut seen = vec![Seen::new(CURRENT, current.clone())];
    // The counters of x86, Arm, RISC-V, POWER, IBM Z, LoongArch, MIPS and SPARC, read by one instruction.
    const QUICK: [&str; 8] =
        ["tsc", "arch_sys_counter", "riscv_clocksource", "timebase", "tod", "Constant", "MIPS", "stick"];
    if QUICK.contains(&current.as_str()) {
        return fine(current, seen);
    }
    if view.vendor()? == Vendor::NotX86 {
        return not_seen(format!("how long it takes to read `{current}` is not known here"));
    }
    seen.extend(view.root.text(AVAILABLE).map(|names| Seen::new(AVAILABLE, names)));
    let guests = ["kvm-clock", "hyperv_clocksource_tsc_page", "hyperv_clocksource_msr", "xen"];
    let severity = if guests.contains(&current.as_str()) { Severity::Warning } else { Severity::Serious };
    let fixes = vec![
        Fix::Parameter("clocksource=tsc tsc=reliable".into()),
        Fix::Command(format!("echo tsc > {CURRENT}")),
        Fix::Other(
            "where the kernel has marked the TSC unstable, `dmesg | grep -i tsc` says why: repair that first".into(),
        ),
    ];
    found(severity, format!("The clock source is {current}, not the TSC."), seen, fixes)
}
