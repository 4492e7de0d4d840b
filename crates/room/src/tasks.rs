//! The tasks of a process namespace, read from /proc: who began since the last look, from whom, and who ended.

use std::collections::BTreeMap;
use std::path::Path;

use waykeeper_resctrl::Task;

/// The tasks that were there at the last look.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    /// The process of each.
    known: BTreeMap<i32, i32>,
}

/// What happened since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// Tasks that began, each after its parent.
    pub began: Vec<(Option<i32>, Task)>,
    /// Tasks that ended.
    pub ended: Vec<i32>,
}

impl Tasks {
    /// Looks.
    pub fn look(&mut self, proc: &Path) -> News {
        let mut there = BTreeMap::new();
        for process in numbers(proc) {
            let threads = numbers(&proc.join(process.to_string()).join("task"));
            there.extend(threads.into_iter().map(|thread| (thread, process)));
        }
        let ended: Vec<i32> = self.known.keys().filter(|tid| !there.contains_key(tid)).copied().collect();
        let mut new: Vec<(i32, i32)> = there
            .iter()
            .filter(|(tid, _)| !self.known.contains_key(tid))
            .map(|(tid, process)| (*tid, *process))
            .collect();
        // A process before its threads; a parent before its children, whose numbers may have wrapped.
        new.sort_by_key(|(tid, process)| (tid != process, *tid));
        let mut waiting: Vec<_> = new
            .into_iter()
            .filter_map(|(tid, process)| {
                let status = proc.join(format!("{process}/task/{tid}/status"));
                let (parent, uid, saved_uid) = status_of(&std::fs::read_to_string(status).ok()?)?;
                let parent = if tid == process { Some(parent).filter(|parent| *parent > 0) } else { Some(process) };
                Some((parent, Task { tid, process, kernel_tid: tid, uid, saved_uid }))
            })
            .collect();
        self.known.retain(|tid, _| there.contains_key(tid));
        let mut began = Vec::new();
        while !waiting.is_empty() {
            let new: Vec<i32> = waiting.iter().map(|(_, task)| task.tid).collect();
            let (ready, rest): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|(parent, _)| parent.is_none_or(|parent| !new.contains(&parent)));
            // A ring of parents cannot be, but /proc was not read in one instant.
            let (ready, rest) = if ready.is_empty() { (rest, ready) } else { (ready, rest) };
            self.known.extend(ready.iter().map(|(_, task)| (task.tid, task.process)));
            began.extend(ready);
            waiting = rest;
        }
        News { began, ended }
    }
}

fn numbers(folder: &Path) -> Vec<i32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Parent, effective user and saved user, from /proc/PID/status. The kernel compares a writer with a task's real and
/// saved user (`task_uid`, `suid`).
fn status_of(text: &str) -> Option<(i32, u32, u32)> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let parent = field("PPid")?.trim().parse().ok()?;
    let mut users = field("Uid")?.split_whitespace();
    let real = users.next()?.parse().ok()?;
    let saved = users.nth(1)?.parse().ok()?;
    Some((parent, real, saved))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_saved_user_is_the_third_number() {
        let text = "Name:\tsh\nPPid:\t41\nUid:\t1000\t0\t33\t0\n";
        assert_eq!(status_of(text), Some((41, 1000, 33)));
        assert_eq!(status_of("PPid:\t41\n"), None);
    }

    #[test]
    fn a_child_is_seen_with_its_parent_and_its_end_too() {
        let mut tasks = Tasks::default();
        let first = tasks.look(Path::new("/proc"));
        let own = std::process::id() as i32;
        assert!(first.began.iter().any(|(_, task)| task.tid == own));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let id = child.id() as i32;
        let news = tasks.look(Path::new("/proc"));
        let (parent, _) = news.began.iter().find(|(_, task)| task.tid == id).unwrap();
        assert_eq!(*parent, Some(own));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(tasks.look(Path::new("/proc")).ended.contains(&id));
    }
}
