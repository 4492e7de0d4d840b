//! A simulated run: what its record holds, and that the same seed gives the same bits.

use std::process::Command;

use serde_json::Value;

use crate::program::{Desk, Ended, PROGRAM, case, case_names, keys, list};

const TINY: [&str; 5] = ["run", "agilex5-cluster-latency", "--duration=1ms", "--repeats=2", "--json"];

/// A run as short, whose length and repeats `more` may change: options win over `--set`.
fn tiny(desk: &Desk, more: &[&str]) -> Value {
    let short = ["run", "agilex5-cluster-latency", "--set=simulated_duration=1ms", "--set=repeats=2", "--json"];
    desk.run(&[&short, more].concat()).with(0).json()
}

/// Paths at which a value is null.
fn nulls(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Null => found.push(path.to_owned()),
        Value::Array(list) => list.iter().enumerate().for_each(|(at, v)| nulls(v, &format!("{path}.{at}"), found)),
        Value::Object(map) => map.iter().for_each(|(key, v)| nulls(v, &format!("{path}.{key}"), found)),
        _ => {}
    }
}

#[test]
fn the_record_holds_what_is_promised_and_no_null() {
    let desk = Desk::new();
    let ended = desk.run(&[&TINY[..], &["--out=kept"]].concat()).with(0);
    let run = ended.json();
    assert_eq!(ended.stdout, std::fs::read_to_string(desk.path().join("kept/run.json")).unwrap());
    assert!(ended.stderr.is_empty(), "{}", ended.stderr);

    let mut found = Vec::new();
    nulls(&run, "", &mut found);
    assert!(found.is_empty(), "null at {found:?}");

    assert_eq!(run["schema"], 1);
    assert_eq!(run["experiment"], "agilex5-cluster-latency");
    assert_eq!(run["platform"], "agilex5");
    assert_eq!(run["executor"], "sim");
    assert_eq!(run["cut_short"], false);
    let command_line: Vec<_> = list(&run, "command_line").iter().skip(1).map(|word| word.as_str().unwrap()).collect();
    assert_eq!(command_line, [&TINY[..], &["--out=kept"]].concat());
    assert_eq!(
        case_names(&run),
        [
            "idle",
            "none",
            "nl3a, idle",
            "nl3a",
            "nl3a+cp, idle",
            "nl3a+cp",
            "nl3a+cp+qos, idle",
            "nl3a+cp+qos",
            "colouring, idle",
            "colouring"
        ]
    );
    for case in list(&run, "cases") {
        check_case(case);
    }
}

/// Every key that the record promises, present exactly where it applies.
fn check_case(case: &Value) {
    let name = case["name"].as_str().unwrap();
    let keys = keys(case);
    for key in [
        "name",
        "target",
        "core",
        "neighbours",
        "mitigation",
        "samples",
        "run_length_s",
        "min_ns",
        "mean_ns",
        "max_ns",
        "jitter_ns",
        "overflow",
        "repeats",
        "simulated_s",
        "wall_s",
        "accesses",
        "reference",
    ] {
        let has = keys.contains(&key);
        // Protected idle cases were not published.
        let applies = key != "reference" || !name.contains(", idle");
        assert_eq!(has, applies, "{name}: {key}");
    }
    let samples = case["samples"].as_u64().unwrap();
    // Ten samples are expected above a percentile that is given: 10 / (1 - q).
    for (key, fewest) in [("p50_ns", 20), ("p99_ns", 1_000), ("p99_9_ns", 10_000), ("p99_99_ns", 100_000)] {
        assert_eq!(keys.contains(&key), samples >= fewest, "{name}: {key} of {samples}");
    }
    let solo = name.ends_with("idle");
    let mitigated = case["mitigation"] != "none";
    assert_eq!(list(case, "neighbours").is_empty(), solo, "{name}");
    assert_eq!(keys.contains(&"slowdown"), !solo, "{name}");
    assert_eq!(keys.contains(&"cost"), solo && mitigated, "{name}");
    assert_eq!(keys.contains(&"verdict"), !solo && mitigated, "{name}");
    if let Some(verdict) = case.get("verdict") {
        // Two repeats are too few for any verdict.
        assert_eq!(verdict["kind"], "cannot_tell");
        assert!(!verdict["text"].as_str().unwrap().is_empty());
    }
    for neighbour in list(case, "neighbours") {
        assert_eq!(neighbour["workload"], "way_hammer");
        assert_eq!(neighbour["cores"], serde_json::json!([2, 3]));
        assert!(
            neighbour["accesses_per_s"].as_f64().unwrap() > 0.0 && neighbour["bytes_per_s"].as_f64().unwrap() > 0.0
        );
    }
    check_figures(case);
}

