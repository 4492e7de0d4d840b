//! A responder that is killed: its cycles are lost from then on, and nothing is left on its interface.

use std::time::Duration;

use rustix::process::Signal;

use crate::network::{Namespace, Responder, count, this_machine};

#[test]
fn a_killed_responder_loses_the_cycles_after_it_and_leaves_no_program() {
    let _machine = this_machine();
    let (a, b) = (Namespace::new(), Namespace::new());
    a.cable("wk0", 0xa, &b, "wk1", 0xb);
    let responder = Responder::start(&b, "--if wk1 --core 1 --path xdp");
    assert!(b.ip("link show wk1").contains("xdp"), "there is no program to be detached");
    let generated = std::thread::scope(|scope| {
        let generated = scope.spawn(|| {
            a.waykeeper("rtcp generate --if wk0 --core 0 --path packet --interrupt --period 1ms --count 1500 --json")
        });
        std::thread::sleep(Duration::from_millis(700));
        responder.send(Signal::KILL);
        assert_eq!(responder.ended().status, None);
        generated.join().unwrap().with(0).json()
    });
    assert!(!b.ip("link show wk1").contains("xdp"), "the program outlived its process");
    let (sent, answered, lost) = (count(&generated, "sent"), count(&generated, "answered"), count(&generated, "lost"));
    assert_eq!((sent, answered + lost), (1500, 1500), "{generated}");
    assert!(answered > 0 && lost > 0, "{generated}");
    // Those after the last answer are one stretch, up to the last one that was sent.
    let last = generated["last_answered"].as_u64().unwrap();
    let stretch = generated["lost"].as_array().unwrap().last().unwrap();
    assert_eq!((stretch["from"].as_u64().unwrap(), stretch["to"].as_u64().unwrap()), (last + 1, 1500), "{generated}");
}

#[test]
fn an_interface_that_goes_down_ends_the_run_with_what_was_seen() {
    let _machine = this_machine();
    for path in ["packet", "xdp"] {
        let (a, b) = (Namespace::new(), Namespace::new());
        a.cable("wk0", 0xa, &b, "wk1", 0xb);
        let responder = Responder::start(&b, "--if wk1 --core 1 --path packet");
        let ended = std::thread::scope(|scope| {
            let generated = scope.spawn(|| {
                a.waykeeper(&format!(
                    "rtcp generate --if wk0 --path {path} --interrupt --period 1ms --duration 20s --json"
                ))
            });
            std::thread::sleep(Duration::from_millis(700));
            a.ip("link set wk0 down");
            generated.join().unwrap()
        });
        responder.send(Signal::TERM);
        responder.ended();
        let ended = ended.with(3);
        assert!(ended.stderr.contains("takes no packets any more"), "{path}: {}", ended.stderr);
        let record = ended.json();
        assert!(count(&record, "answered") > 0 && record["cut_short"] == true, "{path}: {record}");
    }
}
