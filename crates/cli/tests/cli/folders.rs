//! Where runs are kept, and `show` and `compare`, which read them again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use crate::program::{Desk, Ended, names_in};

const QUICK: [&str; 5] =
    ["run", "agilex5-cluster-latency", "--duration=100us", "--repeats=1", "--set=mitigations=nl3a"];

fn quick<'a>(more: &[&'a str]) -> Vec<&'a str> {
    QUICK.iter().chain(more).copied().collect()
}

#[test]
fn a_run_is_kept_in_a_folder_named_after_it() {
    let desk = Desk::new();
    let printed = desk.run(&quick(&[])).with(0).stdout;
    assert_eq!(desk.names(), ["waykeeper-runs"]);
    let runs = names_in(&desk.path().join("waykeeper-runs"));
    assert!(runs.len() == 1 && runs[0].starts_with("agilex5-cluster-latency-2"), "{runs:?}");
    assert!(printed.ends_with(&format!("kept in waykeeper-runs/{}\n", runs[0])), "{printed}");
    let kept = names_in(&desk.path().join("waykeeper-runs").join(&runs[0]));
    assert_eq!(kept, ["excursions.hlog", "experiment.toml", "run.json", "samples.hlog"]);
}

#[test]
fn the_experiment_as_run_runs_again_and_gives_the_same() {
    let desk = Desk::new();
    let first = desk.run(&quick(&["--seed=7", "--json", "--out=first"])).with(0).json();
    let second = desk.run(&["run", "first/experiment.toml", "--json", "--out=second"]).with(0).json();
    for key in ["experiment", "duration_s", "repeats", "seed", "platform"] {
        assert_eq!(first[key], second[key], "{key}");
    }
    let figures = |run: &serde_json::Value| -> Vec<_> {
        run["cases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| [&c["name"], &c["samples"], &c["max_ns"]].map(Clone::clone))
            .collect()
    };
    assert_eq!(figures(&first), figures(&second));
    let compared = desk.run(&["compare", "first", "second"]).with(0).stdout;
    assert!(!compared.contains(" differ"), "{compared}");
}

#[test]
fn a_run_is_kept_whatever_bytes_its_folder_is_called_by() {
    let desk = Desk::new();
    let folder = OsStr::from_bytes(b"nonutf\xff");
    let ended = Ended::of(desk.command(&quick(&["--json", "--out"])).arg(folder)).with(0);
    assert!(names_in(&desk.path().join(folder)).contains(&"run.json".to_owned()), "{ended:?}");
    assert_eq!(ended.json()["command_line"].as_array().unwrap().last().unwrap(), "nonutf\u{fffd}");
    let ended = Ended::of(desk.command(&[]).arg(OsStr::from_bytes(b"\xff"))).with(2);
    assert!(ended.stderr.starts_with("error: "), "{ended:?}");
}

#[test]
fn a_dry_run_tells_of_ends_by_samples() {
    let desk = Desk::new();
    let ends = ["--set=simulated_samples=50"];
    let text = desk.run(&quick(&[&ends[..], &["--dry-run"]].concat())).with(0).stdout;
    // 4 cases of one repeat: 400 us, if none has 50 samples before.
    let told =
        ["1 x until 50 samples, at most 100 us", "4 cases on platform `agilex5`: at most 400 us of simulated time"];
    assert!(told.iter().all(|told| text.contains(told)), "{text}");
    let json = desk.run(&quick(&[&ends[..], &["--dry-run", "--json"]].concat())).with(0).json();
    assert_eq!(json["simulated_samples"], 50);
    let text = desk.run(&quick(&[&ends[..], &["--out=kept"]].concat())).with(0).stdout;
    assert!(text.contains("; 1 x until 50 samples, at most 100 us simulated a case, seed 1"), "{text}");
    assert_eq!(desk.record("kept")["simulated_samples"], 50);
}

#[test]
fn a_dry_run_ends_as_the_run_would() {
    let desk = Desk::new();
    desk.file(
        "vast.toml",
        "title = 'x'\ntargets = [{ workload = 'vast' }]\n[workloads.vast]\nkind = 'chase'\nsize = '1000 GiB'\nstride = '4 KiB'\n",
    );
    let text = desk.run(&["run", "vast.toml", "--dry-run"]).with(3).stdout;
    assert!(text.contains("would be refused\n  the whole run: case `idle` needs 1024000 MiB"), "{text}");
    let json = desk.run(&["run", "vast.toml", "--dry-run", "--json"]).with(3).json();
    assert_eq!(json["refused"][0]["what"], "the whole run");
}

#[test]
fn a_dry_run_leaves_nothing() {
    let desk = Desk::new();
    let text = desk.run(&quick(&["--dry-run"])).with(0).stdout;
    assert!(text.contains("4 cases on platform `agilex5`") && text.contains("1 x 100 us"), "{text}");
    let json = desk.run(&quick(&["--dry-run", "--json", "--out=there"])).with(0).json();
    assert_eq!(json["cases"].as_array().unwrap().len(), 6, "4 cases and 2 of the sentinel");
    assert!(desk.names().is_empty(), "{:?}", desk.names());
}

#[test]
fn a_dry_run_tells_what_would_be_refused() {
    let desk = Desk::new();
    let text = desk.run(&[
        "run",
        "agilex5-cluster-latency",
        "--on=host",
        "--dry-run",
        "--set=targets.0.core=auto",
        "--set=neighbours=[]",
    ]);
    let text = text.with(0).stdout;
    let refused = text.split_once("would be refused").unwrap_or_else(|| panic!("{text}")).1;
    assert!(refused.contains("mitigation nl3a") && refused.contains("this machine does not have"), "{text}");
}

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path().join("mine")).unwrap();
    desk.file("mine/notes.txt", "keep me");
    let ended = desk.run(&quick(&["--out=mine"])).with(2);
    assert!(
        ended.stdout.is_empty() && ended.stderr.contains("--out mine") && ended.stderr.contains("not empty"),
        "{ended:?}"
    );
    assert_eq!(names_in(&desk.path().join("mine")), ["notes.txt"]);
}

