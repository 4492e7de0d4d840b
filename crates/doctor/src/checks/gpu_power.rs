//! Graphics processors that the kernel puts to sleep by itself.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

const DEVICES: &str = "/sys/bus/pci/devices";

pub(super) const CHECK: Check = Check {
    id: "gpu-power",
    subject: "graphics processors that sleep when idle",
    why: "The driver wakes and stops the device with interrupts off and under locks of firmware: all cores wait, with i915 \
          up to a millisecond in timerlat.",
    source: "Linux Documentation/power/runtime_pm.rst (power/control); redhat-performance/tuned issue 719",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let devices = view.root.names(DEVICES);
    if devices.is_empty() {
        return not_seen(format!("{DEVICES} names no devices"));
    }
    let mut graphics = Vec::new();
    let mut unseen = None;
    for device in &devices {
        let class = format!("{DEVICES}/{device}/class");
        match view.root.text(&class) {
            // Display controllers have the class 03xxxx.
            Some(text) if text.starts_with("0x03") => graphics.push(format!("{DEVICES}/{device}/power/control")),
            Some(_) => {}
            None => unseen = Some(view.root.absence(&class)),
        }
    }
    let mut seen = Vec::new();
    for file in graphics {
        match view.root.text(&file) {
            Some(text) => seen.push(Seen::new(file, text)),
            None => unseen = Some(view.root.absence(&file)),
        }
    }
    let sleeping: Vec<Seen> = seen.iter().filter(|seen| seen.value != "on").cloned().collect();
    if !sleeping.is_empty() {
        let fixes = sleeping.iter().map(|seen| Fix::Command(format!("echo on > {}", seen.file))).collect();
        let what = match sleeping.len() {
            1 => "A graphics processor sleeps when it is idle.".to_owned(),
            count => format!("{count} graphics processors sleep when they are idle."),
        };
        return found(Severity::Warning, what, sleeping, fixes);
    }
    match unseen {
        Some(why) => Err(NotSeen(why)),
        None if seen.is_empty() => fine(format!("no graphics processor among {} devices", devices.len()), seen),
        None => fine("they stay awake (power/control is `on`)", seen),
    }
}
