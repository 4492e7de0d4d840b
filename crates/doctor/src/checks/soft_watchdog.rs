//! The watchdog for soft lockups.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::cores::named;
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;
use waykeeper_linux::parse_cpulist;

const ON: &str = "/proc/sys/kernel/soft_watchdog";
const CORES: &str = "/proc/sys/kernel/watchdog_cpumask";

pub(super) const CHECK: Check = Check {
    id: "soft-watchdog",
    subject: "the watchdog for soft lockups",
    why: "A timer and a thread of the highest priority run on each watched core every few seconds, before any \
          real-time task.",
    source: "Linux Documentation/admin-guide/lockup-watchdogs.rst; TCC user guide 3.4 (nosoftlockup)",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let on = view.text(ON)?;
    let mut seen = vec![Seen::new(ON, on.clone())];
    if on == "0" {
        return fine("off", seen);
    }
    let cores = view.text(CORES)?;
    seen.push(Seen::new(CORES, cores.clone()));
    let Some(list) = parse_cpulist(&cores) else {
        return not_seen(format!("{CORES} holds `{cores}`, which is no list of cores"));
    };
    let watched = view.among(&list);
    if watched.is_empty() {
        return fine("watches other cores", seen);
    }
    let fixes = vec![
        Fix::Parameter("nosoftlockup".into()),
        Fix::Command(format!("sysctl -w kernel.watchdog_cpumask={}", view.other_list())),
    ];
    found(Severity::Note, format!("The watchdog for soft lockups runs on {}.", named(&watched)), seen, fixes)
}
