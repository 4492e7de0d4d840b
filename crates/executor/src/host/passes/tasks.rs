//! The threads of a program, looked at from outside: where they run, whether they were stopped, what happened to them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use waykeeper_linux::schedule::policy_of;
use waykeeper_linux::task::{ProcessMemory, TaskState};
use waykeeper_run::PlacementRecord;
use waykeeper_run::off_core::OFF_CORE_MS;

use super::placement;

/// How often it is looked.
const INTERVAL: Duration = Duration::from_millis(50);

/// The threads that count: those that make passes.
#[derive(Debug)]
pub struct Tasks {
    asked: u32,
    tasks: BTreeMap<(u32, u32), Task>,
    looked: Option<Instant>,
    stopped: bool,
    policy: Option<&'static str>,
    memory: Option<ProcessMemory>,
}

#[derive(Debug)]
struct Task {
    first: TaskState,
    last: TaskState,
    cores: Vec<u32>,
}

impl Tasks {
    /// None yet; they were asked to run on this core.
    pub fn on(asked: u32) -> Self {
        Self { asked, tasks: BTreeMap::new(), looked: None, stopped: false, policy: None, memory: None }
    }

    /// Looks at threads (process and thread), where the last look is long enough ago.
    pub fn look(&mut self, threads: impl Iterator<Item = (u32, u32)>) {
        if self.looked.is_none_or(|looked| looked.elapsed() >= INTERVAL) {
            self.look_now(threads);
        }
    }

    /// Looks at once.
    pub fn look_now(&mut self, threads: impl Iterator<Item = (u32, u32)>) {
        self.looked = Some(Instant::now());
        for (process, thread) in threads {
            let Some(state) = TaskState::read(process, thread) else { continue };
            self.stopped |= state.is_stopped();
            let task =
                self.tasks.entry((process, thread)).or_insert(Task { first: state, last: state, cores: Vec::new() });
            task.last = state;
            if !task.cores.contains(&state.core) {
                task.cores.push(state.core);
            }
            self.policy = Some(policy_of(thread)).filter(|policy| *policy != "not seen").or(self.policy);
        }
    }

    /// Looks at the memory of a process. The kernel walks its page tables for this: not while it is observed.
    pub fn look_at_memory(&mut self, process: u32) {
        self.memory = ProcessMemory::read(process).or(self.memory);
    }

    /// Whether a scheduling policy was seen.
    pub fn is_seen(&self) -> bool {
        self.policy.is_some()
    }

    /// The scheduling policy that was last seen.
    pub fn policy(&self) -> &'static str {
        self.policy.unwrap_or("not seen")
    }

    /// A core on which one of them was seen, another than the one asked for where there is such.
    pub fn last_core(&self) -> Option<u32> {
        let mut cores = self.cores();
        cores.find(|core| *core != self.asked).or_else(|| self.cores().next())
    }

    fn cores(&self) -> impl Iterator<Item = u32> + '_ {
        self.tasks.values().flat_map(|task| task.cores.iter().copied())
    }

    /// What happened to them between the first look and the last one, by the names that loops have for it.
    pub fn disturbances(&self) -> BTreeMap<String, f64> {
        let sum = |of: fn(&TaskState) -> u64| -> Option<f64> {
            let each = self.tasks.values().map(|task| of(&task.last).saturating_sub(of(&task.first)));
            (!self.tasks.is_empty()).then(|| each.sum::<u64>() as f64)
        };
        let mut found = BTreeMap::new();
        for (name, value) in [
            ("involuntary_switches", sum(|state| state.involuntary_switches)),
            ("voluntary_switches", sum(|state| state.voluntary_switches)),
            ("minor_faults", sum(|state| state.minor_faults)),
            ("major_faults", sum(|state| state.major_faults)),
        ] {
            found.extend(value.map(|value| (name.to_owned(), value)));
        }
        if self.tasks.values().all(|task| task.last.waited_ns.is_some()) {
            let waited = sum(|state| state.waited_ns.unwrap_or(0));
            found.extend(waited.map(|ns| (OFF_CORE_MS.to_owned(), ns / 1e6)));
        }
        found
    }

    /// Why the repeat does not count, as far as it shows here.
    pub fn not_counted(&self) -> Vec<String> {
        let stopped = "the program was stopped for a time (SIGSTOP, or a debugger)";
        self.stopped.then(|| stopped.to_owned()).into_iter().collect()
    }

    /// Memory of the process that was last looked at.
    pub fn memory(&self, huge_pages: bool) -> BTreeMap<String, PlacementRecord> {
        let Some(memory) = self.memory else { return BTreeMap::new() };
        let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
        let of = mib(memory.resident_kib);
        let locked = format!(
            "{} of {of} locked; only the program itself can lock its memory (`mlockall`)",
            mib(memory.locked_kib)
        );
        let asked = if huge_pages { "huge pages for `malloc`" } else { "small pages" };
        let huge = match memory.huge_kib {
            Some(huge) => format!("{} of {of} in huge pages", mib(huge)),
            None => "not seen".into(),
        };
        BTreeMap::from([
            ("target, locked memory".to_owned(), placement("as the program has it", locked)),
            ("target, memory".to_owned(), placement(asked, huge)),
        ])
    }
}
