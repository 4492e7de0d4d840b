//! Every path, with both periods: each cycle is answered, and each figure has a sample for it.

use rustix::process::Signal;
use serde_json::Value;

use crate::network::{Namespace, Responder, count, figure, this_machine};

/// Sends so many packets over a fresh cable. Returns the records of generator and responder.
fn run(both: &str, generate: &str, respond: &str) -> (Value, Value) {
    let (a, b) = (Namespace::new(), Namespace::new());
    a.cable("wk0", 0xa, &b, "wk1", 0xb);
    let responder = Responder::start(&b, &format!("--if wk1 --core 1 --json {both} {respond}"));
    let generated = a.waykeeper(&format!("rtcp generate --if wk0 --core 0 --json {both} {generate}")).with(0).json();
    responder.send(Signal::TERM);
    let responded = responder.ended().with(0).json();
    assert!(!b.ip("link show wk1").contains("xdp"), "the program is still attached");
    (generated, responded)
}

/// No packet was lost, and both sides agree.
#[track_caller]
fn assert_complete((generated, responded): &(Value, Value), cycles: u64) {
    for (name, expected) in [("sent", cycles), ("answered", cycles), ("lost", 0), ("doubled", 0), ("reordered", 0)] {
        assert_eq!(count(generated, name), expected, "{name}: {generated}");
    }
    for (name, expected) in [("received", cycles), ("doubled", 0), ("reordered", 0), ("missing", 0), ("sessions", 1)] {
        assert_eq!(count(responded, name), expected, "{name}: {responded}");
    }
    let round_trip = figure(generated, "round trip");
    let turnaround = figure(responded, "receive to transmit");
    for figure in [round_trip, turnaround] {
        assert_eq!(figure["samples"], cycles, "{figure}");
        let in_buckets: u64 = figure["histogram"].as_array().unwrap().iter().map(|it| it[1].as_u64().unwrap()).sum();
        assert_eq!(in_buckets, cycles, "{figure}");
        assert!(figure["run_length_s"].as_f64().unwrap() > 0.0, "{figure}");
        assert!(figure["time_stamps"].as_str().unwrap().starts_with("software"), "{figure}");
    }
    // A packet passes through the responder within its round trip.
    assert!(round_trip["min_ns"].as_f64() > turnaround["min_ns"].as_f64(), "{round_trip} {turnaround}");
    // Late cycles are those above the deadline: the histogram of the same samples says how many those are at least.
    let late = count(generated, "late");
    let deadline = generated["deadline_ns"].as_u64().unwrap();
    let buckets = round_trip["histogram"].as_array().unwrap();
    let above = buckets.iter().filter(|it| it[0].as_u64().unwrap() > deadline);
    let above: u64 = above.map(|it| it[1].as_u64().unwrap()).sum();
    assert!(late >= above && generated["late"].as_array().unwrap().len() as u64 == late.min(100), "{generated}");
}

#[test]
fn af_packet_carries_each_cycle() {
    let _machine = this_machine();
    let records = run("--path packet --busy-poll", "--period 1ms --count 500", "");
    assert_complete(&records, 500);
    assert_eq!(records.0["path"]["kind"], "af_packet");
    assert_eq!(figure(&records.1, "kernel to program")["samples"], 500);
    assert_complete(&run("--path packet --interrupt --fifo 50", "--period 125us --count 4000", ""), 4000);
}

#[test]
fn af_xdp_carries_each_cycle_and_says_what_it_is() {
    let _machine = this_machine();
    let records = run("--path xdp --busy-poll", "--period 1ms --count 500 --peer 02:00:00:00:00:0b", "");
    assert_complete(&records, 500);
    for record in [&records.0, &records.1] {
        // A virtual cable copies, and its driver runs XDP programs.
        assert_eq!(record["path"]["zero_copy"], false, "{record}");
        assert_eq!(record["path"]["xdp"], "driver", "{record}");
        let path = record["figures"][0]["path"].as_str().unwrap();
        assert!(path.starts_with("AF_XDP copy, driver XDP"), "{path}");
    }
    assert_complete(&run("--path xdp --interrupt --fifo 50", "--period 125us --count 4000", ""), 4000);
}

#[test]
fn a_computation_is_inside_the_turnaround_and_told_to_the_generator() {
    let _machine = this_machine();
    let (generated, responded) = run("--path xdp", "--period 1ms --count 300", "--compute 1296KiBx60k");
    assert_complete(&(generated.clone(), responded.clone()), 300);
    assert_eq!(generated["responder"], serde_json::json!({ "instructions": 60_000, "bytes": 1296 * 1024 }));
    let (all, part) = (figure(&responded, "receive to transmit"), figure(&responded, "of which computing"));
    assert_eq!(part["samples"], 300);
    // 20000 dependent loads take more than a nanosecond each.
    assert!(part["min_ns"].as_f64().unwrap() > 20_000.0, "{part}");
    assert!(all["mean_ns"].as_f64() > part["mean_ns"].as_f64(), "{responded}");
    let (generated, responded) = run("--path packet", "--period 5ms --count 20", "--compute latency_loop");
    assert_complete(&(generated, responded), 20);
}

#[test]
fn a_tag_goes_both_ways_on_both_paths() {
    let _machine = this_machine();
    for path in ["packet", "xdp"] {
        let records = run(&format!("--path {path}"), "--period 1ms --count 100 --vlan 100:6", "");
        assert_complete(&records, 100);
        assert_eq!(records.0["vlan"], serde_json::json!({ "id": 100, "priority": 6 }));
    }
}

#[test]
fn a_length_ends_a_run_and_a_file_keeps_it() {
    let _machine = this_machine();
    let (a, b) = (Namespace::new(), Namespace::new());
    a.cable("wk0", 0xa, &b, "wk1", 0xb);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rtcp.json");
    let responder = Responder::start(&b, "--if wk1 --path packet --interrupt --duration 3s --json");
    let text = a.waykeeper(&format!(
        "rtcp generate --if wk0 --path packet --interrupt --period 10ms --duration 500ms --out {}",
        out.display()
    ));
    let text = text.with(0).stdout;
    let kept: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    // 50 releases fit, and some may have been missed.
    let (sent, missed) = (count(&kept, "sent"), count(&kept, "missed_periods"));
    assert!(sent > 0 && sent + missed >= 50, "{kept}");
    assert!(text.contains("seen in") && text.contains("time stamps software"), "{text}");
    assert!(text.contains(&format!("{sent} answered, 0 lost")), "{text}");
    let responded = responder.ended().with(0).json();
    assert_eq!(responded["cut_short"], false);
}

#[test]
fn a_second_generator_is_served_after_the_first() {
    let _machine = this_machine();
    let (a, b) = (Namespace::new(), Namespace::new());
    a.cable("wk0", 0xa, &b, "wk1", 0xb);
    let responder = Responder::start(&b, "--if wk1 --core 1 --path xdp --json --count 200");
    for _ in 0..2 {
        let record = a.waykeeper("rtcp generate --if wk0 --path xdp --count 100 --json").with(0).json();
        assert_eq!((count(&record, "answered"), count(&record, "lost")), (100, 0));
    }
    let responded = responder.ended().with(0).json();
    assert_eq!((count(&responded, "received"), count(&responded, "sessions")), (200, 2));
    assert_eq!(count(&responded, "missing"), 0);
}
