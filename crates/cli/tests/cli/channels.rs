//! `channels`.

use serde_json::Value;
use waykeeper_linux::fixtures;

use crate::program::{Desk, Ended, list};

fn complaints(value: &Value) -> Vec<String> {
    let schema = Desk::new().run(&["schema", "channels"]).with(0).json();
    let schema = jsonschema::validator_for(&schema).unwrap();
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn row<'t>(table: &'t Value, id: &str) -> &'t Value {
    list(table, "channels").iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("{id}"))
}

fn xeon(desk: &Desk) {
    fixtures::xeon().recording().write(&desk.path().join("xeon.tar.zst")).unwrap();
}

#[test]
fn tables_follow_the_schema() {
    let desk = Desk::new();
    xeon(&desk);
    for arguments in [
        &["channels", "--json"][..],
        &["channels", "--root", "xeon.tar.zst", "--json"],
        &["channels", "agilex5", "--policy", "agilex5-isolate-core1", "--json"],
        &["channels", "zynq7000", "--json"],
    ] {
        let mut table = desk.run(arguments).with(0).json();
        assert_eq!(complaints(&table), [""; 0], "{arguments:?}");
        table["channels"][0]["present"]["answer"] = "maybe".into();
        assert_ne!(complaints(&table), [""; 0]);
    }
}

/// A recording of this machine shows what its own files do.
#[test]
fn this_machine_and_its_recording_have_the_same_channels() {
    let desk = Desk::new();
    desk.run(&["machine", "--record", "box.tar.zst"]).with(0);
    let [here, there] = [&["channels", "--json"][..], &["channels", "--root", "box.tar.zst", "--json"]]
        .map(|arguments| desk.run(arguments).with(0).json());
    let answers = |table: &Value| -> Vec<(String, String, Vec<String>)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let of = |row: &Value| {
            let known = list(&row["present"], "known_by").iter().map(|known| text(&known["by"]));
            (text(&row["id"]), text(&row["present"]["answer"]), known.collect())
        };
        list(table, "channels").iter().map(of).collect()
    };
    assert_eq!(answers(&here), answers(&there));
    assert!(answers(&here).iter().any(|(_, answer, _)| answer == "yes"), "{here}");
}

/// A row in the text for each in the JSON, and what limits the table beside it.
#[test]
fn the_text_has_every_row_and_the_limits_of_the_table() {
    let desk = Desk::new();
    let text = desk.run(&["channels", "agilex5"]).with(0).stdout;
    let table = desk.run(&["channels", "agilex5", "--json"]).with(0).json();
    let rows: Vec<_> = list(&table, "channels").iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(rows.len() > 15, "{rows:?}");
    for name in rows {
        assert!(text.lines().any(|line| line.starts_with(&format!("{name}  "))), "{name}: {text}");
        assert!(text.contains(&format!("\n{name}: ")), "{name}: {text}");
    }
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in ["not a qualified tool", "AMC 20-193", "ISO 26262", "bounds nothing", "(WCET)", "known anomalies"] {
        assert!(words.contains(said), "{said}: {text}");
    }
}

/// Half of the L3 for two cores with their threads: the only channel that such masks act on.
#[test]
fn a_policy_is_planned_for_a_recorded_machine() {
    let desk = Desk::new();
    xeon(&desk);
    let policy = ["--policy", "tcc-halves", "--cores", "real-time=8,9,20,21", "--json"];
    let table = desk.run(&[&["channels", "--root", "xeon.tar.zst"][..], &policy].concat()).with(0).json();
    let reduced = |answer: &str| -> Vec<&str> {
        let rows = list(&table, "channels").iter().filter(|row| row["reduced"]["answer"] == answer);
        rows.map(|row| row["id"].as_str().unwrap()).collect()
    };
    assert_eq!(reduced("yes"), ["l3_ways"]);
    assert_eq!(reduced("not_seen"), [""; 0]);
    let settings = list(&row(&table, "l3_ways")["reduced"], "settings");
    // Half of twenty ways is ten: the highest ones below the two that devices fill (0xc0000), ways 8 to 17.
    assert!(settings.iter().any(|it| it["write"].as_str().unwrap().contains("L3:0=3ff00")), "{settings:?}");
    assert_eq!(table["policy"]["standing"], "planned");
    assert_eq!(table["policy"]["policy"], "tcc-halves");
}