fn check_figures(case: &Value) {
    let name = &case["name"];
    let figure = |key: &str| case[key].as_f64().unwrap();
    let of_repeats =
        |key: &str| -> Vec<f64> { list(case, "repeats").iter().map(|r| r[key].as_f64().unwrap()).collect() };
    assert_eq!(list(case, "repeats").len(), 2);
    assert_eq!(figure("samples"), of_repeats("samples").iter().sum::<f64>(), "{name}");
    assert_eq!(figure("min_ns"), of_repeats("min_ns").into_iter().fold(f64::INFINITY, f64::min), "{name}");
    assert_eq!(figure("max_ns"), of_repeats("max_ns").into_iter().fold(0.0, f64::max), "{name}");
    assert!((figure("jitter_ns") - (figure("max_ns") - figure("min_ns"))).abs() < 1e-9, "{name}");
    // Two repeats of a millisecond; the loop is the only thing that the target does, so its samples fill the time.
    assert!(
        (figure("run_length_s") - 0.002).abs() < 1e-12 && figure("simulated_s") == figure("run_length_s"),
        "{name}"
    );
    let filled = figure("samples") * figure("mean_ns") / 1e9;
    assert!(filled > 0.0019 && filled < 0.0021, "{name}: the samples fill {filled} s");
    assert!(figure("min_ns") <= figure("p50_ns") && figure("p50_ns") <= figure("max_ns"), "{name}");
}

#[test]
fn a_percentile_that_the_samples_do_not_support_is_absent() {
    // 2 x 10 us of a loop of about 60 ns: some 330 samples support a median and nothing beyond it.
    let run = tiny(&Desk::new(), &["--duration=10us", "--set=mitigations=[]"]);
    let idle = keys(case(&run, "idle"));
    assert!(idle.contains(&"p50_ns") && !idle.contains(&"p99_ns") && !idle.contains(&"p99_9_ns"), "{idle:?}");
}

/// The cases without the one thing that may differ: how long the simulation took.
fn timeless(mut run: Value) -> Value {
    for section in ["cases", "sentinels"] {
        for case in run[section].as_array_mut().unwrap() {
            case.as_object_mut().unwrap().remove("wall_s").unwrap();
        }
    }
    serde_json::json!([run["cases"], run["sentinels"]])
}

#[test]
fn the_same_seed_gives_the_same_run_on_one_core_or_many() {
    let desk = Desk::new();
    let more = ["--seed=11", "--set=mitigations=nl3a"];
    let first = timeless(tiny(&desk, &more));
    assert_eq!(first, timeless(tiny(&desk, &more)));
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", "0", PROGRAM]).args(TINY).args(more).current_dir(desk.path());
    assert_eq!(first, timeless(Ended::from(pinned.output().unwrap()).with(0).json()));
    assert_ne!(first, timeless(tiny(&desk, &["--seed=12", "--set=mitigations=nl3a"])));
}

#[test]
fn a_repeat_is_the_same_whatever_runs_beside_it() {
    // Fewer repeats, fewer cases: what remains must not change.
    let desk = Desk::new();
    let many = timeless(tiny(&desk, &["--set=mitigations=nl3a,colouring"]));
    let few = timeless(tiny(&desk, &["--set=mitigations=nl3a", "--repeats=1"]));
    for (case_of_few, case_of_many) in few[0].as_array().unwrap().iter().zip(many[0].as_array().unwrap()) {
        assert_eq!(case_of_few["name"], case_of_many["name"]);
        assert_eq!(case_of_few["repeats"][0], case_of_many["repeats"][0]);
    }
}

