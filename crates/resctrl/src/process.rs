//! Tasks: who is in which class, and the files `tasks`.

use crate::group::{GroupId, GroupKind};
use crate::number::signed_32;
use crate::text::{c_string, take_until, trim};
use crate::{Caller, Errno, Resctrl};

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its number as clients see it.
    pub tid: i32,
    /// The process that it belongs to, named by its first thread.
    pub process: i32,
    /// Its number for the kernel, which differs in a process namespace and appears in one error text.
    pub kernel_tid: i32,
    /// Its user.
    pub uid: u32,
    /// Its saved user.
    pub saved_uid: u32,
}

/// A task and the group that it is in.
#[derive(Clone, Copy, Debug)]
struct Member {
    task: Task,
    closid: u32,
    rmid: u32,
}

impl Task {
    /// A process of root with one thread.
    pub fn new(tid: i32) -> Self {
        Task { tid, process: tid, kernel_tid: tid, uid: 0, saved_uid: 0 }
    }
}

/// All tasks, process by process in the order in which they were started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processes {
    tasks: Vec<Member>,
}

impl Processes {
    /// Adds a task behind the last of its process.
    fn add(&mut self, member: Member) {
        let behind = self.tasks.iter().rposition(|other| other.task.process == member.task.process);
        self.tasks.insert(behind.map_or(self.tasks.len(), |at| at + 1), member);
    }

    fn find(&mut self, tid: i32) -> Option<&mut Member> {
        self.tasks.iter_mut().find(|member| member.task.tid == tid)
    }

    /// Puts all tasks into one group.
    pub fn move_all(&mut self, closid: u32, rmid: u32) {
        for task in &mut self.tasks {
            (task.closid, task.rmid) = (closid, rmid);
        }
    }
}

impl Resctrl {
    /// A task begins. It is in its parent's group, if the parent is known, else in the root group.
    pub fn start_task(&mut self, parent: Option<i32>, task: Task) {
        let from = parent.and_then(|tid| self.processes.find(tid)).map(|parent| (parent.closid, parent.rmid));
        let (closid, rmid) = from.unwrap_or((0, 0));
        self.processes.add(Member { task, closid, rmid });
    }

    /// A task ends.
    pub fn end_task(&mut self, tid: i32) {
        self.processes.tasks.retain(|member| member.task.tid != tid);
    }

    /// The class and RMID that a task is in itself, without regard to its CPU.
    pub fn task_identifiers(&self, tid: i32) -> Option<(u32, u32)> {
        self.processes.tasks.iter().find(|member| member.task.tid == tid).map(|member| (member.closid, member.rmid))
    }

    /// The class and RMID that hold for a task on a CPU: the task's own, or the CPU's if the task is in the root group.
    pub fn effective_identifiers(&self, tid: i32, cpu: u32) -> (u32, u32) {
        let (task_closid, task_rmid) = self.task_identifiers(tid).unwrap_or((0, 0));
        let (cpu_closid, cpu_rmid) = self.cpu_identifiers(cpu);
        let or = |own, other| if own != 0 { own } else { other };
        (or(task_closid, cpu_closid), or(task_rmid, cpu_rmid))
    }

    /// /proc/PID/cpu_resctrl_groups.
    pub fn task_groups(&self, tid: i32) -> Result<Vec<u8>, Errno> {
        let (closid, rmid) = self.task_identifiers(tid).ok_or(Errno::ESRCH)?;
        if self.mounted.is_none() {
            return Ok(b"res:\nmon:\n".to_vec());
        }
        let control = self.all_groups.iter().map(|&id| (id, self.group(id)));
        let mut control = control.filter(|(_, group)| !group.mode.is_locking() && group.closid == closid);
        let (id, control) = control.next().ok_or(Errno::ENOENT)?;
        let mut children = control.children.iter().map(|&child| self.group(child));
        let monitoring = children.find(|child| self.rmid(closid, rmid) == self.rmid(control.closid, child.rmid));
        let name = if id == self.root { b"/".to_vec() } else { self.tree.name(control.node).to_vec() };
        let monitored = monitoring.map_or_else(Vec::new, |group| self.tree.name(group.node).to_vec());
        Ok([b"res:", &name[..], b"\nmon:", &monitored, b"\n"].concat())
    }

