//! Shards of a run on several processes, and the run that they become: byte for byte that of one process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use waykeeper_run::unfinished::{self, REPEATS_FILE};

use crate::program::{Desk, Ended, PROGRAM, eventually, list, names_in, repository, this_machine};

const EXPERIMENT: &str = "title = 'x'\nplatform = 'agilex5'\nrepeats = 5\n\
    targets = [{ workload = 'latency_loop', core = 1 }]\n\
    neighbours = [{ workload = 'way_hammer', cores = [2] }]\nmitigations = ['nl3a']\n";

/// With a verdict, budgets and explained samples: what needs all repeats of all cases.
const RUN: [&str; 6] =
    ["run", "mine.toml", "--duration=2ms", "--explain=2", "--budget=max<=3us", "--budget=p99<=200ns"];

/// Budgets are broken or not, the same for all.
const ENDED: i32 = 1;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.file("mine.toml", EXPERIMENT);
    desk
}

/// The program at a fixed time: nothing of a simulated run differs from one process to the next.
fn at_a_fixed_time(desk: &Desk, arguments: &[&str]) -> Command {
    let mut command = desk.command(arguments);
    command.env("SOURCE_DATE_EPOCH", "1000000000");
    command
}

fn run_at_a_fixed_time(desk: &Desk, arguments: &[&str]) -> Ended {
    Ended::of(&mut at_a_fixed_time(desk, arguments))
}

fn shard<'a>(number: &'a str, folder: &'a str) -> Vec<&'a str> {
    [&RUN[..], &["--shard", number, "--out", folder]].concat()
}

/// Every file of two folders is equal, byte for byte.
#[track_caller]
fn assert_equal_folders(one: &Path, other: &Path) {
    let names = names_in(one);
    assert_eq!(names, names_in(other));
    assert_eq!(names, ["excursions.hlog", "experiment.toml", "run.json", "samples.hlog"]);
    for name in names {
        let [a, b] = [one, other].map(|folder| fs::read(folder.join(&name)).unwrap());
        assert!(a == b, "{name} differs:\n{}\n{}", String::from_utf8_lossy(&a), String::from_utf8_lossy(&b));
    }
}

/// The whole run of one process at the fixed time, in `whole` on a desk of its own.
fn whole() -> Desk {
    let desk = desk();
    run_at_a_fixed_time(&desk, &[&RUN[..], &["--out", "whole"]].concat()).with(ENDED);
    desk
}

#[test]
fn shards_become_byte_for_byte_the_run_of_one_process() {
    let one_process = whole();
    let record = one_process.record("whole");
    assert_eq!((&record["started"], record["cases"][0].get("wall_s")), (&"2001-09-09T01:46:40Z".into(), None));
    assert!(list(&record, "cases").iter().any(|case| case.get("verdict").is_some()));
    for of in [1, 2, 3] {
        // On a desk of its own, so that all have the same name for the merged run.
        let desk = desk();
        let folders: Vec<String> = (1..=of).map(|number| format!("s{number}")).collect();
        for (number, folder) in (1..).zip(&folders) {
            let ended = run_at_a_fixed_time(&desk, &shard(&format!("{number}/{of}"), folder)).with(0);
            assert!(ended.stdout.contains("repeats of this shard are complete"), "{}", ended.stdout);
            assert_eq!(names_in(&desk.path().join(folder)), ["experiment.toml", REPEATS_FILE]);
        }
        // The last one first: their order does not matter.
        let mut merge = vec!["merge"];
        merge.extend(folders.iter().rev().map(String::as_str));
        merge.extend(["--out", "whole"]);
        // The program where it is merged need not know the time.
        let merged = desk.run(&merge).with(ENDED);
        assert!(merged.stdout.contains("kept in whole"), "{}", merged.stdout);
        assert_equal_folders(&one_process.path().join("whole"), &desk.path().join("whole"));
        // The shards are there still.
        assert!(folders.iter().all(|folder| desk.path().join(folder).join(REPEATS_FILE).exists()));
    }
}

