//! `import`: what real tools write is a run that the other commands read.

use std::process::Command;

use serde_json::Value;

use crate::program::{Desk, list, this_machine};

#[test]
fn what_cyclictest_and_oslat_write_is_judged_compared_and_drawn() {
    let _alone = this_machine();
    let desk = Desk::new();
    for (tool, arguments) in [
        ("cyclictest", "-a1 -t1 -i250 -h 100000 -q -D 2 --json=cyclictest.json"),
        ("oslat", "-c 1 -D 1 -q --json=oslat.json"),
    ] {
        let output = Command::new(tool).args(arguments.split(' ')).current_dir(desk.path()).output();
        let output = output.unwrap_or_else(|_| panic!("{tool} is missing: install rt-tests"));
        assert!(output.status.success(), "{output:?}");
        let file = format!("{tool}.json");
        let run = desk.run(&["import", &file, "--out", tool, "--budget", "max<=500ms", "--json"]).with(0).json();
        let text = std::fs::read_to_string(desk.path().join(&file)).unwrap();
        let theirs: Value = serde_json::Deserializer::from_str(&text).into_iter().next().unwrap().unwrap();
        let thread = &theirs["thread"]["0"];
        let case = &list(&run, "cases")[0];
        let inside: u64 = thread["histogram"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        let samples = case["samples"].as_u64().unwrap();
        // A wake-up may be later than the histogram reaches where others keep both cores; oslat's last bucket is one of them.
        let is_beyond = tool == "cyclictest" && thread["max"].as_u64().unwrap() >= 100_000;
        assert_eq!(samples, if is_beyond { thread["cycles"].as_u64().unwrap() } else { inside }, "{tool}");
        for (ours, name) in [("min_ns", "min"), ("max_ns", "max"), ("mean_ns", "avg")] {
            // oslat counts a sample below 1 us as 1 us, and an import has the least that a sample can have been.
            let rounded_up = if tool == "oslat" { 1e3 } else { 0.0 };
            let (ours, theirs) = (case[ours].as_f64().unwrap(), thread[name].as_f64().unwrap() * 1e3 - rounded_up);
            // Means are written with two decimals; the histogram has them more exactly.
            let step_ns = if name == "avg" { 10.0 } else { 0.0 };
            assert!((ours - theirs).abs() <= step_ns + theirs * 1e-6, "{tool}, {name}: {ours} {theirs}");
        }
        if tool == "oslat" {
            // It does so: as many samples of its least would have taken longer than it ran.
            let (least_us, ran_s) = (thread["min"].as_f64().unwrap(), thread["duration"].as_f64().unwrap());
            assert!(samples as f64 * least_us / 1e6 > ran_s, "{thread}");
        }
        assert_eq!(run["budgets"][0]["kind"], "not_seen_broken", "{run}");
        assert!(desk.run(&["show", tool]).with(0).stdout.contains("core 1"));
        desk.run(&["report", tool, "--out", "page.html"]).with(0);
        desk.run(&["export", tool, "--format", "csv"]).with(0);
    }
    let compared = desk.run(&["compare", "cyclictest", "cyclictest"]).with(0).stdout;
    assert!(compared.contains("core 1"), "{compared}");
}

#[test]
fn what_is_none_leaves_nothing() {
    let desk = Desk::new();
    desk.file("x.json", "{ \"cpu\": { \"0\": { \"histogram\": { \"1\": 5 }, \"count\": 5 } } }");
    desk.file("y.txt", "\u{1b}[31mred");
    for (arguments, words) in [
        (&["import", "none.json"][..], "cannot be read"),
        (&["import", "y.txt"], "expected the JSON of cyclictest"),
        (&["import", "x.json"], "expected --duration"),
        (&["import", "x.json", "--duration", "0s"], "over 0"),
        (&["import", "x.json", "--duration", "1s", "--budget", "max"], "max"),
        (&["import", "x.json", "--duration", "1s", "--out", "x.json"], "this is a file"),
    ] {
        let refused = desk.run(arguments).with(2).stderr;
        assert!(refused.contains(words) && !refused.contains('\u{1b}'), "{arguments:?}: {refused}");
    }
    assert_eq!(desk.names(), ["x.json", "y.txt"]);
}

/// Of 39 900 samples ten are long; the first bucket is below 1 us.
const FEW_LONG: &str = r#"{ "cmdline:": "cyclictest -a2 -h 2000", "rt_test_version:": "2.40",
  "start_time": "Thu, 26 Nov 2026 17:57:30 +0000", "end_time": "Thu, 26 Nov 2026 17:58:30 +0000",
  "sysinfo": { "release": "6.1.0-rt", "machine": "x86_64" },
  "thread": { "0": { "histogram": { "0": 1, "1": 19999, "2": 19890, "1200": 10 }, "cycles": 39900, "min": 0, "max": 1200, "cpu": 2 } } }"#;

