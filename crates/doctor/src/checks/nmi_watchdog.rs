//! The watchdog by non-maskable interrupts.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

const FILE: &str = "/proc/sys/kernel/nmi_watchdog";

pub(super) const CHECK: Check = Check {
    id: "nmi-watchdog",
    subject: "the watchdog for hard lockups",
    why: "A performance counter interrupts every core some times a minute, also where interrupts are off, and is not \
          there for measurements.",
    source: "Linux Documentation/admin-guide/lockup-watchdogs.rst; TCC user guide 3.4 (nmi_watchdog=0)",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let text = view.text(FILE)?;
    let seen = vec![Seen::new(FILE, text.clone())];
    if text == "0" {
        return fine("off", seen);
    }
    let fixes = vec![Fix::Parameter("nmi_watchdog=0".into()), Fix::Command("sysctl -w kernel.nmi_watchdog=0".into())];
    found(Severity::Warning, "The watchdog for hard lockups is on.", seen, fixes)
}
