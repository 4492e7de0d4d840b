//! Whether the time-stamp counter can be relied on.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::{Vendor, View};

pub(super) const CHECK: Check = Check {
    id: "tsc",
    subject: "the time-stamp counter",
    why: "A counter that changes its rate or stops spoils every measurement. One that the kernel does not trust is compared with \
          another clock every half second, on one core after the other.",
    source: "Intel SDM vol. 3, Invariant TSC; Linux Documentation/admin-guide/kernel-parameters.txt (tsc=)",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    if view.vendor()? == Vendor::NotX86 {
        return fine("does not apply: no x86 processor", vec![]);
    }
    let flags = view.flags();
    if flags.is_empty() {
        return not_seen("/proc/cpuinfo shows no flags");
    }
    let has = |name: &str| flags.iter().any(|flag| flag == name);
    let missing: Vec<&str> = ["constant_tsc", "nonstop_tsc"].into_iter().filter(|name| !has(name)).collect();
    if !missing.is_empty() {
        let seen = vec![Seen::new("/proc/cpuinfo", format!("flags without {}", missing.join(" and ")))];
        let fixes = vec![Fix::Other(
            "another processor, or (in a virtual machine) pass the invariant TSC on to the guest".into(),
        )];
        return found(
            Severity::Serious,
            "The counter's rate is not constant in every state of the processor.",
            seen,
            fixes,
        );
    }
    let seen = |value: &str| vec![Seen::new("/proc/cpuinfo", value)];
    let trusted = view.words().is_ok_and(|words| words.has("tsc", "reliable") || words.has("tsc", "nowatchdog"));
    // Since 5.17 the kernel does not watch a counter that it can adjust, on machines of few sockets.
    if trusted || has("tsc_reliable") || has("tsc_adjust") {
        return fine("constant, never stops, and is not watched", seen("flags constant_tsc nonstop_tsc"));
    }
    let fixes = vec![Fix::Parameter("tsc=reliable".into())];
    found(
        Severity::Note,
        "The kernel checks the counter against another clock twice a second.",
        seen("flags without tsc_adjust"),
        fixes,
    )
}