    pub(crate) fn show_tasks(&self, group: GroupId) -> Vec<u8> {
        let group = self.group(group);
        let tasks = self.processes.tasks.iter().filter(|task| self.holds_task(group, task.closid, task.rmid));
        tasks.map(|member| format!("{}\n", member.task.tid)).collect::<String>().into_bytes()
    }

    pub(crate) fn has_tasks(&self, group: GroupId) -> bool {
        let group = self.group(group);
        self.processes.tasks.iter().any(|task| self.holds_task(group, task.closid, task.rmid))
    }

    /// Moves a group's tasks to another.
    pub(crate) fn move_group_tasks(&mut self, from: GroupId, to: GroupId) {
        let (closid, rmid) = (self.group(to).closid, self.group(to).rmid);
        let from = self.group(from).clone();
        let mut tasks = std::mem::take(&mut self.processes.tasks);
        for task in tasks.iter_mut().filter(|task| self.holds_task(&from, task.closid, task.rmid)) {
            (task.closid, task.rmid) = (closid, rmid);
        }
        self.processes.tasks = tasks;
    }

    pub(crate) fn write_tasks(&mut self, caller: &Caller, group: GroupId, data: &[u8]) -> Result<(), Errno> {
        if self.machine.kernel.takes_task_lists() {
            return self.write_task_list(caller, group, c_string(data));
        }
        let tid = signed_32(trim(c_string(data)), 0).ok().filter(|&tid| tid >= 0).ok_or(Errno::EINVAL)?;
        self.status.clear();
        self.refuse_locking(group)?;
        self.move_task(caller, tid, group)
    }

    fn write_task_list(&mut self, caller: &Caller, group: GroupId, text: &[u8]) -> Result<(), Errno> {
        self.status.clear();
        self.refuse_locking(group)?;
        let mut rest = Some(text);
        while rest.is_some_and(|rest| !rest.is_empty() && rest[0] != b'\n') {
            let word = trim(take_until(&mut rest, b',').unwrap_or_default());
            let Ok(tid) = signed_32(word, 0) else {
                self.status.print(&[b"Task list parsing error pid ", word, b"\n"]);
                return Err(Errno::EINVAL);
            };
            if tid < 0 {
                self.status.print(&[format!("Invalid pid {tid}\n").as_bytes()]);
                return Err(Errno::EINVAL);
            }
            self.move_task(caller, tid, group).inspect_err(|_| {
                self.status.print(&[format!("Error while processing task {tid}\n").as_bytes()]);
            })?;
        }
        Ok(())
    }

    fn move_task(&mut self, caller: &Caller, tid: i32, id: GroupId) -> Result<(), Errno> {
        let wanted = if tid == 0 { caller.tid } else { tid };
        let group = self.group(id).clone();
        let parent_closid = self.group(group.parent).closid;
        let Some(member) = self.processes.find(wanted) else {
            self.status.print(&[format!("No task {tid}\n").as_bytes()]);
            return Err(Errno::ESRCH);
        };
        if ![0, member.task.uid, member.task.saved_uid].contains(&caller.uid) {
            let text = format!("No permission to move task {}\n", member.task.kernel_tid);
            self.status.print(&[text.as_bytes()]);
            return Err(Errno::EPERM);
        }
        match group.kind {
            GroupKind::Control => (member.closid, member.rmid) = (group.closid, group.rmid),
            GroupKind::Monitoring if member.closid == parent_closid => member.rmid = group.rmid,
            GroupKind::Monitoring => {
                self.status.puts("Can't move task to different control group\n");
                return Err(Errno::EINVAL);
            }
        }
        Ok(())
    }

    /// Tasks and CPUs cannot enter a group that is locked or on the way to it.
    pub(crate) fn refuse_locking(&mut self, group: GroupId) -> Result<(), Errno> {
        if self.group(group).mode.is_locking() {
            self.status.puts("Pseudo-locking in progress\n");
            return Err(Errno::EINVAL);
        }
        Ok(())
    }
}
