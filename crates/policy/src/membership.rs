//! The tasks of classes, as the machine has them now.

use serde::Serialize;

use crate::describe::Policy;
use crate::offer::Tree;
use crate::refusal::Refusal;

/// A task or cgroup that a class names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Which.
    pub named: Named,
    /// Its threads now; `None` where nobody looked, because the plan is for another machine.
    pub threads: Option<Vec<u32>>,
}

/// What a class names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    /// A process or thread.
    Task(u32),
    /// A cgroup, as a path below /sys/fs/cgroup without a slash at its ends.
    Cgroup(String),
}

/// The members of every class, in the classes' order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership(pub(crate) Vec<Vec<Member>>);

fn named(policy: &Policy, class: usize) -> Vec<(String, Named)> {
    let class_key = format!("classes.{class}");
    let class = &policy.classes[class];
    let tasks = class.tasks.iter().enumerate().map(|(i, task)| (format!("{class_key}.tasks.{i}"), Named::Task(*task)));
    let cgroups = class
        .cgroups
        .iter()
        .enumerate()
        .map(|(i, name)| (format!("{class_key}.cgroups.{i}"), Named::Cgroup(name.trim_matches('/').to_owned())));
    tasks.chain(cgroups).collect()
}

impl Membership {
    /// The members without their threads, for another machine.
    pub fn unread(policy: &Policy) -> Self {
        let unread = |(_, named)| Member { named, threads: None };
        Self((0..policy.classes.len()).map(|class| named(policy, class).into_iter().map(unread).collect()).collect())
    }

    /// The members with the threads that they have now.
    ///
    /// # Errors
    /// A task or a cgroup that is not there.
    pub fn read(policy: &Policy, tree: &dyn Tree) -> Result<Self, Refusal> {
        let read = |(key, named): (String, Named)| match threads(tree, &named) {
            Some(threads) => Ok(Member { named, threads: Some(threads) }),
            None => Err(match &named {
                Named::Task(task) => Refusal::wrong(key, format!("there is no task {task}")),
                Named::Cgroup(name) => Refusal::wrong(
                    key,
                    format!("there is no cgroup `{name}`: /sys/fs/cgroup/{name}/cgroup.threads cannot be read"),
                ),
            }),
        };
        let class = |class| named(policy, class).into_iter().map(read).collect::<Result<Vec<_>, _>>();
        Ok(Self((0..policy.classes.len()).map(class).collect::<Result<_, _>>()?))
    }
}

fn threads(tree: &dyn Tree, named: &Named) -> Option<Vec<u32>> {
    match named {
        Named::Task(task) => {
            let status = tree.text(&format!("/proc/{task}/status"))?;
            let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse::<u32>().ok()?;
            if process != *task {
                return Some(vec![*task]);
            }
            let mut threads: Vec<u32> =
                tree.names(&format!("/proc/{task}/task")).iter().filter_map(|name| name.parse().ok()).collect();
            threads.sort_unstable();
            Some(threads)
        }
        Named::Cgroup(name) => {
            let text = tree.text(&format!("/sys/fs/cgroup/{name}/cgroup.threads"))?;
            Some(text.split_whitespace().filter_map(|tid| tid.parse().ok()).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::Texts;

    #[test]
    fn a_process_is_all_its_threads_and_a_thread_itself() {
        let files = [
            ("/proc/10/status", "Name:\tx\nTgid:\t10\n"),
            ("/proc/10/task/10/comm", "x\n"),
            ("/proc/10/task/12/comm", "x\n"),
            ("/proc/12/status", "Name:\tx\nTgid:\t10\n"),
            ("/proc/12/task/10/comm", "x\n"),
            ("/sys/fs/cgroup/rt.slice/cgroup.threads", "7\n8\n"),
        ];
        let tree = Texts(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect());
        assert_eq!(threads(&tree, &Named::Task(10)), Some(vec![10, 12]));
        assert_eq!(threads(&tree, &Named::Task(12)), Some(vec![12]));
        assert_eq!(threads(&tree, &Named::Task(13)), None);
        assert_eq!(threads(&tree, &Named::Cgroup("rt.slice".into())), Some(vec![7, 8]));
        assert_eq!(threads(&tree, &Named::Cgroup("absent".into())), None);
    }
}
