//! A relay on the cable that drops, doubles and reorders known cycles: the counts are exact.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use waykeeper_packets::frame::{Frame, PacketKind};
use waykeeper_packets::interface::NetInterface;
use waykeeper_packets::path::{DataPath, PacketSocket, PacketWait};

use crate::network::{Namespace, Responder, count, this_machine};

/// What is sent on, for a packet of a kind and cycle.
pub type Rule = Box<dyn FnMut(PacketKind, u64, &Frame) -> Vec<Frame> + Send>;

/// A thread between a generator and a responder, in a namespace of its own.
pub struct Relay {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    _namespace: Arc<Namespace>,
}

impl Relay {
    /// Cables both to it and starts it.
    pub fn between(generator: &Namespace, responder: &Namespace, mut rule: Rule) -> Self {
        let namespace = Arc::new(Namespace::new());
        generator.cable("wk0", 0xa, &namespace, "left", 0xc);
        responder.cable("wk1", 0xb, &namespace, "right", 0xd);
        let (stop, inside) = (Arc::new(AtomicBool::new(false)), Arc::clone(&namespace));
        let stopped = Arc::clone(&stop);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            inside.enter();
            let open = |name| PacketSocket::open(&NetInterface::find(name).unwrap(), PacketWait::Interrupt).unwrap();
            let (mut left, mut right) = (open("left"), open("right"));
            ready.send(()).unwrap();
            while !stopped.load(Ordering::Relaxed) {
                pass_on(&mut left, &mut right, &mut rule);
                pass_on(&mut right, &mut left, &mut rule);
            }
        });
        is_ready.recv().unwrap();
        Self { stop, thread: Some(thread), _namespace: namespace }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn pass_on(from: &mut PacketSocket, to: &mut PacketSocket, rule: &mut Rule) {
    let mut frame = Frame::default();
    from.pass_time(Duration::from_micros(50)).unwrap();
    while from.receive(&mut frame).unwrap() {
        let bytes = frame.bytes();
        // The places of the format: kind at 19, cycle from 30 on.
        let kind = match bytes[19] {
            1 => PacketKind::Sensor,
            2 => PacketKind::Actuator,
            3 => PacketKind::Hello,
            _ => PacketKind::Here,
        };
        let cycle = u64::from_be_bytes(bytes[30..38].try_into().unwrap());
        for frame in rule(kind, cycle, &frame) {
            to.send(&frame).unwrap();
        }
    }
}

/// Drops sensor packets 10 and 20 to 24 and actuator packet 60, doubles sensor packet 30 and actuator packet 40, and lets
/// sensor packet 50 wait for 51.
fn rule() -> Rule {
    let mut held = None;
    Box::new(move |kind, cycle, frame| match (kind, cycle) {
        (PacketKind::Sensor, 10 | 20..=24) | (PacketKind::Actuator, 60) => vec![],
        (PacketKind::Sensor, 30) | (PacketKind::Actuator, 40) => vec![frame.clone(), frame.clone()],
        (PacketKind::Sensor, 50) => {
            held = Some(frame.clone());
            vec![]
        }
        (PacketKind::Sensor, 51) => [Some(frame.clone()), held.take()].into_iter().flatten().collect(),
        _ => vec![frame.clone()],
    })
}

#[test]
fn lost_doubled_and_reordered_cycles_are_counted_exactly() {
    let _machine = this_machine();
    for path in ["packet", "xdp"] {
        let (a, b) = (Namespace::new(), Namespace::new());
        let relay = Relay::between(&a, &b, rule());
        let responder = Responder::start(&b, &format!("--if wk1 --core 1 --path {path} --interrupt --json"));
        let arguments =
            format!("rtcp generate --if wk0 --path {path} --interrupt --period 2ms --count 100 --deadline 10s --json");
        let generated = a.waykeeper(&arguments).with(0).json();
        responder.send(Signal::TERM);
        let responded = responder.ended().with(0).json();
        drop(relay);
        // Lost: 10, 20 to 24, 60. Doubled: 30, which the responder answers twice, and 40. Reordered: 50, after 51.
        let expected = [("sent", 100), ("answered", 93), ("lost", 7), ("late", 0), ("doubled", 2), ("reordered", 1)];
        for (name, expected) in expected {
            assert_eq!(count(&generated, name), expected, "{path}, {name}: {generated}");
        }
        let lost = json!([{ "from": 10, "to": 10 }, { "from": 20, "to": 24 }, { "from": 60, "to": 60 }]);
        assert_eq!(generated["lost"], lost);
        // Six of the lost ones did not come here: 100 - 6, and 30 came twice.
        let expected = [("received", 95), ("doubled", 1), ("reordered", 1), ("missing", 6)];
        for (name, expected) in expected {
            assert_eq!(count(&responded, name), expected, "{path}, {name}: {responded}");
        }
    }
}

#[test]
fn late_cycles_are_listed_with_their_numbers() {
    let _machine = this_machine();
    let (a, b) = (Namespace::new(), Namespace::new());
    // Cycles 5 and 9 wait for 300 ms.
    let relay = Relay::between(
        &a,
        &b,
        Box::new(|kind, cycle, frame| {
            if kind == PacketKind::Actuator && (cycle == 5 || cycle == 9) {
                std::thread::sleep(Duration::from_millis(300));
            }
            vec![frame.clone()]
        }),
    );
    let responder = Responder::start(&b, "--if wk1 --path packet --interrupt");
    let record = a
        .waykeeper("rtcp generate --if wk0 --path packet --interrupt --period 400ms --count 10 --deadline 250ms --json")
        .with(0)
        .json();
    responder.send(Signal::TERM);
    responder.ended().with(0);
    drop(relay);
    let late: Vec<_> = record["late"].as_array().unwrap().iter().map(|late| late["cycle"].as_u64().unwrap()).collect();
    assert_eq!((count(&record, "late"), late), (2, vec![5, 9]), "{record}");
    assert_eq!((count(&record, "answered"), count(&record, "lost")), (10, 0));
}
