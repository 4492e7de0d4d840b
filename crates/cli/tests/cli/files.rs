//! Files that an experiment names: from the folder of its file, from the working directory where an option names them, and again
//! from the copy that a run keeps.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::program::{Desk, Ended, case_names, list};

/// The folder of the experiment, below the one that runs start in.
const FOLDER: &str = "lab";

/// An experiment whose platform, policy and recordings lie beside it.
const EXPERIMENT: &str = "title = 'x'\nplatform = 'own.toml'\nsimulated_duration = '1 ms'\nrepeats = 1\nsentinel = false\n\
    mitigations = ['mine.toml']\ntargets = [{ workload = 'recorded', core = 1, with.file = 'a.din' }]\n\
    [workloads.recorded]\nkind = 'trace'\nfile = 'a.din'\n\
    [[sweep]]\nname = 'input'\nkey = 'targets.0.with.file'\nvalues = ['a.din', 'b.din']\n";

const FILES: [&str; 4] = ["own.toml", "mine.toml", "a.din", "b.din"];

/// Loads so many bytes apart, in Dinero's format; enough of them that a pass takes its time.
fn recording(stride: usize) -> String {
    (0..4096).map(|at| format!("0 {:x}\n", 0x10_0000 + stride * at)).collect()
}

/// The experiment, with its files in a folder each.
fn desk(folder_of: impl Fn(&str) -> &'static str) -> Desk {
    let desk = Desk::new();
    std::fs::create_dir(desk.path().join(FOLDER)).unwrap();
    std::fs::create_dir(desk.path().join("elsewhere")).unwrap();
    let platform = waykeeper_platform::find_bundled("agilex5").unwrap().text;
    let policy = "title = 'mine'\n[[classes]]\nname = 'rt'\ncores = '1'\nl3 = 'half'\n";
    let texts = [platform.to_owned(), policy.to_owned(), recording(64), recording(128)];
    for (name, text) in FILES.into_iter().zip(texts) {
        desk.file(&format!("{}/{name}", folder_of(name)), &text);
    }
    desk.file(&format!("{FOLDER}/x.toml"), EXPERIMENT);
    desk
}

fn beside() -> Desk {
    desk(|_| FOLDER)
}

/// Runs in another folder than the desk.
fn run_in(folder: &Path, arguments: &[&str]) -> Ended {
    let mut command = std::process::Command::new(crate::program::PROGRAM);
    Ended::from(command.args(arguments).current_dir(folder).output().unwrap())
}

fn figures(run: &Value) -> Vec<[Value; 3]> {
    list(run, "cases").iter().map(|case| ["name", "samples", "max_ns"].map(|key| case[key].clone())).collect()
}

#[test]
fn files_lie_beside_the_experiment_that_names_them() {
    let desk = beside();
    let run = desk.run(&["run", "lab/x.toml", "--json", "--out=first"]).with(0).json();
    // They are called as the experiment calls them.
    assert_eq!(
        case_names(&run),
        ["idle [input a.din]", "mine.toml, idle [input a.din]", "idle [input b.din]", "mine.toml, idle [input b.din]"]
    );
    assert!(run.get("refused").is_none(), "{run}");
    // From the folder itself it is the same run.
    let inside = run_in(&desk.path().join(FOLDER), &["run", "x.toml", "--json", "--out=../inside"]).with(0).json();
    assert_eq!(figures(&inside), figures(&run));
}

#[test]
fn the_copy_of_a_run_finds_them_from_anywhere() {
    let desk = beside();
    let first = desk.run(&["run", "lab/x.toml", "--json", "--out=first"]).with(0).json();
    let elsewhere = desk.path().join("elsewhere");
    let second = run_in(&elsewhere, &["run", "../first/experiment.toml", "--json", "--out=second"]).with(0).json();
    assert_eq!(figures(&second), figures(&first));
    // And the copy of the copy.
    let third = desk.run(&["run", "elsewhere/second/experiment.toml", "--json", "--out=third"]).with(0).json();
    assert_eq!(figures(&third), figures(&first));
    let compared = desk.run(&["compare", "first", "third"]).with(0).stdout;
    assert!(compared.contains("mine.toml, idle [input b.din]"), "{compared}");
}

#[test]
fn options_name_files_from_the_working_directory() {
    let desk = beside();
    desk.file("other.toml", "title = 'other'\n[[classes]]\nname = 'rt'\ncores = '1'\nl3 = '1/4'\n");
    desk.file("c.din", &recording(256));
    let options = ["--set=mitigations=other.toml", "--set=sweep.input.values=c.din,", "--set=platform=lab/own.toml"];
    let run = [&["run", "lab/x.toml", "--json", "--out=first"], &options[..]].concat();
    let first = desk.run(&run).with(0).json();
    assert_eq!(case_names(&first), ["idle [input c.din]", "other.toml, idle [input c.din]"]);
    assert!(first.get("refused").is_none(), "{first}");
    let elsewhere = desk.path().join("elsewhere");
    let second = run_in(&elsewhere, &["run", "../first/experiment.toml", "--json", "--out=second"]).with(0).json();
    assert_eq!(figures(&second), figures(&first));
    // Only the folder of the experiment has this one.
    let told = desk.run(&["run", "lab/x.toml", "--set=platform=own.toml"]).with(2).stderr;
    assert!(told.starts_with("error: --set platform=own.toml: platform: found `own.toml`, which is neither"), "{told}");
}

