//! System-management interrupts.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::smi::Smis;
use crate::view::{Vendor, View};

pub(super) const CHECK: Check = Check {
    id: "smi",
    subject: "system-management interrupts",
    why: "Firmware takes all cores away for tens of microseconds to milliseconds, and the kernel neither sees nor can \
          prevent it.",
    source: "Intel SDM vol. 3, System Management Mode, and vol. 4, MSR_SMI_COUNT (0x34)",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    if matches!(view.vendor(), Ok(Vendor::NotX86)) {
        return fine("does not apply: no x86 processor", vec![]);
    }
    let (counts, seconds) = match &view.smis {
        Smis::Counted { counts, seconds } => (counts, seconds),
        Smis::NotCounted(why) => return Err(NotSeen(why.clone())),
    };
    let seen: Vec<Seen> = counts
        .iter()
        .map(|(core, count)| Seen::new(format!("MSR 0x34 of CPU {core}"), format!("{count} more in {seconds} s")))
        .collect();
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    if most == 0 {
        return fine(format!("none in {seconds} s, which excludes frequent ones only"), seen);
    }
    let fixes = vec![
        Fix::Firmware("turn off legacy USB support, and what polls (fan, battery, ECC and watchdog reports)".into()),
        Fix::Other("unload drivers that call firmware, such as hpwdt or i8k, and stop IPMI polling".into()),
    ];
    found(Severity::Serious, format!("Firmware interrupted a real-time core {most} times in {seconds} s."), seen, fixes)
}
