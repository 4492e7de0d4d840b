//! Steps of a sequence, and what comes of them.

use waykeeper_resctrl::{DirectoryEntry, FileOperation, MonitorEvent, MountOptions, Reading};

/// Something that happens to resctrl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// mount.
    Mount(MountOptions),
    /// umount.
    Unmount,
    /// An operation on a path.
    Do(FileOperation),
    /// A process begins (or, with `thread`, a process with that many more threads).
    Start {
        /// Threads beside the first.
        threads: u32,
    },
    /// A process ends: one of those that began, by position.
    End(usize),
    /// All counters of an event say something else.
    Count(MonitorEvent, Reading),
    /// Caches become empty, time passes until freed RMIDs were looked at, and the caches fill again.
    Settle,
    /// /proc/PID/cpu_resctrl_groups of a thread is read.
    Groups(i32),
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What was answered, or the error number.
    pub answer: Result<Answer, i32>,
    /// What `info/last_cmd_status` says afterwards; nothing when it is not mounted.
    pub status: Option<Vec<u8>>,
}

/// What was answered. Inode numbers are not compared: the kernel is free to choose them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing to say.
    Done,
    /// Content.
    Bytes(Vec<u8>),
    /// A directory.
    Entries(Vec<DirectoryEntry>),
    /// Type and permissions, links, owner and size.
    Attributes {
        /// Whether it is a directory.
        directory: bool,
        /// Permissions.
        mode: u32,
        /// Links.
        links: u32,
        /// Owner.
        uid: u32,
        /// Group.
        gid: u32,
        /// Size in bytes.
        size: u64,
    },
    /// Numbers of threads that began.
    Started(Vec<i32>),
}
