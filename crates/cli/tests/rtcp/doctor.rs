//! The doctor on one end of a virtual cable, as the kernel and the driver of the cable describe it.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::network::{Namespace, PROGRAM};

fn finding<'r>(report: &'r Value, id: &str) -> &'r Value {
    report["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == id).unwrap()
}

#[test]
fn a_virtual_cable_is_examined() {
    let (a, b) = (Namespace::new(), Namespace::new());
    a.cable("wk0", 0xa, &b, "wk1", 0xb);
    // The kernel's files of interfaces are those of the namespace in which they were mounted.
    let inside = |command: &str| {
        let line = format!("mount -t sysfs none /sys && {command}");
        let output = a.command("unshare", &["--mount", "sh", "-c", &line]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let examined = |arguments: &str| {
        let (_, out, said) = inside(&format!("{PROGRAM} doctor --seconds 1 --json {arguments}"));
        serde_json::from_str::<Value>(&out).unwrap_or_else(|error| panic!("{error}: {said}"))
    };
    let report = examined("--if wk0");
    for (id, outcome) in [
        ("if-link", "fine"),
        // A cable that is no device.
        ("if-interrupts", "fine"),
        ("if-ptm", "fine"),
        // One queue was made.
        ("if-queues", "found"),
        // The driver of cables knows neither.
        ("if-eee", "not_seen"),
        ("if-pause", "not_seen"),
        // The kernel stamps.
        ("if-time-stamps", "found"),
        // A cable has no queueing discipline.
        ("if-launch", "found"),
    ] {
        assert_eq!(finding(&report, id)["outcome"], outcome, "{}", finding(&report, id));
    }
    assert!(examined("").to_string().contains("\"irqs\"") && !examined("").to_string().contains("if-link"));

    // The other end goes down; the kernel reports that within a second.
    b.ip("link set wk1 down");
    let begun = Instant::now();
    while finding(&examined("--if wk0"), "if-link")["severity"] != "serious" {
        assert!(begun.elapsed() < Duration::from_secs(20), "{}", examined("--if wk0"));
        std::thread::sleep(Duration::from_millis(200));
    }
    let (status, _, said) = inside(&format!("{PROGRAM} doctor --if eth7"));
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("--if eth7") && said.contains("wk0"), "{said}");
}