#[test]
fn a_shard_that_was_killed_goes_on_and_nothing_differs() {
    let one_process = whole();
    let desk = desk();
    run_at_a_fixed_time(&desk, &shard("1/2", "s1")).with(0);
    let log = desk.path().join("s2").join(REPEATS_FILE);
    let mut command = at_a_fixed_time(&desk, &shard("2/2", "s2"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("a repeat", || {
        (fs::read(&log).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count() > 2).then_some(())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let log = unfinished::read(&desk.path().join("s2")).unwrap().unwrap();
    assert!(log.repeats.len() < log.planned(), "the shard had ended before it was killed: it must be longer");

    let refused = desk.run(&["merge", "s1", "s2", "--out", "whole"]).with(2).stderr;
    assert!(refused.contains("shard 2/2 in s2 has ") && refused.contains("`waykeeper run --resume s2`"), "{refused}");
    assert!(!desk.path().join("whole").exists());
    let shown = desk.run(&["show", "s2"]).with(0).stdout;
    assert!(shown.contains("This is shard 2/2 of a run"), "{shown}");

    desk.run(&["run", "--resume", "s2"]).with(0);
    // A batch system that starts a task again finds it done.
    let log = fs::read(desk.path().join("s2").join(REPEATS_FILE)).unwrap();
    let again = desk.run(&["run", "--resume", "s2"]).with(0).stdout;
    assert!(again.contains("repeats are complete; 0 would be measured"), "{again}");
    assert!(fs::read(desk.path().join("s2").join(REPEATS_FILE)).unwrap() == log);
    desk.run(&["merge", "s1", "s2", "--out", "whole"]).with(ENDED);
    assert_equal_folders(&one_process.path().join("whole"), &desk.path().join("whole"));
}

#[test]
fn without_a_fixed_time_a_run_began_with_its_first_shard_and_took_the_time_of_all() {
    let desk = desk();
    for number in ["1", "2"] {
        desk.run(&shard(&format!("{number}/2"), &format!("s{number}"))).with(0);
    }
    desk.run(&["merge", "s1", "s2", "--out", "whole"]).with(ENDED);
    let merged = desk.record("whole");
    let logs = ["s1", "s2"].map(|shard| unfinished::read(&desk.path().join(shard)).unwrap().unwrap());
    assert_eq!(merged["started"], logs[0].header.run.started.as_str());
    let of_first_case = logs.iter().flat_map(|log| &log.repeats).filter(|((case, _), _)| *case == 0);
    let wall_s: f64 = of_first_case.map(|(_, repeat)| repeat.simulation.unwrap().wall_s.unwrap()).sum();
    let merged_s = merged["cases"][0]["wall_s"].as_f64().unwrap();
    assert!((merged_s / wall_s - 1.0).abs() < 1e-9 && wall_s > 0.0, "{merged_s} {wall_s}");
    // Apart from these two it is the run of one process.
    run_at_a_fixed_time(&desk, &[&RUN[..], &["--out", "one"]].concat()).with(ENDED);
    let timeless = |run: &str| {
        let mut record = desk.record(run);
        record["started"] = Value::Null;
        record["command_line"][6] = Value::Null;
        record["command_line"].as_array_mut().unwrap().pop();
        for list in ["cases", "sentinels"] {
            for case in record[list].as_array_mut().unwrap() {
                case.as_object_mut().unwrap().remove("wall_s");
            }
        }
        record
    };
    assert_eq!(timeless("whole"), timeless("one"));
}

#[test]
fn shards_that_do_not_belong_together_are_refused() {
    let desk = desk();
    let fast = |number: &str, folder: &str, more: &[&str]| {
        let line = [&["run", "mine.toml", "--duration=1ms", "--shard", number, "--out", folder], more].concat();
        desk.run(&line).with(0);
    };
    fast("1/3", "a", &[]);
    fast("2/3", "b", &[]);
    fast("2/3", "seed", &["--seed=9"]);
    fast("2/3", "budget", &["--budget=max<=1us"]);
    fast("1/2", "of-two", &[]);
    desk.run(&["run", "mine.toml", "--duration=1ms", "--repeats=1", "--out=whole"]).with(0);
    let refused = |folders: &[&str], says: &[&str]| {
        let line = [&["merge"], folders, &["--out", "merged"]].concat();
        let error = desk.run(&line).with(2).stderr;
        for says in says {
            assert!(error.contains(says), "{folders:?}: expected `{says}` in {error}");
        }
        assert!(!desk.path().join("merged").exists());
    };
    refused(&["a", "b"], &["1 of 3 shards is missing: 3/3"]);
    refused(&["b"], &["2 of 3 shards are missing: 1/3, 3/3"]);
    refused(&["a", "b", "a"], &["this is shard 1/3, and so is a; expected each shard once"]);
    refused(
        &["a", "seed"],
        &["shard 2/3 in seed does not belong to shard 1/3 in a", "their experiments differ", "`seed = "],
    );
    refused(&["a", "budget"], &["does not belong", "`budgets` is [] in one and [\"max<=1us\"] in the other"]);
    refused(&["a", "of-two"], &["one run has 2 shards, and the other 3"]);
    refused(&["a", "whole"], &["whole: this is a whole run, and no shard"]);
    refused(&["a", "nowhere"], &["nowhere: this is no folder"]);

    // What another program or platform measured.
    let other = |change: &dyn Fn(&mut Value), says: &str| {
        let folder = changed(&desk, "b", change);
        refused(&["a", &folder], &["does not belong to shard 1/3 in a", says]);
    };
    other(&|header| header["run"]["tool"]["version"] = "0.0.1".into(), "`run.tool.version` is");
    other(&|header| header["run"]["platform"] = "zynq-7000".into(), "`run.platform` is");
    other(&|header| header["run"]["parameters"]["list"][0]["value"] = "7".into(), "`run.parameters.list` is");
    other(&|header| header["plan"]["cases"][1]["name"] = "another".into(), "`plan.cases` is");
    let thresholds = changed(&desk, "b", &|header| header["thresholds_ns"][0] = 1.0.into());
    fast("3/3", "c", &[]);
    refused(&["a", &thresholds, "c"], &["decided differently what is an excursion"]);
    // A repeat of another shard, and a shard that there is not.
    let foreign = changed(&desk, "b", &|header| header["shard"]["number"] = 3.into());
    refused(&[&foreign], &["repeats.log:2: found repeat ", "which is not of shard 3/3"]);
    let none = changed(&desk, "b", &|header| header["shard"]["number"] = 0.into());
    refused(&[&none], &["repeats.log:1: found shard 0/3"]);
    desk.run(&["merge", "a", "b", "c", "--out", "whole"]).with(2);
    desk.run(&["merge", "a", "b", "c", "--out", "merged"]).with(0);
}

/// A copy of a shard with another header; its name.
fn changed(desk: &Desk, shard: &str, change: &dyn Fn(&mut Value)) -> String {
    let (from, to): (PathBuf, PathBuf) = (desk.path().join(shard), desk.path().join("changed"));
    fs::create_dir_all(&to).unwrap();
    fs::copy(from.join("experiment.toml"), to.join("experiment.toml")).unwrap();
    let log = fs::read_to_string(from.join(REPEATS_FILE)).unwrap();
    let (header, rest) = log.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(&header[9..]).unwrap();
    change(&mut header);
    let json = serde_json::to_string(&header).unwrap();
    fs::write(to.join(REPEATS_FILE), format!("{:08x} {json}\n{rest}", unfinished::checksum_of(&json))).unwrap();
    "changed".into()
}

#[test]
fn a_shard_has_something_to_measure() {
    let desk = desk();
    let refused = |arguments: &[&str], says: &str| {
        let error = desk.run(&[&["run", "mine.toml", "--duration=1ms"], arguments].concat()).with(2).stderr;
        assert!(error.contains(says), "expected `{says}` in {error}");
    };
    for bad in ["0/2", "3/2", "1", "x/y"] {
        refused(&["--shard", bad], "expected NUMBER/SHARDS, such as 1/4");
    }
    refused(&["--repeats=1", "--set=sentinel=false", "--shard=1/5"], "the run has 4 repeats of all cases");
    let error = Ended::of(desk.command(&["run", "mine.toml"]).env("SOURCE_DATE_EPOCH", "today")).with(2).stderr;
    assert!(error.contains("SOURCE_DATE_EPOCH=today: this is no time"), "{error}");
    let planned = desk.run(&["run", "mine.toml", "--repeats=3", "--shard=1/5", "--dry-run"]).with(0).stdout;
    assert!(planned.contains("Shard 1/5 measures "), "{planned}");
    assert_eq!(desk.names(), ["mine.toml"]);
}

#[test]
fn the_job_array_of_the_documentation_makes_the_run() {
    let page = fs::read_to_string(repository().join("docs/shards.md")).unwrap();
    let (_, script) = page.split_once("```sh\n#!/bin/sh\n").unwrap();
    let (script, _) = script.split_once("```").unwrap();
    let one_process = whole();
    let desk = desk();
    // The experiment and the options of the test, with the name of the program that the record has.
    let script = script
        .replace("sweep.toml", &format!("'{}'", RUN[1..].join("' '")))
        .replace("waykeeper run", &format!("{PROGRAM} run"));
    desk.file("array.sh", &script);
    let task = |number: &str| {
        let mut command = Command::new("sh");
        command.arg("array.sh").current_dir(desk.path()).env("SOURCE_DATE_EPOCH", "1000000000");
        command.env("SLURM_ARRAY_TASK_ID", number).env("SLURM_ARRAY_TASK_COUNT", "3");
        Ended::of(&mut command).with(0)
    };
    // The second one is started again.
    for number in ["3", "1", "2", "2"] {
        task(number);
    }
    let merge = format!("{PROGRAM} merge shards/* --out whole");
    Ended::of(Command::new("sh").args(["-c", &merge]).current_dir(desk.path())).with(ENDED);
    let [merged, whole] = [&desk, &one_process].map(|desk| {
        let mut record = desk.record("whole");
        // The script has its options in another place.
        record["command_line"].as_array_mut().unwrap().sort_by_key(Value::to_string);
        record
    });
    assert_eq!(merged, whole);
}

#[test]
fn shards_of_a_machine_are_merged_with_those_of_the_same_machine_only() {
    let _alone = this_machine();
    let desk = Desk::new();
    let experiment = "title = 'x'\nsentinel = false\nduration = '50 ms'\nrepeats = 2\n\
        targets = [{ workload = 'latency_loop', core = 0 }, { workload = 'latency_loop', core = 1 }]\n";
    desk.file("here.toml", experiment);
    for number in ["1", "2"] {
        let (shard, folder) = (format!("{number}/2"), format!("s{number}"));
        desk.run(&["run", "here.toml", "--shard", &shard, "--out", &folder]).with(0);
    }
    let refused = desk.run(&["run", "here.toml", "--shard", "1/3"]).with(2).stderr;
    assert!(refused.contains("there are 2 of such groups"), "{refused}");
    let refused = |folder: &str, says: &str| {
        let error = desk.run(&["merge", "s1", folder, "--out", "whole"]).with(2).stderr;
        assert!(error.contains(says), "expected `{says}` in {error}");
    };
    let other = changed(&desk, "s2", &|header| header["machine"] = "0123".into());
    refused(&other, "they were measured on different machines");
    let error = desk.run(&["run", "--resume", &other]).with(2).stderr;
    assert!(error.contains("the shard was begun on another machine"), "{error}");
    let unknown = changed(&desk, "s2", &|header| {
        header.as_object_mut().unwrap().remove("machine").unwrap();
    });
    refused(&unknown, "it is unknown on which machine one of them was measured");
    let other_kernel = changed(&desk, "s2", &|header| header["run"]["machine"]["kernel"] = "5.0".into());
    refused(&other_kernel, "`run.machine.kernel` is ");

    desk.run(&["merge", "s1", "s2", "--out", "whole"]).with(0);
    let whole = desk.record("whole");
    let repeats = |case: &Value| list(case, "repeats").len();
    assert_eq!(list(&whole, "cases").iter().map(repeats).collect::<Vec<_>>(), [2, 2]);
    let notes = list(&whole, "notes").iter().filter_map(Value::as_str);
    let shards = notes.filter(|note| note.starts_with("Shard ") && note.contains(" was measured from "));
    assert_eq!(shards.count(), 2, "{whole}");
}
