//! Tracepoints as tracefs describes them. It is mounted nowhere for this: what was there before stays as it is.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// tracefs, without a place in the file system.
pub struct Tracefs(OwnedFd);

/// A tracepoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracepoint {
    /// Its number among the events of the kernel.
    pub id: u64,
    format: String,
}

impl Tracefs {
    /// Opens it (Linux 5.2 and later).
    ///
    /// # Errors
    /// A kernel without it, or no permission.
    pub fn open() -> io::Result<Self> {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        Ok(Self(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?))
    }

    /// Reads what it says about a tracepoint, such as `sched/sched_switch`.
    ///
    /// # Errors
    /// A kernel that does not have it.
    pub fn tracepoint(&self, name: &str) -> io::Result<Tracepoint> {
        let text = |file: &str| -> io::Result<String> {
            let path = format!("events/{name}/{file}");
            let mut text = String::new();
            File::from(openat(&self.0, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
                .read_to_string(&mut text)?;
            Ok(text)
        };
        let bad = || io::Error::new(io::ErrorKind::InvalidData, format!("the tracepoint {name} has no number"));
        Ok(Tracepoint { id: text("id")?.trim().parse().map_err(|_| bad())?, format: text("format")? })
    }
}

impl Tracepoint {
    /// Where a field lies in a sample, and how many bytes it has.
    pub fn field(&self, name: &str) -> Option<(usize, usize)> {
        let line = self.format.lines().find(|line| {
            let declared = line.trim().strip_prefix("field:").and_then(|rest| rest.split(';').next());
            declared.and_then(|declared| declared.split_whitespace().last()) == Some(name)
        })?;
        let number = |key: &str| line.split(';').find_map(|part| part.trim().strip_prefix(key)?.parse().ok());
        Some((number("offset:")?, number("size:")?))
    }
}

/// A number in a sample, in the machine's own order of bytes.
pub fn number(raw: &[u8], (offset, size): (usize, usize)) -> Option<u64> {
    let bytes = raw.get(offset..offset.checked_add(size)?)?;
    match size {
        4 => Some(u32::from_ne_bytes(bytes.try_into().ok()?).into()),
        8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: sched_switch\nID: 372\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n";

    #[test]
    fn fields_lie_where_the_format_says() {
        let tracepoint = Tracepoint { id: 372, format: FORMAT.into() };
        assert_eq!(tracepoint.field("prev_pid"), Some((24, 4)));
        assert_eq!(tracepoint.field("prev_state"), Some((32, 8)));
        assert_eq!(tracepoint.field("pid"), None);
        let mut raw = vec![0; 40];
        raw[24..28].copy_from_slice(&4711_u32.to_ne_bytes());
        assert_eq!(number(&raw, (24, 4)), Some(4711));
        assert_eq!((number(&raw, (38, 4)), number(&raw, (24, 3))), (None, None));
    }
}
