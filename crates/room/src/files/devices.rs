//! Everything that is not resctrl: registers, locked regions, and the tables of mounts, as one small file system whose
//! parts are bound to their places.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use waykeeper_platform::CoreId;

use crate::room::Shared;

const TTL: Duration = Duration::ZERO;
const ROOT: u64 = 1;
const CPU: u64 = 2;
const PSEUDO_LOCK: u64 = 3;
const MOUNTS: u64 = 4;
const MOUNTINFO: u64 = 5;
/// Numbers of the folders and files of cores, and of regions, begin here.
const FIRST_CORE: u64 = 1 << 20;
const FIRST_MSR: u64 = 2 << 20;
const FIRST_REGION: u64 = 3 << 20;

/// What a number stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    Root,
    Cpus,
    Cpu(CoreId),
    Msr(CoreId),
    Regions,
    Region(u64),
    Mounts,
    MountInfo,
}

/// The file system.
#[derive(Debug)]
pub(crate) struct DeviceFiles {
    shared: Arc<Shared>,
    began: SystemTime,
    regions: Mutex<Regions>,
    outside: Outside,
}

/// Where resctrl is mounted outside and cannot be unmounted in the room: a user's namespace keeps what was there before.
pub(crate) type Outside = Vec<String>;

/// Regions that were seen: their numbers, and what was written to them.
#[derive(Debug, Default)]
struct Regions {
    names: Vec<Vec<u8>>,
    content: BTreeMap<u64, Vec<u8>>,
}

impl DeviceFiles {
    pub fn new(shared: Arc<Shared>, outside: Outside) -> Self {
        Self { shared, began: SystemTime::now(), regions: Mutex::default(), outside }
    }

    fn node(&self, inode: u64) -> Option<Node> {
        let core = |first: u64| {
            let core = (inode - first) as CoreId;
            self.shared.platform.core_kind(core).is_some().then_some(core)
        };
        match inode {
            ROOT => Some(Node::Root),
            CPU => Some(Node::Cpus),
            PSEUDO_LOCK => Some(Node::Regions),
            MOUNTS => Some(Node::Mounts),
            MOUNTINFO => Some(Node::MountInfo),
            FIRST_CORE..FIRST_MSR => core(FIRST_CORE).map(Node::Cpu),
            FIRST_MSR..FIRST_REGION => core(FIRST_MSR).map(Node::Msr),
            _ => inode.checked_sub(FIRST_REGION).map(Node::Region),
        }
    }

    /// Size of a region in bytes, if it is still there.
    fn region_bytes(&self, number: u64) -> Option<u64> {
        let regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        let name = regions.names.get(number as usize)?;
        let state = self.shared.state();
        state.regions().find(|region| region.name == *name).map(|region| region.bytes.into())
    }

