//! What the kernel keeps for ordinary tasks.

use waykeeper_linux::{KeptTime, kept_for_ordinary_tasks};

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

pub(super) const CHECK: Check = Check {
    id: "rt-throttling",
    subject: "time that is kept for ordinary tasks",
    why: "A real-time loop that never sleeps is taken off its core for 50 ms of every second as soon as an ordinary task \
          waits there.",
    source: "Linux Documentation/scheduler/sched-rt-group.rst; since 6.12 kernel/sched/debug.c (fair_server), and rt.c \
             where groups of real-time tasks are built in",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let (mut whats, mut seen, mut fixes, mut hidden) = (Vec::new(), Vec::new(), Vec::new(), None);
    for &core in &view.rt_cores {
        let (kept, read) = kept_for_ordinary_tasks(&view.root, core);
        let read = read.into_iter().map(|(file, value)| Seen::new(file, value));
        // One setting of throttling is for all cores.
        seen.extend(read.filter(|one| !seen.contains(one)).collect::<Vec<_>>());
        for one in kept {
            match said(one, core) {
                Ok((what, fix)) => {
                    whats.push(what);
                    fixes.push(Fix::Command(fix));
                }
                Err(why) => hidden = hidden.or(Some(why)),
            }
        }
        // What one core shows stands for the others.
        if !whats.is_empty() {
            return found(Severity::Warning, whats.join(" "), seen, fixes);
        }
    }
    hidden.map_or_else(|| fine("nothing is kept", seen), |why| Err(NotSeen(why)))
}

/// What is kept of a core, and what keeps it no longer; or why it was not seen.
fn said(kept: KeptTime, core: u32) -> Result<(String, String), String> {
    match kept {
        KeptTime::NotSeen(why) => Err(why),
        KeptTime::Throttling { runtime_us, period_us } => Ok((
            format!("Real-time tasks may use {runtime_us} of every {period_us} us of a core."),
            "sysctl -w kernel.sched_rt_runtime_us=-1".into(),
        )),
        KeptTime::FairServer { runtime_ns, period_ns, file } => Ok((
            format!("The fair server may take {runtime_ns} of every {period_ns} ns of core {core} for ordinary tasks."),
            format!("echo 0 > {file}   (and so for every real-time core)"),
        )),
    }
}
