//! The graphics processor's share of the last-level cache.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

const DEVICES: &str = "/sys/bus/pci/devices";
/// Bits of L3 masks that other than cores may use.
const SHAREABLE: &str = "/sys/fs/resctrl/info/L3/shareable_bits";

pub(super) const CHECK: Check = Check {
    id: "gpu-cache",
    subject: "the graphics processor's share of the last-level cache",
    why: "Intel's integrated graphics fill the same last-level cache as the cores, all of it unless firmware keeps them to \
          a small part; masks of the cores do not bind them.",
    source: "TCC user guide 5.1.2 (GT CLOS) and Appendix B",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let devices = view.root.names(DEVICES);
    if devices.is_empty() {
        return not_seen(format!("{DEVICES} names no devices"));
    }
    let read = |device: &String, file: &str| view.root.text(&format!("{DEVICES}/{device}/{file}")).unwrap_or_default();
    // Display controllers have the class 03xxxx; Intel's integrated one is device 2 of bus 0 on every part.
    let graphics = devices.iter().find(|device| {
        read(device, "class").starts_with("0x03") && read(device, "vendor") == "0x8086" && device.ends_with("00:02.0")
    });
    let Some(graphics) = graphics else {
        let dark = |device: &&String| {
            let class = read(device, "class");
            class.is_empty() || class.starts_with("0x03") && read(device, "vendor").is_empty()
        };
        if let Some(device) = devices.iter().find(dark) {
            return not_seen(format!("{DEVICES}/{device} does not report its class and vendor"));
        }
        return fine(format!("no integrated graphics of Intel among {} devices", devices.len()), vec![]);
    };
    let mut seen = vec![Seen::new(format!("{DEVICES}/{graphics}/class"), read(graphics, "class"))];
    let shared = view.root.text(SHAREABLE).filter(|bits| bits.bytes().any(|digit| digit != b'0'));
    seen.extend(shared.iter().map(|bits| Seen::new(SHAREABLE, bits.clone())));
    let told = match &shared {
        Some(bits) => {
            format!("The graphics processor may fill the ways {bits:?} of the L3, beside the cores.").replace('"', "")
        }
        None => "A graphics processor shares the last-level cache; no file shows how much of it.".into(),
    };
    let fixes = vec![
        Fix::Firmware("GT CLOS: Enabled (part of TCC Mode)".into()),
        Fix::Other("keep graphics idle while it counts, and measure with and without them".into()),
    ];
    found(Severity::Warning, told, seen, fixes)
}
