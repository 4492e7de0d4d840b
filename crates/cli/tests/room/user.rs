//! `enter` without root, in a user namespace.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// Whether this kernel gives users namespaces of their own. Where it does not, nothing of this can be tried.
fn has_user_namespaces() -> bool {
    let made = Command::new("setpriv")
        .args(["--reuid", "1000", "--regid", "1000", "--clear-groups", "unshare", "-Urmpf", "true"])
        .output()
        .unwrap();
    if !made.status.success() {
        eprintln!("SKIPPED: this kernel forbids user namespaces: {}", String::from_utf8_lossy(&made.stderr));
    }
    made.status.success()
}

/// A room of user 1000, where /dev/fuse has these permissions. The rest of this machine does not see them.
fn room_of_a_user(fuse_mode: &str, script: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let (program, dev) = (folder.path().join("waykeeper"), folder.path().join("dev"));
    // Not `fs::copy`: what other tests start meanwhile would hold the copy open for writing, and then it cannot be run.
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_waykeeper")).arg(&program).status().unwrap().success());
    std::fs::create_dir(&dev).unwrap();
    let open = |path: &Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    [folder.path(), &program].into_iter().for_each(open);
    // Something is mounted outside as resctrl: in a user's namespace it cannot be unmounted.
    let outer = r#"mount -t tmpfs none "$2" && mknod -m "$3" "$2/fuse" c 10 229 && mkdir "$2/outside" || exit
        "$1" mount xeon-d-2752ter "$2/outside" >/dev/null 2>&1 & outside=$!
        until grep -q "outside fuse.resctrl" /proc/mounts; do sleep 0.01; done
        mount --bind "$2/fuse" /dev/fuse && cd / &&
        setpriv --reuid 1000 --regid 1000 --clear-groups "$1" enter apollo-lake-e3950 -- sh -c "$4"
        status=$?; kill $outside; exit $status"#;
    let arguments = ["-m", "--propagation", "private", "sh", "-c", outer, "sh"];
    let mut command = Command::new("unshare");
    command.args(arguments).arg(&program).arg(&dev).args([fuse_mode, script]);
    command.output().unwrap()
}

#[test]
fn a_user_who_may_open_fuse_has_a_room() {
    if !has_user_namespaces() {
        return;
    }
    let script = "id -u; r=/sys/fs/resctrl; cat $r/schemata; echo L2:1=f > $r/schemata; cat $r/schemata; \
                  mkdir $r/a; echo $$ > $r/a/tasks; grep -c . $r/a/tasks; umount $r; mount -t resctrl resctrl $r; \
                  cat $r/schemata; grep -c resctrl /proc/mounts; ls /dev/cpu | wc -l; echo x >/dev/null && echo null";
    let output = room_of_a_user("666", script);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    // The shell and grep are in the group.
    assert_eq!(text, "0\nL2:0=ff;1=ff\nL2:0=ff;1=0f\n2\nL2:0=ff;1=ff\n1\n4\nnull\n");
}

/// In a user's namespace root of the machine has no name, and owns what is on the way to the state directory.
#[test]
fn a_user_applies_a_policy_in_a_room() {
    if !has_user_namespaces() {
        return;
    }
    let script = "w=/proc/$PPID/exe; $w apply apollo-lake-half >/dev/null && $w status | tail -n 1 && $w restore >/dev/null && \
                  $w status; stat -c %a /run/waykeeper/lock; $w plan apollo-lake-half --json >/run/plan; \
                  umount /sys/fs/resctrl; $w apply --steps /run/plan | tail -n 2; \
                  $w restore >/dev/null; grep -c resctrl /proc/mounts";
    let output = room_of_a_user("666", script);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = "all 5 steps are done, and the machine reads as it was left\nnothing is applied\n600\n\
                resctrl was mounted for it\n`waykeeper verify` tests whether it is in force, `waykeeper restore` undoes it\n0\n";
    assert_eq!(text, told, "{output:?}");
}

#[test]
fn a_user_who_may_not_is_told_what_would_do() {
    if !has_user_namespaces() {
        return;
    }
    let output = room_of_a_user("600", "true");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("/dev/fuse cannot be opened for this user; `chmod 666 /dev/fuse`"), "{text}");
}
