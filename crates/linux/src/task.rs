//! Threads of other processes: what the kernel says about them from outside.

use std::fs;

/// What the kernel says about a thread of any process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskState {
    /// `R`, `S`, `D`, `T`, `t`, `Z`, ...: the third field of `stat`.
    pub state: char,
    /// The core that it runs on, or last ran on.
    pub core: u32,
    /// Page faults that needed no input or output.
    pub minor_faults: u64,
    /// Page faults that did.
    pub major_faults: u64,
    /// Switches because it waited.
    pub voluntary_switches: u64,
    /// Switches because it was preempted.
    pub involuntary_switches: u64,
    /// Nanoseconds in which it wanted to run and another had the core, where the kernel counts them.
    pub waited_ns: Option<u64>,
}

impl TaskState {
    /// Reads a thread of a process; `None` where it is gone.
    pub fn read(process: u32, thread: u32) -> Option<Self> {
        let text = |name: &str| {
            // A thread's name may hold any bytes.
            let bytes = fs::read(format!("/proc/{process}/task/{thread}/{name}")).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let waited_ns = text("schedstat").and_then(|text| text.split_whitespace().nth(1)?.parse().ok());
        parse(&text("stat")?, &text("status")?, waited_ns)
    }

    /// Whether it was stopped by a signal or a debugger.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }
}

/// The numbers of a process's threads, the first of which has the number of the process; none where it is gone.
pub fn threads_of(process: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let mut threads: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    threads.sort_unstable_by_key(|thread| (*thread != process, *thread));
    threads
}

/// Fields of `stat` by their numbers in proc_pid_stat(5). The second one, the name, stands in parentheses and may hold any
/// bytes.
fn parse(stat: &str, status: &str, waited_ns: Option<u64>) -> Option<TaskState> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let line = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
    Some(TaskState {
        state: field(3)?.chars().next()?,
        core: field(39)?.parse().ok()?,
        minor_faults: field(10)?.parse().ok()?,
        major_faults: field(12)?.parse().ok()?,
        voluntary_switches: line("voluntary_ctxt_switches:")?,
        involuntary_switches: line("nonvoluntary_ctxt_switches:")?,
        waited_ns,
    })
}

/// KiB of a process that are resident, and of those the KiB that are locked and that lie in huge pages; `None` where the kernel
/// does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessMemory {
    /// `VmRSS`
    pub resident_kib: u64,
    /// `VmLck`
    pub locked_kib: u64,
    /// `AnonHugePages`
    pub huge_kib: Option<u64>,
}

impl ProcessMemory {
    /// Reads a process's.
    pub fn read(process: u32) -> Option<Self> {
        let text = |name: &str| fs::read_to_string(format!("/proc/{process}/{name}")).ok();
        let kib = |text: &str, key: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(key))?;
            line.trim().strip_suffix("kB")?.trim().parse().ok()
        };
        let status = text("status")?;
        Some(Self {
            resident_kib: kib(&status, "VmRSS:")?,
            locked_kib: kib(&status, "VmLck:")?,
            huge_kib: text("smaps_rollup").and_then(|text| kib(&text, "AnonHugePages:")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_manual_whatever_the_name() {
        let numbers: Vec<String> = (4..=41).map(|field| (1000 + field).to_string()).collect();
        let stat = format!("7 (a) S) b) T {}", numbers.join(" "));
        let status = "Name:\ta) S) b\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        let state = parse(&stat, status, Some(5)).unwrap();
        assert_eq!((state.state, state.core, state.minor_faults, state.major_faults), ('T', 1039, 1010, 1012));
        assert_eq!((state.voluntary_switches, state.involuntary_switches, state.waited_ns), (12, 3, Some(5)));
        assert!(state.is_stopped());
        assert_eq!(parse("7 (a) R 1 2", status, None), None);
    }

    #[test]
    fn this_process_is_seen() {
        let own = std::process::id();
        let state = TaskState::read(own, own).unwrap();
        assert!(!state.is_stopped());
        assert!(state.minor_faults > 0);
        assert!(ProcessMemory::read(own).unwrap().resident_kib > 0);
        assert_eq!(TaskState::read(own, 1), None);
    }

    #[test]
    fn the_first_of_the_threads_has_the_number_of_the_process() {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv());
        let own = std::process::id();
        let threads = threads_of(own);
        assert!(threads.len() >= 2 && threads[0] == own, "{threads:?}");
        drop(go);
        other.join().unwrap().unwrap_err();
        assert!(threads_of(u32::MAX).is_empty());
    }
}
