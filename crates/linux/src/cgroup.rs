//! A control group (cgroup v2) of its own for a program, and the processor time of a tree of processes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A group that this process created below its own; dropping it kills what is inside and removes it.
#[derive(Debug)]
pub struct OwnedCgroup(PathBuf);

impl OwnedCgroup {
    /// Creates a group below the caller's own.
    ///
    /// # Errors
    /// No cgroup v2, or no permission to create a group there.
    pub fn create() -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let [mounts, groups] = own_texts()?;
        let own = own_group(&mounts, &groups, Version::Two)
            .map(|(_, own)| own)
            .ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "cgroup v2 is not mounted"))?;
        let name = format!("waykeeper-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = own.join(name);
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Processor time of everything that ran in it, from `cpu.stat`; `None` where the kernel does not count it.
    pub fn cpu_time(&self) -> Option<Duration> {
        let text = fs::read_to_string(self.0.join("cpu.stat")).ok()?;
        let value = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        value.trim().parse().ok().map(Duration::from_micros)
    }

    /// Kills all processes inside: by `cgroup.kill`, or one by one where the kernel has no such file.
    pub fn kill(&self) {
        if fs::write(self.0.join("cgroup.kill"), "1").is_ok() {
            return;
        }
        let _ = fs::write(self.0.join("cgroup.freeze"), "1");
        let inside = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        for process in inside.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|process| *process > 0) {
            // SAFETY: no memory is passed.
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
        let _ = fs::write(self.0.join("cgroup.freeze"), "0");
    }
}

impl Drop for OwnedCgroup {
    fn drop(&mut self) {
        // The directory stays busy until the last process that was killed has ended.
        for _ in 0..200 {
            match fs::remove_dir(&self.0) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => self.kill(),
                _ => return,
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Time in which a quota (`cpu.max`, `cpu.cfs_quota_us`) kept the caller's control group, or one above it, off a core, since
/// the group was made; summed over cores. `None` where no group has a quota that can be seen.
pub fn throttled() -> Option<Duration> {
    let [mounts, groups] = own_texts().ok()?;
    [Version::Two, Version::One].into_iter().find_map(|version| {
        let (top, own) = own_group(&mounts, &groups, version)?;
        let above = own.ancestors().take_while(|group| group.starts_with(&top));
        let times = above.filter_map(|group| throttled_in(&fs::read_to_string(group.join("cpu.stat")).ok()?, version));
        times.reduce(|sum, time| sum + time)
    })
}

/// The time in a `cpu.stat`: microseconds in version 2, nanoseconds in version 1.
fn throttled_in(stat: &str, version: Version) -> Option<Duration> {
    let value = |key: &str| -> Option<u64> {
        let line = stat.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
        line.trim().parse().ok()
    };
    match version {
        Version::Two => value("throttled_usec").map(Duration::from_micros),
        Version::One => value("throttled_time").map(Duration::from_nanos),
    }
}

/// The two kinds of hierarchies of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// The hierarchy of the controller `cpu`.
    One,
    Two,
}

fn own_texts() -> io::Result<[String; 2]> {
    Ok([fs::read_to_string("/proc/self/mountinfo")?, fs::read_to_string("/proc/self/cgroup")?])
}

/// Where the hierarchy is mounted, and the directory of the caller's group, by the texts of its `mountinfo` and `cgroup`.
fn own_group(mountinfo: &str, groups: &str, version: Version) -> Option<(PathBuf, PathBuf)> {
    let has_cpu = |list: &str| list.split(',').any(|controller| controller == "cpu");
    let own = groups.lines().find_map(|line| {
        let (controllers, own) = line.split_once(':')?.1.split_once(':')?;
        let is_it = match version {
            Version::One => has_cpu(controllers),
            Version::Two => controllers.is_empty(),
        };
        is_it.then_some(own)
    })?;
    mountinfo.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let is_it = match (version, kind.next()?) {
            (Version::One, "cgroup") => has_cpu(kind.nth(1)?),
            (Version::Two, "cgroup2") => true,
            _ => false,
        };
        if !is_it {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        let (top, point) = (fields.next()?, fields.next()?);
        let below = Path::new(own).strip_prefix(top).ok()?;
        let escaped = below.components().any(|part| part == std::path::Component::ParentDir);
        (!escaped).then(|| (point.into(), Path::new(point).join(below)))
    })
}

/// Processor time of a process, of all its present descendants, and of those that they have waited for. Resolution: the
/// kernel's clock tick, mostly 10 ms. `None` where the process cannot be seen.
pub fn tree_cpu_time(process: u32) -> Option<Duration> {
    let all = all_processes()?;
    // SAFETY: no memory is passed.
    let ticks_per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64;
    tree_ticks(&all, process).map(|ticks| Duration::from_secs_f64(ticks as f64 / ticks_per_s))
}

/// The direct children of a process that can be seen, ended ones that nobody has waited for among them.
pub fn children(process: u32) -> Vec<u32> {
    let all = all_processes().unwrap_or_default();
    all.iter().filter(|stat| stat.parent == process).map(|stat| stat.id).collect()
}

/// The descendants of a process that can be seen, itself left out.
pub fn descendants(process: u32) -> Vec<u32> {
    tree(&all_processes().unwrap_or_default(), process).into_iter().skip(1).map(|stat| stat.id).collect()
}

/// Whether a process is another one or descends from it; none where one on the way cannot be seen, as when it has ended.
pub fn descends_from(process: u32, top: u32) -> Option<bool> {
    let mut at = process;
    while at != top {
        // The first process, and those of the kernel, have no parent.
        at = match Stat::read(at)?.parent {
            0 => return Some(false),
            parent => parent,
        };
    }
    Some(true)
}

fn all_processes() -> Option<Vec<Stat>> {
    let entries = fs::read_dir("/proc").ok()?;
    let all = entries.filter_map(|entry| Stat::read(entry.ok()?.file_name().to_str()?.parse().ok()?));
    Some(all.collect())
}

#[derive(Debug)]
struct Stat {
    id: u32,
    parent: u32,
    ticks: u64,
}

impl Stat {
    fn read(id: u32) -> Option<Self> {
        // A process's name may hold any bytes.
        Self::parse(id, &String::from_utf8_lossy(&fs::read(format!("/proc/{id}/stat")).ok()?))
    }

