//! Metrics of `status` and `watch`, read by prometheus_client, and the dashboard that shows them.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;

use serde_json::Value;

use crate::acting::{Fake, halves};
use crate::export::python;
use crate::program::repository;

/// What both parsers of prometheus_client make of a text: metric, labels, value.
#[track_caller]
fn read(text: &str) -> Vec<(String, Value, f64)> {
    let read = ["prometheus_client.parser", "prometheus_client.openmetrics.parser"].map(|parser| {
        let script = format!(
            "import sys, json
from {parser} import text_string_to_metric_families as read
print(json.dumps([[s.name, s.labels, float(s.value)] for f in read(sys.stdin.read()) for s in f.samples]))"
        );
        python(&script, text)
    });
    assert_eq!(read[0], read[1]);
    let sample = |it: &Value| (it[0].as_str().unwrap().to_owned(), it[1].clone(), it[2].as_f64().unwrap());
    read[0].as_array().unwrap().iter().map(sample).collect()
}

fn status(fake: &Fake, exit: i32) -> String {
    let ended = fake.run(&["status", "--openmetrics=status.prom"]).with(exit);
    assert_eq!(ended.stdout, "");
    std::fs::read_to_string(fake.desk.path().join("status.prom")).unwrap()
}

fn value(text: &str, metric: &str, phase: Option<&str>) -> Option<f64> {
    let found = read(text).into_iter().find(|(name, labels, _)| name == metric && labels["phase"].as_str() == phase);
    found.map(|(_, _, value)| value)
}

#[test]
fn metrics_of_the_status_say_what_holds_what_changed_and_what_was_not_seen() {
    let fake = Fake::with_registers();
    let text = status(&fake, 0);
    let seen = |text: &str| {
        let names = ["status_seen", "policy_applied", "policy_holds", "settings_changed"];
        names.map(|name| value(text, &format!("waykeeper_{name}"), None))
    };
    // Nothing is applied: nothing can hold.
    assert_eq!(seen(&text), [Some(1.0), Some(0.0), None, None], "{text}");
    fake.apply(&halves(), &[]).with(0);
    let text = status(&fake, 0);
    assert_eq!(seen(&text), [Some(1.0), Some(1.0), Some(1.0), Some(0.0)], "{text}");
    assert_eq!(value(&text, "waykeeper_policy_phase", Some("applied")), Some(1.0), "{text}");
    assert_eq!(value(&text, "waykeeper_policy_phase", Some("restoring")), Some(0.0), "{text}");
    let device = std::fs::OpenOptions::new().write(true).open(fake.path("dev/cpu/0/msr")).unwrap();
    device.write_all_at(&0xf_u64.to_le_bytes(), 8 * 0xc90).unwrap();
    let text = status(&fake, 1);
    assert_eq!(seen(&text), [Some(1.0), Some(1.0), Some(0.0), Some(1.0)], "{text}");
    // The journal cannot be read: what the file said before is gone.
    let state = fake.desk.path().join("state");
    for entry in std::fs::read_dir(state).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::write(path, "no journal").unwrap();
        }
    }
    let text = status(&fake, 3);
    assert_eq!(seen(&text), [Some(0.0), None, None, None], "{text}");
}

fn groups() -> String {
    let fake = Fake::with_resctrl("");
    fake.file("sys/fs/resctrl/schemata", "MB:0=50;1=100\nL3:0=00f;1=fff\n");
    fake.file("sys/fs/resctrl/info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n");
    fake.file("sys/fs/resctrl/info/L3_MON/num_rmids", "8\n");
    fake.file("sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy", "196608\n");
    fake.file("sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "1000\n");
    fake.file("sys/fs/resctrl/mon_data/mon_L3_00/mbm_local_bytes", "Unavailable\n");
    let watch = ["watch", "--count=2", "--interval=50ms", "--openmetrics=groups.prom"];
    assert_eq!(fake.run(&watch).with(0).stdout, "");
    assert!(fake.desk.names().iter().all(|name| !name.ends_with(".part")), "{:?}", fake.desk.names());
    std::fs::read_to_string(fake.desk.path().join("groups.prom")).unwrap()
}

#[test]
fn metrics_of_groups_have_ways_limits_occupancy_and_bandwidth() {
    let text = groups();
    let found = read(&text);
    let of = |name: &str, domain: &str| {
        let is_it = |it: &&(String, Value, f64)| {
            it.0 == format!("waykeeper_group_{name}") && it.1["domain"] == domain && it.1["group"] == "(root)"
        };
        found.iter().find(is_it).map(|it| it.2)
    };
    assert_eq!((of("ways", "L3:0"), of("ways", "L3:1"), of("ways", "MB:0")), (Some(4.0), Some(12.0), None), "{text}");
    assert_eq!(
        (of("limit", "MB:0"), of("limit", "MB:1"), of("limit", "L3:0")),
        (Some(50.0), Some(100.0), None),
        "{text}"
    );
    assert_eq!(of("occupancy_bytes", "L3:0"), Some(196_608.0), "{text}");
    // The counter stood still; what the kernel calls unavailable is absent, and not 0.
    assert_eq!(of("total_bytes_per_second", "L3:0"), Some(0.0), "{text}");
    assert_eq!(of("local_bytes_per_second", "L3:0"), None, "{text}");
    assert!(found.iter().any(|it| it.0 == "waykeeper_group_tasks" && it.2 == 1.0), "{text}");
}

#[test]
fn every_metric_of_the_dashboard_is_exported_and_no_file_repeats_one_of_another() {
    let dashboard = std::fs::read_to_string(repository().join("examples/grafana/waykeeper.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let mut shown = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let words = target["expr"].as_str().unwrap().split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let metrics: Vec<_> = words.filter(|word| word.starts_with("waykeeper_")).map(str::to_owned).collect();
            assert!(!metrics.is_empty(), "{target}");
            shown.extend(metrics);
        }
    }
    let fake = Fake::with_registers();
    let families = |text: &str| -> BTreeSet<String> {
        let named = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
        named.map(str::to_owned).collect()
    };
    let (status, groups) = (families(&status(&fake, 0)), families(&groups()));
    assert!(status.is_disjoint(&groups));
    let run =
        fake.desk.command(&["run", "agilex5-cluster-latency", "--duration=1ms", "--repeats=1", "--out=run"]).output();
    assert!(run.unwrap().status.success());
    let exported = fake.desk.run(&["export", "run", "--format=openmetrics"]).with(0).stdout;
    let run = families(&exported);
    assert!(run.is_disjoint(&groups) && run.is_disjoint(&status));
    let exported: BTreeSet<String> = [status, groups, run].into_iter().flatten().collect();
    assert!(shown.is_subset(&exported), "{:?}", shown.difference(&exported));
    assert!(shown.len() > 8, "{shown:?}");
}
