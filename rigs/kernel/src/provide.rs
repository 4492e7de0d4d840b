//! Has QEMU, kernels and the guest's program ready. The slow parts stay in a cache folder outside the source tree.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::boot::Machinery;
use crate::image::KernelImage;
use crate::own_task;

/// The rig's own folder in the source tree.
const RIG: &str = env!("CARGO_MANIFEST_DIR");

/// The cache folder: `WAYKEEPER_RIG_CACHE`, or one below the user's.
pub fn cache() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    variable("WAYKEEPER_RIG_CACHE").unwrap_or_else(|| user.unwrap_or_default().join("waykeeper/kernel-rig"))
}

/// Fetches and builds what is not there yet; `waykeeper` is the program that a guest runs.
///
/// # Errors
/// What could not be fetched or built.
pub fn machinery(waykeeper: Option<&Path>) -> Result<Machinery, String> {
    let cache = cache();
    run(Command::new(Path::new(RIG).join("provide")).arg(&cache).args(["qemu", "pqos", "iproute"]))?;
    // Of this process alone: rigs for other kernels may run at the same time.
    let scratch = cache.join("scratch").join(std::process::id().to_string());
    std::fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let own_task = match waykeeper {
        Some(program) => Some((program.to_owned(), own_task::compile(&scratch)?)),
        None => None,
    };
    let guest = guest()?;
    Ok(Machinery {
        qemu: cache.join("qemu/bin/qemu-system-x86_64"),
        firmware: ["/usr/share/seabios", "/usr/share/qemu"].map(PathBuf::from).to_vec(),
        libraries: libraries(&guest)?,
        guest,
        pqos: cache.join("pqos"),
        iproute: cache.join("iproute"),
        own_task,
        scratch,
    })
}

/// A kernel's image.
///
/// # Errors
/// A kernel that could not be fetched.
pub fn kernel(kernel: KernelImage) -> Result<PathBuf, String> {
    let cache = cache();
    let name = kernel.name();
    run(Command::new(Path::new(RIG).join("provide")).arg(&cache).arg(&name))?;
    Ok(cache.join(format!("kernel-{name}/vmlinux")))
}

/// The kernel's full release, as Debian names it.
pub fn release(kernel: KernelImage) -> Option<String> {
    let path = cache().join(format!("kernel-{}/release", kernel.name()));
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The files with sequences that differed once.
///
/// # Errors
/// A folder that cannot be read.
pub fn kept_sequences() -> Result<Vec<PathBuf>, String> {
    let folder = Path::new(RIG).join("sequences");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries: Result<Vec<PathBuf>, _> =
        std::fs::read_dir(&folder).map_err(failed)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut files = entries.map_err(failed)?;
    files.sort();
    Ok(files)
}

/// The guest's program, which cargo builds beside the rig's.
fn guest() -> Result<PathBuf, String> {
    let rig = std::env::current_exe().map_err(|error| format!("the rig's own program: {error}"))?;
    let guest = rig.with_file_name("kernel-rig-guest");
    if guest.exists() {
        return Ok(guest);
    }
    Err(format!("{} is missing; `cargo build --package waykeeper-kernel-rig --bins` makes it", guest.display()))
}

/// The loader of a program and the libraries that it takes from the system, by their absolute paths.
fn libraries(program: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |what: &dyn std::fmt::Display| format!("ldd {}: {what}", program.display());
    let output = Command::new("ldd").arg(program).output().map_err(|error| failed(&error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || text.contains("not found") {
        return Err(failed(&format!("{}\n{text}", output.status)));
    }
    Ok(text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect())
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}")) }
}
