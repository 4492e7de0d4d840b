//! XDP programs on the cable drop chosen cycles and note each one that they drop: the generator's account is theirs, cycle by cycle.

use std::collections::BTreeSet;

use rustix::process::Signal;
use serde_json::{Value, json};
use waykeeper_packets::bpf::{Instruction, Map, MapKind, XdpLink, XdpProgram, code::*, instruction, load_map};
use waykeeper_packets::frame::ETHERTYPE;
use waykeeper_packets::interface::NetInterface;
use waykeeper_packets::path::XdpMode;

use crate::network::{Namespace, Responder, count, this_machine};

// Of `linux/bpf.h`.
const FUNC_MAP_LOOKUP: i32 = 1;
const FUNC_REDIRECT: i32 = 23;
const XDP_DROP: i32 = 1;
/// The numbers of kinds of packets.
const SENSOR: i32 = 1;
const ACTUATOR: i32 = 2;

/// Sends frames on to another interface, but for packets of a kind whose cycle has an entry above 0 in the map: those are dropped, and
/// the entry counts on.
fn dropping(map: &Map, kind: i32, to: &NetInterface) -> Vec<Instruction> {
    let ours = i32::from(ETHERTYPE.to_be());
    let mut program = vec![
        // r2 = context->data; r3 = context->data_end
        instruction(LOAD_U32, 2, 1, 0, 0),
        instruction(LOAD_U32, 3, 1, 4, 0),
        // r4 = r2 + 38: the end of the cycle's number
        instruction(MOVE, 4, 2, 0, 0),
        instruction(ADD_CONSTANT, 4, 0, 0, 38),
        // if r4 > r3 goto on: the frame is shorter
        instruction(JUMP_IF_GREATER, 4, 3, 19, 0),
        // if the EtherType is not ours goto on
        instruction(LOAD_U16, 5, 2, 12, 0),
        instruction(JUMP_UNLESS_EQUAL_CONSTANT, 5, 0, 17, ours),
        // if the kind is another one goto on
        instruction(LOAD_U8, 5, 2, 19, 0),
        instruction(JUMP_UNLESS_EQUAL_CONSTANT, 5, 0, 15, kind),
        // *(u32 *)(r10 - 4) = the cycle
        instruction(LOAD_U64, 5, 2, 30, 0),
        instruction(BIG_ENDIAN, 5, 0, 0, 64),
        instruction(STORE_U32, 10, 5, -4, 0),
        // r0 = bpf_map_lookup_elem(map, r10 - 4)
        instruction(MOVE, 2, 10, 0, 0),
        instruction(ADD_CONSTANT, 2, 0, 0, -4),
    ];
    program.extend(load_map(1, map.descriptor()));
    program.extend([
        instruction(CALL, 0, 0, 0, FUNC_MAP_LOOKUP),
        // if there is no entry goto on
        instruction(JUMP_IF_EQUAL_CONSTANT, 0, 0, 6, 0),
        // if the entry is 0 goto on
        instruction(LOAD_U64, 1, 0, 0, 0),
        instruction(JUMP_IF_EQUAL_CONSTANT, 1, 0, 4, 0),
        // the entry += 1; return XDP_DROP
        instruction(MOVE_CONSTANT, 1, 0, 0, 1),
        instruction(ATOMIC_ADD_U64, 0, 1, 0, 0),
        instruction(MOVE_CONSTANT, 0, 0, 0, XDP_DROP),
        instruction(EXIT, 0, 0, 0, 0),
        // on: return bpf_redirect(to, 0)
        instruction(MOVE_CONSTANT, 1, 0, 0, to.index as i32),
        instruction(MOVE_CONSTANT, 2, 0, 0, 0),
        instruction(CALL, 0, 0, 0, FUNC_REDIRECT),
        instruction(EXIT, 0, 0, 0, 0),
    ]);
    program
}

/// One direction of the cable.
struct Way {
    map: Map,
    chosen: Vec<u32>,
    _link: XdpLink,
}

