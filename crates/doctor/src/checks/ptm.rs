//! Precision time measurement of network devices.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

const DEVICES: &str = "/sys/bus/pci/devices";
/// Extended capabilities begin here in a configuration space; that of PTM has the number 0x1f (PCI Express Base
/// Specification, PTM Extended Capability).
const EXTENDED: usize = 0x100;
const PTM: u32 = 0x1f;

pub(super) const CHECK: Check = Check {
    id: "ptm",
    subject: "precision time measurement of network devices",
    why: "Without PTM the time of a network device and that of the cores are compared through reads of unknown length: \
          clocks agree to a microsecond in the place of some ten nanoseconds.",
    source: "PCI Express Base Specification, Precision Time Measurement; TCC user guide 3.5.1",
    look,
};

/// What a device's configuration space says.
pub(super) enum Told {
    /// Not enough of it may be read.
    Nothing,
    /// It has none, or is no requester.
    Without,
    On,
    Off,
}

fn look(view: &View) -> Result<Looked, NotSeen> {
    let devices = view.root.names(DEVICES);
    if devices.is_empty() {
        return not_seen(format!("{DEVICES} names no devices"));
    }
    let class = |device: &String| view.root.text(&format!("{DEVICES}/{device}/class")).unwrap_or_default();
    let network: Vec<&String> = devices.iter().filter(|device| class(device).starts_with("0x02")).collect();
    let file = |device: &str| format!("{DEVICES}/{device}/config");
    let told: Vec<(&String, Told)> =
        network.iter().map(|device| (*device, told(&view.root.bytes(&file(device)).unwrap_or_default()))).collect();
    let off: Vec<Seen> = told
        .iter()
        .filter(|(_, told)| matches!(told, Told::Off))
        .map(|(device, _)| Seen::new(file(device), "PTM capable, not enabled"))
        .collect();
    if !off.is_empty() {
        let fixes = vec![
            Fix::Firmware("PTM of the root ports: Enabled (part of TCC Mode)".into()),
            Fix::Other("a driver that turns it on, such as igc; a switch between needs PTM, too".into()),
        ];
        return found(
            Severity::Note,
            format!("PTM is off on {} of the network devices that have it.", off.len()),
            off,
            fixes,
        );
    }
    if let Some(device) = devices.iter().find(|device| class(device).is_empty()) {
        return not_seen(format!("{DEVICES}/{device}/class cannot be read"));
    }
    if let Some((device, _)) = told.iter().find(|(_, told)| matches!(told, Told::Nothing)) {
        return not_seen(format!("{} may be read beyond its first bytes by root only", file(device)));
    }
    match told.iter().filter(|(_, told)| matches!(told, Told::On)).count() {
        0 => fine(format!("none of {} network devices has it", network.len()), vec![]),
        on => fine(format!("on, on {on} network devices"), vec![]),
    }
}

/// What a configuration space says.
pub(super) fn told(config: &[u8]) -> Told {
    let word = |at: usize| Some(u32::from_le_bytes(config.get(at..at + 4)?.try_into().ok()?));
    let mut at = EXTENDED;
    if config.len() < EXTENDED {
        return Told::Nothing;
    }
    // Each capability takes 4 bytes or more of 4 KiB, so that a list in a circle ends, too.
    for _ in 0..(4096 - EXTENDED) / 4 {
        let Some(header) = word(at).filter(|header| *header != 0 && *header != u32::MAX) else { return Told::Without };
        if header & 0xffff == PTM {
            // Capability bit 0: requester. Control bit 0: enabled.
            return match (word(at + 4), word(at + 8)) {
                (Some(can), Some(control)) if can & 1 == 1 => {
                    if control & 1 == 1 {
                        Told::On
                    } else {
                        Told::Off
                    }
                }
                _ => Told::Without,
            };
        }
        match (header >> 20) as usize & !3 {
            next if next >= EXTENDED => at = next,
            _ => return Told::Without,
        }
    }
    Told::Without
}
