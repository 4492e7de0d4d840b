//! A published figure stands beside the case that was published, and beside no other.

use serde_json::{Value, json};

use crate::program::{Desk, case, list, repository, this_machine};

fn run(desk: &Desk, more: &[&str]) -> Value {
    run_of(desk, "agilex5-cluster-latency", more)
}

fn run_of(desk: &Desk, experiment: &str, more: &[&str]) -> Value {
    // Options win over `--set`.
    let quick = ["--set=simulated_duration=50us", "--set=repeats=1", "--set=sentinel=false", "--json"];
    desk.run(&[&["run", experiment], &quick[..], more].concat()).with(0).json()
}

/// Names of the cases that carry a reference.
fn referenced(run: &Value) -> Vec<&str> {
    let cases = list(run, "cases").iter().filter(|case| case.get("reference").is_some());
    cases.map(|case| case["name"].as_str().unwrap()).collect()
}

#[test]
fn the_experiment_as_published_carries_every_published_row() {
    let run = run(&Desk::new(), &[]);
    assert_eq!(referenced(&run), ["idle", "none", "nl3a", "nl3a+cp", "nl3a+cp+qos", "colouring"]);
    // Altera's table: minimum and maximum in ns, one hour each. Means above idle in percent: the raw data.
    for (name, min, max, above_idle) in [
        ("idle", 57.5, 75.0, None),
        ("none", 57.5, 10_780.0, Some(4.4)),
        ("nl3a", 57.5, 9_475.0, Some(0.8)),
        ("nl3a+cp", 57.5, 6_687.0, Some(0.2)),
        ("nl3a+cp+qos", 57.5, 4_237.0, Some(0.1)),
        ("colouring", 57.5, 75.0, None),
    ] {
        let reference = &case(&run, name)["reference"];
        assert_eq!(
            [&reference["min_ns"], &reference["max_ns"], &reference["run_length_s"]],
            [&json!(min), &json!(max), &json!(3600.0)]
        );
        assert!(reference["source"].as_str().unwrap().contains("Altera"));
        assert!(reference.get("mean_ns").is_none(), "no mean was published");
        let slowdown = reference.get("slowdown").and_then(Value::as_f64);
        assert_eq!(slowdown.map(|times| (1000.0 * (times - 1.0)).round() / 10.0), above_idle);
    }
}

#[test]
fn linear_streams_have_their_own_four_rows() {
    let run = run_of(&Desk::new(), "agilex5-set-crawler", &[]);
    assert_eq!(referenced(&run), ["idle", "none", "nl3a", "nl3a+cp", "nl3a+cp+qos"]);
    // Altera's raw data of core 1: maxima in ns. Of the four, one chose a parameter.
    for (name, max, fitted) in [
        ("none", 12_507.0, None),
        ("nl3a", 1_085.0, None),
        ("nl3a+cp", 135.0, Some(json!(["max_ns"]))),
        ("nl3a+cp+qos", 142.0, None),
    ] {
        let reference = &case(&run, name)["reference"];
        assert_eq!([&reference["max_ns"], &reference["run_length_s"]], [&json!(max), &json!(3600.0)]);
        assert_eq!(reference.get("fitted").filter(|list| **list != json!([])), fitted.as_ref(), "{name}");
    }
}

#[test]
fn the_bars_carry_the_rows_that_are_printed_and_no_others() {
    let desk = Desk::new();
    let run = run_of(&desk, "agilex5-loops", &[]);
    // Three loops on two cores, under four settings: idle, and beside each of two hammers.
    assert_eq!(list(&run, "cases").len(), 3 * 2 * 4 * (1 + 2));
    let rows = ["none", "nl3a", "nl3a+cp", "nl3a+cp+qos"];
    let maxima = |hammer: &str| -> Vec<Value> {
        let named = |row: &&str| format!("latency_loop: {row} [core 1 (A55), hammer {hammer}]");
        rows.iter().map(|row| case(&run, &named(row))["reference"]["max_ns"].clone()).collect()
    };
    // Altera's table, and its raw data of core 1, as in the experiments of one hammer.
    assert_eq!(maxima("way_hammer"), [10_780.0, 9_475.0, 6_687.0, 4_237.0].map(Value::from));
    assert_eq!(maxima("set_crawler"), [12_507.0, 1_085.0, 135.0, 142.0].map(Value::from));
    let idle = "latency_loop: idle [core 1 (A55)]";
    assert_eq!(case(&run, idle)["reference"]["max_ns"], json!(75.0));
    let others = referenced(&run).into_iter().filter(|name| !name.starts_with("latency_loop: "));
    assert_eq!((others.count(), referenced(&run).len()), (0, 9));
}