impl Way {
    fn open(from: &NetInterface, to: &NetInterface, kind: i32, cycles: u32, is_chosen: fn(u32) -> bool) -> Self {
        let map = Map::new(MapKind::Numbers, cycles + 1).unwrap();
        let chosen: Vec<u32> = (1..=cycles).filter(|cycle| is_chosen(*cycle)).collect();
        chosen.iter().for_each(|cycle| map.set(*cycle, 1).unwrap());
        let program = XdpProgram::load(&dropping(&map, kind, to)).unwrap();
        // The end has a program of its own where it uses AF_XDP, so this one is on another interface, in a namespace between both.
        let link = program.attach(from, XdpMode::Generic).unwrap();
        Self { map, chosen, _link: link }
    }

    /// The cycles whose packet was dropped, once each.
    fn dropped(&self) -> BTreeSet<u64> {
        let times = |cycle: u32| self.map.get(cycle).unwrap().saturating_sub(1);
        assert!(self.chosen.iter().all(|cycle| times(*cycle) <= 1));
        self.chosen.iter().filter(|cycle| times(**cycle) == 1).map(|cycle| u64::from(*cycle)).collect()
    }
}

/// The cycles as stretches, as the record lists them.
fn stretches(cycles: &BTreeSet<u64>) -> Value {
    let mut stretches: Vec<(u64, u64)> = Vec::new();
    for cycle in cycles {
        match stretches.last_mut() {
            Some((_, to)) if *to + 1 == *cycle => *to = *cycle,
            _ => stretches.push((*cycle, *cycle)),
        }
    }
    stretches.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect()
}

/// Every 37th sensor packet is dropped, and of 200 actuator packets the third to fifth, on a fresh path.
fn assert_counted(path: &str, period: &str, cycles: u32) {
    let (a, between, b) = (Namespace::new(), Namespace::new(), Namespace::new());
    a.cable("wk0", 0xa, &between, "left", 0xc);
    b.cable("wk1", 0xb, &between, "right", 0xd);
    let (there, back) = std::thread::scope(|scope| {
        let open = || {
            between.enter();
            let (left, right) = (NetInterface::find("left").unwrap(), NetInterface::find("right").unwrap());
            let there = Way::open(&left, &right, SENSOR, cycles, |cycle| cycle % 37 == 0);
            let back = Way::open(&right, &left, ACTUATOR, cycles, |cycle| (3..=5).contains(&(cycle % 200)));
            (there, back)
        };
        scope.spawn(open).join().unwrap()
    });
    let responder = Responder::start(&b, &format!("--if wk1 --core 1 --path {path} --json"));
    let generated = a
        .waykeeper(&format!("rtcp generate --if wk0 --core 0 --path {path} --period {period} --count {cycles} --json"));
    let generated = generated.with(0).json();
    responder.send(Signal::TERM);
    let responded = responder.ended().with(0).json();

    let (there, back) = (there.dropped(), back.dropped());
    assert_eq!(there.len() as u32, cycles / 37, "{path}, {period}");
    assert!(!back.is_empty());
    let lost: BTreeSet<u64> = there.union(&back).copied().collect();
    let what = format!("{path}, {period}: {generated} {responded}");
    assert_eq!(count(&generated, "sent"), u64::from(cycles), "{what}");
    assert_eq!(count(&generated, "lost"), lost.len() as u64, "{what}");
    assert_eq!(count(&generated, "answered") + count(&generated, "lost"), u64::from(cycles), "{what}");
    assert_eq!((&generated["lost"], generated["unlisted_lost"].as_u64()), (&stretches(&lost), Some(0)), "{what}");
    assert_eq!(count(&responded, "received"), u64::from(cycles) - there.len() as u64, "{what}");
    assert_eq!(count(&responded, "missing"), there.len() as u64, "{what}");
    for record in [&generated, &responded] {
        assert_eq!((count(record, "doubled"), count(record, "reordered")), (0, 0), "{what}");
    }
}

#[test]
fn af_packet_counts_what_a_program_on_the_cable_dropped() {
    let _machine = this_machine();
    assert_counted("packet", "1ms", 300);
    assert_counted("packet", "125us", 1500);
}

#[test]
fn af_xdp_counts_what_a_program_on_the_cable_dropped() {
    let _machine = this_machine();
    assert_counted("xdp", "1ms", 300);
    assert_counted("xdp", "125us", 1500);
}