#[test]
fn the_longest_samples_are_explained_on_request() {
    let desk = Desk::new();
    let short = ["run", "agilex5-cluster-latency", "--duration=10ms", "--repeats=1", "--set=mitigations=[]"];
    let text = desk.run(&[&short[..], &["--on=sim", "--explain=2", "--out=kept"]].concat()).with(0).stdout;
    let timeline = text.split("longest samples\n").nth(1).expect("a timeline");
    assert!(timeline.contains("  none: ") && timeline.contains(" from memory ("), "{timeline}");
    let lost = "took its entry in the cluster's snoop filter";
    assert!(timeline.replace("\n      ", " ").contains(lost), "{timeline}");
    let record = desk.record("kept");
    let sample = &case(&record, "none")["longest"][0];
    assert_eq!(list(case(&record, "none"), "longest").len(), 2);
    assert_eq!(sample["ns"], case(&record, "none")["max_ns"]);
    for part in list(sample, "parts") {
        let [from, ns] = ["from_ns", "ns"].map(|key| part[key].as_f64().unwrap());
        assert!(from >= 0.0 && from + ns <= sample["ns"].as_f64().unwrap() + 2.5, "{part}");
    }
    // Nobody else sees a difference.
    let plain = tiny(&desk, &["--duration=10ms", "--repeats=1", "--set=mitigations=[]"]);
    assert_eq!(case(&plain, "none")["mean_ns"], case(&record, "none")["mean_ns"]);
    assert!(case(&plain, "none").get("longest").is_none());
}

#[test]
fn windows_give_estimates_that_say_what_they_rest_on() {
    let desk = Desk::new();
    desk.file(
        "my.toml",
        r#"
        title = "a small program"
        platform = "cd8180"
        duration = "1 s"
        simulated_samples = 1
        repeats = 2
        sentinel = false

        [[targets]]
        workload = "small"
        core = 1
        sampled = { windows = 4, accesses = 500, warm_up = "10 us" }

        [[neighbours]]
        workload = "stream_modify"
        cores = [2]

        [workloads.small]
        kind = "trace"
        program = "mser"
        size = "sqcif"
        "#,
    );
    let plan = desk.run(&["run", "my.toml", "--dry-run"]).with(0).stdout;
    assert!(plan.contains("a pass of small is estimated from 4 windows of 500 accesses, each after 10 us"), "{plan}");
    let run = desk.run(&["run", "my.toml", "--json"]).with(0).json();
    let loaded = case(&run, "none");
    let sampled = &loaded["sampled"];
    assert_eq!((&sampled["windows"], &sampled["accesses"]), (&Value::from(8), &Value::from(4000)));
    let share = sampled["share"].as_f64().unwrap();
    assert!(share > 0.0 && share < 0.05 && sampled["standard_error_ns"].as_f64().unwrap() > 0.0, "{sampled}");
    assert!(loaded["slowdown"].as_f64().unwrap() > 0.0 && loaded["slowdown_standard_error"].as_f64().is_some());
    let repeat = &list(loaded, "repeats")[0];
    assert_eq!(list(&repeat["sampled"], "window_ns").len(), 4);
    // The share of the pass that the windows hold takes that share of its time; warm-ups come to it.
    let windows: f64 = list(&repeat["sampled"], "window_ns").iter().map(|ns| ns.as_f64().unwrap()).sum();
    let of_share = windows / repeat["sampled"]["share"].as_f64().unwrap();
    assert!((repeat["mean_ns"].as_f64().unwrap() / of_share - 1.0).abs() < 1e-3, "{repeat}");
    assert!(repeat["counters"]["target_forwarded_accesses"].as_u64().unwrap() > 100_000);
    // In full nothing of it is there.
    let full = desk.run(&["run", "my.toml", "--json", "--set=targets.0.sampled=false", "--repeats=1"]).with(0).json();
    let full = case(&full, "none");
    assert!(full.get("sampled").is_none() && full["repeats"][0]["counters"].get("target_forwarded_accesses").is_none());
    let host =
        ["run", "my.toml", "--dry-run", "--set=platform=host", "--set=targets.0.core=auto", "--set=neighbours=[]"];
    let host = desk.run(&host).with(0).stdout;
    assert!(host.contains("Programs run in full here") && !host.contains("estimated"), "{host}");
    let explained = desk.run(&["run", "my.toml", "--explain"]).with(2).stderr;
    assert!(explained.contains("targets.0.sampled=false"), "{explained}");
}

