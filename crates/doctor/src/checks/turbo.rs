//! Turbo frequencies.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

const INTEL: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";

pub(super) const CHECK: Check = Check {
    id: "turbo",
    subject: "frequencies above the guaranteed one",
    why: "How far a core may go above its guaranteed frequency depends on heat and on what the other cores do: the same \
          work takes longer when they wake.",
    source: "Linux Documentation/admin-guide/pm/intel_pstate.rst and cpufreq.rst; TCC user guide 3.3.2, which measures with turbo on from the 12th generation",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let read = |file: &'static str, on: &str| view.root.text(file).map(|text| (file, text == on, text));
    let Some((file, on, text)) = read(INTEL, "0").or_else(|| read(BOOST, "1")) else {
        return Err(view
            .hosts_affair("turbo")
            .unwrap_or_else(|| NotSeen(format!("neither {INTEL} nor {BOOST} is there"))));
    };
    let seen = vec![Seen::new(file, text)];
    if !on {
        return fine("off", seen);
    }
    let off = if file == INTEL { "1" } else { "0" };
    let fixes = vec![
        Fix::Command(format!("echo {off} > {file}")),
        Fix::Other("or keep it, with one frequency for the real-time cores by HWP (TCC user guide 5.3.3)".into()),
    ];
    found(Severity::Note, "Turbo is on.", seen, fixes)
}