#[test]
fn an_archive_has_no_journal_and_a_tree_without_one_has_no_policy() {
    let desk = Desk::new();
    xeon(&desk);
    fixtures::xeon().recording().write(&desk.path().join("tree")).unwrap();
    let table = desk.run(&["channels", "--root", "xeon.tar.zst", "--json"]).with(0).json();
    assert_eq!(table["policy"]["standing"], "not_seen");
    assert_eq!(row(&table, "l3_ways")["reduced"]["answer"], "not_seen");
    let table = desk.run(&["channels", "--root", "tree", "--json"]).with(0).json();
    assert_eq!(table["policy"]["standing"], "none", "{table}");
    assert_eq!(row(&table, "l3_ways")["reduced"]["answer"], "no");
}

#[test]
fn what_does_not_fit_is_bad_input() {
    let desk = Desk::new();
    fixtures::xeon().recording().write(&desk.path().join("tree")).unwrap();
    let refused = |arguments: &[&str], status, words: &str| {
        let ended: Ended = desk.run(arguments).with(status);
        assert!(ended.stderr.contains(words) && ended.stdout.is_empty(), "{arguments:?}: {ended:?}");
    };
    refused(&["channels", "agilex6"], 2, "bundled are agilex5");
    refused(&["channels", "agilex5", "--root", "tree"], 2, "expected one of both");
    refused(&["channels", "agilex5", "--rt-cores", "1"], 2, "expected one of both");
    refused(&["channels", "--root", "nowhere"], 2, "--root: nowhere: No such file");
    refused(&["channels", "--root", "tree", "--rt-cores", "77"], 2, "core 77 is not online");
    refused(&["channels", "--cores", "a=1"], 2, "--policy");
    refused(&["channels", "agilex5", "--policy", "nothing"], 2, "nothing");
    refused(&["channels", "--time-limit", "1s"], 2, "--measure");
    refused(&["channels", "agilex5", "--measure", "--target", "x"], 2, "expected WORKLOAD@CORE");
    let cores = ["channels", "x7425e", "--measure", "--policy", "tcc-halves", "--cores", "real-time=1"];
    refused(&cores, 2, "the cores that the policy itself names");
    refused(&["channels", "agilex5", "--run", "nowhere"], 2, "nowhere");
    refused(&["channels", "zynq7000", "--policy", "tcc-halves", "--cores", "real-time=1"], 3, "L3");
}

/// A short run of the hammer on the Agilex 5, alone and beside.
fn hammered(desk: &Desk) -> Value {
    let run = desk.run(&[
        "run",
        "agilex5-cluster-latency",
        "--duration=300us",
        "--repeats=5",
        "--set=mitigations=nl3a",
        "--out=run",
        "--json",
    ]);
    run.with(0).json()
}

