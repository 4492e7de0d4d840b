//! What a case may ask of this machine.

use std::env::consts::ARCH;
use std::ffi::OsStr;
use std::path::PathBuf;

use waykeeper_experiment::cases::{Case, Placed};
use waykeeper_linux::sharing::{SplitLocks, shared, split_locks};
use waykeeper_linux::{Root, memory};
use waykeeper_packets::interface::NetInterface;
use waykeeper_workload::{Operation, Pattern};

use crate::measure::ExecutorError;

/// A case may take this share of the memory that is available: the rest keeps the machine from swapping.
const SHARE: f64 = 0.5;

/// Why this machine cannot run a case: buffers that would not fit, a program or a device that is not there.
pub fn refuses(case: &Case) -> Option<ExecutorError> {
    let mut placed = std::iter::once(&case.target).chain(&case.neighbours);
    no_devices(case)
        .or_else(|| too_large(case))
        .or_else(|| packets(case))
        .or_else(|| operations(case))
        .map(ExecutorError::Refused)
        .or_else(|| no_packets(&case.target.pattern))
        .or_else(|| placed.find_map(|placed| not_installed(&placed.pattern)))
}

fn too_large(case: &Case) -> Option<String> {
    let placed = std::iter::once(&case.target).chain(&case.neighbours);
    let needed: u64 = placed.map(|placed| placed.pattern.data_bytes()).sum();
    let available = memory::available(&Root::default())?;
    (needed as f64 > available as f64 * SHARE).then(|| {
        format!(
            "case `{}` needs {} MiB of memory, more than half of the {} MiB that are available; smaller sizes or fewer \
             neighbours would do",
            case.name,
            needed >> 20,
            available >> 20
        )
    })
}

/// An event that uses devices stands for an interrupt. A loop of this machine reaches no device, so its figures would be those of
/// no interrupt.
fn no_devices(case: &Case) -> Option<String> {
    let Pattern::Random { event_device_pages: pages @ 1.., .. } = case.target.pattern else { return None };
    Some(format!(
        "the event of `{}` uses {pages} pages of devices (`event_device_pages`) as an interrupt and its handler do, and a \
         loop on this machine reaches none: its figures would be those of no interrupt. `waykeeper run interrupt-latency` \
         measures interrupts here; a workload of your own without that key measures the loop",
        case.target.workload
    ))
}

/// Nobody would see what a control loop does as a neighbour, and its packets would need a generator.
fn packets(case: &Case) -> Option<String> {
    let is_loop = |placed: &&Placed| matches!(placed.pattern, Pattern::Packets { .. });
    let neighbour = case.neighbours.iter().find(is_loop)?;
    Some(format!(
        "`{}` answers packets, and is a target only; as a neighbour `stream_modify` would do",
        neighbour.workload
    ))
}

/// An interface that no packet can come from, or a generator that is not there: known before anything is measured.
fn no_packets(pattern: &Pattern) -> Option<ExecutorError> {
    let Pattern::Packets { link, sensor, .. } = pattern else { return None };
    let interface = NetInterface::find(&link.interface).err().map(|error| error.to_string());
    let generator = || {
        let why = no_program(sensor.generator.first()?)?;
        Some(format!("{why}, which is to send the packets; expected an installed program, or the path of one"))
    };
    interface.or_else(generator).map(ExecutorError::Refused)
}

/// An operation that this processor lacks, or that could stall those of others here.
fn operations(case: &Case) -> Option<String> {
    let placed = std::iter::once(&case.target).chain(&case.neighbours);
    let mut used = placed.filter_map(|placed| Some((&placed.workload, placed.pattern.operation()?)));
    used.find_map(|(workload, operation)| {
        let why = no_operation(operation, ARCH).or_else(|| {
            let others = operation.is_unfair().then(|| others(&Root::default(), std::env::var_os("CI").as_deref()));
            others.flatten().map(|others| {
                format!(
                    "`{}` can stall all cores of a machine, and {others}; a machine of your own without a hypervisor \
                     would do, with nobody else on it",
                    operation.name()
                )
            })
        });
        let why = why.or_else(|| killed(operation, &split_locks(&Root::default())))?;
        Some(format!("`{workload}` is not run: {why}"))
    })
}

