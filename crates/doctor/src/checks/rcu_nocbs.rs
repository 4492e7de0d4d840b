//! Callbacks of RCU.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::cores::{named, parse_parameter};
use crate::finding::{Fix, Seen, Severity};
use crate::parameters::unknown::RCU_NOCBS;
use crate::view::View;
use waykeeper_linux::parse_cpulist;

use super::nohz_full::NOHZ_FULL;

pub(super) const CHECK: Check = Check {
    id: "rcu-nocbs",
    subject: "callbacks of RCU",
    why: "The kernel frees what other cores have deleted in a softirq of the core that deleted it, in batches of \
          unbounded length.",
    source: "Linux Documentation/admin-guide/kernel-parameters.txt (rcu_nocbs, nohz_full); TCC user guide 3.4",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let words = view.words()?;
    let shown = |name| words.get(name).map(ToString::to_string);
    let seen = [shown("rcu_nocbs"), shown("nohz_full")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let mut seen =
        vec![Seen::new("/proc/cmdline", if seen.is_empty() { "neither rcu_nocbs nor nohz_full".into() } else { seen })];
    let mut taken = Vec::new();
    // `nohz_full` implies it, also where it comes from a default of the kernel.
    for name in ["rcu_nocbs", "nohz_full"] {
        let Some(value) = words.value(name) else { continue };
        match parse_parameter(name, value, view.last) {
            Some((_, cores)) => taken.extend(cores),
            None if name == RCU_NOCBS => taken.extend(0..=view.last),
            None => {}
        }
    }
    if let Some(text) = view.root.text(NOHZ_FULL).filter(|text| !text.is_empty() && !text.contains("null")) {
        taken.extend(parse_cpulist(&text).unwrap_or_default());
        seen.push(Seen::new(NOHZ_FULL, text));
    }
    let lacking = view.lacking(&taken);
    if lacking.is_empty() {
        return fine(format!("taken from {}", named(&view.rt_cores)), seen);
    }
    let fixes = vec![Fix::Parameter(format!("rcu_nocbs={}", view.rt_list()))];
    found(Severity::Warning, format!("Callbacks of RCU run on {}.", named(&lacking)), seen, fixes)
}
