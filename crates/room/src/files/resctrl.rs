//! resctrl's tree as a FUSE file system: every call becomes an operation on the model.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, Notifier, OpenFlags, RenameFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use waykeeper_resctrl::{Attributes, Caller, Errno, FileOperation, Reply};

use crate::room::Shared;

/// How long the client's kernel may remember names and attributes. Names change by calls that it makes itself, and owners
/// too; permissions that change by a write are taken back before that write is answered ([`ResctrlFiles::taken_back`]).
const TTL: Duration = Duration::from_secs(3600);
/// The longest write that arrives in one piece. The model refuses all above a page.
const MAX_WRITE: u32 = 128 * 1024;

/// An open file or directory.
#[derive(Debug)]
enum Open {
    /// What it showed when it was last read from its beginning.
    File(Option<Vec<u8>>),
    /// Name, number and whether it is a directory, from the time of the opening.
    Directory(Vec<(Vec<u8>, u64, bool)>),
}

/// The file system.
#[derive(Debug)]
pub(crate) struct ResctrlFiles {
    shared: Arc<Shared>,
    /// Which mount of the model these files are.
    instance: u64,
    open: Mutex<HashMap<u64, Open>>,
    next: AtomicU64,
    mounted: SystemTime,
    /// How to tell the client's kernel, as soon as it is there.
    kernel: Arc<OnceLock<Notifier>>,
}

/// Files of a group whose permissions change with its mode.
const RESTRICTED: [&[u8]; 4] = [b"tasks", b"cpus", b"cpus_list", b"mon_groups"];

fn refusal(errno: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(errno.number())
}

impl ResctrlFiles {
    pub fn new(shared: Arc<Shared>, instance: u64) -> Self {
        Self {
            shared,
            instance,
            open: Mutex::default(),
            next: AtomicU64::new(1),
            mounted: SystemTime::now(),
            kernel: Arc::default(),
        }
    }

    /// Where the way to tell the client's kernel is to be put.
    pub fn kernel(&self) -> Arc<OnceLock<Notifier>> {
        Arc::clone(&self.kernel)
    }

    fn opened(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, open: Open) -> FileHandle {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.opened().insert(number, open);
        FileHandle(number)
    }

    /// The path of a number; files of a deleted group answer as the kernel's do.
    fn path(&self, inode: u64) -> Result<Vec<u8>, Errno> {
        let state = self.shared.state();
        // An old mount that is still open somewhere is not the new one.
        let resctrl = state.resctrl.as_ref().filter(|_| state.instance == self.instance);
        resctrl.and_then(|resctrl| resctrl.path_of(inode)).ok_or(Errno::ENODEV)
    }

