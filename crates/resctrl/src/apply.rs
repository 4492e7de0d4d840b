//! Operations on paths: what the kernel's file system layer checks before resctrl is asked.

use crate::text::c_string;
use crate::tree::{Content, NodeId, Owner, Tree};
use crate::{Caller, DirectoryEntry, Errno, FileOperation, OperationError, Reply, Resctrl};

/// The longest write: a page.
const WRITE_MAX: usize = 4096;

impl Resctrl {
    /// Carries out an operation of root.
    ///
    /// # Errors
    /// What the kernel would answer.
    pub fn apply(&mut self, operation: &FileOperation) -> Result<Reply, OperationError> {
        self.apply_for(&Caller::default(), operation)
    }

    /// Carries out an operation.
    ///
    /// # Errors
    /// What the kernel would answer.
    pub fn apply_for(&mut self, caller: &Caller, operation: &FileOperation) -> Result<Reply, OperationError> {
        let result = match operation {
            FileOperation::Read { path } => self.read(path).map(Reply::Bytes),
            FileOperation::Write { path, data } => self.write(caller, path, data).map(|()| Reply::Written(data.len())),
            FileOperation::Mkdir { path, mode } => self.mkdir_path(caller, path, *mode),
            FileOperation::Rmdir { path } => self.rmdir_path(caller, path),
            FileOperation::Rename { from, to } => self.rename_path(from, to),
            FileOperation::Readdir { path } => self.entries(path).map(Reply::Entries),
            FileOperation::Getattr { path } => {
                self.lookup(path).map(|node| Reply::Attributes(self.tree.attributes(node)))
            }
            FileOperation::Chmod { path, mode } => self.chmod(path, *mode),
            FileOperation::Unlink { path } => self.unlink(path),
            FileOperation::Create { path } => self.create(path),
        };
        result.map_err(|errno| OperationError { errno, status: self.status() })
    }

    /// What `info/last_cmd_status` shows.
    pub fn status(&self) -> Vec<u8> {
        self.status.show(self.machine.kernel.marks_truncated_status())
    }

