//! Firmware at a level above the kernel's, on Arm.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::{Vendor, View};

const PSCI: &str = "/sys/firmware/devicetree/base/psci/compatible";
/// Events that firmware may deliver to a core past the kernel's masks: by device tree, by ACPI. Folder and name.
const SDEI: [(&str, &str); 2] =
    [("/sys/firmware/devicetree/base/firmware", "sdei"), ("/sys/firmware/acpi/tables", "SDEI")];

pub(super) const CHECK: Check = Check {
    id: "secure-firmware",
    subject: "firmware at EL3 and the secure world",
    why: "Calls of firmware (PSCI, thermal and clock services), secure interrupts and errors that firmware handles first take \
          the core away, and the kernel neither sees nor can prevent it.",
    source: "Arm ARM D1.1 (Exception levels) and D1.3 (routing to EL3); Arm DEN0022 (PSCI), DEN0054 (SDEI)",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    match (view.vendor()?, waykeeper_linux::architecture(&view.root).as_deref()) {
        (Vendor::NotX86, Some("aarch64" | "armv7l" | "armv8l")) => {}
        (Vendor::NotX86, _) => return fine("does not apply: no Arm processor", vec![]),
        _ => return fine("does not apply: firmware of x86 is looked at by `smi`", vec![]),
    }
    if let Some(unseen) = view.hosts_affair("what firmware does") {
        return Err(unseen);
    }
    // Who may not read a table sees its name.
    let has = |(folder, name): &(&str, &str)| view.root.names(folder).iter().any(|entry| entry == name);
    if let Some((folder, name)) = SDEI.into_iter().find(has) {
        let what = "Firmware can interrupt cores past the kernel's masks (SDEI).";
        let fixes = vec![Fix::Other(
            "ask the board's maker which events there are, and turn off those of error reports (firmware first)".into(),
        )];
        return found(Severity::Note, what, vec![Seen::new(format!("{folder}/{name}"), "present")], fixes);
    }
    // No register that Linux can read counts what EL3 takes: there is no yes and no no.
    let has_psci = if view.root.text(PSCI).is_some() { " (this machine has PSCI)" } else { "" };
    not_seen(format!(
        "no counter shows what firmware takes{has_psci}: `rtla hwnoise` on an isolated core shows gaps that nothing in the \
         kernel explains, and the board's maker knows which calls and secure interrupts there are"
    ))
}
