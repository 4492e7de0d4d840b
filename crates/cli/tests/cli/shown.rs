//! What a person reads of a kept run: the figures here are written by hand, so that only the tables are under test.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::program::Desk;

fn case(name: &str, mitigation: &str, solo: bool, point: Value, more: Value) -> Value {
    let neighbours = if solo { json!([]) } else { json!([{ "workload": "stream_modify", "cores": [2, 3] }]) };
    let mut case = json!({
        "name": name, "target": "mser", "core": 1, "neighbours": neighbours, "mitigation": mitigation, "samples": 1000,
        "run_length_s": 1.0, "overflow": 0, "excursions": 0, "excursion_events": 0, "repeats": [], "point": point
    });
    case.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    case
}

fn run(sweeps: Value, table: Value, cases: Vec<Value>, expectations: Value) -> Value {
    json!({
        "schema": 1, "tool": { "name": "waykeeper", "version": "0.1.0" }, "command_line": [], "started": "2026-01-01T00:00:00Z",
        "experiment": "x", "title": "by hand", "platform": "p", "executor": "sim", "duration_s": 1.0, "repeats": 1, "seed": 1,
        "cut_short": false, "clock": { "name": "simulated counter", "frequency_hz": 4e8, "tick_ns": 2.5 },
        "machine": { "architecture": "simulated", "cores": 4 }, "sweeps": sweeps, "table": table, "cases": cases,
        "expectations": expectations
    })
}

fn shown(run: &Value) -> String {
    let desk = Desk::new();
    desk.file("run.json", &run.to_string());
    desk.run(&["show", "run.json"]).with(0).stdout
}

#[test]
fn the_grid_of_two_sweeps() {
    let mut cases = vec![case("idle", "none", true, json!({}), json!({ "mean_ns": 100.0 }))];
    for (cluster, factor) in [("A520", 1.0), ("A720", 4.0)] {
        for (size, slowdown) in [("8 KiB", 1.0), ("128 MiB", 2.0)] {
            for (mitigation, relief) in [("none", 1.0), ("5-1", 0.5)] {
                let mut more = json!({ "slowdown": slowdown * factor * relief });
                if (cluster, size) == ("A720", "128 MiB") {
                    more["reference"] = json!({ "slowdown": 8.0 * relief, "source": "S", "fitted": ["slowdown"] });
                }
                let point = json!({ "cluster": cluster, "size": size });
                cases.push(case(
                    &format!("{mitigation} [cluster {cluster}, size {size}]"),
                    mitigation,
                    false,
                    point,
                    more,
                ));
            }
        }
    }
    let sweeps =
        json!([{ "name": "cluster", "points": ["A520", "A720"] }, { "name": "size", "points": ["8 KiB", "128 MiB"] }]);
    let expectations = json!([
        { "says": "more ways help", "source": "S", "statement": "5-1 < none", "metric": "slowdown", "kind": "met", "text": "x1 < x2" },
        { "says": "more ways help", "source": "S", "statement": "5-1 <= 1", "metric": "slowdown", "kind": "not_met", "text": "it is not so that x4 <= x1" }
    ]);
    let mut told = String::new();
    for (heading, table) in [
        ("rows by default", json!({ "metric": "slowdown" })),
        ("rows are clusters", json!({ "metric": "slowdown", "rows": "cluster" })),
        ("columns are clusters", json!({ "metric": "slowdown", "columns": "cluster" })),
        ("another figure", json!({ "metric": "mean" })),
    ] {
        let text = shown(&run(sweeps.clone(), table, cases.clone(), expectations.clone()));
        writeln!(told, "=== {heading}\n{text}").unwrap();
    }
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!("the_grid_of_two_sweeps", told) });
}

#[test]
fn shapes_and_misses_of_cases_without_a_sweep() {
    let shape = |counts: Value| json!({ "from_ns": 100.0, "step_ns": 50.0, "counts": counts });
    let cases = vec![
        case(
            "idle",
            "none",
            true,
            json!({}),
            json!({ "misses_per_sample": 0.0, "shape": shape(json!([900, 100, 0, 0])) }),
        ),
        case(
            "none",
            "none",
            false,
            json!({}),
            json!({
                "misses_per_sample": 1903.25, "shape": shape(json!([1, 100, 898, 1])),
                "reference": { "source": "S", "misses_per_sample": 0.0, "max_ns": 300.0 }, "max_ns": 290.0
            }),
        ),
    ];
    let text = shown(&run(json!([]), json!({ "metric": "misses", "shape": true }), cases, json!([])));
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!("shapes_and_misses", text) });
}
