//! Locked accesses across two cache lines.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::{Vendor, View};

const MITIGATE: &str = "/proc/sys/kernel/split_lock_mitigate";

pub(super) const CHECK: Check = Check {
    id: "split-lock",
    subject: "what stops locked accesses across two cache lines",
    why: "One such access of any program locks the bus: all cores wait for memory meanwhile, a microsecond each time, \
          and a loop of them stops the machine.",
    source: "Linux Documentation/arch/x86/buslock.rst; TCC user guide 5.4.2",
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
    let can = ["split_lock_detect", "bus_lock_detect"].into_iter().filter(|name| flags.iter().any(|flag| flag == name));
    let can: Vec<&str> = can.collect();
    if can.is_empty() {
        if let Some(unseen) = view.hosts_affair("whether bus locks are caught") {
            return Err(unseen);
        }
        let seen = vec![Seen::new("/proc/cpuinfo", "flags without split_lock_detect and bus_lock_detect")];
        let fixes = vec![Fix::Other(
            "look for split locks in every program that runs beside: perf stat -e sq_misc.split_lock".into(),
        )];
        return found(Severity::Note, "This processor does not tell the kernel of bus locks.", seen, fixes);
    }
    let detection = view.words()?.get("split_lock_detect");
    let mut seen = vec![Seen::new("/proc/cpuinfo", format!("flags {}", can.join(" ")))];
    if let Some(word) = detection.filter(|word| word.value.as_deref() == Some("off")) {
        seen.push(Seen::new("/proc/cmdline", word.to_string()));
        let fixes = vec![Fix::Parameter("split_lock_detect=warn".into())];
        return found(Severity::Warning, "Any program may lock the bus as often as it likes.", seen, fixes);
    }
    // Kernels before 6.2 have no such switch, and slow the program always.
    let mitigate = if view.root.is_absent(MITIGATE) { "no such switch".into() } else { view.text(MITIGATE)? };
    seen.push(Seen::new(MITIGATE, mitigate.clone()));
    if mitigate == "0" {
        let fixes = vec![Fix::Command("sysctl -w kernel.split_lock_mitigate=1".into())];
        return found(Severity::Warning, "A program that locks the bus is warned once, and not slowed.", seen, fixes);
    }
    fine("caught; a program that does it is slowed (so a real-time program must not)", seen)
}
