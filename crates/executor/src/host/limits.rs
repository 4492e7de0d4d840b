//! What a case may ask of this machine.

use std::path::PathBuf;

use waykeeper_experiment::cases::{Case, Placed};
use waykeeper_linux::{Root, memory};
use waykeeper_workload::Pattern;

/// A case may take this share of the memory that is available: the rest keeps the machine from swapping.
const SHARE: f64 = 0.5;

/// Why this machine cannot run a case: buffers that would not fit, a program or a device that is not there.
pub fn refuses(case: &Case) -> Option<String> {
    let mut placed = std::iter::once(&case.target).chain(&case.neighbours);
    no_devices(case)
        .or_else(|| too_large(case))
        .or_else(|| packets(case))
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

fn not_installed(pattern: &Pattern) -> Option<String> {
    let Pattern::Command { argv, .. } = pattern else { return None };
    let program = argv.first()?;
    let found = file_of(program).is_some();
    (!found).then(|| format!("the program `{program}` is not on this machine; install it, or use another workload"))
}

/// The file of a program, as the shell finds it; `None` where there is none.
pub fn file_of(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|file| file.exists());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.exists())
}
