//! Hardware-controlled performance states.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

pub(super) const CHECK: Check = Check {
    id: "energy-preference",
    subject: "what the processor's own frequency control prefers (HWP, CPPC)",
    why: "With HWP the processor chooses the frequency itself; unless it is set to prefer performance it slows a core \
          that was idle, whatever the governor.",
    source: "Linux Documentation/admin-guide/pm/intel_pstate.rst and amd-pstate.rst; TCC user guide 5.3 and 5.3.3",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let mut seen = Vec::new();
    for &core in &view.rt_cores {
        let file = format!("/sys/devices/system/cpu/cpu{core}/cpufreq/energy_performance_preference");
        let Some(preference) = view.root.text(&file) else {
            if let Some(unseen) = view.hosts_affair("the frequency") {
                return Err(unseen);
            }
            let driver = format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_driver");
            return match view.root.text(&driver) {
                // With the processor's own control the file is there; without it there is nothing to prefer.
                Some(name) if has_own_control(view, &name) => not_seen(view.root.absence(&file)),
                Some(name) => {
                    fine("does not apply: the kernel sets the frequency itself", vec![Seen::new(driver, name)])
                }
                None => not_seen(view.root.absence(&file)),
            };
        };
        seen.push(Seen::new(&file, preference.clone()));
        if preference != "performance" && preference != "0" {
            let fixes = vec![
                Fix::Command(format!("echo performance > {file}   (and so for every real-time core)")),
                Fix::Command(format!(
                    "wrmsr -p {core} 0x774 VALUE   (HWP_REQUEST with minimum = maximum; the TCC guide's 5.3.3 has values)"
                )),
            ];
            return found(Severity::Warning, format!("Core {core} is set to prefer `{preference}`."), seen, fixes);
        }
    }
    fine("performance", seen)
}

/// Whether a driver may leave the frequency to the processor: Intel's does where there is HWP, AMD's where it likes.
fn has_own_control(view: &View, driver: &str) -> bool {
    let flags = view.flags();
    match driver {
        "intel_pstate" | "intel_cpufreq" => flags.is_empty() || flags.iter().any(|flag| flag == "hwp"),
        other => other.starts_with("amd-pstate") || other.starts_with("amd_pstate"),
    }
}
