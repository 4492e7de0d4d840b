//! Precision time measurement between the interface and the cores.

use super::super::ptm::{Told, told};
use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

pub(super) const CHECK: Check = Check {
    id: "if-ptm",
    subject: "precision time measurement of the interface",
    why: "Without PTM the clock of the interface and that of the cores are compared through reads of unknown length: they agree to \
          a microsecond in the place of some ten nanoseconds.",
    source: "PCI Express Base Specification, Precision Time Measurement; TCC user guide 3.5.1",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let interface = view.named_interface()?;
    let name = &interface.name;
    let file = interface.file("device/config");
    let Some(config) = view.root.bytes(&file) else {
        return match view.root.is_absent(&file) {
            true => fine(format!("no device of PCI Express is directly behind {name}"), vec![]),
            false => not_seen(view.root.absence(&file)),
        };
    };
    match told(&config) {
        Told::Nothing => not_seen(format!("{file} may be read beyond its first bytes by root only")),
        Told::On => fine("on", vec![Seen::new(file, "PTM enabled")]),
        Told::Off => {
            let fixes = vec![
                Fix::Firmware("PTM of the root ports: Enabled (part of TCC Mode)".into()),
                Fix::Other("a driver that turns it on, such as igc; a switch between needs PTM, too".into()),
            ];
            let seen = vec![Seen::new(file, "PTM capable, not enabled")];
            found(Severity::Note, format!("PTM is off on {name}, which has it."), seen, fixes)
        }
        Told::Without => {
            let fixes = vec![Fix::Other("an interface that has PTM, such as Intel's I225 and I226".into())];
            let seen = vec![Seen::new(file, "no PTM requester")];
            found(Severity::Note, format!("{name} has no PTM."), seen, fixes)
        }
    }
}