/// A slowdown is the run's own. Its interval is Student's for the mean of five ratios: t(0.975, 4) = 2.7764 (tables).
#[test]
fn a_run_shows_which_neighbour_exercised_what() {
    let desk = Desk::new();
    let run = hammered(&desk);
    let table = desk.run(&["channels", "agilex5", "--run", "run", "--json"]).with(0).json();
    assert_eq!(complaints(&table), [""; 0]);
    let shown = desk.run(&["show", "run"]).with(0).stdout;
    let case = |name: &str| list(&run, "cases").iter().find(|case| case["name"] == name).unwrap();
    for id in ["l3_ways", "snoop_filters", "interconnect", "dram_banks", "dram_bus", "memory_side_cache"] {
        let exercised = &row(&table, id)["exercised"];
        assert_eq!(exercised["answer"], "yes", "{id}");
        let by = list(exercised, "by");
        assert_eq!(by.len(), 2, "{id}: without and with the mitigation");
        for it in by {
            let name = it["case"].as_str().unwrap();
            assert_eq!(it["slowdown"], case(name)["slowdown"]);
            assert_eq!(it["neighbours"][0], "way_hammer@2-3");
            assert!(!list(it, "also").iter().any(|other| other == id) && list(it, "also").len() == 5, "{it}");
            let alone = list(&run, "cases")
                .iter()
                .find(|case| list(case, "neighbours").is_empty() && case["mitigation"] == it["mitigation"])
                .unwrap();
            let mean = |case: &Value, repeat: usize| case["repeats"][repeat]["mean_ns"].as_f64().unwrap();
            let ratios: Vec<f64> = (0..5).map(|repeat| mean(case(name), repeat) / mean(alone, repeat)).collect();
            let centre = ratios.iter().sum::<f64>() / 5.0;
            let variance = ratios.iter().map(|ratio| (ratio - centre).powi(2)).sum::<f64>() / 4.0;
            let half = 2.7764 * (variance / 5.0).sqrt();
            let close = |found: &Value, expected: f64| (found.as_f64().unwrap() / expected - 1.0).abs() < 1e-4;
            assert!(close(&it["interval"][0], centre - half) && close(&it["interval"][1], centre + half), "{it}");
        }
    }
    // The same figure as a person reads it.
    let text = desk.run(&["channels", "agilex5", "--run", "run"]).with(0).stdout;
    let line = text.lines().find(|line| line.starts_with("snoop filters ")).unwrap();
    let figure = line.split_whitespace().find(|word| word.starts_with('x')).unwrap();
    assert!(shown.lines().any(|line| line.contains("none") && line.contains(figure)), "{figure}: {shown}");
    // The filter's counters witness it: the hammer takes lines from the target, which loses none alone.
    let counters = list(&list(&row(&table, "snoop_filters")["exercised"], "by")[0], "counters").to_vec();
    let lost = counters.iter().find(|it| it["name"] == "cluster_filter_evictions").unwrap();
    assert!(lost["beside_per_s"].as_f64() > lost["alone_per_s"].as_f64() && lost["rose"] == true, "{lost}");
    for id in ["smt", "graphics", "l2_ways", "mshrs"] {
        assert_eq!(row(&table, id)["exercised"]["answer"], "no", "{id}");
    }
}

#[test]
fn a_run_of_another_place_is_refused() {
    let desk = Desk::new();
    hammered(&desk);
    for (place, words) in [("zynq7000", "a run of `agilex5` (sim)"), ("this-machine", "the table is about a machine")] {
        let refused = desk.run(&["channels", place, "--run", "run"]).with(2).stderr;
        assert!(refused.contains(words), "{refused}");
    }
    let host = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released/0.1.0/host");
    xeon(&desk);
    let refused = desk.run(&["channels", "--root", "xeon.tar.zst", "--run", host.to_str().unwrap()]).with(2).stderr;
    assert!(refused.contains("it ran on the processor") && refused.contains("D-2752TER"), "{refused}");
}

/// A neighbour that is an external program: what it does is not known, so that no channel is said to be left alone.
#[test]
fn what_an_unknown_program_exercises_is_not_seen() {
    let desk = Desk::new();
    let mut run = hammered(&desk);
    for case in run["cases"].as_array_mut().unwrap() {
        for neighbour in case["neighbours"].as_array_mut().unwrap() {
            neighbour["workload"] = "somebody's".into();
        }
    }
    desk.file("run/run.json", &run.to_string());
    let table = desk.run(&["channels", "agilex5", "--run", "run", "--json"]).with(0).json();
    for row in list(&table, "channels") {
        assert_eq!(row["exercised"]["answer"], "not_seen", "{row}");
        assert!(row["exercised"]["why"].as_str().unwrap().contains("somebody's"), "{row}");
    }
}

