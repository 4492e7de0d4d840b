//! The first process of a room: puts the files in their places, starts the command, and reaps what dies.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use rustix::process::{Pid, Signal, WaitOptions, set_parent_process_death_signal, wait};
use waykeeper_resctrl::ResctrlMachine;

use super::RoomEntry;
use super::cover::{at, bind, can_move_mounts, cover, lay_over};
use super::cpus;
use super::mounts::Mounts;
use super::syscalls::{install, pass, take};
use crate::files::devices::Outside;
use crate::load::placeholder;
use crate::machine::machine_of;
use crate::room::{Room, RoomSpec};

/// Where the room's own things are.
const OWN: &str = "/run/waykeeper";
/// The socket, also in the environment as `WAYKEEPER_ROOM`.
const SOCKET: &str = "/run/waykeeper/room";
/// Where files are before they are in their places.
const STAGE: &str = "/run/waykeeper/.stage";

/// Makes the room and runs the command. Returns its exit status.
pub(super) fn run(entry: RoomEntry, alive: &OwnedFd) -> io::Result<i32> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut ended = [PollFd::new(alive, PollFlags::IN)];
    if poll(&mut ended, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? > 0 {
        return Err(io::Error::other("whoever wanted it has ended"));
    }
    let RoomEntry { platform, kernel, backing, loads, command } = entry;
    let machine = machine_of(&platform, kernel).ok();
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let outside = lay_out(&platform, machine.as_ref())?;
    let mut placed = Vec::new();
    for load in loads {
        let pid = placeholder(&load)?;
        placed.push((load, pid));
    }
    let room = Room::open(RoomSpec::new(platform, kernel), backing)?;
    let resctrl = match &machine {
        Some(_) => Some(room.mount_resctrl(Path::new("/sys/fs/resctrl"))?),
        None => None,
    };
    let _devices = devices(&room, outside)?;
    room.start(&placed).map_err(io::Error::other)?;
    let _socket = room.listen(Path::new(SOCKET))?;
    let mounts = Mounts::new(room.shared(), resctrl);
    wait_for(start(&command, mounts)?)
}

/// Everything that does not change while the room is there. Returns what of outside the tables of mounts have to hide.
fn lay_out(platform: &waykeeper_platform::Platform, machine: Option<&ResctrlMachine>) -> io::Result<Outside> {
    let hosts_filesystems = std::fs::read_to_string("/proc/filesystems")?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None::<&std::ffi::CStr>)
        .map_err(|error| at(Path::new("/proc"), "cannot mount a new")(error.into()))?;
    let outside = detach_others()?;
    can_move_mounts()?;
    cover(Path::new("/run"), &["waykeeper", "lock"])?;
    for folder in [OWN, STAGE, "/run/lock"] {
        std::fs::create_dir_all(folder)?;
    }
    let lock = Path::new("/var/lock");
    if lock.is_dir() && !lock.is_symlink() {
        mount("waykeeper", lock, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=1777")?;
    }
    if Path::new("/sys/fs").is_dir() {
        cover(Path::new("/sys/fs"), &["resctrl"])?;
        if machine.is_some() {
            std::fs::create_dir("/sys/fs/resctrl")?;
        }
    }
    cover(Path::new("/dev"), &["cpu", "pseudo_lock"])?;
    let stage = Path::new(STAGE);
    for (name, to, content) in [
        ("filesystems", "/proc/filesystems", cpus::filesystems(&hosts_filesystems, machine.is_some())),
        ("cpuinfo", "/proc/cpuinfo", cpus::cpuinfo(platform, machine)),
    ] {
        std::fs::write(stage.join(name), content)?;
        bind(&stage.join(name), Path::new(to))?;
    }
    let cpu = Path::new("/sys/devices/system/cpu");
    mount("waykeeper", cpu, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=755")
        .map_err(|error| at(cpu, "cannot mount a tmpfs over")(error.into()))?;
    for (path, content) in cpus::sysfs(platform) {
        let path = cpu.join(path);
        if content.is_empty() {
            std::fs::create_dir_all(&path)?;
            continue;
        }
        std::fs::create_dir_all(path.parent().unwrap_or(cpu))?;
        std::fs::write(&path, content)?;
    }
    Ok(outside)
}

/// Takes what is mounted outside as resctrl out of sight: clients look for it in the table of mounts. Outside it stays.
/// Returns what cannot be unmounted: without root, what was mounted before is locked.
fn detach_others() -> io::Result<Outside> {
    let mut kept = Outside::new();
    for line in std::fs::read_to_string("/proc/self/mounts")?.lines() {
        if let [_, at, "resctrl" | "fuse.resctrl", ..] = line.split(' ').collect::<Vec<_>>()[..]
            && unmount(at, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW).is_err()
        {
            kept.push(at.to_owned());
        }
    }
    Ok(kept)
}

/// Registers, locked regions and the tables of mounts.
fn devices(room: &Room, outside: Outside) -> io::Result<crate::Mounted> {
    let stage = Path::new(STAGE);
    let mounted = room.mount_devices(stage, outside)?;
    for (from, to) in [("cpu", "/dev/cpu"), ("pseudo_lock", "/dev/pseudo_lock")] {
        std::fs::create_dir(to)?;
        bind(&stage.join(from), Path::new(to))?;
    }
    lay_over(&stage.join("mounts"), Path::new("/proc/mounts"))?;
    Ok(mounted)
}

/// Starts the command with its own view of the tables of mounts; from it on the room answers who mounts resctrl.
fn start(command: &[std::ffi::OsString], mounts: Mounts) -> io::Result<Pid> {
    let shell = std::env::var_os("SHELL").filter(|shell| Path::new(shell).is_file()).unwrap_or("/bin/sh".into());
    let (program, arguments) = command.split_first().map_or((&shell, &[][..]), |(program, rest)| (program, rest));
    let mut command = Command::new(program);
    command.args(arguments).env("WAYKEEPER_ROOM", SOCKET);
    // /proc/self leads elsewhere in every process: these two are available to the command itself only.
    let own = ["mounts", "mountinfo"].map(|name| (Path::new(STAGE).join(name), Path::new("/proc/self").join(name)));
    let (here, there) = std::os::unix::net::UnixStream::pair()?;
    // SAFETY: between fork and exec only system calls are made.
    unsafe {
        command.pre_exec(move || {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            libc::signal(libc::SIGQUIT, libc::SIG_DFL);
            for (from, to) in &own {
                let _ = lay_over(from, to);
            }
            // Where filters are unavailable, mounts are the kernel's: it has no such file system, or another one.
            pass(there.as_fd(), install().ok());
            Ok(())
        });
    }
    match command.spawn() {
        Ok(child) => {
            match take(here.as_fd()) {
                Some(listener) => mounts.serve(listener)?,
                // The tree stays as long as the room.
                None => std::mem::forget(mounts),
            }
            Pid::from_raw(child.id() as i32).ok_or_else(|| io::Error::other("no process"))
        }
        Err(error) => {
            eprintln!("error: {} cannot be started: {error}", program.display());
            std::process::exit(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
        }
    }
}

/// Waits for the command, and buries everyone else who dies meanwhile.
fn wait_for(command: Pid) -> io::Result<i32> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => {
                let signal = status.terminating_signal().map(|signal| 128 + signal);
                if let Some(status) = status.exit_status().or(signal) {
                    return Ok(status);
                }
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
