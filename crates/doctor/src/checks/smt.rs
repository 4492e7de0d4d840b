//! Hardware threads beside the cores.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::cores::named;
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;
use waykeeper_linux::{format_cpulist, parse_cpulist};

pub(super) const CHECK: Check = Check {
    id: "smt",
    subject: "hardware threads beside the cores",
    why: "A sibling shares the pipeline, the L1 and the L2: whatever runs there slows the core in every cycle, and no \
          partition of the last-level cache helps.",
    source: "Linux Documentation/ABI/testing/sysfs-devices-system-cpu (smt); TCC user guide Appendix B (Hyper-Threading: Disabled)",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let (mut seen, mut disturbing, mut off) = (Vec::new(), Vec::new(), Vec::new());
    for &core in &view.rt_cores {
        let folder = format!("/sys/devices/system/cpu/cpu{core}/topology");
        let files = ["thread_siblings_list", "core_cpus_list"].map(|file| format!("{folder}/{file}"));
        let Some((file, text)) = files.into_iter().find_map(|file| Some((file.clone(), view.root.text(&file)?))) else {
            return not_seen(view.root.absence(&format!("{folder}/thread_siblings_list")));
        };
        let mut siblings = parse_cpulist(&text).unwrap_or_default();
        siblings.retain(|sibling| *sibling != core && view.online.contains(sibling));
        // Of several real-time siblings the first stays.
        if !off.contains(&core) {
            off.extend(&siblings);
        }
        disturbing.extend(siblings);
        seen.push(Seen::new(file, text));
    }
    disturbing.sort_unstable();
    disturbing.dedup();
    if disturbing.is_empty() {
        return match view.hosts_affair("what runs on the other thread of a core") {
            Some(unseen) => Err(unseen),
            None => fine("every real-time core has its pipeline for itself", seen),
        };
    }
    off.sort_unstable();
    let offline = off.iter().map(|core| Fix::Command(format!("echo 0 > /sys/devices/system/cpu/cpu{core}/online")));
    let fixes =
        offline.chain([Fix::Parameter("nosmt".into()), Fix::Firmware("Hyper-Threading: Disabled".into())]).collect();
    let what =
        format!("The pipelines of {} are shared with CPU {}.", named(&view.rt_cores), format_cpulist(&disturbing));
    found(Severity::Serious, what, seen, fixes)
}