/// Without a run nothing shows what exercises a channel, unless there is none.
#[test]
fn without_a_run_what_exercises_a_channel_is_not_seen() {
    let desk = Desk::new();
    for place in [&["channels"][..], &["channels", "agilex5"], &["channels", "zynq7000"]] {
        let table = desk.run(&[place, &["--json"]].concat()).with(0).json();
        for row in list(&table, "channels") {
            let expected = if row["present"]["answer"] == "no" { "no" } else { "not_seen" };
            assert_eq!(row["exercised"]["answer"], expected, "{row}");
        }
        let text = desk.run(place).with(0).stdout;
        assert_eq!(text.matches("no run was named").count(), 1, "{text}");
    }
}

/// The run for the table, on a small platform: each channel that a workload can exercise there has a case.
#[test]
fn a_measurement_covers_what_workloads_can_exercise() {
    let desk = Desk::new();
    let arguments = [
        "channels",
        "zynq7000",
        "--measure",
        "--set=simulated_duration=200us",
        "--set=repeats=2",
        "--out=made",
        "--json",
    ];
    let table = desk.run(&arguments).with(0).json();
    assert_eq!(complaints(&table), [""; 0]);
    assert_eq!(list(&table, "runs").len(), 1);
    let run = desk.record("made");
    assert_eq!(run["repeats"], 2);
    for row in list(&table, "channels") {
        let exercised = &row["exercised"];
        assert_eq!(list(exercised, "can").is_empty(), list(exercised, "by").is_empty(), "{row}");
        for it in list(exercised, "by") {
            let case = list(&run, "cases").iter().find(|case| case["name"] == it["case"]).unwrap();
            assert_eq!(it["slowdown"], case["slowdown"]);
        }
    }
    for (id, is_exercised) in
        [("l2_ways", true), ("dram_bus", true), ("tlb_walks", true), ("l3_ways", false), ("smt", false)]
    {
        assert_eq!(!list(&row(&table, id)["exercised"], "by").is_empty(), is_exercised, "{id}");
    }
    // The folder is a run like any other, and its table is the same.
    let again = desk.run(&["channels", "zynq7000", "--run", "made", "--json"]).with(0).json();
    assert_eq!(again["channels"], table["channels"]);
}

/// Two cores and some seconds of this machine.
#[test]
fn this_machine_is_measured_for_its_table() {
    let _machine = crate::program::this_machine();
    let desk = Desk::new();
    let arguments = ["channels", "--measure", "--set=duration=20ms", "--set=repeats=2", "--out=made", "--json"];
    let table = desk.run(&arguments).with(0).json();
    assert_eq!(complaints(&table), [""; 0]);
    let measured = list(&table, "channels").iter().filter(|row| !list(&row["exercised"], "by").is_empty()).count();
    assert!(measured > 0, "{table}");
}

/// Without and with the policy, on the core that it is for.
#[test]
fn a_measurement_repeats_all_under_the_policy() {
    let desk = Desk::new();
    let sets = ["--set=simulated_duration=100us", "--set=repeats=2"];
    let policy = ["--policy", "agilex5-isolate-core1", "--out=made", "--json"];
    let table = desk.run(&[&["channels", "agilex5", "--measure"][..], &sets, &policy].concat()).with(0).json();
    let by = list(&row(&table, "l3_ways")["exercised"], "by");
    let of = |mitigation: &str| by.iter().filter(|it| it["mitigation"] == mitigation).count();
    assert!(of("none") > 0 && of("none") == of("agilex5-isolate-core1"), "{by:?}");
    assert!(by.iter().all(|it| it["target"] == "chase_llc@1"), "{by:?}");
}