fn no_operation(operation: Operation, architecture: &str) -> Option<String> {
    (!operation.is_on(architecture)).then(|| {
        format!(
            "programs have no `{}` on this processor ({architecture}); `read`, `write`, `modify` or `prefetch` would do",
            operation.name()
        )
    })
}

/// Who else may be on this machine, as half a sentence. `ci` is the variable that the usual CI services set.
fn others(root: &Root, ci: Option<&OsStr>) -> Option<String> {
    if ci.is_some_and(|ci| !ci.is_empty() && ci != "false" && ci != "0") {
        return Some("this is a CI job (the variable CI is set)".into());
    }
    let by_sudo = std::env::var("SUDO_UID").ok().and_then(|user| user.parse().ok());
    let own: Vec<u32> = [rustix::process::getuid().as_raw()].into_iter().chain(by_sudo).collect();
    shared(root, &own)
}

/// That the kernel would end a split lock's process.
fn killed(operation: Operation, found: &SplitLocks) -> Option<String> {
    match (operation, found) {
        (Operation::SplitLock, SplitLocks::Fatal(place)) => {
            Some(format!("the kernel would end its process: {place}; `split_lock_detect=off` would do"))
        }
        _ => None,
    }
}

/// A program that the machine lacks, where it is known by its name; a file that the experiment names is expected to be there.
pub fn not_installed(pattern: &Pattern) -> Option<ExecutorError> {
    let Pattern::Command { argv, .. } = pattern else { return None };
    let program = argv.first()?;
    let why = no_program(program)?;
    Some(match program.contains('/') {
        true => ExecutorError::Input(format!("{why}; expected a program's file, or another workload")),
        false => ExecutorError::Refused(format!("{why}; install it, or use another workload")),
    })
}

/// Why a program cannot be started, as half a sentence: it does not exist, or is no file that this user may execute.
pub fn no_program(program: &str) -> Option<String> {
    let Some(file) = file_of(program) else { return Some(format!("the program `{program}` is not on this machine")) };
    if !file.is_file() {
        return Some(format!("`{program}` is not a file that can be executed"));
    }
    let refused = rustix::fs::access(&file, rustix::fs::Access::EXEC_OK).err()?;
    Some(format!("`{program}` cannot be executed ({refused})"))
}

/// The file of a program, as the shell finds it; `None` where there is none.
pub fn file_of(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|file| file.exists());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfair_operations_are_refused_where_others_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        file("proc/cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: fpu\n");
        file("proc/1/status", "Uid:\t0\t0\t0\t0\n");
        let root = Root::at(folder.path());
        assert_eq!(others(&root, None), None);
        assert_eq!(others(&root, Some("false".as_ref())), None);
        assert!(others(&root, Some("true".as_ref())).unwrap().contains("CI"));
        file("proc/cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: fpu hypervisor\n");
        assert!(others(&root, None).unwrap().contains("virtual machine"));
    }

    #[test]
    fn operations_are_those_of_the_processor() {
        assert_eq!(no_operation(Operation::SplitLock, "x86_64"), None);
        assert!(no_operation(Operation::SplitLock, "aarch64").unwrap().contains("no `split_lock`"));
        assert!(no_operation(Operation::Flush, "arm").is_some() && no_operation(Operation::Modify, "arm").is_none());
        let fatal = SplitLocks::Fatal("/proc/cmdline has `split_lock_detect=fatal`".into());
        assert!(killed(Operation::SplitLock, &fatal).unwrap().contains("split_lock_detect=fatal"));
        assert_eq!(killed(Operation::Flush, &fatal), None);
    }
}
