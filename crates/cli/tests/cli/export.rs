//! Exports, read by programs that are not ours: Python's csv, xml and prometheus_client.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::program::{Desk, case, list};

fn desk() -> Desk {
    let desk = Desk::new();
    let ended = desk.run(&[
        "run",
        "agilex5-cluster-latency",
        "--set=mitigations=nl3a",
        "--duration=4ms",
        "--repeats=2",
        "--explain=2",
        "--budget=max<=1us",
        "--budget=max<=1ms@1e-9",
        "--budget=mean<=1us",
        "--out=run",
    ]);
    assert!(matches!(ended.status, Some(0 | 1)), "{ended:?}");
    desk
}

fn export(desk: &Desk, arguments: &[&str]) -> String {
    desk.run(&[&["export", "run"], arguments].concat()).with(0).stdout
}

/// What a Python script makes of a text on its standard input, as JSON.
#[track_caller]
pub fn python(script: &str, input: &str) -> Value {
    // Debian's own Python has Debian's packages; another one that is first on the path has not.
    let debian = Path::new("/usr/bin/python3");
    let program = if debian.exists() { debian } else { Path::new("python3") };
    let child = Command::new(program).args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child =
        child.expect("the tests of exports need python3; as root: apt-get install python3 python3-prometheus-client");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{script}: {input}; as root: apt-get install python3-prometheus-client");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Where a step of a histogram begins and ends, and its samples.
type Step = (f64, f64, f64);

const READ_CSV: &str = "import sys, io, csv, json
text = sys.stdin.buffer.read().decode()
print(json.dumps(list(csv.DictReader(io.StringIO(text, newline=''), strict=True))))";

fn number(row: &Value, key: &str) -> Option<f64> {
    row[key].as_str().unwrap_or_else(|| panic!("no column `{key}` in {row}")).parse().ok()
}

#[test]
fn tables_of_csv_have_the_numbers_of_run_json() {
    let desk = desk();
    let run = desk.record("run");
    let cases = python(READ_CSV, &export(&desk, &["--format=csv"]));
    assert_eq!(cases.as_array().unwrap().len(), list(&run, "cases").len());
    for (row, case) in cases.as_array().unwrap().iter().zip(list(&run, "cases")) {
        assert_eq!(row["case"], case["name"]);
        for key in ["samples", "run_length_s", "min_ns", "mean_ns", "p99_ns", "max_ns", "slowdown", "cost"] {
            assert_eq!(number(row, key), case.get(key).and_then(Value::as_f64), "{key} of {}", case["name"]);
        }
    }
    let repeats = python(READ_CSV, &export(&desk, &["--format=csv", "--table=repeats"]));
    for row in repeats.as_array().unwrap() {
        let of_case = case(&run, row["case"].as_str().unwrap());
        let repeat = &list(of_case, "repeats")[number(row, "repeat").unwrap() as usize - 1];
        for key in ["samples", "run_length_s", "max_ns", "max_at_s", "excursion_events", "seed"] {
            assert_eq!(number(row, key), repeat[key].as_f64(), "{key}");
        }
    }
    assert_eq!(repeats.as_array().unwrap().len(), 2 * list(&run, "cases").len());
}

#[test]
fn histograms_of_csv_hold_every_sample_between_the_extremes() {
    let desk = desk();
    let run = desk.record("run");
    let rows = python(READ_CSV, &export(&desk, &["--format=csv", "--table=histograms"]));
    let mut found: BTreeMap<(String, u64), Vec<Step>> = BTreeMap::new();
    for row in rows.as_array().unwrap() {
        let key = (row["case"].as_str().unwrap().to_owned(), number(row, "repeat").unwrap() as u64);
        let step = ["from_ns", "to_ns", "samples"].map(|column| number(row, column).unwrap());
        found.entry(key).or_default().push((step[0], step[1], step[2]));
    }
    assert_eq!(found.len(), 2 * list(&run, "cases").len());
    for ((name, repeat), steps) in found {
        let repeat = &list(case(&run, &name), "repeats")[repeat as usize - 1];
        assert_eq!(steps.iter().map(|step| step.2).sum::<f64>(), repeat["samples"].as_f64().unwrap());
        assert!(steps.iter().all(|step| step.0 <= step.1) && steps.windows(2).all(|pair| pair[0].1 < pair[1].0));
        let (min, max) = (repeat["min_ns"].as_f64().unwrap(), repeat["max_ns"].as_f64().unwrap());
        let (first, last) = (steps[0], steps[steps.len() - 1]);
        assert!(first.0 <= min && min <= first.1 && last.0 <= max && max <= last.1, "{name}: {first:?} {last:?}");
    }
    let timelines = python(READ_CSV, &export(&desk, &["--format=csv", "--table=timelines"]));
    for row in timelines.as_array().unwrap() {
        let repeat =
            &list(case(&run, row["case"].as_str().unwrap()), "repeats")[number(row, "repeat").unwrap() as usize - 1];
        assert_eq!(
            (number(row, "max_ns"), number(row, "at_s")),
            (repeat["max_ns"].as_f64(), repeat["max_at_s"].as_f64())
        );
        assert_eq!(number(row, "largest_of_s"), repeat["run_length_s"].as_f64());
    }
}

#[test]
fn metrics_read_in_both_formats_of_prometheus() {
    let desk = desk();
    let run = desk.record("run");
    let text = export(&desk, &["--format=openmetrics"]);
    for parser in ["prometheus_client.parser", "prometheus_client.openmetrics.parser"] {
        let script = format!(
            "import sys, json
from {parser} import text_string_to_metric_families as read
print(json.dumps([[f.name, f.type, f.documentation, [[s.name, s.labels, s.value, s.timestamp] for s in f.samples]] for f in read(sys.stdin.read())]))"
        );
        let families = python(&script, &text);
        let mut seen = 0;
        for family in families.as_array().unwrap() {
            assert!(family[1] == "gauge" && family[2] != "", "{family}");
            for sample in family[3].as_array().unwrap() {
                let (labels, value) = (&sample[1], sample[2].as_f64().unwrap());
                assert!(sample[3].is_null() && labels["experiment"] == run["experiment"], "{sample}");
                let key = match sample[0].as_str().unwrap() {
                    "waykeeper_case_max_seconds" => "max_ns",
                    "waykeeper_case_mean_seconds" => "mean_ns",
                    "waykeeper_case_quantile_seconds" if labels["quantile"] == "0.99" => "p99_ns",
                    _ => continue,
                };
                let expected = case(&run, labels["case"].as_str().unwrap())[key].as_f64().unwrap() / 1e9;
                assert_eq!(value, expected, "{sample}");
                seen += 1;
            }
        }
        assert_eq!(seen, 3 * list(&run, "cases").len(), "{parser}");
    }
    // One outcome of each budget holds.
    for budget in list(&run, "budgets") {
        let (name, kind) = (budget["case"].as_str().unwrap(), budget["kind"].as_str().unwrap());
        let line = format!(
            "waykeeper_budget_outcome{{experiment=\"agilex5-cluster-latency\",case=\"{name}\",budget=\"{}\",outcome=\"{kind}\"}} 1",
            budget["budget"].as_str().unwrap()
        );
        assert!(text.lines().any(|known| known == line), "{line}: {text}");
    }
}

#[test]
fn a_test_of_junit_passes_only_where_a_budget_was_not_seen_broken() {
    let desk = desk();
    let run = desk.record("run");
    let script = "import sys, json, xml.etree.ElementTree as tree
root = tree.fromstring(sys.stdin.buffer.read())
print(json.dumps([root.attrib, [[t.attrib['name'], sorted(c.tag for c in t), t[0].text] for t in root.iter('testcase')]]))";
    let read = python(script, &export(&desk, &["--format=junit"]));
    let tests = read[1].as_array().unwrap();
    let mut count: BTreeMap<&str, u64> = BTreeMap::new();
    for budget in list(&run, "budgets") {
        let name = format!("{} for {}", budget["budget"].as_str().unwrap(), budget["case"].as_str().unwrap());
        let test = tests.iter().find(|test| test[0] == name.as_str()).unwrap();
        let expected = match budget["kind"].as_str().unwrap() {
            "broken" => "failure",
            "too_thin" => "error",
            _ => "system-out",
        };
        *count.entry(expected).or_default() += 1;
        assert_eq!((&test[1], &test[2]), (&json!([expected]), &budget["text"]));
    }
    assert!(count.len() == 3, "the run has budgets of all three outcomes: {count:?}");
    assert_eq!(read[0]["failures"], count["failure"].to_string());
    assert_eq!(read[0]["errors"], count["error"].to_string());
    assert_eq!(read[0]["tests"], tests.len().to_string());
}

#[test]
fn slices_of_a_trace_are_the_explained_samples() {
    let desk = desk();
    let run = desk.record("run");
    let trace: Value = serde_json::from_str(&export(&desk, &["--format=perfetto"])).unwrap();
    let slices: Vec<&Value> = list(&trace, "traceEvents").iter().filter(|event| event["ph"] == "X").collect();
    let samples: Vec<&Value> = list(&run, "cases")
        .iter()
        .filter(|case| case.get("longest").is_some())
        .flat_map(|case| list(case, "longest"))
        .collect();
    let parts: usize = samples.iter().map(|sample| list(sample, "parts").len()).sum();
    assert_eq!(slices.len(), samples.len() + parts);
    let lengths = |values: Vec<f64>| {
        let mut values = values;
        values.sort_by(f64::total_cmp);
        values
    };
    let ours = lengths(
        slices
            .iter()
            .filter(|slice| slice["name"] == "sample")
            .map(|slice| slice["args"]["ns"].as_f64().unwrap())
            .collect(),
    );
    assert_eq!(ours, lengths(samples.iter().map(|sample| sample["ns"].as_f64().unwrap()).collect()));
    // Slices of a row follow each other: Perfetto draws others wrongly.
    let mut rows: BTreeMap<(u64, u64), Vec<(f64, f64)>> = BTreeMap::new();
    for slice in slices {
        let (from, length) = (slice["ts"].as_f64().unwrap(), slice["dur"].as_f64().unwrap());
        rows.entry((slice["pid"].as_u64().unwrap(), slice["tid"].as_u64().unwrap()))
            .or_default()
            .push((from, from + length));
    }
    for (row, mut slices) in rows {
        slices.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(slices.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 1e-6), "{row:?}: {slices:?}");
    }
}

