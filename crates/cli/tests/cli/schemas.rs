//! `schema`: what it prints accepts every file that comes with the program, and refuses mistakes.

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::program::{Desk, names_in, repository};

fn schema(kind: &str) -> Validator {
    let schema = Desk::new().run(&["schema", kind]).with(0).json();
    assert!(schema["$schema"].as_str().unwrap().contains("json-schema.org"), "{schema}");
    assert!(schema["description"].is_string(), "an editor has nothing to say about {kind}");
    jsonschema::validator_for(&schema).unwrap()
}

#[track_caller]
fn complaints(schema: &Validator, value: &Value) -> Vec<String> {
    schema.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// A TOML text as JSON.
fn read(text: &str) -> Value {
    serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap()
}

#[test]
fn every_bundled_file_follows_its_schema() {
    for (kind, folder) in
        [("experiment", "experiments"), ("workload", "workloads"), ("platform", "platforms"), ("policy", "policies")]
    {
        let schema = schema(kind);
        let folder = repository().join(folder);
        let names = names_in(&folder);
        assert!(!names.is_empty());
        for name in names.iter().filter(|name| name.ends_with(".toml")) {
            let text = std::fs::read_to_string(folder.join(name)).unwrap();
            assert_eq!(complaints(&schema, &read(&text)), [""; 0], "{name}");
        }
    }
}

#[test]
fn a_schema_refuses_what_the_program_refuses() {
    let experiment = "title = 'x'\n[[targets]]\nworkload = 'latency_loop'\n";
    let walk =
        "kind = 'walk'\noperation = 'read'\nouter = { count = 1, stride = 8 }\ninner = { count = 1, stride = 8 }\n";
    let class =
        "title = 'x'\n[[classes]]\nname = 'a'\ncores = { x = [1, 2], y = '3' }\nl3 = { share = 'half', at = 'high' }\n";
    for (kind, good, bad) in [
        ("experiment", experiment, "title = 'x'\n"),
        ("experiment", experiment, "title = 'x'\nrepeat = 3\n[[targets]]\nworkload = 'latency_loop'\n"),
        ("experiment", experiment, "title = 'x'\nrepeats = 0\n[[targets]]\nworkload = 'latency_loop'\n"),
        ("experiment", experiment, "title = 'x'\n[[targets]]\nworkload = 'latency_loop'\ncore = 'first'\n"),
        ("experiment", experiment, "title = 'x'\n[[targets]]\nworkload = 'latency_loop'\ncpu = 1\n"),
        ("workload", walk, "kind = 'walk'\noperation = 'read'\nouter = { count = 1, stride = 8 }\n"),
        ("workload", walk, "kind = 'wander'\n"),
        ("policy", class, "title = 'x'\n[[classes]]\nname = 'a'\ncores = '1'\nl3 = 4\n"),
        ("policy", class, "title = 'x'\n[[classes]]\nname = 'a'\ncores = { x = 1.5 }\nl3 = 'half'\n"),
        ("policy", class, &format!("{class}l4 = 'half'\n")),
        ("workload", walk, &format!("{walk}batch = 3\n")),
    ] {
        let schema = schema(kind);
        assert_eq!(complaints(&schema, &read(good)), [""; 0]);
        assert_ne!(complaints(&schema, &read(bad)), [""; 0], "{bad}");
    }
}

#[test]
fn a_run_follows_its_schema() {
    let desk = Desk::new();
    let run = desk.run(&[
        "run",
        "agilex5-cluster-latency",
        "--duration=100us",
        "--repeats=1",
        "--set=mitigations=nl3a",
        "--budget=max<=1s",
        "--json",
    ]);
    let schema = schema("run");
    let mut run = run.with(4).json();
    assert_eq!(complaints(&schema, &run), [""; 0]);
    run["cases"][0]["samples"] = json!("many");
    assert_ne!(complaints(&schema, &run), [""; 0]);
}
