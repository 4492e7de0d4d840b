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
    source: "Linux Documentation/scheduler/sched-rt-group.rst; since 6.12 kernel/sched/debug.c (fair_server)",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let (mut seen, mut hidden) = (Vec::new(), None);
    for &core in &view.rt_cores {
        let (kept, read) = kept_for_ordinary_tasks(&view.root, core);
        let read = read.into_iter().map(|(file, value)| Seen::new(file, value));
        // One setting of throttling is for all cores.
        seen.extend(read.filter(|one| !seen.contains(one)).collect::<Vec<_>>());
        match kept {
            KeptTime::Nothing => {}
            KeptTime::NotSeen(why) => hidden = hidden.or(Some(why)),
            KeptTime::Throttling { runtime_us, period_us } => {
                let fixes = vec![Fix::Command("sysctl -w kernel.sched_rt_runtime_us=-1".into())];
                let what = format!("Real-time tasks may use {runtime_us} of every {period_us} us of a core.");
                return found(Severity::Warning, what, seen, fixes);
            }
            KeptTime::FairServer { runtime_ns, period_ns, file } => {
                let fixes = vec![Fix::Command(format!("echo 0 > {file}   (and so for every real-time core)"))];
                let what = format!(
                    "The fair server may take {runtime_ns} of every {period_ns} ns of core {core} for ordinary tasks."
                );
                return found(Severity::Warning, what, seen, fixes);
            }
        }
    }
    hidden.map_or_else(|| fine("nothing is kept", seen), |why| Err(NotSeen(why)))
}
