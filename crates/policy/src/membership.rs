//! The tasks of classes, as the machine has them now.

use serde::Serialize;

use crate::assignment::AssignedClass;
use crate::cgroup::find_cgroup;
use crate::describe::Policy;
use crate::offer::Tree;
use crate::refusal::Refusal;

/// A task or cgroup that a class names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Which.
    pub named: Named,
    /// Its threads now; `None` where nobody looked, because the plan is for another machine, and of a cgroup that is not there.
    pub threads: Option<Vec<u32>>,
    /// The folder of the cgroup; `None` of a task, where nobody looked, and where it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Whether somebody looked for the cgroup, and it is not there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
}

/// What a class names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    /// A process or thread.
    Task(u32),
    /// A cgroup, as a path below the mount of cgroup v2 or /sys/fs/cgroup, without a slash at its ends.
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
        let unread = |(_, named)| Member { named, threads: None, at: None, absent: false };
        Self((0..policy.classes.len()).map(|class| named(policy, class).into_iter().map(unread).collect()).collect())
    }

    /// The members with the threads that they have now. A cgroup that is not there is kept: it may come.
    ///
    /// # Errors
    /// A task that is not there.
    pub fn read(policy: &Policy, tree: &dyn Tree) -> Result<Self, Refusal> {
        let all: Vec<Vec<(String, Named)>> = (0..policy.classes.len()).map(|class| named(policy, class)).collect();
        let cgroups: Vec<&str> = all.iter().flatten().filter_map(|(_, named)| named.cgroup()).collect();
        let read = |(key, named): &(String, Named)| read(tree, key, named, &cgroups);
        let class = |class: &Vec<_>| class.iter().map(read).collect::<Result<Vec<_>, _>>();
        Ok(Self(all.iter().map(class).collect::<Result<_, _>>()?))
    }
}

impl Member {
    /// A command that prints the threads of a cgroup and of those below it, one a line. Those of other PID namespaces read 0,
    /// which resctrl takes for the process that writes it.
    pub(crate) fn list_of_cgroup(&self) -> String {
        let usual = || format!("/sys/fs/cgroup/{}", self.named.cgroup().unwrap_or_default());
        let at = self.at.clone().unwrap_or_else(usual);
        format!("find '{at}' '(' -name cgroup.threads -o -name tasks ')' -exec cat {{}} + | grep -vx 0")
    }
}

/// The members of all classes, those of cgroups from the outside in, and then tasks: who is named more closely comes later,
/// and stays where that puts it.
pub(crate) fn from_outside_in(classes: &[AssignedClass]) -> Vec<(&AssignedClass, &Member)> {
    let depth = |member: &Member| match &member.named {
        Named::Cgroup(name) => name.split('/').count(),
        Named::Task(_) => usize::MAX,
    };
    let mut all: Vec<_> =
        classes.iter().flat_map(|class| class.members.iter().map(move |member| (class, member))).collect();
    all.sort_by_key(|(_, member)| depth(member));
    all
}

impl Named {
    fn cgroup(&self) -> Option<&str> {
        match self {
            Self::Cgroup(name) => Some(name),
            Self::Task(_) => None,
        }
    }
}

fn read(tree: &dyn Tree, key: &str, named: &Named, cgroups: &[&str]) -> Result<Member, Refusal> {
    let named = named.clone();
    match &named {
        Named::Task(task) => match threads_of_task(tree, *task) {
            Some(threads) => Ok(Member { named, threads: Some(threads), at: None, absent: false }),
            None => Err(Refusal::wrong(key, format!("there is no task {task}"))),
        },
        Named::Cgroup(name) => match find_cgroup(tree, name, cgroups) {
            Some(found) => Ok(Member { named, threads: Some(found.threads), at: Some(found.at), absent: false }),
            None => Ok(Member { named, threads: None, at: None, absent: true }),
        },
    }
}

/// The threads of a process, or a thread itself.
fn threads_of_task(tree: &dyn Tree, task: u32) -> Option<Vec<u32>> {
    let status = tree.text(&format!("/proc/{task}/status"))?;
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse::<u32>().ok()?;
    if process != task {
        return Some(vec![task]);
    }
    let names = tree.names(&format!("/proc/{task}/task"));
    let mut threads: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    threads.sort_unstable();
    Some(threads)
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
        ];
        let tree = Texts(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect());
        assert_eq!(threads_of_task(&tree, 10), Some(vec![10, 12]));
        assert_eq!(threads_of_task(&tree, 12), Some(vec![12]));
        assert_eq!(threads_of_task(&tree, 13), None);
    }
}