    /// Reads a line of `/proc/ID/stat`. The name stands in parentheses and may hold anything, parentheses too.
    fn parse(id: u32, text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let times = fields.get(11..15)?.iter().map(|time| time.parse::<u64>().ok()).collect::<Option<Vec<_>>>()?;
        Some(Self { id, parent: fields.get(1)?.parse().ok()?, ticks: times.iter().sum() })
    }
}

fn tree_ticks(all: &[Stat], top: u32) -> Option<u64> {
    let tree = tree(all, top);
    (!tree.is_empty()).then(|| tree.iter().map(|stat| stat.ticks).sum())
}

/// A process and its descendants, itself first; none where it is not among all.
fn tree(all: &[Stat], top: u32) -> Vec<&Stat> {
    let mut seen: Vec<&Stat> = all.iter().filter(|stat| stat.id == top).take(1).collect();
    let mut next = 0;
    while let Some(parent) = seen.get(next).map(|stat| stat.id) {
        for child in all.iter().filter(|stat| stat.parent == parent) {
            if !seen.iter().any(|known| known.id == child.id) {
                seen.push(child);
            }
        }
        next += 1;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_descends_from_itself_and_its_parents_and_not_from_its_child() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        assert_eq!(descends_from(own, own), Some(true));
        assert_eq!(descends_from(child.id(), own), Some(true));
        assert_eq!(descends_from(own, child.id()), Some(false));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(descends_from(child.id(), own), None);
    }

    #[test]
    fn the_own_group_is_found_in_hybrid_and_unified_systems() {
        let hybrid = "38 31 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:3 - cgroup2 cgroup2 rw\n";
        let own = |mounts, groups, version| own_group(mounts, groups, version).map(|(_, own)| own);
        let two = Version::Two;
        let unified = own(hybrid, "4:memory:/other\n0::/user.slice/a\n", two);
        assert_eq!(unified, Some("/sys/fs/cgroup/unified/user.slice/a".into()));
        let inside = "41 31 0:38 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(own(inside, "0::/docker/x/y\n", two), Some("/sys/fs/cgroup/y".into()));
        assert_eq!(own(inside, "0::/elsewhere\n", two), None);
        assert_eq!(own("1 2 0:1 / / rw - ext4 a rw\n", "0::/\n", two), None);
        let old = "40 31 0:37 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                   42 31 0:39 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n";
        let own = own(old, "5:cpuset:/b\n3:cpu,cpuacct:/user.slice\n0::/\n", Version::One);
        assert_eq!(own, Some("/sys/fs/cgroup/cpu,cpuacct/user.slice".into()));
    }

    #[test]
    fn throttled_time_has_the_unit_of_its_version() {
        let two = "usage_usec 5\nnr_periods 9\nnr_throttled 2\nthrottled_usec 1500\n";
        let one = "nr_periods 9\nnr_throttled 2\nthrottled_time 2500000\n";
        assert_eq!(throttled_in(two, Version::Two), Some(Duration::from_micros(1500)));
        assert_eq!(throttled_in(one, Version::One), Some(Duration::from_micros(2500)));
        // A group without a quota, as the topmost.
        assert_eq!(throttled_in("usage_usec 5\n", Version::Two), None);
    }

    #[test]
    fn names_with_parentheses_do_not_move_the_fields() {
        let line = "7 (a) S 9 (b) S 3 7 7 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0";
        let stat = Stat::parse(7, line).unwrap();
        assert_eq!((stat.parent, stat.ticks), (3, 100));
    }

    #[test]
    fn a_tree_counts_grandchildren_and_nobody_else() {
        let stat = |id, parent, ticks| Stat { id, parent, ticks };
        let all = [stat(1, 0, 1000), stat(5, 1, 1), stat(6, 5, 10), stat(7, 6, 100), stat(8, 1, 5000)];
        assert_eq!(tree_ticks(&all, 5), Some(111));
        assert_eq!(tree_ticks(&all, 99), None);
    }
}
