//! Boots a guest, listens to it, and fetches what it kept.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use waykeeper_kernel_rig::initramfs::Archive;

use crate::guest::Guest;
use crate::programs::{run as run_command, target};
use crate::server::{Server, files, read};

/// The guest's first program.
const INSIDE: &str = include_str!("../inside.sh");

/// The longest time that a guest may take, seconds.
const SECONDS: u32 = 1200;

/// Boots a guest and returns the folder with what it kept. `served` runs while the guest's SSH server answers, unless the form is the
/// short one.
///
/// # Errors
/// What could not be fetched; a guest that does not come to its end; a step that failed, in the guest or from here.
pub fn run(
    guest: &Guest,
    waykeeper: &Path,
    cookbook: &Path,
    is_short: bool,
    served: impl FnOnce(&Server) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let place = provided(guest)?;
    let server = Server::new(guest.name)?;
    let initramfs = target().join(format!("arm-rig-{}.cpio", guest.name));
    let failed = |error: std::io::Error| format!("{}: {error}", initramfs.display());
    std::fs::write(&initramfs, archive(&place, waykeeper, cookbook, &server)?).map_err(failed)?;
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &SECONDS.to_string(), guest.qemu]).args(guest.options);
    command.args(["-nographic", "-no-reboot", "-serial", "stdio", "-monitor", "none"]);
    command.args(server.network(guest.network));
    command.arg("-kernel").arg(place.join("kernel")).arg("-initrd").arg(&initramfs);
    if place.join("board.dtb").exists() {
        command.arg("-dtb").arg(place.join("board.dtb"));
    }
    let short = if is_short { " rig.short" } else { "" };
    command.arg("-append").arg(format!("{}{short} panic=-1 quiet loglevel=3 rdinit=/init", guest.kernel_options));
    // The board's sound card finds none here, and says so at length: what QEMU says is shown where no guest comes up.
    let said = target().join(format!("arm-rig-{}-qemu.log", guest.name));
    let log = std::fs::File::create(&said).map_err(|error| format!("{}: {error}", said.display()))?;
    command.env("QEMU_AUDIO_DRV", "none").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let mut from_here = Ok(());
    let heard = listen(guest.name, child.stdout.take().ok_or("QEMU has no output")?, || {
        from_here = served(&server);
        // The guest waits for this, and for ten minutes at most.
        let _ = server.shell("touch /tmp/served");
    });
    child.wait().map_err(|error| format!("{command:?}: {error}"))?;
    std::fs::remove_file(&initramfs).map_err(failed)?;
    let folder = target().join("arm-rig").join(guest.name);
    unpack(&heard, &folder).map_err(|why| format!("{why}\nwhat QEMU said is in {}", said.display()))?;
    from_here?;
    match heard.failed {
        0 => Ok(folder),
        failed => Err(format!("{failed} steps failed; what they printed is in {}", folder.display())),
    }
}

/// Kernel and busybox, fetched where they are missing.
fn provided(guest: &Guest) -> Result<PathBuf, String> {
    let cache = waykeeper_kernel_rig::provide::cache().with_file_name("arm-rig");
    run_command(Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("provide")).arg(&cache).arg(guest.name))?;
    Ok(cache.join(guest.name))
}

fn archive(place: &Path, waykeeper: &Path, cookbook: &Path, server: &Server) -> Result<Vec<u8>, String> {
    let mut archive = Archive::default();
    ["bin", "dev", "lib", "modules", "proc", "root", "run", "sys", "tmp", "var"]
        .iter()
        .for_each(|folder| archive.directory(folder));
    archive.device("dev/console", 5, 1);
    archive.file("init", 0o755, INSIDE.as_bytes());
    let programs = [
        ("bin/busybox".to_owned(), place.join("busybox")),
        ("bin/waykeeper".to_owned(), waykeeper.to_owned()),
        ("bin/cookbook".to_owned(), cookbook.to_owned()),
    ];
    for (name, file) in programs {
        archive.file(&name, 0o755, &read(&file)?);
    }
    for (name, file) in files(&place.join("modules"))? {
        archive.file(&format!("modules/{name}"), 0o644, &read(&file)?);
    }
    server.pack(place, &mut archive)?;
    Ok(archive.finish())
}

/// What a guest said.
#[derive(Debug, Default)]
struct Heard {
    /// The last lines that were not meant for us, such as the kernel's.
    other: Vec<String>,
    /// Steps that failed.
    failed: usize,
    /// The archive of what was kept, in base64.
    archive: String,
    /// Whether it came to its end.
    ended: bool,
}

fn listen(guest: &str, output: impl Read, served: impl FnOnce()) -> Heard {
    let mut served = Some(served);
    let mut heard = Heard::default();
    let mut sends = false;
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        match line.strip_prefix("GUEST ") {
            Some("serves") => served.take().into_iter().for_each(|served| served()),
            Some("results") => sends = true,
            Some("end") => (sends, heard.ended) = (false, true),
            Some(said) => {
                heard.failed += usize::from(said.starts_with("failed "));
                println!("{guest}: {said}");
            }
            None if sends => heard.archive += &line,
            None => heard.other.push(line),
        }
    }
    heard
}

fn unpack(heard: &Heard, folder: &Path) -> Result<(), String> {
    if !heard.ended {
        let last = heard.other[heard.other.len().saturating_sub(30)..].join("\n");
        return Err(format!("the guest did not come to its end; its last lines:\n{last}"));
    }
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(format!("{}: {error}", folder.display()));
        }
        _ => {}
    }
    let bytes = STANDARD.decode(&heard.archive).map_err(|error| format!("what the guest kept: {error}"))?;
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
    archive.unpack(folder).map_err(|error| format!("{}: {error}", folder.display()))
}
