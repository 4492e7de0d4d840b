//! A hypervisor beneath the kernel.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;
use waykeeper_linux::Below;

/// The `steal` column of a `cpuN` line of `/proc/stat`, the name being 0 (proc_stat(5)).
const STEAL: usize = 8;

pub(super) const CHECK: Check = Check {
    id: "virtual-machine",
    subject: "a hypervisor beneath the kernel",
    why: "The host can take a virtual core away at any time, for as long as it likes, and its other guests share the \
          caches and the memory; nothing inside can prevent or bound it.",
    source: "proc_stat(5), column steal",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    view.text("/proc/cpuinfo")?;
    let (file, value) = match &view.below {
        Below::Hypervisor(_, told) => told,
        Below::Machine(file, text) => {
            return fine("no hypervisor shows itself", vec![Seen::new(file.clone(), text.clone())]);
        }
        Below::Unknown(why) => return not_seen(why.clone()),
    };
    let hypervisor = view.hypervisor.as_deref().unwrap_or("of unknown make");
    let mut seen = vec![Seen::new(file.clone(), value.clone())];
    let stolen = stolen_ms(view);
    if let Some(ms) = stolen {
        seen.push(Seen::new("/proc/stat", format!("{ms} ms stolen from the real-time cores since boot")));
    }
    let severity = if stolen.is_some_and(|ms| ms > 0) { Severity::Serious } else { Severity::Warning };
    let told = match stolen {
        Some(0) => ", which has taken no time from the real-time cores that it reports",
        Some(_) => ", which has taken time from the real-time cores",
        None => "",
    };
    let fixes = vec![Fix::Other(
        "on the host: give each virtual core a core of its own, isolated and without frequency changes; or use the machine itself".into(),
    )];
    found(severity, format!("The kernel runs above a hypervisor ({hypervisor}){told}."), seen, fixes)
}

fn stolen_ms(view: &View) -> Option<u64> {
    let stat = view.root.text("/proc/stat")?;
    let of = |core: &u32| {
        let name = format!("cpu{core}");
        let line = stat.lines().find(|line| line.split_whitespace().next() == Some(&name))?;
        line.split_whitespace().nth(STEAL)?.parse::<u64>().ok()
    };
    // USER_HZ is 100 on every architecture that Linux has today.
    view.rt_cores.iter().map(|core| of(core).map(|ticks| ticks * 10)).sum()
}
