//! What cannot be done is refused in one line, and nothing is left behind.

use crate::network::{Namespace, PROGRAM, Responder, this_machine};

use rustix::process::Signal;

#[track_caller]
fn refused(namespace: &Namespace, arguments: &str, status: i32, words: &[&str]) {
    let ended = namespace.waykeeper(arguments).with(status);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    for word in words {
        assert!(ended.stderr.contains(word), "`{word}` is not in: {}", ended.stderr);
    }
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
}

#[test]
fn interfaces_that_cannot_be_used_are_named() {
    let (a, b) = (Namespace::new(), Namespace::new());
    a.cable("wk0", 0xa, &b, "wk1", 0xb);
    refused(&a, "rtcp respond --if eth9", 3, &["no interface is called `eth9`", "wk0"]);
    refused(&a, "rtcp generate --if averyveryverylongname --count 1", 3, &["no interface is called"]);
    refused(&a, "rtcp respond --if lo", 3, &["`lo` is no Ethernet interface"]);
    a.ip("link set wk0 mtu 100");
    for path in ["xdp", "packet"] {
        let arguments = format!("rtcp respond --if wk0 --size 101 --path {path}");
        refused(&a, &arguments, 3, &["MTU of `wk0` is 100", "101", "--size"]);
    }
    a.ip("link set wk0 down");
    refused(&a, "rtcp respond --if wk0", 3, &["`wk0` is down", "ip link set wk0 up"]);
}

#[test]
fn mistakes_in_options_are_bad_input() {
    let namespace = Namespace::new();
    for (arguments, words) in [
        ("rtcp generate --if lo --count 1 --peer ff:ff:ff:ff:ff:ff", ["--peer", "six bytes"]),
        ("rtcp generate --if lo --count 1 --period 9us", ["--period 9us", "10 us or more"]),
        ("rtcp generate --if lo --count 1 --vlan 4095:0", ["--vlan", "0 to 4094"]),
        ("rtcp generate --if lo --count 1 --launch-time 1ms", ["--launch-time 1ms", "--path packet"]),
        ("rtcp generate --if lo --count 1 --path packet --launch-time 2s", ["--launch-time 2s", "1 s or less"]),
        ("rtcp respond --if lo --compute 264KiBx", ["--compute 264KiBx", "1296KiBx60000"]),
        ("rtcp respond --if lo --compute nothing_like_it", ["--compute nothing_like_it", "stream_read"]),
        ("rtcp respond --if lo --compute stress_ng_cache", ["an external program", "264KiBx12k"]),
        ("rtcp respond --if lo --duration 0s", ["--duration 0s", "or more"]),
    ] {
        refused(&namespace, arguments, 2, &words);
    }
    // Without an end there is none.
    namespace.waykeeper("rtcp generate --if lo").with(2);
    namespace.waykeeper("rtcp generate --if lo --count 1 --busy-poll --interrupt").with(2);
}

/// A cable has no queueing discipline; the kernel rig has one that keeps launch times.
#[test]
fn launch_times_that_nobody_keeps_are_refused_with_what_would_keep_them() {
    let (a, b) = (Namespace::new(), Namespace::new());
    a.cable("wk0", 0xa, &b, "wk1", 0xb);
    let arguments = "rtcp generate --if wk0 --count 1 --path packet --launch-time 1ms";
    let words = ["`wk0` keeps no launch times", "are noqueue", "tc qdisc replace dev wk0 root etf clockid CLOCK_TAI"];
    refused(&a, arguments, 3, &words);
}

#[test]
fn nobody_there_is_said() {
    let _machine = this_machine();
    let (a, b) = (Namespace::new(), Namespace::new());
    a.cable("wk0", 0xa, &b, "wk1", 0xb);
    let responder = Responder::start(&b, "--if wk1 --path packet --interrupt --json");
    // Somebody else's address: a responder is there, and does not answer to it.
    let wrong = "rtcp generate --if wk0 --path packet --interrupt --count 1 --peer 02:00:00:00:00:77";
    refused(&a, wrong, 3, &["no responder answered at 02:00:00:00:00:77", "`waykeeper rtcp respond --if IF`"]);
    responder.send(Signal::TERM);
    let record = responder.ended().with(0).json();
    assert!(record["strangers"]["foreign"].as_u64().unwrap() > 0, "{record}");
}

#[test]
fn queues_and_programs_of_others_are_left_alone() {
    let _machine = this_machine();
    let namespace = Namespace::new();
    namespace.ip("link add wk0 numrxqueues 2 numtxqueues 2 type veth peer name wk1 numrxqueues 2 numtxqueues 2");
    namespace.ip("link set wk0 up");
    namespace.ip("link set wk1 up");
    refused(
        &namespace,
        "rtcp respond --if wk0",
        3,
        &["2 receive queues", "ethtool -N wk0", "--queue 1", "--path packet"],
    );
    refused(&namespace, "rtcp respond --if wk0 --queue 2", 3, &["no queue 2", "below 2"]);
    let first = Responder::start(&namespace, "--if wk0 --queue 0 --interrupt");
    let before = namespace.ip("link show wk0");
    refused(&namespace, "rtcp respond --if wk0 --queue 0", 3, &["queue 0 of `wk0` already has an AF_XDP socket"]);
    refused(&namespace, "rtcp respond --if wk0 --queue 1", 3, &["already has an XDP program", "left alone"]);
    assert_eq!(namespace.ip("link show wk0"), before);
    first.send(Signal::INT);
    first.ended().with(0);
    assert!(!namespace.ip("link show wk0").contains("xdp"));
}

#[test]
fn a_lack_of_privilege_is_named() {
    let (a, b) = (Namespace::new(), Namespace::new());
    a.cable("wk0", 0xa, &b, "wk1", 0xb);
    for path in ["packet", "xdp"] {
        let arguments = ["--bounding-set=-all", PROGRAM, "rtcp", "respond", "--if", "wk0", "--path", path];
        let output = a.command("setpriv", &arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("CAP_NET_RAW") && said.contains("run it as root"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
