//! What is asked of resctrl, and what it answers.

use crate::Errno;

/// An operation on a path. Paths are relative to the mount point, without a slash at the start; the empty path is the
/// mount point itself. Names are bytes, as in the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileOperation {
    /// open, read to the end, close.
    Read {
        /// A file.
        path: Vec<u8>,
    },
    /// open, one write(), close.
    Write {
        /// A file.
        path: Vec<u8>,
        /// All bytes of the write.
        data: Vec<u8>,
    },
    /// mkdir.
    Mkdir {
        /// The new directory.
        path: Vec<u8>,
        /// Its permissions, before the caller's umask.
        mode: u32,
    },
    /// rmdir.
    Rmdir {
        /// A directory.
        path: Vec<u8>,
    },
    /// rename.
    Rename {
        /// What is moved.
        from: Vec<u8>,
        /// Where to.
        to: Vec<u8>,
    },
    /// The names in a directory, without `.` and `..`.
    Readdir {
        /// A directory.
        path: Vec<u8>,
    },
    /// stat.
    Getattr {
        /// Any path.
        path: Vec<u8>,
    },
    /// chmod.
    Chmod {
        /// Any path.
        path: Vec<u8>,
        /// The new permissions.
        mode: u32,
    },
    /// unlink.
    Unlink {
        /// Any path.
        path: Vec<u8>,
    },
    /// open with O_CREAT for writing, close.
    Create {
        /// Any path.
        path: Vec<u8>,
    },
}

/// What an operation that succeeds returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing to say.
    Done,
    /// How many bytes were written.
    Written(usize),
    /// The content of a file.
    Bytes(Vec<u8>),
    /// The entries of a directory, in the order in which the kernel lists them.
    Entries(Vec<DirectoryEntry>),
    /// The attributes of a path.
    Attributes(Attributes),
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name.
    pub name: Vec<u8>,
    /// Whether it is a directory.
    pub directory: bool,
}

/// What stat shows. Sizes are always 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// A number that stays with the file as long as it is there.
    pub inode: u64,
    /// Whether it is a directory.
    pub directory: bool,
    /// Permissions.
    pub mode: u32,
    /// Number of links: 1, or 2 and the directories within.
    pub links: u32,
    /// The owner.
    pub uid: u32,
    /// The owning group.
    pub gid: u32,
}

/// An operation that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationError {
    /// The error number.
    pub errno: Errno,
    /// What `info/last_cmd_status` shows afterwards; `ok` and a newline when the kernel gave no reason.
    pub status: Vec<u8>,
}

/// Who asks. Permissions of files are not checked here: a file system does that before it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The thread, as `tasks` counts it; 0 in `tasks` means this one.
    pub tid: i32,
    /// The CPU it runs on.
    pub cpu: u32,
    /// Its effective user, who must own a task to move it unless it is root. New directories belong to it.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// The permissions that new directories do not get.
    pub umask: u32,
}

impl Default for Caller {
    /// Root on CPU 0, as process 1.
    fn default() -> Self {
        Caller { tid: 1, cpu: 0, uid: 0, gid: 0, umask: 0o022 }
    }
}
