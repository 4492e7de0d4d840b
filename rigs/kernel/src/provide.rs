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

/// Builds what is not there yet; `waykeeper` is the program that a guest runs.
///
/// # Errors
/// What could not be fetched or built.
pub fn machinery(waykeeper: Option<&Path>) -> Result<Machinery, String> {
    let cache = cache();
    run(Command::new(Path::new(RIG).join("provide")).arg(&cache).args(["qemu", "pqos", "iproute"]))?;
    let scratch = cache.join("scratch");
    std::fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let own_task = match waykeeper {
        Some(program) => Some((program.to_owned(), own_task::compile(&scratch)?)),
        None => None,
    };
    Ok(Machinery {
        qemu: cache.join("qemu/bin/qemu-system-x86_64"),
        firmware: ["/usr/share/seabios", "/usr/share/qemu"].map(PathBuf::from).to_vec(),
        guest: guest(&cache)?,
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

/// Builds the guest's program so that it runs without any library.
fn guest(cache: &Path) -> Result<PathBuf, String> {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let target = cache.join("guest");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    run(Command::new(cargo)
        .current_dir(RIG)
        .args(["build", "--quiet", "--locked", "--profile", "suite", "--bin", "kernel-rig-guest", "--target", TARGET])
        .arg("--target-dir")
        .arg(&target)
        .env("RUSTFLAGS", "-C target-feature=+crt-static"))?;
    Ok(target.join(TARGET).join("suite/kernel-rig-guest"))
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}")) }
}