    fn attr(&self, inode: u64) -> Option<FileAttr> {
        let node = self.node(inode)?;
        let (kind, perm, size) = match node {
            Node::Root | Node::Cpus | Node::Cpu(_) | Node::Regions => (FileType::Directory, 0o755, 0),
            Node::Msr(_) => (FileType::RegularFile, 0o600, 0),
            Node::Region(number) => (FileType::RegularFile, 0o600, self.region_bytes(number)?),
            Node::Mounts | Node::MountInfo => (FileType::RegularFile, 0o444, 0),
        };
        let at = self.began;
        Some(FileAttr {
            ino: INodeNo(inode),
            size,
            blocks: 0,
            atime: at,
            mtime: at,
            ctime: at,
            crtime: at,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    /// The names in a folder and their numbers.
    pub fn list(&self, node: Node) -> Vec<(Vec<u8>, u64)> {
        let fixed =
            |all: &[(&str, u64)]| all.iter().map(|(name, number)| (name.as_bytes().to_vec(), *number)).collect();
        match node {
            Node::Root => {
                fixed(&[("cpu", CPU), ("pseudo_lock", PSEUDO_LOCK), ("mounts", MOUNTS), ("mountinfo", MOUNTINFO)])
            }
            Node::Cpus if crate::msr::has_registers(&self.shared.platform) => {
                let cores = self.shared.platform.core_ids().into_iter();
                cores.map(|core| (core.to_string().into_bytes(), FIRST_CORE + u64::from(core))).collect()
            }
            Node::Cpu(core) => fixed(&[("msr", FIRST_MSR + u64::from(core))]),
            Node::Regions => {
                let names: Vec<_> = self.shared.state().regions().map(|region| region.name.clone()).collect();
                let mut regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
                let numbered = names.into_iter().map(|name| {
                    let known = regions.names.iter().position(|known| *known == name);
                    let number = known.unwrap_or_else(|| {
                        regions.names.push(name.clone());
                        regions.names.len() - 1
                    });
                    (name, FIRST_REGION + number as u64)
                });
                numbered.collect()
            }
            _ => Vec::new(),
        }
    }

    /// Reads a file. Registers give eight bytes, again and again, as the kernel's driver does.
    pub fn read_at(&self, node: Node, offset: u64, size: usize) -> Result<Vec<u8>, Errno> {
        let cut = |bytes: &[u8]| {
            let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
            bytes[from..bytes.len().min(from.saturating_add(size))].to_vec()
        };
        match node {
            Node::Msr(core) => {
                if !size.is_multiple_of(8) {
                    return Err(Errno::EINVAL);
                }
                let value = self.shared.read_msr(core, offset as u32).map_err(|_| Errno::EIO)?;
                Ok(value.to_le_bytes().repeat(size / 8))
            }
            Node::Mounts => Ok(cut(&seen_mounts("/proc/thread-self/mounts", &self.outside, &self.options())?)),
            Node::MountInfo => Ok(cut(&seen_mounts("/proc/thread-self/mountinfo", &self.outside, &self.options())?)),
            Node::Region(number) => {
                let bytes = self.region_bytes(number).ok_or(Errno::ENODEV)?;
                let regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
                let mut content = regions.content.get(&number).cloned().unwrap_or_default();
                content.resize(bytes as usize, 0);
                Ok(cut(&content))
            }
            _ => Err(Errno::EISDIR),
        }
    }

    /// Writes a file.
    pub fn write_at(&self, node: Node, offset: u64, data: &[u8]) -> Result<usize, Errno> {
        match node {
            Node::Msr(core) => {
                let (values, rest) = data.as_chunks::<8>();
                if !rest.is_empty() {
                    return Err(Errno::EINVAL);
                }
                for value in values {
                    let value = u64::from_le_bytes(*value);
                    self.shared.write_msr(core, offset as u32, value).map_err(|_| Errno::EIO)?;
                }
                Ok(data.len())
            }
            Node::Region(number) => {
                let bytes = self.region_bytes(number).ok_or(Errno::ENODEV)? as usize;
                let from = usize::try_from(offset).unwrap_or(usize::MAX);
                let upto = from.saturating_add(data.len()).min(bytes);
                let taken = upto.checked_sub(from).filter(|taken| *taken > 0).ok_or(Errno::ENOSPC)?;
                let mut regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
                let content = regions.content.entry(number).or_default();
                content.resize(bytes, 0);
                content[from..upto].copy_from_slice(&data[..taken]);
                Ok(taken)
            }
            _ => Err(Errno::EACCES),
        }
    }

    /// The mount options that resctrl would show.
    fn options(&self) -> String {
        self.shared.state().resctrl.as_ref().map(|resctrl| resctrl.shown_options()).unwrap_or_default()
    }
}

/// The table of mounts with resctrl's line as the kernel would write it, and without the room's other parts' true type.
fn seen_mounts(real: &str, outside: &Outside, options: &str) -> Result<Vec<u8>, Errno> {
    let text = std::fs::read_to_string(real).map_err(|_| Errno::EIO)?;
    Ok(rewrite(&text, outside, options).into_bytes())
}

/// Rewrites lines of a mount table: `fuse.resctrl` becomes `resctrl` with its own options, and what is mounted outside is
/// not in it.
pub(crate) fn rewrite(text: &str, outside: &Outside, options: &str) -> String {
    let mut hidden = outside.clone();
    let mut seen = String::with_capacity(text.len());
    for line in text.lines() {
        let mut fields: Vec<String> = line.split(' ').map(str::to_owned).collect();
        // mounts: source target TYPE OPTIONS 0 0; mountinfo: ... target ... - TYPE source SUPER_OPTIONS.
        let is_info = fields.len() > 6;
        let kind = if is_info { fields.iter().position(|field| field == "-").map_or(0, |dash| dash + 1) } else { 2 };
        let (target, options_at) = if is_info { (4, kind + 2) } else { (1, kind + 1) };
        let is_resctrl = fields.get(kind).is_some_and(|kind| kind == "resctrl" || kind == "fuse.resctrl");
        // Once each: the room's own may be mounted over it, and stands below it in the table.
        if is_resctrl && let Some(it) = hidden.iter().position(|it| fields.get(target) == Some(it)) {
            hidden.remove(it);
            continue;
        }
        if is_resctrl && fields[kind] == "fuse.resctrl" {
            fields[kind] = "resctrl".into();
            if let Some(field) = fields.get_mut(options_at) {
                *field = if is_info { format!("rw{options}") } else { format!("rw,relatime{options}") };
            }
        }
        seen.push_str(&fields.join(" "));
        seen.push('\n');
    }
    seen
}

impl Filesystem for DeviceFiles {
    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let entries = self.node(parent.0).map(|node| self.list(node)).unwrap_or_default();
        let found = entries.into_iter().find(|(own, _)| own == name.as_bytes());
        match found.and_then(|(_, number)| self.attr(number)) {
            Some(attr) => reply.entry(&TTL, &attr, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        match self.attr(inode.0) {
            Some(attr) => reply.attr(&TTL, &attr),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _request: &Request,
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
        // O_TRUNC means nothing to a device; owners and modes stay.
        match self.attr(inode.0) {
            Some(attr) if mode.is_none() && uid.is_none() && gid.is_none() => reply.attr(&TTL, &attr),
            Some(_) => reply.error(Errno::EPERM),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.node(inode.0) {
            Some(Node::Region(_)) => reply.opened(FileHandle(0), FopenFlags::empty()),
            Some(_) => reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn read(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = self.node(inode.0).ok_or(Errno::ENOENT);
        match read.and_then(|node| self.read_at(node, offset, size as usize)) {
            Ok(bytes) => reply.data(&bytes),
            Err(errno) => reply.error(errno),
        }
    }

    fn write(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let node = self.node(inode.0).ok_or(Errno::ENOENT);
        match node.and_then(|node| self.write_at(node, offset, data)) {
            Ok(bytes) => reply.written(bytes as u32),
            Err(errno) => reply.error(errno),
        }
    }

    fn readdir(&self, _request: &Request, inode: INodeNo, _handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let Some(node) = self.node(inode.0) else { return reply.error(Errno::ENOENT) };
        let mut entries = vec![(b".".to_vec(), inode.0), (b"..".to_vec(), ROOT)];
        entries.extend(self.list(node));
        for (at, (name, number)) in entries.iter().enumerate().skip(offset as usize) {
            let kind = self.attr(*number).map_or(FileType::RegularFile, |attr| attr.kind);
            if reply.add(INodeNo(*number), at as u64 + 1, kind, OsStr::from_bytes(name)) {
                break;
            }
        }
        reply.ok();
    }

    fn fsync(&self, _request: &Request, _inode: INodeNo, _handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        reply.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_mounts_show_resctrl_as_the_kernel_would() {
        let mounts = "proc /proc proc rw 0 0\nresctrl /sys/fs/resctrl fuse.resctrl rw,user_id=0 0 0\n";
        assert_eq!(
            rewrite(mounts, &Vec::new(), ",cdp"),
            "proc /proc proc rw 0 0\nresctrl /sys/fs/resctrl resctrl rw,relatime,cdp 0 0\n"
        );
        let info = "36 35 0:40 / /sys/fs/resctrl rw,relatime - fuse.resctrl resctrl rw,user_id=0\n";
        assert_eq!(rewrite(info, &Vec::new(), ""), "36 35 0:40 / /sys/fs/resctrl rw,relatime - resctrl resctrl rw\n");
    }

    #[test]
    fn the_tables_of_mounts_hide_what_is_mounted_outside() {
        let outside = vec!["/sys/fs/resctrl".to_owned(), "/home/jane/r".to_owned()];
        let mounts = "resctrl /sys/fs/resctrl resctrl rw 0 0\nx /home/jane/r fuse.resctrl rw 0 0\n\
                      resctrl /home/jane/r tmpfs rw 0 0\nresctrl /sys/fs/resctrl fuse.resctrl rw 0 0\n";
        assert_eq!(
            rewrite(mounts, &outside, ""),
            "resctrl /home/jane/r tmpfs rw 0 0\nresctrl /sys/fs/resctrl resctrl rw,relatime 0 0\n"
        );
        let info = "36 35 0:40 / /home/jane/r rw,relatime - fuse.resctrl resctrl rw\n\
                    37 35 0:41 / /home/jane rw,relatime - tmpfs resctrl rw\n";
        assert_eq!(rewrite(info, &outside, ""), "37 35 0:41 / /home/jane rw,relatime - tmpfs resctrl rw\n");
    }
}