#[test]
fn seed_length_and_repeats_do_not_change_what_was_published() {
    let run = run(&Desk::new(), &["--seed=5", "--duration=60us", "--repeats=2", "--set=mitigations=nl3a"]);
    assert_eq!(referenced(&run), ["idle", "none", "nl3a"]);
}

#[test]
fn a_changed_target_carries_none() {
    for change in ["targets.0.workload=latency_loop_2ki", "targets.0.core=0"] {
        let run = run(&Desk::new(), &["--set=mitigations=nl3a", "--set", change]);
        assert_eq!(referenced(&run), [""; 0], "{change}");
    }
}

#[test]
fn a_changed_neighbour_carries_none_but_the_idle_case_does() {
    for change in [
        "neighbours.0.workload=set_crawler",
        "neighbours.0.cores=2",
        "neighbours.0.cores=0,2,3",
        "neighbours.1.workload=stream_read",
    ] {
        let cores = if change.contains(".1.") { "neighbours.1.cores=0" } else { "neighbours.0.group=hammers" };
        let run = run(&Desk::new(), &["--set=mitigations=nl3a", "--set", change, "--set", cores]);
        assert_eq!(referenced(&run), ["idle"], "{change}");
    }
}

#[test]
fn the_same_neighbours_in_other_words_are_the_same() {
    let run = run(&Desk::new(), &["--set=mitigations=none", "--set=neighbours.0.cores=3,2"]);
    assert_eq!(referenced(&run), ["idle", "none"]);
}

#[test]
fn a_copy_of_the_platform_is_another_platform() {
    let desk = Desk::new();
    let text = std::fs::read_to_string(repository().join("platforms/agilex5.toml")).unwrap();
    // Under its own name, and under the name of the original: a file may have been changed anywhere.
    desk.file("twin.toml", &text.replacen("name = \"agilex5\"", "name = \"twin\"", 1));
    desk.file("agilex5.toml", &text);
    for (file, platform) in [("twin.toml", "twin"), ("./agilex5.toml", "./agilex5.toml")] {
        let platform_set = format!("--set=platform={file}");
        let run = run(&desk, &["--set=mitigations=nl3a", &platform_set]);
        assert_eq!(run["platform"], platform);
        assert_eq!(referenced(&run), [""; 0], "{file}");
    }
}

#[test]
fn a_workload_that_was_redefined_is_not_the_published_one() {
    let desk = Desk::new();
    let text = std::fs::read_to_string(repository().join("experiments/agilex5-cluster-latency.toml")).unwrap();
    let hammer = std::fs::read_to_string(repository().join("workloads/way_hammer.toml")).unwrap();
    let weaker = hammer.replace("4 x ways", "2 x ways");
    assert_ne!(hammer, weaker);
    for (workload, expected) in [(&weaker, vec!["idle"]), (&hammer, vec!["idle", "none", "nl3a"])] {
        desk.file("own.toml", &format!("{text}\n[workloads.way_hammer]\n{workload}"));
        let quick = ["run", "own.toml", "--duration=50us", "--repeats=1", "--set=mitigations=nl3a", "--json"];
        assert_eq!(referenced(&desk.run(&quick).with(0).json()), expected);
    }
}

#[test]
fn a_measurement_of_this_machine_carries_none() {
    let _alone = this_machine();
    let desk = Desk::new();
    let run = desk.run(&[
        "run",
        "agilex5-cluster-latency",
        "--on=host",
        "--duration=10ms",
        "--repeats=1",
        "--set=mitigations=[]",
        "--set=targets.0.core=auto",
        "--set=neighbours=[]",
        "--json",
    ]);
    let run = run.with(0).json();
    assert_eq!((run["platform"].as_str(), run["executor"].as_str()), (Some("host"), Some("host")));
    assert_eq!(referenced(&run), [""; 0]);
}