    fn child(&self, parent: u64, name: &OsStr) -> Result<Vec<u8>, Errno> {
        let mut path = self.path(parent).map_err(|_| Errno::ENOENT)?;
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name.as_bytes());
        Ok(path)
    }

    fn apply(&self, caller: &Caller, operation: &FileOperation) -> Result<Reply, Errno> {
        self.shared.apply(caller, operation).map_err(|refusal| refusal.errno)
    }

    fn attributes(&self, path: Vec<u8>) -> Result<Attributes, Errno> {
        match self.apply(&Caller::default(), &FileOperation::Getattr { path })? {
            Reply::Attributes(attributes) => Ok(attributes),
            _ => Err(Errno::EIO),
        }
    }

    fn file_attr(&self, attributes: &Attributes) -> FileAttr {
        FileAttr {
            ino: INodeNo(attributes.inode),
            size: 0,
            blocks: 0,
            atime: self.mounted,
            mtime: self.mounted,
            ctime: self.mounted,
            crtime: self.mounted,
            kind: if attributes.directory { FileType::Directory } else { FileType::RegularFile },
            perm: attributes.mode as u16 & 0o7777,
            nlink: attributes.links,
            uid: attributes.uid,
            gid: attributes.gid,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    /// Whether a file can be opened so: root too needs a permission bit, as in kernfs.
    pub fn may_open(&self, inode: u64, reads: bool, writes: bool) -> Result<(), Errno> {
        // The kernel may still know the name of a file that went with its group.
        let path = self.path(inode).map_err(|_| Errno::ENOENT)?;
        let mode = self.attributes(path)?.mode;
        if reads && mode & 0o444 == 0 || writes && mode & 0o222 == 0 {
            return Err(Errno::EACCES);
        }
        Ok(())
    }

    /// The bytes of an open file from an offset on. A read at the beginning looks anew, one where the last ended does not.
    pub fn read_open(&self, inode: u64, handle: u64, offset: u64, size: usize) -> Result<Vec<u8>, Errno> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        if offset > 0
            && let Some(Open::File(Some(bytes))) = self.opened().get(&handle)
        {
            return Ok(piece(bytes, offset, size));
        }
        let path = self.path(inode)?;
        let Reply::Bytes(bytes) = self.apply(&Caller::default(), &FileOperation::Read { path })? else {
            return Err(Errno::EIO);
        };
        let answer = piece(&bytes, offset, size);
        if let Some(open) = self.opened().get_mut(&handle) {
            *open = Open::File(Some(bytes));
        }
        Ok(answer)
    }

    /// Number and permissions of what a write to a file may restrict: such a file's group's, if it decides about its mode.
    fn restricted(&self, path: &[u8]) -> Vec<(u64, u32)> {
        let folder = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => &path[..=at],
            None => &[],
        };
        if ![&b"mode"[..], b"schemata"].contains(&&path[folder.len()..]) || folder.is_empty() {
            return Vec::new();
        }
        let siblings = RESTRICTED.iter().filter_map(|name| self.attributes([folder, name].concat()).ok());
        siblings.map(|seen| (seen.inode, seen.mode)).collect()
    }

    /// Lets the client's kernel forget the permissions that are others now.
    fn taken_back(&self, before: &[(u64, u32)], after: &[(u64, u32)]) {
        let Some(kernel) = self.kernel.get() else { return };
        for (inode, _) in after.iter().filter(|seen| !before.contains(seen)) {
            // What it does not know it need not forget. A negative offset stands for the attributes alone.
            let _ = kernel.inval_inode(INodeNo(*inode), -1, 0);
        }
    }

    /// Writes to a file, wherever: the kernel does not look at the offset either.
    pub fn write_open(&self, caller: &Caller, inode: u64, data: &[u8]) -> Result<usize, Errno> {
        let path = self.path(inode)?;
        let before = self.restricted(&path);
        let written = self.write_path(caller, path.clone(), data);
        if !before.is_empty() {
            self.taken_back(&before, &self.restricted(&path));
        }
        written
    }

    fn write_path(&self, caller: &Caller, path: Vec<u8>, data: &[u8]) -> Result<usize, Errno> {
        match self.apply(caller, &FileOperation::Write { path, data: data.to_vec() })? {
            Reply::Written(bytes) => Ok(bytes),
            _ => Err(Errno::EIO),
        }
    }

    /// The entries of a directory with their numbers.
    pub fn list(&self, inode: u64) -> Result<Vec<(Vec<u8>, u64, bool)>, Errno> {
        let path = self.path(inode)?;
        let Reply::Entries(entries) = self.apply(&Caller::default(), &FileOperation::Readdir { path: path.clone() })?
        else {
            return Err(Errno::EIO);
        };
        let mut all = vec![(b".".to_vec(), inode, true), (b"..".to_vec(), inode, true)];
        for entry in entries {
            let below = if path.is_empty() { entry.name.clone() } else { [&path[..], b"/", &entry.name].concat() };
            // Gone in between: then it is not listed.
            if let Ok(attributes) = self.attributes(below) {
                all.push((entry.name, attributes.inode, entry.directory));
            }
        }
        Ok(all)
    }
}

fn piece(bytes: &[u8], offset: usize, size: usize) -> Vec<u8> {
    let from = offset.min(bytes.len());
    bytes[from..bytes.len().min(from.saturating_add(size))].to_vec()
}

/// Who asks. The kernel has taken the umask off already, and reported the number in the process namespace of the mount.
fn caller(request: &Request) -> Caller {
    Caller { tid: request.pid() as i32, cpu: 0, uid: request.uid(), gid: request.gid(), umask: 0 }
}

