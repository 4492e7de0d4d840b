//! The state directory under attack: by other users, by links, by a full disk, by signals.

use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::json;

use crate::acting::{Fake, halves};
use crate::program::Ended;

const NOBODY: u32 = 65534;

/// Whether this is root, who alone can be other users too. Says what is not tested otherwise.
fn is_root(what: &str) -> bool {
    let root = geteuid().is_root();
    if !root {
        eprintln!("not tested, since only root can: {what}");
    }
    root
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// Neither `apply` nor `restore` nor `status` works, and nothing is written.
#[track_caller]
fn all_refuse(fake: &Fake, expected: &[&str]) {
    let before = fake.everything();
    fake.desk.file("plan.json", &halves().to_string());
    for command in
        [&["apply", "--steps", "plan.json"][..], &["restore"], &["restore", "--force"], &["verify"], &["status"]]
    {
        let ended = fake.run(command).with(3);
        for expected in expected {
            assert!(ended.stderr.contains(expected), "{command:?}: {}\nis without\n{expected}", ended.stderr);
        }
    }
    assert_eq!(fake.everything(), before);
}

#[test]
fn a_directory_that_others_may_write_to() {
    let fake = Fake::with_registers();
    fake.apply(&halves(), &[]).with(0);
    for bits in [0o777, 0o775, 0o1777] {
        mode(fake.state().path(), bits);
        all_refuse(&fake, &["/state: others may write to it", "`chmod go-w`", "WAYKEEPER_STATE"]);
    }
    mode(fake.state().path(), 0o755);
    // And the one around it, where others could put another in its place.
    mode(fake.desk.path(), 0o777);
    all_refuse(&fake, &["others may write to it (mode 0777)"]);
    mode(fake.desk.path(), 0o755);
    fake.run(&["restore"]).with(0);
}

#[test]
fn a_directory_that_somebody_else_owns() {
    if !is_root("a directory of another user") {
        return;
    }
    let fake = Fake::with_registers();
    fake.apply(&halves(), &[]).with(0);
    chown(fake.state().path(), Some(NOBODY), None).unwrap();
    all_refuse(&fake, &["/state: owned by user 65534; expected root as its owner"]);
    chown(fake.state().path(), Some(0), None).unwrap();
    // A journal of somebody else, which was moved there.
    chown(fake.state().path().join("journal"), Some(NOBODY), None).unwrap();
    all_refuse(&fake, &["/state/journal: owned by user 65534"]);
    chown(fake.state().path().join("journal"), Some(0), None).unwrap();
    fake.run(&["restore"]).with(0);
}

#[test]
fn a_link_in_the_place_of_the_directory_or_of_a_file() {
    let fake = Fake::with_registers();
    fake.apply(&halves(), &[]).with(0);
    let (state, elsewhere) = (fake.state().path().to_owned(), fake.desk.path().join("elsewhere"));
    std::fs::rename(&state, &elsewhere).unwrap();
    symlink("elsewhere", &state).unwrap();
    all_refuse(&fake, &["/state: a symbolic link; expected the directory itself"]);
    std::fs::remove_file(&state).unwrap();
    std::fs::rename(&elsewhere, &state).unwrap();
    std::fs::rename(state.join("journal"), fake.desk.path().join("other")).unwrap();
    symlink("../other", state.join("journal")).unwrap();
    all_refuse(&fake, &["/state/journal: a symbolic link; expected the thing itself"]);
    std::fs::remove_file(state.join("journal")).unwrap();
    std::fs::rename(fake.desk.path().join("other"), state.join("journal")).unwrap();
    fake.run(&["restore"]).with(0);
}

#[test]
fn nobody_else_can_hold_the_lock_and_everybody_can_look() {
    if !is_root("another user") {
        return;
    }
    let fake = Fake::with_registers();
    fake.apply(&halves(), &[]).with(0);
    mode(fake.desk.path(), 0o755);
    let lock = fake.state().path().join("lock");
    let mut flock = Command::new("flock");
    let held = flock.args(["--nonblock", "--shared"]).arg(&lock).arg("true").uid(NOBODY).stderr(Stdio::piped());
    let held = held.output().unwrap();
    assert!(!held.status.success() && String::from_utf8_lossy(&held.stderr).contains("Permission denied"), "{held:?}");
    // The registers are root's alone, so it can be said what is applied, and not whether it still holds.
    let mut status = Command::new(fake.desk.copy_of_program());
    status.args(["status", "--root", "machine"]).current_dir(fake.desk.path());
    let status = status.env("WAYKEEPER_STATE", fake.state().path()).uid(NOBODY).output().unwrap();
    let told = Ended::from(status);
    assert!(told.stdout.contains("plan, since") || told.stderr.contains("Permission denied"), "{told:?}");
    fake.run(&["restore"]).with(0);
}

/// `status` neither waits for the lock nor takes it from others.
#[test]
fn the_lock_is_held_by_somebody_else() {
    let fake = Fake::with_registers();
    fake.apply(&halves(), &[]).with(0);
    let before = fake.everything();
    let held = fake.state().lock("restore").unwrap();
    let told = fake.run(&["status", "--json"]).with(0).json();
    assert_eq!((&told["at_work"]["work"], &told["applied"]["phase"]), (&json!("restore"), &json!("applied")));
    assert!(fake.run(&["restore"]).with(3).stderr.contains("another Waykeeper is at work"));
    assert_eq!(fake.everything(), before);
    drop(held);
    assert_eq!(fake.run(&["status", "--json"]).with(0).json()["at_work"], json!(null));
    fake.run(&["restore"]).with(0);
}

#[test]
fn a_boot_that_cannot_be_read_is_no_reboot() {
    let fake = Fake::with_registers();
    fake.apply(&halves(), &[]).with(0);
    let boot = fake.path("proc/sys/kernel/random/boot_id");
    for empty in [false, true] {
        match empty {
            true => std::fs::write(&boot, "").unwrap(),
            false => std::fs::remove_file(&boot).unwrap(),
        }
        let journal = std::fs::read(fake.state().path().join("journal")).unwrap();
        let before = fake.everything();
        for command in [&["restore"][..], &["restore", "--force"], &["restore", "--keep"], &["status"], &["verify"]] {
            let told = fake.run(command).with(3).stderr;
            assert!(told.contains("boot_id cannot be read") && told.contains("ProcSubset=pid"), "{told}");
        }
        assert_eq!(fake.everything(), before);
        assert_eq!(std::fs::read(fake.state().path().join("journal")).unwrap(), journal);
    }
    fake.file("proc/sys/kernel/random/boot_id", "first\n");
    fake.run(&["restore"]).with(0);
    // What is applied then could not be told from what a reboot has reset.
    std::fs::remove_file(&boot).unwrap();
    assert!(fake.apply(&halves(), &[]).with(3).stderr.contains("boot_id cannot be read"));
    assert_eq!((fake.register(0, 0xc90), fake.state().path().join("journal").exists()), (0xfff, false));
}

#[test]
fn a_journal_that_was_tampered_with() {
    let fake = Fake::with_registers();
    fake.apply(&halves(), &[]).with(0);
    let (before, path) = (fake.everything(), fake.state().path().join("journal"));
    let good = std::fs::read_to_string(&path).unwrap();
    let undo =
        r#"{"undo":{"actions":[{"register":{"place":{"cpu":0,"register":121},"value":1,"mask":1}}],"findings":[]}}"#;
    std::fs::write(&path, good.clone() + undo + "\n").unwrap();
    let told = fake.run(&["restore"]).with(3).stderr;
    let expected =
        "line 13 (undo, action 1: register 0x79 of CPU 0 to 0x1 (mask 0x1)): the plan does not write this register";
    assert!(told.contains(expected) && told.contains("nothing was written"), "{told}");
    assert_eq!(fake.everything(), before);
    std::fs::write(&path, good).unwrap();
    fake.run(&["restore"]).with(0);
}

/// Files below the root that lead out of it: the masks of the machine that runs this are not written instead.
#[test]
fn a_link_in_the_place_of_a_register_or_a_file_of_resctrl() {
    let fake = Fake::with_registers();
    fake.desk.file("victim", &"x".repeat(64 << 10));
    std::fs::remove_file(fake.path("dev/cpu/3/msr")).unwrap();
    symlink("../../../../victim", fake.path("dev/cpu/3/msr")).unwrap();
    let told = fake.apply(&halves(), &[]).with(3).stderr;
    assert!(told.contains("machine/dev/cpu/3/msr: Too many levels of symbolic links"), "{told}");
    assert_eq!(std::fs::read_to_string(fake.desk.path().join("victim")).unwrap(), "x".repeat(64 << 10));
}

/// A small file system of its own for the state, in a mount namespace of its own, filled in between.
#[test]
fn a_full_disk_does_not_block_a_restore() {
    if !is_root("a file system of its own") {
        return;
    }
    // The sizes, in KiB, from nothing to more than is needed.
    let (mut refused, mut restored) = (0, 0);
    for size in (4..=96).step_by(4) {
        let fake = Fake::with_registers();
        let before = fake.everything();
        fake.desk.file("plan.json", &halves().to_string());
        std::fs::create_dir(fake.state().path()).unwrap();
        let script = format!(
            "mount -t tmpfs -o size={size}k,mode=755 small \"$STATE\" || exit 99
             \"$PROGRAM\" apply --steps plan.json --root machine 2>refused || exit $?
             cat /dev/zero >\"$STATE/fill\" 2>/dev/null
             \"$PROGRAM\" status --root machine >told || exit 98
             \"$PROGRAM\" restore --root machine || exit 97
             test ! -e \"$STATE/journal\""
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]).current_dir(fake.desk.path());
        command.env("STATE", fake.state().path()).env("PROGRAM", crate::program::PROGRAM);
        let ended = Ended::from(command.env("WAYKEEPER_STATE", fake.state().path()).output().unwrap());
        match ended.status {
            Some(0) => restored += 1,
            Some(3) => {
                let told = std::fs::read_to_string(fake.desk.path().join("refused")).unwrap();
                assert!(told.contains("No space left on device") && told.contains("WAYKEEPER_STATE"), "{told}");
                refused += 1;
            }
            _ => panic!("{size} KiB: {ended:?}"),
        }
        assert_eq!(fake.everything(), before, "{size} KiB");
    }
    assert!(refused > 2 && restored > 2, "{refused} refused, {restored} restored");
}

/// Signals at any time while it applies, and while it restores.
#[test]
fn signals_at_any_time() {
    for (round, signal) in
        [Signal::TERM, Signal::HUP, Signal::INT, Signal::KILL].into_iter().cycle().take(40).enumerate()
    {
        let fake = Fake::with_registers();
        let before = fake.everything();
        fake.desk.file("plan.json", &halves().to_string());
        for command in [&["apply", "--steps", "plan.json"][..], &["restore"]] {
            if command[0] == "restore" {
                // Whatever became of it, from here on it is applied.
                fake.run(&["restore"]).with(0);
                fake.apply(&halves(), &[]).with(0);
            }
            let mut process = fake.desk.command(command);
            process.args(["--root", "machine"]).env("WAYKEEPER_STATE", fake.state().path());
            let mut child = process.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_micros(500 * round as u64));
            // It may have ended.
            let _ = kill_process(Pid::from_child(&child), signal);
            child.wait().unwrap();
        }
        fake.run(&["restore"]).with(0);
        assert_eq!(fake.everything(), before, "{signal:?} in round {round}");
        assert_eq!(fake.run(&["status"]).with(0).stdout, "nothing is applied\n");
    }
}