    fn lookup(&self, path: &[u8]) -> Result<NodeId, Errno> {
        if self.tree.is_empty() {
            return Err(Errno::ENOENT);
        }
        let mut node = Tree::ROOT;
        for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            if !self.tree.is_directory(node) {
                return Err(Errno::ENOTDIR);
            }
            // Names may be longer than elsewhere: kernfs has no limit of its own.
            node = self.tree.child(node, name).ok_or(Errno::ENOENT)?;
        }
        Ok(node)
    }

    /// The directory in which a path's last name stands, and that name.
    fn lookup_parent<'a>(&self, path: &'a [u8]) -> Result<(NodeId, &'a [u8]), Errno> {
        let (parent, name) = match path.iter().rposition(|&byte| byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&path[..0], path),
        };
        let node = self.lookup(parent)?;
        if self.tree.is_directory(node) { Ok((node, name)) } else { Err(Errno::ENOTDIR) }
    }

    /// Finds a file that can be opened; root too needs a permission bit here.
    fn open(&self, path: &[u8], bits: u32) -> Result<NodeId, Errno> {
        let node = self.lookup(path)?;
        if self.tree.is_directory(node) {
            return Err(Errno::EISDIR);
        }
        if self.tree.node(node).mode & bits == 0 { Err(Errno::EACCES) } else { Ok(node) }
    }

    fn read(&mut self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        let node = self.open(path, 0o444)?;
        self.show(node)
    }

    fn write(&mut self, caller: &Caller, path: &[u8], data: &[u8]) -> Result<(), Errno> {
        let node = self.open(path, 0o222)?;
        if let Content::Counter(..) = self.tree.node(node).content {
            return Err(Errno::EACCES);
        }
        if data.len() > WRITE_MAX {
            return Err(Errno::E2BIG);
        }
        self.store(caller, node, data)
    }

    fn mkdir_path(&mut self, caller: &Caller, path: &[u8], mode: u32) -> Result<Reply, Errno> {
        if path.is_empty() {
            return Err(Errno::EEXIST);
        }
        let (parent, name) = self.lookup_parent(path)?;
        if self.tree.child(parent, name).is_some() {
            return Err(Errno::EEXIST);
        }
        self.mkdir(caller, parent, name, mode & 0o1777 & !caller.umask).map(|()| Reply::Done)
    }

    fn rmdir_path(&mut self, caller: &Caller, path: &[u8]) -> Result<Reply, Errno> {
        let node = self.lookup(path)?;
        if node == Tree::ROOT {
            return Err(Errno::EBUSY);
        }
        if !self.tree.is_directory(node) {
            return Err(Errno::ENOTDIR);
        }
        self.rmdir(caller, node).map(|()| Reply::Done)
    }

    fn rename_path(&mut self, from: &[u8], to: &[u8]) -> Result<Reply, Errno> {
        if from.is_empty() || to.is_empty() {
            return Err(Errno::EBUSY);
        }
        let (from_parent, from_name) = self.lookup_parent(from)?;
        let (to_parent, to_name) = self.lookup_parent(to)?;
        let source = self.tree.child(from_parent, from_name).ok_or(Errno::ENOENT)?;
        let target = self.tree.child(to_parent, to_name);
        if self.tree.is_directory(source) && self.tree.is_within(to_parent, source) {
            return Err(Errno::EINVAL);
        }
        if let Some(target) = target {
            if self.tree.is_directory(target) && self.tree.is_within(from_parent, target) {
                return Err(Errno::ENOTEMPTY);
            }
            if target == source {
                return Ok(Reply::Done);
            }
            match (self.tree.is_directory(source), self.tree.is_directory(target)) {
                (true, false) => return Err(Errno::ENOTDIR),
                (false, true) => return Err(Errno::EISDIR),
                _ => (),
            }
        }
        self.rename(source, to_parent, to_name, target.is_some()).map(|()| Reply::Done)
    }

    /// The entries of a directory, which listing does not change.
    ///
    /// # Errors
    /// ENOENT or ENOTDIR.
    pub fn entries(&self, path: &[u8]) -> Result<Vec<DirectoryEntry>, Errno> {
        let node = self.lookup(path)?;
        if self.tree.is_directory(node) { Ok(self.tree.entries(node)) } else { Err(Errno::ENOTDIR) }
    }

    fn chmod(&mut self, path: &[u8], mode: u32) -> Result<Reply, Errno> {
        let node = self.lookup(path)?;
        self.tree.node_mut(node).mode = mode & 0o7777;
        Ok(Reply::Done)
    }

    /// Changes the owner of a path, as chown does.
    ///
    /// # Errors
    /// ENOENT or ENOTDIR when there is no such path.
    pub fn chown(&mut self, path: &[u8], uid: u32, gid: u32) -> Result<(), Errno> {
        let node = self.lookup(path)?;
        let node = self.tree.node_mut(node);
        (node.uid, node.gid) = (uid, gid);
        Ok(())
    }

    fn unlink(&mut self, path: &[u8]) -> Result<Reply, Errno> {
        let node = self.lookup(path)?;
        Err(if self.tree.is_directory(node) { Errno::EISDIR } else { Errno::EPERM })
    }

    fn create(&mut self, path: &[u8]) -> Result<Reply, Errno> {
        let (parent, name) = if path.is_empty() { (Tree::ROOT, path) } else { self.lookup_parent(path)? };
        let found = if path.is_empty() { Some(parent) } else { self.tree.child(parent, name) };
        match found {
            Some(node) if self.tree.is_directory(node) => Err(Errno::EISDIR),
            Some(_) => self.open(path, 0o222).map(|_| Reply::Done),
            None => Err(Errno::EACCES),
        }
    }

    /// Who a new node belongs to.
    pub(crate) fn owner(caller: &Caller) -> Owner {
        Owner { uid: caller.uid, gid: caller.gid }
    }

    /// The text of a write that must end with a newline, without it.
    pub(crate) fn line(data: &[u8]) -> Option<&[u8]> {
        data.strip_suffix(b"\n").map(c_string)
    }
}
