//! Runs a guest and listens to what it says.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::doctor::TUNED;
use crate::initramfs::Archive;
use crate::launch::MODULES;
use crate::own_task::{PROGRAM, WAYKEEPER};
use crate::plan::{Doctor, Plan};

/// Without a check of the timer at boot, which a busy host makes fail.
const KERNEL_OPTIONS: &str =
    "console=ttyS0 panic=-1 quiet loglevel=3 mitigations=off rdinit=/init tsc=reliable no_timer_check";

/// How often a guest is started that does not come to its program: a busy host can delay a processor's start for too long.
const STARTS: u32 = 3;

/// What the guest says when its program runs.
pub const READY: &str = "ready";

/// What is needed to boot.
#[derive(Clone, Debug)]
pub struct Machinery {
    /// QEMU with the registers of cache allocation.
    pub qemu: PathBuf,
    /// Where firmware is looked for.
    pub firmware: Vec<PathBuf>,
    /// The guest's program.
    pub guest: PathBuf,
    /// What it is loaded with, by absolute paths, which are the same in the guest.
    pub libraries: Vec<PathBuf>,
    /// A folder with Debian's pqos and its libraries.
    pub pqos: PathBuf,
    /// A folder with Debian's `ip` and `tc` and their libraries.
    pub iproute: PathBuf,
    /// Waykeeper for guests that run it, and the program that it measures there.
    pub own_task: Option<(PathBuf, PathBuf)>,
    /// Where files for a run may be put.
    pub scratch: PathBuf,
}

/// What a guest said, without the `RIG` before each line.
pub type Lines = Vec<String>;

/// Boots a kernel, lets it carry out a plan, and returns the lines that it said. `hear` gets each as it comes.
///
/// # Errors
/// QEMU that cannot be run, or a guest that did not come to its end within the time.
pub fn boot(
    machinery: &Machinery,
    kernel: &Path,
    plan: &Plan,
    seconds: u64,
    mut hear: impl FnMut(&str),
) -> Result<Lines, String> {
    let mut starts = 0;
    loop {
        starts += 1;
        let mut ready = false;
        let lines = boot_once(machinery, kernel, plan, seconds, |line| {
            ready |= line == READY;
            hear(line);
        });
        match lines {
            Err(why) if !ready && starts < STARTS => println!("the guest is started again: {why}"),
            other => return other,
        }
    }
}

fn boot_once(
    machinery: &Machinery,
    kernel: &Path,
    plan: &Plan,
    seconds: u64,
    mut hear: impl FnMut(&str),
) -> Result<Lines, String> {
    let initramfs = machinery.scratch.join(format!("initramfs-{}", plan.setup.name));
    write_initramfs(machinery, kernel, plan, &initramfs)?;
    let more = if plan.doctor == Doctor::Tuned { format!(" {TUNED}") } else { String::new() };
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &seconds.to_string()]).arg(&machinery.qemu);
    for folder in &machinery.firmware {
        command.arg("-L").arg(folder);
    }
    command
        .args(["-accel", "tcg,thread=single", "-machine", "pc", "-m", "640", "-nodefaults", "-nographic", "-no-reboot"])
        .args(["-serial", "stdio", "-monitor", "none"])
        .args(plan.setup.qemu_options())
        .arg("-kernel")
        .arg(kernel)
        .arg("-initrd")
        .arg(&initramfs)
        .arg("-append")
        .arg(format!("{KERNEL_OPTIONS} {}{more}", plan.setup.kernel_options()))
        .env("WAYKEEPER_RDT", plan.setup.registers())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let output = child.stdout.take().ok_or("QEMU has no output")?;
    let mut lines = Lines::new();
    let mut other = Lines::new();
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        match line.split_once("RIG ") {
            Some((_, said)) => {
                hear(said);
                lines.push(said.to_owned());
            }
            None => other.push(line),
        }
    }
    let status = child.wait_with_output().map_err(|error| format!("QEMU: {error}"))?;
    let _ = std::fs::remove_file(&initramfs);
    if lines.last().is_none_or(|line| line != "end") {
        let end = |lines: &Lines| lines[lines.len().saturating_sub(30)..].join("\n");
        let errors: Vec<String> = String::from_utf8_lossy(&status.stderr).lines().map(str::to_owned).collect();
        let errors: Lines = errors.into_iter().filter(|line| !line.contains("TCG doesn't support")).collect();
        return Err(format!(
            "the guest did not come to its end ({}):\n{}\n{}\n{}",
            status.status,
            end(&lines),
            end(&other),
            end(&errors)
        ));
    }
    Ok(lines)
}

fn write_initramfs(machinery: &Machinery, kernel: &Path, plan: &Plan, path: &Path) -> Result<(), String> {
    let program = std::fs::read(&machinery.guest).map_err(|error| format!("{}: {error}", machinery.guest.display()))?;
    let mut archive = Archive::default();
    ["dev", "proc", "run", "sys"].iter().for_each(|directory| archive.directory(directory));
    archive.device("dev/console", 5, 1);
    archive.file("init", 0o755, &program);
    archive.file("plan", 0o644, plan.write().as_bytes());
    if let Ok(module) = std::fs::read(kernel.with_file_name("msr.ko")) {
        archive.file("msr.ko", 0o644, &module);
    }
    add_folder(&mut archive, &machinery.pqos, "")?;
    if plan.launch {
        for module in MODULES {
            let path = kernel.with_file_name(module);
            let bytes = std::fs::read(&path).map_err(|error| {
                format!(
                    "{}: {error}; --launch needs a kernel whose package has its modules, such as 6.1",
                    path.display()
                )
            })?;
            archive.file(module, 0o644, &bytes);
        }
        add_folder(&mut archive, &machinery.iproute, "")?;
    }
    if plan.own_task {
        let own_task = machinery.own_task.as_ref().ok_or("--own-task needs --waykeeper PROGRAM")?;
        ["own", "tmp"].iter().for_each(|directory| archive.directory(directory));
        for (place, program) in [(WAYKEEPER, &own_task.0), (PROGRAM, &own_task.1)] {
            let bytes = std::fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
            archive.file(place, 0o755, &bytes);
        }
    }
    // Last, so that these are taken where an older copy came with another program.
    for library in &machinery.libraries {
        add_library(&mut archive, library)?;
    }
    std::fs::write(path, archive.finish()).map_err(|error| format!("{}: {error}", path.display()))
}

/// Adds a library at its own path, and the folders above it.
fn add_library(archive: &mut Archive, path: &Path) -> Result<(), String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let place = path.to_str().unwrap_or_default().trim_start_matches('/');
    place.match_indices('/').for_each(|(end, _)| archive.directory(&place[..end]));
    archive.file(place, 0o755, &bytes);
    Ok(())
}

/// Adds what is in a folder, at the same places below the root.
fn add_folder(archive: &mut Archive, folder: &Path, below: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let place = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
        if path.is_dir() {
            archive.directory(&place);
            add_folder(archive, &path, &place)?;
        } else {
            // Links are followed: a library is there under each of its names.
            archive.file(&place, 0o755, &std::fs::read(&path).map_err(failed)?);
        }
    }
    Ok(())
}