#[test]
fn an_imported_run_says_where_it_comes_from_and_has_no_tail() {
    let desk = Desk::new();
    desk.file("x.json", FEW_LONG);
    let text = desk.run(&["import", "x.json", "--out=run"]).with(0).stdout;
    assert!(text.contains("imported: cyclictest 2.40, x86_64, Linux 6.1.0-rt, 1 thread, steps of 1 us\n"), "{text}");
    assert!(!text.contains("this machine"), "{text}");
    let refused = desk.run(&["tail", "run"]).with(2).stderr;
    assert!(refused.contains("no order in time") && !refused.contains("pilot"), "{refused}");
    let refused =
        desk.run(&["import", "x.json", "--duration=99h", "--budget=max<=2ms over 24h", "--out=y"]).with(2).stderr;
    // Stamps of whole seconds that are 60 s apart are at least 59 s apart.
    assert!(refused.contains("found 356400 s") && refused.contains("for 59 s"), "{refused}");
    desk.run(&["report", "run", "--svg=svg"]).with(0);
    let svg = std::fs::read_to_string(desk.path().join("svg/latency.svg")).unwrap();
    // Half of the first step, which has a sample, is as far down as its axis goes.
    assert!(svg.contains("1 us") && !svg.contains("10 ns") && !svg.contains("100 ns"), "{svg}");
    assert_eq!(desk.names(), ["run", "svg", "x.json"]);
}

#[test]
fn a_budget_that_nothing_can_be_judged_by_is_not_kept_by_silence() {
    let desk = Desk::new();
    desk.file("x.json", FEW_LONG);
    // Of a mitigation there is nothing: all samples are over 1 us, and silence would be a pass.
    let refused = desk.run(&["import", "x.json", "--out=a", "--budget=nl3a: max<=1us"]).with(2).stderr;
    assert!(refused.contains("`nl3a: max<=1us` covers no case"), "{refused}");
    // Nothing ran beside it, so that there is no slowdown.
    let run = desk.run(&["import", "x.json", "--out=b", "--budget=slowdown<=1.05", "--json"]).with(4).json();
    assert_eq!(run["budgets"][0]["kind"], "too_thin", "{run}");
    let own = ["run", "agilex5-cluster-latency", "--duration=200us", "--repeats=2", "--set=neighbours=[]"];
    desk.run(&[&own[..], &["--set=mitigations=[]", "--budget=slowdown<=1.05", "--out=c"]].concat()).with(4);
    assert_eq!(desk.names(), ["b", "c", "x.json"]);
}

#[test]
fn what_an_import_does_not_know_is_no_0_and_impossible_counts_are_refused() {
    let desk = Desk::new();
    desk.file("x.json", FEW_LONG);
    let notes = desk.run(&["import", "x.json", "--out=run"]).with(0).stdout;
    assert!(notes.contains("rounded down to whole steps of 1 us"), "{notes}");
    for table in [&[][..], &["--table", "repeats"]] {
        let csv = desk.run(&[&["export", "run", "--format", "csv"], table].concat()).with(0).stdout;
        let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let (head, row) = (lines.next().unwrap(), lines.next().unwrap());
        for key in ["excursions", "excursion_events", "missed_periods"] {
            let at = head.iter().position(|name| *name == key).unwrap();
            assert_eq!(row[at], "", "{key}: {csv}");
        }
    }
    let metrics = desk.run(&["export", "run", "--format", "openmetrics"]).with(0).stdout;
    assert!(!metrics.lines().any(|line| line.starts_with("waykeeper_case_missed_periods{")), "{metrics}");
    desk.file("many.json", &FEW_LONG.replace("19999", "9223372036854775807").replace("39900", "9223372036854795708"));
    let refused = desk.run(&["import", "many.json", "--out=many"]).with(2).stderr;
    assert!(refused.contains("wake-ups, one every 1000 us"), "{refused}");
    // Of jitterdebugger no length is known that they could be compared with.
    let counts = r#"{ "1": 9223372036854775807, "2": 5 }"#;
    desk.file("most.json", &format!(r#"{{ "cpu": {{ "0": {{ "histogram": {counts} }} }} }}"#));
    let refused = desk.run(&["import", "most.json", "--duration=1s", "--out=many"]).with(2).stderr;
    assert!(refused.contains("more than a run can keep"), "{refused}");
    assert!(!desk.path().join("many").exists());
}

#[test]
fn a_core_without_samples_does_not_pass_a_budget() {
    let desk = Desk::new();
    let second = r#" "cpu": 2 },
      "1": { "histogram": { }, "cycles": 0, "min": 1000000, "max": 0, "avg": -nan, "cpu": 3 } } }"#;
    desk.file("x.json", &FEW_LONG.replace(r#" "cpu": 2 } } }"#, second));
    let text = desk.run(&["import", "x.json", "--out=run", "--budget=max<=2ms over 50s"]).with(4).stdout;
    for words in [
        "max<=2ms over 50s for core 3: too thin to say: there are no samples",
        "max<=2ms over 50s for core 2: not seen broken",
        "core 3 has no sample, although cyclictest was to measure it",
        "NO SAMPLE ended within 59 s of core 3; look for what kept its thread from running.",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(desk.run(&["compare", "run", "run"]).with(0).stdout.contains("nothing to compare"));
    desk.run(&["report", "run", "--out", "page.html"]).with(0);
    let csv = desk.run(&["export", "run", "--format", "csv"]).with(0).stdout;
    assert!(csv.contains("\ncore 3,cyclictest,3,none,,0,59,,,"), "{csv}");
}
