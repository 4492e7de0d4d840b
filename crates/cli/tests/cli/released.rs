//! Files that released versions left: later versions read them and lose nothing of them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{Desk, list};

fn released(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released/0.1.0").join(name)
}

/// Every key of a record is still there with its value; new keys may stand beside them.
fn is_kept(old: &Value, new: &Value, at: &str) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                let at = format!("{at}.{key}");
                is_kept(value, new.get(key).unwrap_or_else(|| panic!("{at} is lost")), &at);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            assert_eq!(old.len(), new.len(), "{at}");
            old.iter().zip(new).enumerate().for_each(|(i, (old, new))| is_kept(old, new, &format!("{at}[{i}]")));
        }
        _ => assert!(old == new || old.as_f64().is_some() && old.as_f64() == new.as_f64(), "{at}: {old} became {new}"),
    }
}

#[test]
fn runs_are_shown_with_every_key_that_they_had() {
    let desk = Desk::new();
    for name in ["simulated", "host"] {
        let folder = released(name);
        let path = folder.to_str().unwrap();
        let old: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("run.json")).unwrap()).unwrap();
        is_kept(&old, &desk.run(&["show", path, "--json"]).with(0).json(), name);
        let cases = old["cases"].as_array().unwrap();
        let shown = desk.run(&["show", path, "--cases"]).with(0).stdout;
        assert!(cases.iter().all(|case| shown.contains(case["mitigation"].as_str().unwrap())), "{shown}");
        let compared = desk.run(&["compare", path, path, "--json"]).with(0).json();
        assert_eq!(compared["cases"].as_array().unwrap().len(), cases.len());
        desk.run(&["tail", path]).with(0);
    }
}

#[test]
fn the_experiment_of_a_simulated_run_gives_the_same_samples_again() {
    let desk = Desk::new();
    let (folder, old) = (released("simulated"), released("simulated/run.json"));
    let experiment = folder.join("experiment.toml");
    // The platform's parameters were corrected since; those of then are kept beside the runs.
    let platform = format!("--set=platform={}", released("agilex5.toml").display());
    let new = desk.run(&["run", experiment.to_str().unwrap(), &platform, "--json", "--out=again"]).with(0).json();
    let old: Value = serde_json::from_str(&std::fs::read_to_string(old).unwrap()).unwrap();
    let figures = |run: &Value| -> Vec<Value> {
        let of = |case: &Value| ["name", "samples", "min_ns", "max_ns", "mean_ns"].map(|key| case[key].clone());
        run["cases"].as_array().unwrap().iter().flat_map(of).collect()
    };
    assert_eq!(figures(&old), figures(&new));
}

#[test]
fn policies_are_carried_out_as_they_were() {
    let desk = Desk::new();
    for platform in ["i7-13800hre", "apollo-lake-e3950", "agilex5", "zynq7000"] {
        let policy = released(&format!("policies/{platform}.toml"));
        let old = std::fs::read_to_string(released(&format!("policies/{platform}.json"))).unwrap();
        let old: Value = serde_json::from_str(&old).unwrap();
        let new = desk.run(&["plan", policy.to_str().unwrap(), "--for", platform, "--json"]).with(0).json();
        let lines: Vec<&Value> = list(&new["lowered"], "lines").iter().map(|line| &line["shell"]).collect();
        // Why a line is there may be said in other words; another line, step or register would be another plan.
        let expected: Vec<&Value> = list(&old, "lines").iter().collect();
        assert!(!expected.is_empty(), "{platform}");
        assert_eq!((&old["form"], expected), (&new["lowered"]["form"], lines), "{platform}");
        assert_eq!(
            (&old["steps"], &old["writes"]),
            (&new["steps"], new["lowered"].get("writes").unwrap_or(&Value::Null)),
            "{platform}"
        );
    }
}
