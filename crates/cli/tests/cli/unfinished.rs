//! Runs that were killed: each complete repeat is there, the run goes on, and it becomes what it would have been.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use waykeeper_run::unfinished::{self, REPEATS_FILE};

use crate::program::{Desk, Ended, list, names_in};

/// The same run each time, up to the time that it took.
const RUN: [&str; 4] = ["run", "mine.toml", "--duration=2ms", "--repeats=12"];

const EXPERIMENT: &str = "title = 'x'\nplatform = 'agilex5'\nsentinel = false\n\
    targets = [{ workload = 'latency_loop', core = 1 }]\n\
    neighbours = [{ workload = 'way_hammer', cores = [2] }]\nmitigations = ['nl3a']\n";

fn desk() -> Desk {
    let desk = Desk::new();
    desk.file("mine.toml", EXPERIMENT);
    desk
}

/// A run that is killed once at least so many repeats are in its log. Returns the log's path.
#[track_caller]
fn killed(desk: &Desk, repeats: usize) -> PathBuf {
    let log = desk.path().join("kept").join(REPEATS_FILE);
    let lines = || fs::read(&log).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
    let mut command = desk.command(&RUN);
    let mut child = command.arg("--out=kept").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while lines() < 1 + repeats {
        assert!(begun.elapsed() < Duration::from_secs(60), "no repeat has ended");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(log.is_file(), "the run had ended before it was killed: it must be longer");
    log
}

/// A folder with a log of these bytes, and the experiment of the other one.
fn folder_with(desk: &Desk, name: &str, bytes: &[u8]) -> PathBuf {
    let folder = desk.path().join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::copy(desk.path().join("kept/experiment.toml"), folder.join("experiment.toml")).unwrap();
    fs::write(folder.join(REPEATS_FILE), bytes).unwrap();
    folder
}

/// A run's record without what differs from one run to the next.
fn comparable(desk: &Desk, run: &str) -> Value {
    let mut record = desk.record(run);
    for key in ["started", "command_line"] {
        record.as_object_mut().unwrap().remove(key).unwrap();
    }
    for case in record["cases"].as_array_mut().unwrap() {
        case.as_object_mut().unwrap().remove("wall_s").unwrap();
    }
    record
}

#[test]
fn a_killed_run_goes_on_and_is_then_what_it_would_have_been() {
    let desk = desk();
    desk.run(&[&RUN[..], &["--out=unbroken"]].concat()).with(0);
    killed(&desk, 3);
    // It is shown before it goes on.
    let shown = desk.run(&["show", "kept"]).with(0).stdout;
    assert!(shown.contains("This run is unfinished") && shown.contains("of 48 repeats are complete"), "{shown}");
    let json = desk.run(&["show", "kept", "--json"]).with(0).json();
    assert_eq!(json["cut_short"], true);

    let planned = desk.run(&["run", "--resume=kept", "--dry-run"]).with(0).stdout;
    assert!(planned.contains("of 48 repeats are complete"), "{planned}");
    desk.run(&["run", "--resume=kept"]).with(0);
    assert_eq!(comparable(&desk, "kept"), comparable(&desk, "unbroken"));
    for name in ["samples.hlog", "excursions.hlog", "experiment.toml"] {
        let [kept, unbroken] = ["kept", "unbroken"].map(|run| fs::read(desk.path().join(run).join(name)).unwrap());
        assert!(kept == unbroken, "{name} differs");
    }
    assert_eq!(names_in(&desk.path().join("kept")), names_in(&desk.path().join("unbroken")));
    // A second time there is nothing to go on with.
    let error = desk.run(&["run", "--resume=kept"]).with(2).stderr;
    assert!(error.contains("this run is complete"), "{error}");
}

#[test]
fn a_log_that_ends_anywhere_has_all_its_whole_lines() {
    let desk = desk();
    let log = fs::read(killed(&desk, 3)).unwrap();
    let ends: Vec<usize> = (1..=log.len()).filter(|end| log[end - 1] == b'\n').collect();
    let header = ends[0];
    // The header is long, and nothing in it is of interest.
    let lengths = (0..header).step_by(211).chain(header..=ends[3]);
    for length in lengths {
        let folder = folder_with(&desk, "cut", &log[..length]);
        let whole = ends.iter().filter(|end| **end <= length).count();
        match unfinished::read(&folder) {
            Ok(Some(read)) => {
                assert_eq!(read.repeats.len(), whole - 1, "at {length}");
                assert_eq!(read.end, ends[whole - 1] as u64, "at {length}");
                assert_eq!(read.torn, read.end != length as u64, "at {length}");
            }
            Err(error) => assert!(whole == 0 && error.to_string().contains("first line is not whole"), "{error}"),
            Ok(None) => panic!("there is a log"),
        }
    }
    // The torn line goes when the run goes on; the others stay.
    let folder = folder_with(&desk, "torn", &log[..ends[2] + 100]);
    desk.run(&["run", "--resume=torn"]).with(0);
    assert!(!folder.join(REPEATS_FILE).exists());
    assert_eq!(comparable(&desk, "torn")["cases"][0]["repeats"].as_array().unwrap().len(), 12);
}

#[test]
fn a_line_that_was_changed_is_named() {
    let desk = desk();
    let log = fs::read(killed(&desk, 3)).unwrap();
    let ends: Vec<usize> = (1..=log.len()).filter(|end| log[end - 1] == b'\n').collect();
    let changed = |at: usize| {
        let mut log = log.clone();
        log[at] ^= 1;
        log
    };
    for (line, at) in [(1, 40), (2, ends[0] + 2), (3, ends[1] + 300)] {
        folder_with(&desk, "changed", &changed(at));
        for command in [&["show", "changed"][..], &["tail", "changed"], &["run", "--resume=changed"]] {
            let error = desk.run(command).with(2).stderr;
            assert!(error.contains(&format!("changed/repeats.log:{line}: ")), "{error}");
            assert!(error.contains("damaged"), "{error}");
        }
    }
    assert_eq!(fs::read(desk.path().join("changed").join(REPEATS_FILE)).unwrap(), changed(ends[1] + 300));
}

#[test]
fn nothing_goes_on_under_other_conditions() {
    let desk = desk();
    let log = fs::read(killed(&desk, 2)).unwrap();
    let text = String::from_utf8(log).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    let header: Value = serde_json::from_str(&header[9..]).unwrap();
    let refused = |change: &dyn Fn(&mut Value), says: &str| {
        let mut header = header.clone();
        change(&mut header);
        let json = serde_json::to_string(&header).unwrap();
        let log = format!("{:08x} {json}\n{rest}", unfinished::checksum_of(&json));
        folder_with(&desk, "other", log.as_bytes());
        let error = desk.run(&["run", "--resume=other"]).with(2).stderr;
        assert!(error.contains(says), "expected `{says}` in {error}");
        assert_eq!(fs::read_to_string(desk.path().join("other").join(REPEATS_FILE)).unwrap(), log, "{says}");
    };
    refused(&|header| header["run"]["tool"]["version"] = "0.0.1".into(), "begun by version 0.0.1 of the program");
    refused(&|header| header["run"]["platform"] = "zynq-7000".into(), "begun on `zynq-7000`");
    refused(&|header| header["run"]["machine"]["kernel"] = "5.0".into(), "machine.kernel was \"5.0\"");
    refused(&|header| header["run"]["clock"]["name"] = "TSC".into(), "timed by TSC");
    refused(&|header| header["plan"]["cases"][1]["name"] = "another".into(), "would not be the same");
    refused(&|header| header["format"] = 1000.into(), "written by a newer Waykeeper");
    refused(&|header| header["files"]["/nowhere.toml"] = 7.into(), "`/nowhere.toml` was changed");
    refused(&|header| header["budgets"] = serde_json::json!(["max<=a"]), "repeats.log");

    folder_with(&desk, "edited", text.as_bytes());
    fs::write(desk.path().join("edited/experiment.toml"), EXPERIMENT.replace("'x'", "'y'")).unwrap();
    let error = desk.run(&["run", "--resume=edited"]).with(2).stderr;
    assert!(error.contains("edited/experiment.toml: it was changed since the run began"), "{error}");
}

#[test]
fn what_is_no_run_cannot_go_on() {
    let desk = desk();
    fs::create_dir(desk.path().join("empty")).unwrap();
    for (folder, says) in
        [("empty", "it has no log of repeats"), ("none", "this is no folder"), ("mine.toml", "no folder")]
    {
        let error = desk.run(&["run", &format!("--resume={folder}")]).with(2).stderr;
        assert!(error.contains(&format!("--resume {folder}")) && error.contains(says), "{error}");
    }
}

#[test]
fn neither_links_nor_pipes_are_read_or_written_as_a_log() {
    let desk = desk();
    let log = killed(&desk, 2);
    let elsewhere = desk.path().join("elsewhere");
    fs::rename(&log, &elsewhere).unwrap();
    let before = fs::read(&elsewhere).unwrap();
    symlink(&elsewhere, &log).unwrap();
    for command in [&["show", "kept"][..], &["run", "--resume=kept"]] {
        let error = desk.run(command).with(2).stderr;
        assert!(error.contains("kept/repeats.log"), "{error}");
    }
    assert_eq!(fs::read(&elsewhere).unwrap(), before);
    fs::remove_file(&log).unwrap();
    assert!(Command::new("mkfifo").arg(&log).status().unwrap().success());
    for command in [&["show", "kept"][..], &["run", "--resume=kept"]] {
        let error = desk.run(command).with(2).stderr;
        assert!(error.contains("this is no regular file"), "{error}");
    }
}

#[test]
fn a_pipe_in_a_runs_folder_holds_nobody_up() {
    let desk = desk();
    desk.run(&["run", "mine.toml", "--duration=1ms", "--repeats=1", "--out=kept"]).with(0);
    let pipe = |name: &str| {
        let path = desk.path().join("kept").join(name);
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    };
    pipe("excursions.hlog");
    let error = desk.run(&["tail", "kept"]).with(2).stderr;
    assert!(error.contains("kept/excursions.hlog") && error.contains("no regular file"), "{error}");
    // A record that is named itself may come through one, as from `ssh`.
    let script = format!("cat kept/run.json | {} show /dev/stdin", crate::program::PROGRAM);
    Ended::of(Command::new("sh").arg("-c").arg(script).current_dir(desk.path())).with(0);
    pipe("run.json");
    for command in [&["show", "kept"][..], &["tail", "kept"], &["compare", "kept", "kept"], &["run", "--resume=kept"]] {
        let error = desk.run(command).with(2).stderr;
        let said = error.contains("no regular file")
            || error.contains("it has no log of repeats")
            || error.contains("complete");
        assert!(error.contains("kept") && said, "{command:?}: {error}");
    }
}

#[test]
fn a_folder_takes_one_run_at_a_time() {
    let desk = desk();
    killed(&desk, 2);
    let held = unfinished::lock(&desk.path().join("kept")).unwrap();
    let error = desk.run(&["run", "--resume=kept"]).with(2).stderr;
    assert!(error.contains("another process measures into this folder"), "{error}");
    drop(held);
    desk.run(&["run", "--resume=kept"]).with(0);
}

#[test]
fn a_file_beside_the_log_is_left_alone() {
    let desk = desk();
    killed(&desk, 2);
    desk.file("kept/notes.txt", "mine");
    desk.run(&["run", "--resume=kept"]).with(0);
    assert_eq!(fs::read_to_string(desk.path().join("kept/notes.txt")).unwrap(), "mine");
    assert!(list(&desk.record("kept"), "cases").len() == 4);
}

#[test]
fn a_log_grows_again_when_the_disk_has_room_again() {
    let desk = desk();
    // Room for the header and some repeats, not for all.
    let blocks = 80;
    let script = format!(
        "trap '' XFSZ; ulimit -f {blocks}; exec {} run mine.toml --duration=2ms --repeats=60 --out=kept",
        crate::program::PROGRAM
    );
    let ended = Ended::of(Command::new("sh").arg("-c").arg(script).current_dir(desk.path()));
    assert!(ended.stderr.contains("the log of repeats cannot be written: the run goes on"), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("the log of repeats cannot be written").count(), 1, "{}", ended.stderr);
    let ended = ended.with(3);
    assert!(ended.stdout.contains("nl3a"), "the results are shown: {}", ended.stdout);
    // What was complete before the disk was full goes on from there.
    let read = unfinished::read(Path::new(&desk.path().join("kept"))).unwrap().unwrap();
    assert!(!read.repeats.is_empty() && read.repeats.len() < read.planned() && !read.torn);
    desk.run(&["run", "--resume=kept"]).with(0);
}
