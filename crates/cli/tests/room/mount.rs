//! `mount`.

use std::path::Path;
use std::process::{Child, Stdio};

use crate::{wait_until, waykeeper};

fn is_mounted(at: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    mounts.lines().any(|line| line.split(' ').nth(1) == at.to_str())
}

fn mounted(at: &Path) -> Child {
    let child = waykeeper(&["mount", "apollo-lake-e3950", at.to_str().unwrap(), "--kernel", "6.1"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("it is mounted", || at.join("schemata").exists());
    child
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn control_c_unmounts() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = mounted(folder.path());
    assert_eq!(std::fs::read_to_string(folder.path().join("schemata")).unwrap(), "L2:0=ff;1=ff\n");
    signal(&child, rustix::process::Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!is_mounted(folder.path()));
}

#[test]
fn being_killed_unmounts() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = mounted(folder.path());
    signal(&child, rustix::process::Signal::KILL);
    child.wait().unwrap();
    wait_until("it is unmounted", || !is_mounted(folder.path()));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn being_unmounted_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = mounted(folder.path());
    rustix::mount::unmount(folder.path(), rustix::mount::UnmountFlags::empty()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_room_shows_its_own_resctrl_only() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = mounted(folder.path());
    let output = waykeeper(&["enter", "xeon-d-2752ter", "--", "grep", "resctrl", "/proc/mounts"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text, "resctrl /sys/fs/resctrl resctrl rw,relatime 0 0\n");
    // What is mounted outside stays there.
    assert!(folder.path().join("schemata").exists());
    signal(&child, rustix::process::Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let output = waykeeper(&["mount", "apollo-lake-e3950", "/no/such/folder"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("/no/such/folder"), "{text}");
}

#[test]
fn a_folder_with_something_in_it_is_not_mounted_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    let refused = waykeeper(&["mount", "apollo-lake-e3950", folder.path().to_str().unwrap()]).output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is not empty"), "{refused:?}");
    assert!(!is_mounted(folder.path()));
}

/// Something that somebody else mounts: a tmpfs with a file in it.
fn mount_other(at: &Path) {
    rustix::mount::mount("other", at, "tmpfs", rustix::mount::MountFlags::empty(), None::<&std::ffi::CStr>).unwrap();
    std::fs::write(at.join("theirs"), "").unwrap();
}

#[track_caller]
fn is_theirs(at: &Path) {
    assert!(at.join("theirs").exists(), "it was unmounted");
}

fn unmount(at: &Path) {
    rustix::mount::unmount(at, rustix::mount::UnmountFlags::DETACH).unwrap();
}

#[test]
fn what_somebody_mounts_over_it_stays() {
    for how in [rustix::process::Signal::INT, rustix::process::Signal::KILL] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = mounted(folder.path());
        mount_other(folder.path());
        signal(&child, how);
        child.wait().unwrap();
        // The other process has a moment to do it wrong.
        std::thread::sleep(std::time::Duration::from_millis(200));
        is_theirs(folder.path());
        while is_mounted(folder.path()) {
            unmount(folder.path());
        }
    }
}

#[test]
fn what_stands_where_it_was_stays_and_it_is_unmounted_where_it_is() {
    for how in [rustix::process::Signal::INT, rustix::process::Signal::KILL] {
        let folder = tempfile::tempdir().unwrap();
        let (first, then) = (folder.path().join("first"), folder.path().join("then"));
        std::fs::create_dir_all(first.join("at")).unwrap();
        let mut child = mounted(&first.join("at"));
        std::fs::rename(&first, &then).unwrap();
        std::fs::create_dir_all(first.join("at")).unwrap();
        mount_other(&first.join("at"));
        assert!(is_mounted(&then.join("at")));
        signal(&child, how);
        child.wait().unwrap();
        wait_until("it is unmounted", || !is_mounted(&then.join("at")));
        is_theirs(&first.join("at"));
        unmount(&first.join("at"));
    }
}

#[test]
fn what_replaced_it_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = mounted(folder.path());
    // Stopped, it does not see what comes.
    signal(&child, rustix::process::Signal::STOP);
    unmount(folder.path());
    mount_other(folder.path());
    signal(&child, rustix::process::Signal::INT);
    signal(&child, rustix::process::Signal::CONT);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    is_theirs(folder.path());
    unmount(folder.path());
}

#[test]
fn the_socket_is_its_owners_and_what_is_put_in_its_place_stays() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (at, socket) = (folder.path().join("at"), folder.path().join("socket"));
    std::fs::create_dir(&at).unwrap();
    let arguments = ["mount", "apollo-lake-e3950", at.to_str().unwrap(), "--socket", socket.to_str().unwrap()];
    let mut child = waykeeper(&arguments).stderr(Stdio::null()).spawn().unwrap();
    wait_until("it listens", || socket.exists());
    assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::remove_file(&socket).unwrap();
    std::fs::write(&socket, "theirs").unwrap();
    signal(&child, rustix::process::Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "theirs");
}
