//! The kernel's preemption model.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

const REALTIME: &str = "/sys/kernel/realtime";
const VERSION: &str = "/proc/version";
/// The model of a kernel that can be switched; debugfs, so for root only.
const CHOSEN: &str = "/sys/kernel/debug/sched/preempt";

pub(super) const CHECK: Check = Check {
    id: "preemption",
    subject: "the kernel's preemption model",
    why: "Without PREEMPT_RT the kernel finishes interrupt handlers, softirqs and spin-locked sections before a real-time \
          task may run; nothing bounds how long they take.",
    source: "Linux Documentation/core-api/real-time/theory.rst; TCC user guide 3.4",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    if view.root.text(REALTIME).as_deref() == Some("1") {
        return fine("PREEMPT_RT", vec![Seen::new(REALTIME, "1")]);
    }
    let version = view.text(VERSION)?;
    let says = |word: &str| version.split_whitespace().any(|other| other == word);
    let mark = ["PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT_LAZY", "PREEMPT"].into_iter().find(|word| says(word));
    let mut seen = vec![Seen::new(VERSION, mark.unwrap_or("no word of PREEMPT"))];
    if mark == Some("PREEMPT_RT") {
        return fine("PREEMPT_RT", seen);
    }
    let model = match mark {
        Some("PREEMPT_DYNAMIC") => dynamic_model(view, &mut seen),
        Some(_) => Some("full".into()),
        None => Some("none or voluntary".into()),
    };
    let severity = if model.as_deref() == Some("full") { Severity::Warning } else { Severity::Serious };
    let package = match waykeeper_linux::architecture(&view.root).as_deref() {
        Some("x86_64") => " (Debian: apt install linux-image-rt-amd64)",
        Some("aarch64") => " (Debian: apt install linux-image-rt-arm64)",
        Some("armv7l") => " (Debian: apt install linux-image-rt-armmp)",
        _ => "",
    };
    let what = "install a kernel with CONFIG_PREEMPT_RT, which is in mainline since 6.12";
    let mut fixes = vec![Fix::Other(format!("{what}{package}"))];
    if mark == Some("PREEMPT_DYNAMIC") && model.as_deref() != Some("full") {
        fixes.push(Fix::Parameter("preempt=full".into()));
    }
    let model = model.map_or_else(
        || "its preemption model is not shown".into(),
        |model| format!("its preemption model is `{model}`"),
    );
    found(severity, format!("This kernel is not PREEMPT_RT; {model}."), seen, fixes)
}

/// The model that was chosen at boot or since.
fn dynamic_model(view: &View, seen: &mut Vec<Seen>) -> Option<String> {
    if let Some(text) = view.root.text(CHOSEN) {
        let model = text.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(model, _)| model.to_owned());
        seen.push(Seen::new(CHOSEN, text));
        return model;
    }
    let word = view.command_line.as_ref()?.get("preempt")?;
    seen.push(Seen::new("/proc/cmdline", word.to_string()));
    word.value.clone()
}
