//! Kernels without the newer system calls: a filter answers these with ENOSYS, as such a kernel does.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use rustix::io::Errno;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

use crate::program::{Desk, Ended, PROGRAM, this_machine};

/// Since Linux 5.1 new calls have the same number, from this one up, on all architectures.
const FIRST_OF_5_1: i64 = 424;

/// Beyond what any kernel has by now.
const LAST: i64 = 600;

/// Runs a command without the calls that are newer than Linux 5.0, and without two older ones that libraries ask for first.
fn on_linux_5_0(mut command: Command) -> Output {
    let newer = (FIRST_OF_5_1..=LAST).chain([libc::SYS_statx, libc::SYS_rseq]);
    let rules: BTreeMap<_, _> = newer.map(|call| (call, Vec::new())).collect();
    let missing = SeccompAction::Errno(Errno::NOSYS.raw_os_error() as u32);
    let architecture = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, missing, architecture).unwrap();
    let filter = BpfProgram::try_from(filter).unwrap();
    // Filters are a thread's own, and its children's.
    let thread = std::thread::spawn(move || {
        apply_filter(&filter).unwrap();
        command.output().unwrap()
    });
    thread.join().unwrap()
}

fn run(desk: &Desk, arguments: &[&str]) -> Ended {
    Ended::from(on_linux_5_0(desk.command(arguments)))
}

#[test]
fn commands_do_without_newer_system_calls() {
    let _alone = this_machine();
    let desk = Desk::new();
    let here = ["run", "this-machine", "--duration=50ms", "--repeats=2", "--out=here"];
    let program =
        ["run", "this-machine", "--duration=50ms", "--repeats=2", "--out=own", "--passes=process", "--", "true"];
    let simulated = ["run", "agilex5-cluster-latency", "--duration=60us", "--repeats=2", "--out=simulated"];
    for command in [
        &here[..],
        &program,
        &simulated,
        &["show", "here"],
        &["export", "here", "--format=csv"],
        &["report", "here", "simulated", "--out=page.html"],
        &["bundle", "here", "--out=here.tar.zst"],
        &["machine", "--record=machine.tar.zst"],
        &["plan", "tcc-halves", "--for=i7-1185gre"],
        &["status"],
    ] {
        run(&desk, command).with(0);
    }
}

#[test]
fn a_simulation_has_the_same_bits_there() {
    let desk = Desk::new();
    let simulated = |folder| ["run", "agilex5-cluster-latency", "--duration=60us", "--repeats=1", "--out", folder];
    run(&desk, &simulated("old")).with(0);
    desk.run(&simulated("new")).with(0);
    let log = |folder: &str| std::fs::read(desk.path().join(folder).join("samples.hlog")).unwrap();
    assert_eq!(log("old"), log("new"));
}

#[test]
fn a_room_says_what_it_needs() {
    let mut command = Command::new(PROGRAM);
    command.args(["enter", "xeon-d-2752ter", "--", "true"]);
    let ended = Ended::from(on_linux_5_0(command)).with(3);
    assert!(ended.stderr.contains("Linux 5.2"), "{}", ended.stderr);
}
