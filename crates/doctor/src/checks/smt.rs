//! Hardware threads beside the cores.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::cores::named;
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;
use waykeeper_linux::format_cpulist;

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
        let Some((file, siblings)) = view.siblings(core) else {
            let file = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
            return not_seen(match view.root.text(&file) {
                Some(text) => format!("{file} holds `{text}`, which does not tell the threads of core {core}"),
                None => view.root.absence(&file),
            });
        };
        // Of several real-time siblings the first stays.
        if !off.contains(&core) {
            off.extend(&siblings);
        }
        disturbing.extend(siblings);
        let text = view.root.text(&file).unwrap_or_default();
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
    // The boot core cannot be put offline on x86 since 6.5, and on others as firmware likes.
    let offline = off.iter().map(|core| match core {
        0 => Fix::Other("choose another real-time core: the second thread is the boot core, which stays online".into()),
        core => Fix::Command(format!("echo 0 > /sys/devices/system/cpu/cpu{core}/online")),
    });
    // `nosmt` leaves the first thread of each core.
    let booted = view.second_threads().filter(|cores| cores.is_empty()).map(|_| Fix::Parameter("nosmt".into()));
    let fixes = offline.chain(booted).chain([Fix::Firmware("Hyper-Threading: Disabled".into())]).collect();
    let what =
        format!("The pipelines of {} are shared with CPU {}.", named(&view.rt_cores), format_cpulist(&disturbing));
    found(Severity::Serious, what, seen, fixes)
}
