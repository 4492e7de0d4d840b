//! Packets of others, damaged ones and forged ones are counted and change nothing.

use rustix::process::Signal;
use serde_json::json;
use waykeeper_packets::frame::{Frame, PacketKind};

use crate::network::{Namespace, Responder, count, this_machine};
use crate::relay::{Relay, Rule};

/// A copy of a frame with some bytes changed, or cut.
fn changed(frame: &Frame, change: impl FnOnce(&mut Vec<u8>)) -> Frame {
    let mut bytes = frame.bytes().to_vec();
    change(&mut bytes);
    let mut copy = Frame::default();
    copy.take(&bytes);
    copy
}

/// Beside the packets of cycle 7 in each direction: one of another version, one cut short, two foreign ones (another beginning,
/// another session), and one of a cycle far ahead.
fn rule() -> Rule {
    Box::new(|kind, cycle, frame| {
        if cycle != 7 {
            return vec![frame.clone()];
        }
        let version = changed(frame, |bytes| bytes[18] = 2);
        let short = changed(frame, |bytes| bytes.truncate(40));
        let foreign = changed(frame, |bytes| bytes[14] = b'X');
        let session = changed(frame, |bytes| bytes[22] ^= 0x55);
        let mut all = vec![version, short, foreign, session];
        if kind == PacketKind::Actuator {
            all.push(changed(frame, |bytes| bytes[33] = 1));
        }
        all.push(frame.clone());
        all
    })
}

#[test]
fn damaged_and_forged_packets_are_counted_and_change_nothing() {
    let _machine = this_machine();
    for path in ["packet", "xdp"] {
        let (a, b) = (Namespace::new(), Namespace::new());
        let relay = Relay::between(&a, &b, rule());
        let responder = Responder::start(&b, &format!("--if wk1 --path {path} --interrupt --json"));
        let arguments = format!("rtcp generate --if wk0 --path {path} --interrupt --period 2ms --count 20 --json");
        let generated = a.waykeeper(&arguments).with(0).json();
        responder.send(Signal::TERM);
        let responded = responder.ended().with(0).json();
        drop(relay);
        let strangers = json!({ "foreign": 2, "short": 1, "wrong_version": 1 });
        for record in [&generated, &responded] {
            assert_eq!(record["strangers"], strangers, "{path}: {record}");
        }
        assert_eq!(count(&generated, "never_sent"), 1);
        assert_eq!(
            (count(&generated, "answered"), count(&generated, "lost"), count(&generated, "doubled")),
            (20, 0, 0)
        );
        assert_eq!((count(&responded, "received"), count(&responded, "sessions")), (20, 1));
    }
}
