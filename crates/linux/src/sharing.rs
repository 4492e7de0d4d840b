//! Who else may be on a machine, and what its kernel does about split locks: for loads that can stall all of its cores.

use crate::hypervisor::{Below, below};
use crate::root::Root;

/// Signs of a container: files that the usual runtimes leave.
const CONTAINERS: [&str; 3] = ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"];

/// User numbers of people, as Linux distributions assign them (`UID_MIN` to `UID_MAX` of `login.defs`); services have lower ones.
const PEOPLE: std::ops::RangeInclusive<u32> = 1000..=60_000;

/// Why others may be on this machine, as half a sentence; `None` where nothing shows any.
///
/// A virtual machine or a container counts: who else runs on the processor below is not seen from inside. So do processes of users
/// that are neither `own` nor 0.
pub fn shared(root: &Root, own: &[u32]) -> Option<String> {
    match below(root) {
        Below::Hypervisor(name, _) => {
            return Some(format!(
                "this is a virtual machine ({name}), and whether others use its processor is not seen"
            ));
        }
        Below::Unknown(why) => return Some(format!("whether this is a virtual machine is not seen: {why}")),
        Below::Machine(..) => {}
    }
    if let Some(file) = CONTAINERS.iter().find(|file| exists(root, file)) {
        return Some(format!("this is a container ({file}), and whether others use its machine is not seen"));
    }
    let users = users(root);
    if users.is_empty() {
        return Some("the processes of this machine are not seen (/proc)".into());
    }
    let other = users.iter().find(|user| PEOPLE.contains(user) && !own.contains(user))?;
    Some(format!("processes of another user (number {other}) run on this machine"))
}

/// Whether a file is there; on the running machine also one that may not be read.
fn exists(root: &Root, file: &str) -> bool {
    root.text(file).is_some() || (root.is_running() && !root.is_absent(file))
}

/// The real user numbers of all processes that are seen.
fn users(root: &Root) -> Vec<u32> {
    let user = |process: String| {
        let status = root.text(&format!("/proc/{process}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let mut users: Vec<u32> = root.processes().filter_map(user).collect();
    users.sort_unstable();
    users.dedup();
    users
}

/// What the kernel does with a program that makes split locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitLocks {
    /// It ends the program (SIGBUS): where that is read.
    Fatal(String),
    /// It slows the program down: where that is read.
    Slowed(String),
    /// It lets them pass: where that is read.
    Free(String),
    /// Unknown; why, as half a sentence.
    Unknown(String),
}

/// Reads what the kernel does with split locks: `split_lock_detect=` on its command line, the flags of the processor, and
/// `/proc/sys/kernel/split_lock_mitigate` (the kernel's `Documentation/admin-guide/kernel-parameters.txt` and `sysctl/kernel.rst`).
pub fn split_locks(root: &Root) -> SplitLocks {
    const FLAGS: [&str; 2] = ["split_lock_detect", "bus_lock_detect"];
    let Some(info) = root.text("/proc/cpuinfo") else {
        return SplitLocks::Unknown(root.absence("/proc/cpuinfo"));
    };
    let flags = info.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let Some(flag) = FLAGS.iter().find(|flag| flags.split_whitespace().any(|it| it == **flag)) else {
        return SplitLocks::Free("the flags in /proc/cpuinfo have no `split_lock_detect` or `bus_lock_detect`".into());
    };
    let Some(line) = root.text("/proc/cmdline") else { return SplitLocks::Unknown(root.absence("/proc/cmdline")) };
    let asked = line.split_whitespace().filter_map(|word| word.strip_prefix("split_lock_detect=")).next_back();
    let on_line = |what: &str| format!("/proc/cmdline has `split_lock_detect={what}`");
    match asked {
        Some("off") => return SplitLocks::Free(on_line("off")),
        Some("fatal") => return SplitLocks::Fatal(on_line("fatal")),
        Some(rate) if rate.starts_with("ratelimit") => return SplitLocks::Slowed(on_line(rate)),
        _ => {}
    }
    const MITIGATE: &str = "/proc/sys/kernel/split_lock_mitigate";
    match root.number(MITIGATE) {
        Some(0) => SplitLocks::Free(format!("{MITIGATE} is 0: the kernel only reports them")),
        Some(value) => SplitLocks::Slowed(format!("{MITIGATE} is {value}")),
        None if *flag == "bus_lock_detect" => {
            SplitLocks::Free("bus locks are reported only: the kernel has no `split_lock_mitigate`".into())
        }
        None => {
            SplitLocks::Slowed("the processor has `split_lock_detect`, and the kernel's default is to slow them".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of these files.
    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Root::at(folder.path());
        (folder, root)
    }

    /// A processor with these flags.
    fn info(flags: &str) -> String {
        format!("processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu {flags}\n")
    }

    #[test]
    fn others_are_seen_by_their_processes_containers_and_hypervisors() {
        let plain = info("");
        let virtual_one = info("hypervisor");
        let uid = |user: u32| format!("Name:\tsh\nUid:\t{user}\t{user}\t{user}\t{user}\n");
        let (service, own, other) = (uid(33), uid(1000), uid(1001));
        let base = [("/proc/cpuinfo", plain.as_str()), ("/proc/1/status", &service), ("/proc/70/status", &own)];
        let with = |more: &[(&str, &str)]| {
            let files: Vec<(&str, &str)> = base.iter().chain(more).copied().collect();
            let (_folder, root) = machine(&files);
            shared(&root, &[1000])
        };
        assert_eq!(with(&[]), None);
        assert!(with(&[("/proc/71/status", &other)]).unwrap().contains("number 1001"));
        assert!(with(&[("/.dockerenv", "")]).unwrap().contains("container"));
        assert!(with(&[("/proc/cpuinfo", &virtual_one)]).unwrap().contains("virtual machine"));
        // What is not seen is not taken for absent.
        let (_folder, empty) = machine(&[("/proc/cpuinfo", &plain)]);
        assert!(shared(&empty, &[]).unwrap().contains("not seen"));
        let (_folder, nothing) = machine(&[]);
        assert!(shared(&nothing, &[]).unwrap().contains("not seen"));
    }

    #[test]
    fn the_kernels_answer_to_split_locks_is_read_where_it_stands() {
        let of = |flags: &str, line: &str, mitigate: Option<&str>| {
            let info = info(flags);
            let mut files = vec![("/proc/cpuinfo", info.as_str()), ("/proc/cmdline", line)];
            files.extend(mitigate.map(|value| ("/proc/sys/kernel/split_lock_mitigate", value)));
            let (_folder, root) = machine(&files);
            split_locks(&root)
        };
        let slowed = |found: SplitLocks| matches!(found, SplitLocks::Slowed(_));
        let free = |found: SplitLocks| matches!(found, SplitLocks::Free(_));
        assert!(free(of("", "quiet", Some("1"))));
        assert!(slowed(of("split_lock_detect", "quiet", Some("1"))));
        assert!(free(of("split_lock_detect", "quiet", Some("0"))));
        assert!(slowed(of("split_lock_detect", "quiet", None)));
        assert!(free(of("bus_lock_detect", "quiet", None)));
        assert!(slowed(of("bus_lock_detect", "split_lock_detect=ratelimit:10", None)));
        assert!(free(of("split_lock_detect", "split_lock_detect=off quiet", Some("1"))));
        // The last one on the line counts.
        let fatal = of("split_lock_detect", "split_lock_detect=off split_lock_detect=fatal", Some("1"));
        assert_eq!(fatal, SplitLocks::Fatal("/proc/cmdline has `split_lock_detect=fatal`".into()));
    }
}