#[test]
fn a_run_that_is_shorter_than_a_sample_says_so() {
    let desk = Desk::new();
    let short = |duration: &str| {
        let ended =
            desk.run(&["run", "zynq-interrupt-latency", "--repeats=1", "--set=mitigations=[]", duration]).with(0);
        ended.stdout.lines().find(|line| line.starts_with("NO SAMPLE")).map(str::to_owned)
    };
    assert_eq!(
        short("--duration=10us").unwrap(),
        "NO SAMPLE ended within 10 us of idle; a longer --duration would do."
    );
    assert_eq!(short("--duration=20ms"), None);
}

#[test]
fn the_fast_path_is_compared_with_the_full_one() {
    let desk = Desk::new();
    let run = |out: &str, more: &[&str]| {
        let out = format!("--out={out}");
        let all =
            ["run", "agilex5-cluster-latency", "--repeats=2", "--set=sentinel=false", "--set=mitigations=colouring"];
        desk.run(&[&all[..], &[&out], more].concat()).with(0).stdout
    };
    let said = run("long", &["--fast", "--duration=200ms"]);
    assert!(said.contains("the fast path beside the first 5 ms of the first repeats in full: x"), "{said}");
    let cases = desk.record("long")["cases"].as_array().unwrap().clone();
    let check = |name: &str| cases.iter().find(|case| case["name"] == name).unwrap()["fast_check"].clone();
    let none = check("none");
    let figure = |key: &str| none[key].as_f64().unwrap();
    assert_eq!(figure("full_s"), 0.005);
    let (full, fast) = (figure("full_reads_per_s"), figure("fast_reads_per_s"));
    // Lines are lost in bursts: some forty in the time in full, from a few of its twenty parts.
    assert!((0.3..3.0).contains(&(fast / full)), "{none}");
    assert!((0.05..1.0).contains(&(figure("standard_error_per_s") / full)), "{none}");
    // Nothing is lost under colouring, and nothing skips without neighbours.
    assert!(check("colouring").is_null() && check("idle").is_null(), "{cases:?}");

    for (out, more) in [("short", ["--fast", "--duration=20ms"]), ("full", ["--duration=20ms", "--seed=1"])] {
        let said = run(out, &more);
        assert!(!said.contains("the fast path beside"), "{said}");
    }
}

#[test]
fn a_repeat_of_several_intervals_has_a_timeline() {
    let desk = Desk::new();
    let run = ["run", "agilex5-cluster-latency", "--duration=4ms", "--repeats=1", "--set=mitigations=[]", "--out=kept"];
    let interval = |interval: &str| desk.run(&[&run[..], &["--set", &format!("peak_interval={interval}")]].concat());
    let shown = interval("1ms").with(0).stdout;
    assert!(shown.contains("peaks over time") && shown.contains("4 intervals of 1 ms"), "{shown}");
    let run = desk.record("kept");
    assert_eq!(run["peak_interval_s"], 0.001);
    let repeat = &list(case(&run, "none"), "repeats")[0];
    let peaks = list(repeat, "peaks");
    let of = |key: &str| peaks.iter().map(|peak| peak[key].as_f64().unwrap()).collect::<Vec<_>>();
    assert_eq!(of("at_s").iter().map(|at| (at * 1e3) as u32).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(of("max_ns").into_iter().reduce(f64::max), repeat["max_ns"].as_f64());
    let error = interval("1ns").with(2).stderr;
    assert!(error.contains("peak_interval: found 1 ns; expected 1 us or more"), "{error}");
}
