//! The cases that an experiment makes, as a dry run lists them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::program::{Desk, case_names, list};

/// The cases of an experiment on the Agilex 5, without the sentinel's.
fn plan(more: &[&str]) -> Value {
    let plain = ["run", "agilex5-cluster-latency", "--dry-run", "--json", "--set=sentinel=false"];
    let plan = Desk::new().run(&[&plain, more].concat()).with(0).json();
    let names = case_names(&plan);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "names must be unique: {names:?}");
    plan
}

/// The mitigations of a plan, in order, each once.
fn mitigations(plan: &Value) -> Vec<&str> {
    let mut all: Vec<_> = list(plan, "cases").iter().map(|case| case["mitigation"].as_str().unwrap()).collect();
    all.dedup();
    all
}

#[test]
fn mitigations_stand_alone_unless_asked_otherwise() {
    assert_eq!(mitigations(&plan(&["--set=mitigations=nl3a,cp"])), ["none", "nl3a", "cp"]);
    assert_eq!(mitigations(&plan(&["--set=mitigations=nl3a+cp"])), ["none", "nl3a+cp"]);
    assert_eq!(mitigations(&plan(&["--set=mitigations=[]"])), ["none"]);
    assert_eq!(mitigations(&plan(&["--set=mitigations=none"])), ["none"]);
}

#[test]
fn mitigations_together_or_crossed() {
    let listed = "--set=mitigations=nl3a,cp,qos";
    assert_eq!(mitigations(&plan(&[listed, "--set=combine=together"])), ["none", "nl3a", "cp", "qos", "nl3a+cp+qos"]);
    assert_eq!(
        mitigations(&plan(&[listed, "--set=combine=cross"])),
        ["none", "nl3a", "cp", "qos", "nl3a+cp", "nl3a+qos", "cp+qos", "nl3a+cp+qos"]
    );
}

#[test]
fn one_set_of_mitigations_is_one_case_however_it_is_written() {
    assert_eq!(mitigations(&plan(&["--set=mitigations=nl3a+cp,cp+nl3a,nl3a + cp,cp+nl3a+cp"])), ["none", "nl3a+cp"]);
}

#[test]
fn groups_of_neighbours_make_cases_of_their_own() {
    let plan = plan(&[
        "--set=mitigations=nl3a",
        "--set=neighbours.0.group=hammers",
        "--set=neighbours.1.workload=stream_read",
        "--set=neighbours.1.cores=0",
        "--set=neighbours.1.group=streams",
        "--set=neighbours.2.workload=stream_write",
        "--set=neighbours.2.cores=2",
        "--set=neighbours.2.group=streams",
    ]);
    assert_eq!(
        case_names(&plan),
        ["idle", "none vs hammers", "none vs streams", "nl3a, idle", "nl3a vs hammers", "nl3a vs streams"]
    );
    let beside = |name: &str| -> Vec<String> {
        let case = list(&plan, "cases").iter().find(|case| case["name"] == name).unwrap();
        list(case, "neighbours").iter().map(|n| format!("{}@{}", n["workload"].as_str().unwrap(), n["core"])).collect()
    };
    assert_eq!(beside("idle"), [""; 0]);
    assert_eq!(beside("none vs hammers"), ["way_hammer@2", "way_hammer@3"]);
    assert_eq!(beside("nl3a vs streams"), ["stream_read@0", "stream_write@2"]);
}

#[test]
fn several_targets_each_have_cases_of_their_own() {
    let plan = plan(&[
        "--set=mitigations=[]",
        "--set=targets.1.workload=rta_128k",
        "--set=targets.1.core=1",
        "--set=targets.2.workload=latency_loop",
        "--set=targets.2.core=0",
    ]);
    assert_eq!(
        case_names(&plan),
        [
            "latency_loop@1: idle",
            "latency_loop@1: none",
            "rta_128k: idle",
            "rta_128k: none",
            "latency_loop@0: idle",
            "latency_loop@0: none"
        ]
    );
}

#[test]
fn others_are_all_cores_that_are_left() {
    let plan = plan(&["--set=mitigations=[]", "--set=neighbours.0.cores=others"]);
    let cores: Vec<_> =
        list(&list(&plan, "cases")[1], "neighbours").iter().map(|n| n["core"].as_u64().unwrap()).collect();
    assert_eq!(cores, [0, 2, 3]);
}

