//! What a system or a file may set against the program: few threads, deep keys.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::program::{Desk, Ended};

/// A user with no other processes, whose limit counts for nobody else.
const NOBODY_ELSE: u32 = 61_234;

/// Runs the program as a user who may have so many processes and threads; `None` where this user cannot arrange that.
fn with_processes(desk: &Desk, most: u32, arguments: &[&str]) -> Option<Ended> {
    use std::os::unix::fs::PermissionsExt;

    if !rustix::process::geteuid().is_root() {
        return None;
    }
    std::fs::set_permissions(desk.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let program = desk.copy_of_program();
    let mut command = Command::new("bash");
    command.arg("-c").arg(format!("ulimit -u {most}; exec \"$@\"")).arg("bash").arg(program).args(arguments);
    Some(Ended::of(command.current_dir(desk.path()).uid(NOBODY_ELSE).gid(NOBODY_ELSE)))
}

#[test]
fn a_thread_that_the_system_refuses_is_an_error_or_done_without() {
    let quick = ["run", "agilex5-cluster-latency", "--duration=100us", "--repeats=1", "--set=mitigations=nl3a"];
    for (most, arguments, status) in [
        // The cases are simulated one after the other, without a bar that moves.
        (1, &quick[..], 0),
        (1, &["load", "way_hammer@0"], 3),
        (1, &["machine", "--measure"], 3),
        (1, &["run", "this-machine", "--duration=10ms", "--repeats=1"], 3),
        (3, &["run", "this-machine", "--duration=10ms", "--repeats=1"], 3),
    ] {
        let Some(ended) = with_processes(&Desk::new(), most, arguments) else { return };
        let ended = ended.with(status);
        assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        assert!(status == 0 || ended.stderr.starts_with("error: "), "{ended:?}");
    }
}

#[test]
fn keys_of_any_depth_are_read_or_refused() {
    let desk = Desk::new();
    for parts in [33, 1000, 20_000] {
        let key = vec!["a"; parts].join(".");
        let set = format!("--set=workloads.{key}=1");
        let ended = desk.run(&["run", "agilex5-cluster-latency", "--dry-run", &set]).with(2);
        let expected = format!("the key has {} parts, and no key has more than 32", parts + 1);
        assert!(ended.stderr.contains(&expected), "{}", ended.stderr);
        for text in [format!("title = 'x'\n{key} = 1\n"), format!("title = 'x'\n[{key}]\n")] {
            desk.file("deep.toml", &text);
            for command in [&["run", "deep.toml", "--dry-run"][..], &["plan", "deep.toml", "--for", "agilex5"]] {
                let ended = desk.run(command).with(2);
                assert!(ended.stderr.starts_with("error: deep.toml"), "{}", ended.stderr);
            }
        }
    }
}