#[test]
fn an_empty_folder_is_used() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path().join("mine")).unwrap();
    desk.run(&quick(&["--out=mine"])).with(0);
    assert!(names_in(&desk.path().join("mine")).contains(&"run.json".to_owned()));
}

#[test]
fn show_prints_what_run_printed() {
    let desk = Desk::new();
    let printed = desk.run(&quick(&["--out=kept"])).with(0).stdout;
    let shown = desk.run(&["show", "kept"]).with(0).stdout;
    assert_eq!(printed, format!("{shown}\nkept in kept\n"));
    assert_eq!(desk.run(&["show", "kept/run.json"]).with(0).stdout, shown);
    assert_eq!(desk.run(&["show", "kept", "--json"]).with(0).json(), desk.record("kept"));
}

#[test]
fn compare_sets_two_runs_side_by_side() {
    let desk = Desk::new();
    desk.run(&quick(&["--out=a"])).with(0);
    desk.run(&quick(&["--out=b", "--set=mitigations=colouring"])).with(0);
    let text = desk.run(&["compare", "a", "b/run.json"]).with(0).stdout;
    assert!(text.starts_with("A: a: agilex5-cluster-latency on agilex5 (sim), 1 x 100 us"), "{text}");
    // The same seed, the same cases: the figures agree to the last digit.
    let idle = text.lines().find(|line| line.starts_with("idle ")).unwrap();
    assert!(idle.contains("x1.00") && !idle.contains("lower") && !idle.contains("higher"), "{idle}");
    assert!(
        text.contains("only in A: nl3a, idle; nl3a\n") && text.contains("only in B: colouring, idle; colouring\n"),
        "{text}"
    );
}

#[test]
fn compare_pairs_a_cut_sweep_with_the_whole_one_and_shows_bandwidths() {
    let desk = Desk::new();
    desk.file(
        "my.toml",
        "title = 'x'\nplatform = 'agilex5'\nsentinel = false\n\
         targets = [{ workload = 'stream_read', core = 1, measure = 'throughput' }]\n\
         neighbours = [{ workload = 'stream_read', cores = [2] }]\n\
         [[sweep]]\nname = 'size'\nkey = 'neighbours.0.with.size'\nvalues = ['8 KiB', '16 KiB']\n",
    );
    let run = |out: &str, set: &str| {
        desk.run(&["run", "my.toml", "--duration=100us", "--repeats=1", out, set]).with(0);
    };
    run("--out=a", "--set=seed=1");
    run("--out=b", "--set=sweep.size.only=16 KiB");
    let text = desk.run(&["compare", "a", "b"]).with(0).stdout;
    // Without neighbours the size does not matter, so that the whole sweep's case does not tell it.
    assert!(text.contains("idle (B: idle [size 16 KiB])"), "{text}");
    assert!(text.contains("only in A: none [size 8 KiB]\n") && !text.contains("only in B"), "{text}");
    assert!(text.contains("\nbandwidths\ncase ") && text.contains("all cores A"), "{text}");

    let told = desk.run(&["compare", "a", "b", "--json"]).with(0).json();
    assert_eq!(told["cases"].as_array().unwrap().len(), 2);
    assert_eq!(told["only_in_a"], json!(["none [size 8 KiB]"]));
    for name in ["idle", "none [size 16 KiB]"] {
        let case = told["cases"].as_array().unwrap().iter().find(|case| case["case"] == name).unwrap();
        let figure = &case["figures"]["bandwidth_bytes_per_s"];
        // The same seed and the same programs.
        assert!(figure["a"].as_f64().unwrap() > 1e8 && figure["ratio"] == 1.0, "{case}");
    }
}

/// What `compare` says of two runs above its table.
fn said_above(desk: &Desk) -> String {
    let text = desk.run(&["compare", "a", "b"]).with(0).stdout;
    // Paragraphs are wrapped.
    text.split("\n\n").next().unwrap().replace("\n  ", " ")
}