#[test]
fn the_sentinel_witnesses_each_group_once() {
    let plan = Desk::new().run(&[
        "run",
        "agilex5-cluster-latency",
        "--dry-run",
        "--json",
        "--set=targets.1.workload=latency_loop_2ki",
        "--set=targets.1.core=1",
    ]);
    let plan = plan.with(0).json();
    let sentinels: Vec<_> = list(&plan, "cases").iter().filter(|case| case["sentinel"] == true).collect();
    // Both targets are on one core: what surrounds them is the same.
    assert_eq!(sentinels.len(), 2, "solo and beside the hammers: {sentinels:?}");
    assert!(sentinels.iter().all(|case| case["target"]["workload"] == "chase_llc" && case["mitigation"] == "none"));
}

#[test]
fn budgets_that_a_run_cannot_meet_are_said_before_it_is_measured() {
    let desk = Desk::new();
    let told = |more: &[&str]| {
        let ended = desk.run(&[&["run", "agilex5-cluster-latency", "--dry-run", "--json"], more].concat()).with(0);
        let planned: Value = serde_json::from_str(&ended.stdout).unwrap();
        list(&planned, "budgets_out_of_reach").iter().map(|said| said.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let length = ["--duration=50ms", "--repeats=2"];
    // 2 x 50 ms are 100 ms; misses are counted in the simulator, and neighbours are there.
    let within = ["--budget=max<=5us over 100ms", "--budget=misses==0", "--budget=slowdown<=2", "--budget=max<=5us"];
    assert_eq!(told(&[&length[..], &within].concat()), [""; 0]);
    let beyond = told(&[&length[..], &["--budget=nl3a: max<=5us over 101ms"]].concat());
    assert!(
        beyond.len() == 1 && beyond[0].contains("`nl3a: max<=5us over 101ms` can be seen broken and not met"),
        "{beyond:?}"
    );
    assert!(beyond[0].contains("100 ms in all"), "{beyond:?}");
    let alone = told(&["--set=neighbours=[]", "--budget=slowdown<=2"]);
    assert!(alone.len() == 1 && alone[0].contains("nothing runs beside the target"), "{alone:?}");
    let here = desk.run(&["run", "this-machine", "--dry-run", "--budget=misses==0"]).with(0).stdout;
    assert!(
        here.contains("The budget `misses==0` cannot be judged: misses are not counted on this machine."),
        "{here}"
    );
}

/// A target whose first level holds its buffer, and a neighbour that writes as much.
const SHARED: &str = "
title = 'a chase beside who changes its lines'
platform = 'agilex5'
duration = '200 us'
repeats = 2
sentinel = false
[[targets]]
workload = 'chase_llc'
core = 2
with = { size = '16 KiB', batch = 64 }
[[neighbours]]
workload = 'stream_modify'
cores = [3]
with = { size = '16 KiB' }
";

#[test]
fn a_neighbour_in_the_targets_buffer_slows_it_and_one_beside_it_does_not() {
    let desk = Desk::new();
    desk.file("own.toml", SHARED);
    desk.file("shared.toml", &format!("{SHARED}buffer = 'target'\n"));
    let loaded = |file: &str| {
        let run = desk.run(&["run", file, "--json"]).with(0).json();
        let mut cases = list(&run, "cases").iter();
        let case = cases.find(|case| !list(case, "neighbours").is_empty()).unwrap().clone();
        (case["slowdown"].as_f64().unwrap(), case["neighbours"][0]["with"].clone())
    };
    let ((beside, _), (sharing, with)) = (loaded("own.toml"), loaded("shared.toml"));
    assert!(beside < 1.01 && sharing > 2.0, "{beside} beside, {sharing} in its buffer");
    // It is called what it is.
    assert_eq!(with["buffer"], "target");
    let here = ["--set=platform=host", "--set=targets.0.core=0", "--set=neighbours.0.cores=1"];
    let here = desk.run(&[&["run", "shared.toml", "--dry-run"][..], &here].concat()).with(2).stderr;
    assert!(here.contains("neighbours.0.buffer: found `target`") && here.contains("memory of its own"), "{here}");
    for (set, why) in [
        ("neighbours.0.with.size=32 KiB", "neighbours.0.buffer: found `target`: the neighbour covers 32"),
        ("neighbours.0.buffer=mine", "expected `own` or `target`"),
        ("targets=[{ workload = 'latency_loop', core = 2 }]", "the target has no buffer"),
    ] {
        let refused = desk.run(&["run", "shared.toml", "--dry-run", "--set", set]).with(2).stderr;
        assert!(refused.contains(why), "{set}: {refused}");
    }
}
