//! What the kernel keeps for ordinary tasks.

use crate::check::{Check, Looked, NotSeen, fine, found};
use crate::finding::{Fix, Seen, Severity};
use crate::view::View;

const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const PERIOD: &str = "/proc/sys/kernel/sched_rt_period_us";

pub(super) const CHECK: Check = Check {
    id: "rt-throttling",
    subject: "time that is kept for ordinary tasks",
    why: "A real-time loop that never sleeps is taken off its core for 50 ms of every second as soon as an ordinary task \
          waits there.",
    source: "Linux Documentation/scheduler/sched-rt-group.rst; since 6.12 kernel/sched/debug.c (fair_server)",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let version =
        view.version().ok_or_else(|| NotSeen("the kernel's version is not shown, on which it depends".into()))?;
    if waykeeper_linux::has_fair_server(version) { fair_server(view) } else { throttling(view) }
}

fn throttling(view: &View) -> Result<Looked, NotSeen> {
    let (runtime, period) = (view.text(RUNTIME)?, view.text(PERIOD)?);
    let seen = vec![Seen::new(RUNTIME, runtime.clone()), Seen::new(PERIOD, period.clone())];
    let number =
        |text: &str| text.parse::<i64>().map_err(|_| NotSeen(format!("`{text}` is no number of microseconds")));
    let (used, whole) = (number(&runtime)?, number(&period)?);
    if !(0..whole).contains(&used) {
        return fine("nothing is kept", seen);
    }
    let fixes = vec![Fix::Command("sysctl -w kernel.sched_rt_runtime_us=-1".into())];
    let what = format!("Real-time tasks may use {used} of every {whole} us of a core.");
    found(Severity::Warning, what, seen, fixes)
}

fn fair_server(view: &View) -> Result<Looked, NotSeen> {
    let mut seen = Vec::new();
    for &core in &view.rt_cores {
        let folder = format!("/sys/kernel/debug/sched/fair_server/cpu{core}");
        let file = format!("{folder}/runtime");
        let runtime = view.text(&file).map_err(|NotSeen(why)| {
            NotSeen(format!("since 6.12 only debugfs shows it (mount -t debugfs none /sys/kernel/debug), and {why}"))
        })?;
        seen.push(Seen::new(&file, runtime.clone()));
        if runtime != "0" {
            let period = view.text(&format!("{folder}/period"))?;
            let fixes = vec![Fix::Command(format!("echo 0 > {file}   (and so for every real-time core)"))];
            let what =
                format!("The fair server may take {runtime} of every {period} ns of core {core} for ordinary tasks.");
            return found(Severity::Warning, what, seen, fixes);
        }
    }
    fine("nothing is kept", seen)
}
