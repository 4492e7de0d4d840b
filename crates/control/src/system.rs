//! Other parts of a machine that matter to who acts on it.

/// Facts of the running system.
pub trait System {
    /// What names this boot: `/proc/sys/kernel/random/boot_id`; `None` where it cannot be read.
    fn boot_id(&self) -> Option<String>;
    /// The CPUs that are online, ascending.
    fn online_cpus(&self) -> Vec<u32>;
    /// A task (thread), if it lives.
    fn task(&self, tid: i32) -> Option<TaskFacts>;
    /// Whether a task has ended, and its parent has not asked for its status yet: resctrl shows it, and cgroups do not.
    fn is_zombie(&self, _tid: i32) -> bool {
        false
    }
    /// The tasks (threads) of a cgroup and of those below it, but for those of the cgroups `others`; `None` where the cgroup
    /// is not there.
    fn cgroup(&self, path: &str, others: &[&str]) -> Option<Vec<i32>>;
    /// Why this processor cannot pseudo-lock; `None` where it may be able to.
    fn refuses_pseudo_lock(&self) -> Option<String>;
}

/// What distinguishes a task from a later one with the same number, and whom it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskFacts {
    /// When it began, in clock ticks after boot.
    pub began: u64,
    /// The process that it is a thread of.
    pub process: i32,
    /// The parent of that process.
    pub parent: i32,
}

/// It cannot be known whether the machine was started again since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "/proc/sys/kernel/random/boot_id cannot be read, so whether the machine was started again since something was applied \
     is not known; nothing was written; /proc has to be mounted, and as a whole (a service without ProcSubset=pid)"
)]
pub struct BootUnknown;

/// What names this boot.
pub(crate) fn this_boot(system: &dyn System) -> Result<String, BootUnknown> {
    system.boot_id().filter(|boot| !boot.is_empty()).ok_or(BootUnknown)
}

/// The machine that is acted on.
pub struct MachineAccess<'m> {
    /// resctrl.
    pub tree: &'m mut dyn crate::ResctrlTree,
    /// Model-specific registers.
    pub registers: &'m mut dyn crate::Registers,
    /// Facts.
    pub system: &'m dyn System,
}
