//! The error numbers that an operation on resctrl can end with.

use std::fmt;

/// A Linux error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
#[allow(missing_docs)] // the names are the documentation: errno(3)
pub enum Errno {
    EPERM = 1,
    ENOENT = 2,
    ESRCH = 3,
    EIO = 5,
    E2BIG = 7,
    EACCES = 13,
    EBUSY = 16,
    EEXIST = 17,
    ENODEV = 19,
    ENOTDIR = 20,
    EISDIR = 21,
    EINVAL = 22,
    ENOSPC = 28,
    ERANGE = 34,
    ENAMETOOLONG = 36,
    ENOTEMPTY = 39,
    EOVERFLOW = 75,
    EOPNOTSUPP = 95,
}

impl Errno {
    /// The number, positive, as the C library knows it.
    pub fn number(self) -> i32 {
        self as i32
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
