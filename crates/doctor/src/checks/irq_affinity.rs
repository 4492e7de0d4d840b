//! Where new interrupts go.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::cores::{format_mask, named, parse_mask};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

const DEFAULT: &str = "/proc/irq/default_smp_affinity";

pub(super) const CHECK: Check = Check {
    id: "irq-affinity",
    subject: "where new interrupts go",
    why: "A driver that is loaded or a device that is plugged in later brings its interrupts to any core of this mask.",
    source: "Linux Documentation/core-api/irq/irq-affinity.rst; TCC user guide 3.4 (irqaffinity)",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let text = view.text(DEFAULT)?;
    let Some(cores) = parse_mask(&text) else {
        return Err(NotSeen(format!("{DEFAULT} holds `{text}`, which is no mask")));
    };
    let open = view.among(&cores);
    let seen = vec![Seen::new(DEFAULT, text)];
    if open.is_empty() {
        return fine("to other cores", seen);
    }
    let fixes = vec![
        Fix::Parameter(format!("irqaffinity={}", view.other_list())),
        Fix::Command(format!("echo {} > {DEFAULT}", format_mask(&view.others()))),
    ];
    found(Severity::Warning, format!("New interrupts may go to {}.", named(&open)), seen, fixes)
}