#[test]
fn a_file_that_only_the_working_directory_has_is_told() {
    for (missing, at) in [
        ("own.toml", "lab/x.toml:2: platform"),
        ("mine.toml", "lab/x.toml:6: mitigations.0"),
        ("b.din", "lab/x.toml:14: sweep.0.values.1: for `targets.0.with.file`"),
    ] {
        let desk = desk(|name| if name == missing { "." } else { FOLDER });
        let told = desk.run(&["run", "lab/x.toml", "--dry-run"]).with(2).stderr;
        assert!(told.starts_with(&format!("error: {at}: ")), "{told}");
        let looked =
            format!("found `{missing}`, and there is no `lab/{missing}`; there is one in the working directory");
        assert!(told.contains(&looked), "{told}");
        // Nowhere at all: the path that was tried.
        std::fs::remove_file(desk.path().join(missing)).unwrap();
        let ended = desk.run(&["run", "lab/x.toml", "--dry-run"]);
        let told = ended.stderr + &ended.stdout;
        assert!(told.contains(&format!("lab/{missing}")) && !told.contains("working directory"), "{told}");
    }
}

#[test]
fn one_name_for_two_files_is_refused() {
    let desk = beside();
    desk.file("mine.toml", "title = 'mine too'\n[[classes]]\nname = 'rt'\ncores = '1'\nl3 = '1/4'\n");
    let told = desk.run(&["run", "lab/x.toml", "--dry-run", "--set=mitigations.1=fifo+mine.toml"]).with(2).stderr;
    assert!(told.contains("found `mine.toml`, which is `mine.toml` here and `lab/mine.toml` elsewhere"), "{told}");
    assert!(told.starts_with("error: --set mitigations.1=fifo+mine.toml: "), "{told}");
}

/// A program that is named by a path lies there too; one that is named alone is looked for in PATH, as ever.
#[test]
fn programs_are_found_like_other_files() {
    let desk = beside();
    let experiment = "title = 'x'\ntargets = [{ workload = 'latency_loop' }]\n\
         neighbours = [{ workload = 'noise' }, { workload = 'still', group = 'b' }]\n\
         [workloads.noise]\nkind = 'command'\nargv = ['./noise', '1']\n\
         [workloads.still]\nkind = 'command'\nargv = ['sleep', '1']\n";
    desk.file("lab/beside.toml", experiment);
    let refused = desk.run(&["run", "lab/beside.toml", "--dry-run"]).with(2).stdout;
    assert!(refused.contains("the program `lab/./noise` is not on this machine"), "{refused}");
    desk.file("lab/noise", "#!/bin/sh\nsleep 9\n");
    let refused = desk.run(&["run", "lab/beside.toml", "--dry-run"]).with(2).stdout;
    assert!(refused.contains("`lab/./noise` cannot be executed"), "{refused}");
    desk.make_executable("lab/noise");
    let planned = desk.run(&["run", "lab/beside.toml", "--dry-run"]).with(0).stdout;
    assert!(!planned.contains("would be refused"), "{planned}");
}

/// Whoever opens a named pipe waits for somebody who writes.
#[test]
fn a_named_pipe_holds_nobody_up() {
    let desk = Desk::new();
    desk.file("mine.toml", "title = 'x'\ntargets = [{ workload = 'latency_loop' }]\n");
    Ended::of(Command::new("mkfifo").arg("pipe").current_dir(desk.path())).with(0);
    for command in [
        &["run", "pipe"][..],
        &["run", "mine.toml", "--set=platform=pipe"],
        &["plan", "pipe"],
        &["show", "pipe"],
        &["enter", "pipe", "--", "true"],
        &["import", "pipe"],
    ] {
        let mut limited = Command::new("timeout");
        limited.args(["-k5", "60", crate::program::PROGRAM]).args(command).current_dir(desk.path());
        let error = Ended::of(&mut limited).with(2).stderr;
        assert!(error.contains("it is a named pipe; expected a regular file"), "{command:?}: {error}");
    }
    Ended::of(Command::new("mkfifo").arg("pipe.tar").current_dir(desk.path())).with(0);
    for command in [&["trace", "--info", "pipe"][..], &["doctor", "--root", "pipe.tar"]] {
        let mut limited = Command::new("timeout");
        limited.args(["-k5", "60", crate::program::PROGRAM]).args(command).current_dir(desk.path());
        let ended = Ended::of(&mut limited);
        assert!(ended.stderr.contains("regular file") && ended.status != Some(124), "{command:?}: {ended:?}");
    }
    // What a shell opens is read.
    let script = format!(
        "{0} run <(cat mine.toml) --dry-run && cat mine.toml | {0} run /dev/stdin --dry-run",
        crate::program::PROGRAM
    );
    Ended::of(Command::new("bash").arg("-c").arg(script).current_dir(desk.path())).with(0);
}
