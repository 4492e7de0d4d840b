//! Threads of the kernel.

use crate::check::{Check, Looked, NotSeen, fine, found, not_seen};
use crate::cores::{format_mask, named, parse_mask};
use crate::finding::{Fix, Seen, Severity};
use crate::parameters::names::{isolating, isolcpus};
use crate::view::View;
use waykeeper_linux::parse_cpulist;

/// `PF_KTHREAD` of the kernel's include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// The flags' place in `/proc/PID/stat` after the name in parentheses (proc_pid_stat(5): field 9 of all).
const FLAGS: usize = 6;
const WORKQUEUES: &str = "/sys/devices/virtual/workqueue/cpumask";
/// So many are shown by name.
const SHOWN: usize = 4;

pub(super) const CHECK: Check = Check {
    id: "kernel-threads",
    subject: "threads of the kernel that may use the cores",
    why: "Writeback, RCU and drivers run in threads that the scheduler may place beside the real-time task; those that \
          belong to a core (ksoftirqd, migration) cannot leave it.",
    source: "Linux Documentation/admin-guide/kernel-per-CPU-kthreads.rst and core-api/workqueue.rst",
    look,
};

fn look(view: &View) -> Result<Looked, NotSeen> {
    let threads: Vec<Thread> = view.root.names("/proc").iter().filter_map(|pid| thread(view, pid)).collect();
    if threads.is_empty() {
        return not_seen("/proc shows no threads of the kernel: another PID namespace, or a tree without processes");
    }
    // Of one core alone: the kernel's own for that core.
    let roaming: Vec<&Thread> =
        threads.iter().filter(|thread| thread.cores.len() > 1 && !view.among(&thread.cores).is_empty()).collect();
    let shown = view.root.text(WORKQUEUES).and_then(|text| Some((parse_mask(&text)?, text)));
    let queues_seen = shown.is_some();
    let queues = shown.filter(|(cores, _)| !view.among(cores).is_empty());
    if roaming.is_empty() && queues.is_none() {
        if !queues_seen {
            return not_seen(format!(
                "where unbound workqueues may run is not shown: {}",
                view.root.absence(WORKQUEUES)
            ));
        }
        // A process that has ended meanwhile has neither file.
        let dark = |pid: &&String| {
            let has = |file: &str| view.root.text(&format!("/proc/{pid}/{file}")).is_some();
            pid.parse::<u32>().is_ok() && has("status") && !has("stat")
        };
        if let Some(pid) = view.root.names("/proc").iter().find(dark) {
            return not_seen(view.root.absence(&format!("/proc/{pid}/stat")));
        }
        if let Some(thread) = threads.iter().find(|thread| thread.cores.is_empty()) {
            return not_seen(format!("{} shows no cores of {}", thread.file, thread.name));
        }
        return fine(format!("none of {} may, but those of the cores themselves", threads.len()), vec![]);
    }
    let mut seen: Vec<Seen> = roaming
        .iter()
        .take(SHOWN)
        .map(|thread| Seen::new(thread.file.clone(), format!("{} ({})", thread.list, thread.name)))
        .collect();
    seen.extend(queues.iter().map(|(_, text)| Seen::new(WORKQUEUES, text.clone())));
    // A thread keeps its list where the scheduler leaves the core alone: only moving it changes what it may.
    let mut fixes: Vec<Fix> = (!view.is_isolated()).then(|| isolating(view, isolcpus(view))).into_iter().collect();
    if let Some(first) = roaming.first() {
        fixes.push(Fix::Command(format!("taskset -pc {} {}   (and so for the others)", view.other_list(), first.pid)));
    }
    if queues.is_some() {
        fixes.push(Fix::Command(format!("echo {} > {WORKQUEUES}", format_mask(&view.others()))));
    }
    let which = match (roaming.len(), queues.is_some()) {
        (0, _) => "Unbound workqueues".to_owned(),
        (n, false) => format!("{n} of {} threads of the kernel", threads.len()),
        (n, true) => format!("{n} of {} threads of the kernel, and unbound workqueues,", threads.len()),
    };
    found(Severity::Warning, format!("{which} may use {}.", named(&view.rt_cores)), seen, fixes)
}

struct Thread {
    pid: u32,
    name: String,
    file: String,
    list: String,
    /// Empty where unknown.
    cores: Vec<u32>,
}

fn thread(view: &View, pid: &str) -> Option<Thread> {
    let number = pid.parse().ok()?;
    let stat = view.root.text(&format!("/proc/{pid}/stat"))?;
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let flags: u64 = rest.split_whitespace().nth(FLAGS)?.parse().ok()?;
    if flags & KERNEL_THREAD == 0 {
        return None;
    }
    let file = format!("/proc/{pid}/status");
    let status = view.root.text(&file).unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default();
    let (list, cores) = (list.trim().to_owned(), parse_cpulist(list).unwrap_or_default());
    Some(Thread { pid: number, name: name.to_owned(), file, cores, list })
}
