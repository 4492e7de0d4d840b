//! Facts of the running machine.

use std::path::Path;

use waykeeper_linux::{Root, parse_cpulist};
use waykeeper_policy::find_cgroup;

use crate::files::Files;
use crate::system::{System, TaskFacts};

/// Facts from `/proc` and `/sys`.
#[derive(Debug)]
pub struct HostSystem {
    root: Root,
}

impl HostSystem {
    /// Those of the machine whose files lie below `root`.
    pub fn at(root: &Path) -> Self {
        Self::of(Root::at(root))
    }

    /// Those of a machine.
    pub(crate) fn of(root: Root) -> Self {
        Self { root }
    }
}

impl System for HostSystem {
    fn boot_id(&self) -> Option<String> {
        self.root.text("/proc/sys/kernel/random/boot_id")
    }

    fn online_cpus(&self) -> Vec<u32> {
        let text = self.root.text("/sys/devices/system/cpu/online");
        text.and_then(|text| parse_cpulist(&text)).unwrap_or_default()
    }

    fn task(&self, tid: i32) -> Option<TaskFacts> {
        // /proc/TID is there for threads too, though it is not listed.
        let stat = self.root.text(&format!("/proc/{tid}/stat"))?;
        let status = self.root.text(&format!("/proc/{tid}/status"))?;
        task_facts(&stat, &status)
    }

    fn is_zombie(&self, tid: i32) -> bool {
        self.root.text(&format!("/proc/{tid}/stat")).is_some_and(|stat| is_zombie(&stat))
    }

    fn cgroup(&self, path: &str, others: &[&str]) -> Option<Vec<i32>> {
        let found = find_cgroup(&Files(self.root.clone()), path, others)?;
        Some(found.threads.into_iter().filter_map(|tid| tid.try_into().ok()).collect())
    }

    fn refuses_pseudo_lock(&self) -> Option<String> {
        refuses_pseudo_lock(&self.root.text("/proc/cpuinfo")?)
    }
}

/// From `/proc/TID/stat` (proc_pid_stat(5): field 3 is the state).
fn is_zombie(stat: &str) -> bool {
    let rest = stat.rfind(')').and_then(|end| stat.get(end + 1..)).unwrap_or_default();
    matches!(rest.split_whitespace().next(), Some("Z" | "X" | "x"))
}

/// From `/proc/TID/stat` (proc_pid_stat(5): field 4 is the parent, 22 the start) and `/proc/TID/status`.
fn task_facts(stat: &str, status: &str) -> Option<TaskFacts> {
    // The name stands in parentheses and may hold some itself.
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    Some(TaskFacts {
        began: fields.get(19)?.parse().ok()?,
        process: process.trim().parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
    })
}

/// Linux knows how to stop the prefetchers of three processors only, which pseudo-locking needs: Broadwell-X, Goldmont and
/// Goldmont Plus (`resctrl_arch_get_prefetch_disable_bits`).
fn refuses_pseudo_lock(cpuinfo: &str) -> Option<String> {
    let field = |name: &str| {
        let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
    };
    let (vendor, family, model) = (field("vendor_id")?, field("cpu family")?, field("model")?);
    let can = vendor == "GenuineIntel" && family == "6" && matches!(model, "79" | "92" | "122");
    (!can).then(|| {
        let name = field("model name").unwrap_or("this processor");
        format!(
            "Linux cannot pseudo-lock on {name}: it can on Broadwell-X, Goldmont (Apollo Lake) and Goldmont Plus only"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_with_parentheses_in_its_name() {
        let stat = "42 (a ) b) S 7 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2 3";
        let facts = task_facts(stat, "Name:\ta ) b\nTgid:\t41\nPid:\t42\n").unwrap();
        assert_eq!(facts, TaskFacts { began: 98765, process: 41, parent: 7 });
        assert!(!is_zombie(stat) && is_zombie("42 (a ) S) Z 7 42") && !is_zombie("42 (Z) R 7"));
    }

    #[test]
    fn this_task_is_there() {
        let system = HostSystem::at(Path::new("/"));
        let own = system.task(std::process::id() as i32).unwrap();
        assert_eq!(own.process, std::process::id() as i32);
        assert_eq!(system.task(i32::MAX), None);
    }

    #[test]
    fn three_processors_pseudo_lock() {
        let info =
            |model: u32| format!("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\nmodel name\t: X\n");
        assert_eq!(refuses_pseudo_lock(&info(92)), None);
        assert!(refuses_pseudo_lock(&info(106)).is_some());
        // A processor that does not say what it is may be able to.
        assert_eq!(refuses_pseudo_lock("processor : 0\n"), None);
    }
}
