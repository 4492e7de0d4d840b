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
    refused(&["channels", "zynq7000", "--policy", "tcc-halves", "--cores", "real-time=1"], 3, "L3");
}
