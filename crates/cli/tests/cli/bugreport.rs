//! `bugreport`: what a maintainer needs, and nothing that names a machine or a person.

use crate::program::{Desk, Ended};

#[test]
fn a_report_shows_versions_the_machine_and_the_run_and_names_nobody() {
    let desk = Desk::new();
    let home = desk.path().to_str().unwrap().to_owned();
    desk.run(&[
        "run",
        "agilex5-cluster-latency",
        "--duration=100us",
        "--repeats=1",
        "--set=mitigations=nl3a",
        "--out=kept",
    ])
    .with(0);
    let record = desk.path().join("kept/run.json");
    let text = std::fs::read_to_string(&record).unwrap();
    let note = format!("\"--seen-at\", \"10.0.2.15\", \"{home}/x\", ");
    std::fs::write(&record, text.replacen("\"command_line\": [", &format!("\"command_line\": [{note}"), 1)).unwrap();
    let mut command = desk.command(&["bugreport", "--run", "kept"]);
    let report = Ended::of(command.env("HOME", &home)).with(0).stdout;
    for expected in [
        concat!("waykeeper ", env!("CARGO_PKG_VERSION")),
        "## Doctor",
        "## Machine",
        "## Applied",
        "--seen-at REMOVED ~/x",
    ] {
        assert!(report.contains(expected), "{expected}: {report}");
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let named = [home.as_str(), "10.0.2.15"].into_iter().chain((host.len() > 2).then_some(host.as_str()));
    for name in named.filter(|name| *name != "localhost") {
        assert!(!report.contains(name), "{name}: {report}");
    }
    let missing = desk.run(&["bugreport", "--run", "nowhere"]).with(2);
    assert!(missing.stderr.starts_with("error: nowhere"), "{missing:?}");
}
