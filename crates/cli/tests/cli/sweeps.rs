//! Sweeps from the file to the record and the tables.

use serde_json::{Value, json};

use crate::program::{Desk, case, case_names, list};

const SWEPT: &str = "
title = 'a stream beside streams of several sizes'
platform = 'agilex5'
duration = '200 us'
repeats = 1
sentinel = false
mitigations = ['cp', 'halves']

[assignments.halves]
set.way_groups = { target = [0, 1], others = [2, 3] }

[[targets]]
workload = 'stream_read'
with.size = '256 KiB'
core = 1

[[neighbours]]
workload = 'stream_modify'
cores = [2, 3]

[[sweep]]
name = 'size'
key = 'neighbours.0.with.size'
values = ['8 KiB', '8 MiB']

[table]
metric = 'slowdown'

[published]
source = 'nobody'
platform = 'agilex5'

[[references]]
mitigation = 'none'
point = { size = '8 MiB' }
slowdown = 2.0

[[expectations]]
says = 'bytes are read'
order = ['none > 0', 'halves > 0']
";

fn run(more: &[&str]) -> Value {
    let desk = Desk::new();
    desk.file("my.toml", SWEPT);
    desk.run(&[&["run", "my.toml", "--json"], more].concat()).with(0).json()
}

#[test]
fn each_point_has_its_cases_and_the_solo_ones_are_shared() {
    let run = run(&[]);
    assert_eq!(
        case_names(&run),
        [
            "idle",
            "none [size 8 KiB]",
            "cp, idle",
            "cp [size 8 KiB]",
            "halves, idle",
            "halves [size 8 KiB]",
            "none [size 8 MiB]",
            "cp [size 8 MiB]",
            "halves [size 8 MiB]"
        ]
    );
    assert_eq!(run["sweeps"], json!([{ "name": "size", "points": ["8 KiB", "8 MiB"] }]));
    assert_eq!(run["table"], json!({ "metric": "slowdown" }));
    let large = case(&run, "none [size 8 MiB]");
    assert_eq!(large["point"], json!({ "size": "8 MiB" }));
    assert_eq!(large["target_with"], json!({ "size": "256 KiB" }));
    assert_eq!(large["neighbours"][0]["with"], json!({ "size": "8 MiB" }));
    assert!(case(&run, "idle").get("point").is_none());
    // Slowdown is over the shared solo case of the same mitigation.
    let mean = |name: &str| case(&run, name)["mean_ns"].as_f64().unwrap();
    for mitigation in ["cp", "halves"] {
        let loaded = case(&run, &format!("{mitigation} [size 8 MiB]"));
        let expected = loaded["mean_ns"].as_f64().unwrap() / mean(&format!("{mitigation}, idle"));
        assert_eq!(loaded["slowdown"].as_f64(), Some(expected));
    }
    // 4 KiB a sample: bytes over the mean.
    let bandwidth = large["bandwidth_bytes_per_s"].as_f64().unwrap();
    assert!((bandwidth * large["mean_ns"].as_f64().unwrap() / 1e9 / 4096.0 - 1.0).abs() < 1e-9);
    let met: Vec<_> = list(&run, "expectations").iter().map(|e| e["kind"].as_str().unwrap()).collect();
    assert_eq!(met, ["met", "met"]);
}

#[test]
fn a_reference_belongs_to_its_point_as_the_file_has_it() {
    let referenced = |more: &[&str]| -> Vec<String> {
        let run = run(more);
        let cases = list(&run, "cases").iter().filter(|case| case.get("reference").is_some());
        cases.map(|case| case["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(referenced(&[]), ["none [size 8 MiB]"]);
    assert_eq!(referenced(&["--set=sweep.size.only=8 MiB"]), ["none [size 8 MiB]"]);
    assert_eq!(referenced(&["--set=sweep.size.only=8 KiB"]), [""; 0]);
    assert_eq!(referenced(&["--set=targets.0.with.size=128 KiB"]), [""; 0]);
    assert_eq!(referenced(&["--set=neighbours.0.workload=stream_read"]), [""; 0]);
    assert_eq!(referenced(&["--set=targets.0.core=0"]), [""; 0]);
    // Another mitigation's settings change nothing about `none`.
    assert_eq!(referenced(&["--set=assignments.halves.set.way_groups.target=[0]"]), ["none [size 8 MiB]"]);
}

#[test]
fn the_throughput_of_all_cores_is_their_sum() {
    let run = run(&["--set=targets.0.measure=throughput", "--set=mitigations=[]", "--set=expectations=[]"]);
    let solo = case(&run, "idle");
    assert_eq!(solo["samples"], 0);
    assert!(solo.get("mean_ns").is_none() && solo.get("max_ns").is_none(), "{solo}");
    assert_eq!(solo["total_bandwidth_bytes_per_s"], solo["bandwidth_bytes_per_s"]);
    let beside = case(&run, "none [size 8 MiB]");
    let of = |value: &Value, key: &str| value[key].as_f64().unwrap();
    let neighbours = of(&beside["neighbours"][0], "bytes_per_s");
    let total = of(beside, "total_bandwidth_bytes_per_s");
    assert!((total - of(beside, "bandwidth_bytes_per_s") - neighbours).abs() < 1.0, "{beside}");
    let slowdown = of(solo, "bandwidth_bytes_per_s") / of(beside, "bandwidth_bytes_per_s");
    assert!((of(beside, "slowdown") - slowdown).abs() < 1e-9, "{beside}");
}

#[test]
fn the_tables_show_the_grid_and_every_case_on_request() {
    let desk = Desk::new();
    desk.file("my.toml", SWEPT);
    let printed = desk.run(&["run", "my.toml", "--out=kept"]).with(0).stdout;
    let grid = printed.lines().skip_while(|line| !line.starts_with("slowdown")).nth(1).unwrap();
    assert_eq!(grid.split_whitespace().collect::<Vec<_>>(), ["size", "none", "cp", "halves"], "{printed}");
    assert!(!printed.contains("p50"), "{printed}");
    let cases = desk.run(&["show", "kept", "--cases"]).with(0).stdout;
    assert!(cases.contains("p50") && cases.contains("halves [size 8 KiB]"), "{cases}");
}