#[test]
fn compare_tells_of_the_fast_path_and_of_another_seed() {
    let desk = Desk::new();
    let run = |out: &str, more: &[&str]| {
        let out = format!("--out={out}");
        let fixed =
            ["run", "agilex5-cluster-latency", "--duration=2ms", "--repeats=1", "--set=mitigations=['nl3a']", &out];
        desk.run(&[&fixed, more].concat()).with(0);
    };
    run("a", &["--seed=1"]);
    run("b", &["--seed=7", "--fast"]);
    let told = said_above(&desk);
    for told_of in [
        "The seeds differ: 1 and 7. Memory lies elsewhere, and neighbours begin at other times.",
        "The paths of `none`, `nl3a` differ: in full, and on the fast path.",
    ] {
        assert!(told.contains(told_of), "{told}");
    }
}

#[test]
fn compare_tells_what_else_differs() {
    let desk = Desk::new();
    let of = |with: &str| -> [String; 2] {
        let size = |path: &str| format!("--set={path}.with.size={with}");
        [size("targets.0"), size("neighbours.0")]
    };
    let experiment = "title = 'x'\nplatform = 'agilex5'\nsentinel = false\ntargets = [{ workload = 'own', core = 1 }]\n\
                      neighbours = [{ workload = 'stream_read', cores = [2, 3] }]\n\
                      [workloads.own]\nkind = 'chase'\nstride = '64 B'\nsize = ";
    let run = |out: &str, own: &str, sets: &[String]| {
        desk.file("my.toml", &format!("{experiment}'{own}'\n"));
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let out = format!("--out={out}");
        desk.run(&[&["run", "my.toml", "--duration=100us", "--repeats=1", &out], &sets[..]].concat()).with(0);
    };
    run("a", "8 KiB", &[]);
    run("b", "8 KiB", &of("16 KiB"));
    let told = said_above(&desk);
    for told_of in [
        "The targets of `idle`, `none` differ: own on core 1, and own (size 16 KiB) on core 1.",
        "The neighbours of `none` differ: stream_read on cores 2 and 3, and stream_read (size 16 KiB) on cores 2 and 3.",
    ] {
        assert!(told.contains(told_of), "{told}");
    }
    let table = desk.run(&["compare", "a", "b"]).with(0).stdout;
    assert_eq!(table.matches("another target").count(), 2, "{table}");

    std::fs::remove_dir_all(desk.path().join("b")).unwrap();
    run("b", "24 KiB", &[]);
    assert_eq!(said_above(&desk).lines().nth(2), Some("The definitions of `own` differ: size 8 KiB and 24 KiB."));

    // A mitigation of one name that is another one.
    for (out, mode) in [("on", "true"), ("off", "false")] {
        let own = format!("8 KiB'\n[assignments.mode]\nset.no_allocate_mode = {mode}\n# '");
        run(out, &own, &["--set=mitigations=mode".to_owned()]);
    }
    let told = desk.run(&["compare", "on", "off"]).with(0).stdout;
    assert!(told.contains("The definitions of `mode` differ: set.no_allocate_mode true and false."), "{told}");

    // As if the platform had changed from one version to the next.
    let mut other = desk.record("a");
    let list = other["parameters"]["list"].as_array_mut().unwrap();
    assert!(list.len() > 5);
    let changed: Vec<_> = list.iter_mut().take(5).collect();
    let mut expected: Vec<String> = Vec::new();
    for parameter in changed {
        expected.push(format!(
            "{} {} and 12345",
            parameter["key"].as_str().unwrap(),
            parameter["value"].as_str().unwrap()
        ));
        parameter["value"] = json!("12345");
    }
    expected.sort();
    std::fs::write(desk.path().join("b/run.json"), other.to_string()).unwrap();
    std::fs::copy(desk.path().join("a/experiment.toml"), desk.path().join("b/experiment.toml")).unwrap();
    let told = format!("The parameters of agilex5 differ: {} and 2 more parameters.", expected[..3].join(", "));
    assert_eq!(said_above(&desk).lines().nth(2), Some(told.as_str()));
}

#[test]
fn what_is_no_run_is_bad_input() {
    let desk = Desk::new();
    desk.file("newer.json", "{ \"schema\": 99, \"of_the_future\": true }");
    desk.file("versionless.json", "{}");
    desk.file("broken.json", "{\n  \"schema\": 1,\n}");
    desk.file("half.json", "{ \"schema\": 1, \"tool\": { \"name\": \"waykeeper\", \"version\": 3 } }");
    std::fs::create_dir(desk.path().join("empty")).unwrap();
    for (path, told) in [
        (
            "newer.json",
            "newer.json: schema: found version 99, written by a newer Waykeeper; this one reads up to version 1",
        ),
        ("versionless.json", "versionless.json: schema: there is no version number"),
        ("broken.json", "broken.json:3: this is not JSON"),
        ("half.json", "half.json: tool.version: "),
        ("empty", "empty: this is not a run"),
        ("nowhere", "nowhere: this is not a run"),
    ] {
        for command in [vec!["show", path], vec!["compare", path, path]] {
            let ended = desk.run(&command).with(2);
            assert!(ended.stdout.is_empty() && ended.stderr.contains(told), "{command:?}: {}", ended.stderr);
            assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        }
    }
}
