//! The tree of files that resctrl offers, as something to act on.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_policy::MountSettings;

/// What distinguishes a mount of resctrl from others.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MountSeen {
    /// The device of the file system. Another one is another mount; a later mount may get the same.
    pub device: String,
    /// The number of the mount in this mount namespace, where the kernel says it.
    pub number: Option<String>,
}

/// resctrl as files. Paths are below its mount point, without a slash at the start.
///
/// The running machine is one ([`HostTree`](crate::host::HostTree)); tests act on the model of the kernel.
pub trait ResctrlTree {
    /// Why nothing can be done here at all: no resctrl in the kernel, no permission.
    fn unusable(&mut self) -> Option<String>;
    /// The options that resctrl is mounted with, where it is mounted.
    ///
    /// # Errors
    /// Where that cannot be found out.
    fn mounted(&mut self) -> Result<Option<MountSettings>, TreeError>;
    /// Where it is mounted instead, if it is mounted in another place only.
    fn mounted_elsewhere(&mut self) -> Option<String> {
        None
    }
    /// Mounts it.
    ///
    /// # Errors
    /// What the kernel answered.
    fn mount(&mut self, settings: MountSettings) -> Result<(), TreeError>;
    /// Unmounts it.
    ///
    /// # Errors
    /// What the kernel answered.
    fn unmount(&mut self) -> Result<(), TreeError>;
    /// What distinguishes this mount of resctrl from others; `None` where that cannot be known.
    fn mount_seen(&mut self) -> Option<MountSeen> {
        None
    }
    /// The content of a file.
    ///
    /// # Errors
    /// What the kernel answered.
    fn read(&mut self, path: &str) -> Result<String, TreeError>;
    /// Writes a text in one write.
    ///
    /// # Errors
    /// What the kernel answered, with the text of `info/last_cmd_status`.
    fn write(&mut self, path: &str, text: &str) -> Result<(), TreeError>;
    /// Makes a directory.
    ///
    /// # Errors
    /// What the kernel answered, with the text of `info/last_cmd_status`.
    fn mkdir(&mut self, path: &str) -> Result<(), TreeError>;
    /// Removes a directory.
    ///
    /// # Errors
    /// What the kernel answered, with the text of `info/last_cmd_status`.
    fn rmdir(&mut self, path: &str) -> Result<(), TreeError>;
    /// The names of the directories in a directory; none where it is not there.
    ///
    /// # Errors
    /// What the kernel answered.
    fn directories(&mut self, path: &str) -> Result<Vec<String>, TreeError>;
}

/// An operation on the tree that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeError {
    /// What was tried, such as `write`.
    pub action: &'static str,
    /// Where.
    pub path: String,
    /// The error number, where the system gave one.
    pub errno: Option<i32>,
    /// What the system said.
    pub reason: String,
    /// The text of `info/last_cmd_status`, where it has one.
    pub status: Option<String>,
}

impl TreeError {
    /// Whether the path is not there (ENOENT).
    pub fn is_absent(&self) -> bool {
        const ENOENT: i32 = 2;
        self.errno == Some(ENOENT)
    }
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.action, self.path, self.reason)?;
        match &self.status {
            Some(status) => write!(f, "; the kernel says: {status}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TreeError {}