impl Filesystem for ResctrlFiles {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // A smaller limit of the kernel's does as well.
        let _ = config.set_max_write(MAX_WRITE);
        // O_TRUNC means nothing here: without this the kernel would ask once more to set the size.
        let _ = config.add_capabilities(InitFlags::FUSE_ATOMIC_O_TRUNC);
        Ok(())
    }

    fn destroy(&mut self) {
        // However it was unmounted.
        self.shared.unmounted(self.instance);
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.child(parent.0, name).and_then(|path| self.attributes(path)) {
            Ok(attributes) => reply.entry(&TTL, &self.file_attr(&attributes), Generation(0)),
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        match self.path(inode.0).and_then(|path| self.attributes(path)) {
            Ok(attributes) => reply.attr(&TTL, &self.file_attr(&attributes)),
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    fn setattr(
        &self,
        request: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        _size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = || {
            let path = self.path(inode.0)?;
            let held = self.attributes(path.clone())?;
            if let Some(mode) = mode {
                self.apply(&caller(request), &FileOperation::Chmod { path: path.clone(), mode })?;
            }
            if uid.is_some() || gid.is_some() {
                let mut state = self.shared.state();
                let resctrl = state.resctrl.as_mut().ok_or(Errno::ENODEV)?;
                resctrl.chown(&path, uid.unwrap_or(held.uid), gid.unwrap_or(held.gid))?;
            }
            self.attributes(path)
        };
        match change() {
            Ok(attributes) => reply.attr(&TTL, &self.file_attr(&attributes)),
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _umask: u32, reply: ReplyEntry) {
        let make = || {
            let path = self.child(parent.0, name)?;
            self.apply(&caller(request), &FileOperation::Mkdir { path: path.clone(), mode })?;
            self.attributes(path)
        };
        match make() {
            Ok(attributes) => reply.entry(&TTL, &self.file_attr(&attributes), Generation(0)),
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let remove = || {
            let path = self.child(parent.0, name)?;
            self.apply(&caller(request), &FileOperation::Rmdir { path })
        };
        done(remove(), reply);
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let unlink = || {
            let path = self.child(parent.0, name)?;
            self.apply(&caller(request), &FileOperation::Unlink { path })
        };
        done(unlink(), reply);
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        let create = || {
            let path = self.child(parent.0, name)?;
            self.apply(&caller(request), &FileOperation::Create { path })
        };
        reply.error(refusal(create().err().unwrap_or(Errno::EACCES)));
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let rename = || {
            if !flags.is_empty() {
                return Err(Errno::EINVAL);
            }
            let from = self.child(parent.0, name)?;
            let to = self.child(new_parent.0, new_name)?;
            self.apply(&caller(request), &FileOperation::Rename { from, to })
        };
        done(rename(), reply);
    }

    fn open(&self, _request: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let access = flags.0 & libc::O_ACCMODE;
        match self.may_open(inode.0, access != libc::O_WRONLY, access != libc::O_RDONLY) {
            Ok(()) => {
                let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH;
                reply.opened(self.remember(Open::File(None)), flags);
            }
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    fn read(
        &self,
        _request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.read_open(inode.0, handle.0, offset, size as usize) {
            Ok(bytes) => reply.data(&bytes),
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    fn write(
        &self,
        request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        _offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.write_open(&caller(request), inode.0, data) {
            Ok(bytes) => reply.written(bytes as u32),
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    fn release(
        &self,
        _request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.opened().remove(&handle.0);
        reply.ok();
    }

    fn opendir(&self, _request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.list(inode.0) {
            Ok(entries) => reply.opened(self.remember(Open::Directory(entries)), FopenFlags::empty()),
            Err(errno) => reply.error(refusal(errno)),
        }
    }

    fn readdir(&self, _request: &Request, inode: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        // rewinddir looks anew.
        if offset == 0
            && let Ok(entries) = self.list(inode.0)
        {
            self.opened().insert(handle.0, Open::Directory(entries));
        }
        if let Some(Open::Directory(entries)) = self.opened().get(&handle.0) {
            for (at, (name, number, directory)) in entries.iter().enumerate().skip(offset as usize) {
                let kind = if *directory { FileType::Directory } else { FileType::RegularFile };
                if reply.add(INodeNo(*number), at as u64 + 1, kind, OsStr::from_bytes(name)) {
                    break;
                }
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.opened().remove(&handle.0);
        reply.ok();
    }
}

fn done(result: Result<Reply, Errno>, reply: ReplyEmpty) {
    match result {
        Ok(_) => reply.ok(),
        Err(errno) => reply.error(refusal(errno)),
    }
}