#[test]
fn what_a_format_cannot_hold_is_refused() {
    let desk = Desk::new();
    let run = [
        "run",
        "agilex5-cluster-latency",
        "--set=mitigations=[]",
        "--set=expectations=[]",
        "--duration=1ms",
        "--repeats=1",
        "--out=run",
    ];
    desk.run(&run).with(0);
    let ended = desk.run(&["export", "run", "--format=junit"]).with(2);
    assert!(ended.stderr.contains("found no budget and no expectation"), "{ended:?}");
    let ended = desk.run(&["export", "run", "--format=perfetto"]).with(2);
    assert!(ended.stderr.contains("--explain N"), "{ended:?}");
    std::fs::remove_file(desk.path().join("run/samples.hlog")).unwrap();
    let ended = desk.run(&["export", "run", "--format=csv", "--table=histograms"]).with(2);
    assert!(ended.stderr.contains("samples.hlog"), "{ended:?}");
    let ended = desk.run(&["export", "run", "--format=csv", "--table=histograms", "--out=x.csv"]).with(2);
    assert!(!desk.path().join("x.csv").exists(), "{ended:?}");
}

#[test]
fn no_spreadsheet_takes_a_name_for_a_formula() {
    let desk = desk();
    let mut run = desk.record("run");
    run["cases"][0]["name"] = json!("=HYPERLINK(\"http://x\",\"a,b\")\r\n\u{1b}");
    desk.file("run/run.json", &run.to_string());
    let cases = python(READ_CSV, &export(&desk, &["--format=csv"]));
    assert_eq!(cases[0]["case"], "'=HYPERLINK(\"http://x\",\"a,b\")\\r\\n\\u{1b}");
    let labels = export(&desk, &["--format=openmetrics"]);
    assert!(labels.contains(r#"case="=HYPERLINK(\"http://x\",\"a,b\")\\r\\n\\u{1b}""#), "{labels}");
}

#[test]
fn no_result_replaces_a_file_of_a_run() {
    let desk = Desk::new();
    let run =
        ["run", "agilex5-cluster-latency", "--duration=1ms", "--repeats=1", "--set=mitigations=nl3a", "--out=run"];
    desk.run(&run).with(0);
    let kept = ["excursions.hlog", "experiment.toml", "run.json", "samples.hlog"];
    let bytes = || kept.map(|name| std::fs::read(desk.path().join("run").join(name)).unwrap());
    let before = bytes();
    for name in kept {
        let file = format!("run/{name}");
        for arguments in [
            &["export", "run", "--format=csv", "--out", &file][..],
            &["report", "run", "--out", &file],
            &["report", "run", "--svg=pictures", "--out", &file],
            &["status", "--openmetrics", &file],
            &["hunt", "agilex5-cluster-latency", "--out", &file],
            &["tune", "agilex5-cluster-latency", "--out", &file],
            &["rtcp", "generate", "--if=lo", "--period=1ms", "--count=1", "--out", &file],
            &["bundle", "run", "--out", &file],
        ] {
            let refused = desk.run(arguments).with(2).stderr;
            assert!(refused.contains(name), "{arguments:?}: {refused}");
        }
    }
    assert!(before == bytes(), "a file of the run was replaced");
    assert_eq!(desk.names(), ["run"]);
    // A file of such a name that is no run's is one as any other, and so is a new name beside a run's files.
    desk.file("samples.hlog", "mine\n");
    for file in ["samples.hlog", "run/run.csv"] {
        desk.run(&["export", "run", "--format=csv", "--out", file]).with(0);
    }
}

#[test]
fn no_result_replaces_an_experiment() {
    let desk = Desk::new();
    desk.run(&["run", "agilex5-cluster-latency", "--duration=1ms", "--repeats=1", "--out=kept"]).with(0);
    desk.file("mine.toml", "title = 'mine'\n");
    for arguments in
        [&["report", "kept", "--out", "mine.toml"][..], &["export", "kept", "--format", "csv", "--out", "mine.toml"]]
    {
        let refused = desk.run(arguments).with(2).stderr;
        assert!(refused.contains("mine.toml: this file is TOML") && refused.contains("another name"), "{refused}");
    }
    assert_eq!(std::fs::read_to_string(desk.path().join("mine.toml")).unwrap(), "title = 'mine'\n");
}

#[test]
fn figures_and_histograms_have_one_tick() {
    let desk = Desk::new();
    // The counter of this platform ticks every 627.5 ps, and simulated time is in whole picoseconds.
    desk.run(&["run", "apollo-lake-cat", "--duration=100ms", "--repeats=1", "--set=mitigations=[]", "--out=run"]);
    let run = desk.record("run");
    let tick_ns = run["clock"]["tick_ns"].as_f64().unwrap();
    for case in list(&run, "cases") {
        for figure in ["min_ns", "max_ns"] {
            let ticks = case[figure].as_f64().unwrap() / tick_ns;
            assert!(
                (ticks - ticks.round()).abs() < 1e-6,
                "{figure} of {}: {ticks} ticks of {tick_ns} ns",
                case["name"]
            );
        }
    }
    let rows = export(&desk, &["--format=csv", "--table=histograms"]);
    let python = "import csv, json, sys\n\
        ends = {}\n\
        for row in csv.DictReader(sys.stdin):\n    \
            ends.setdefault(row['case'], []).append((float(row['from_ns']), float(row['to_ns'])))\n\
        print(json.dumps({case: [min(ends)[0], min(ends)[1], max(ends)[0], max(ends)[1]] for case, ends in ends.items()}))";
    let ends = self::python(python, &rows);
    for case in list(&run, "cases") {
        let ends: Vec<f64> =
            list(&ends, case["name"].as_str().unwrap()).iter().map(|end| end.as_f64().unwrap()).collect();
        let within = |figure: &str, from: f64, to: f64| {
            let figure = case[figure].as_f64().unwrap();
            from - 1e-6 <= figure && figure <= to + 1e-6
        };
        assert!(within("min_ns", ends[0], ends[1]) && within("max_ns", ends[2], ends[3]), "{ends:?} of {case}");
    }
}
