//! After a write to `schemata` occupancy, bandwidth and the target's latency move over simulated time, and come to where
//! they are in a room that had the mask from the start. Best run with `--release`: it simulates.
//!
//! A server's L3 of 20 ways of 1 MiB that takes in what the second levels (1.25 MiB) evict. The target on core 0 chases
//! through 5 MiB, in group `rt`; two cores stress the rest. Its ways are 8 (all 5 MiB fit) or 2 (they do not), and what it
//! does not have, the others have: a way that nobody fills keeps its old lines for ever.
//!
//! Tolerances, stated before any figure was seen. The measure of everything is the distance between the two settled
//! states, measured in rooms that never changed; a change must cover nine tenths of it. Both rooms place the
//! target's buffer on the same pages, but the phases of three programs differ, and bandwidth is counted in steps
//! of 64 KiB: of some 3 MiB in a window that is 2 %. Right after the write less than a tenth may be covered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use waykeeper_platform::{CoreId, Platform, find_bundled};
use waykeeper_resctrl::{Caller, FileOperation, KernelRelease, Reply};
use waykeeper_room::backing::{Backing, ControlChange, CoreCounts, MonitorCounts, SampleSink, Work};
use waykeeper_room::socket::protocol::{RoomOutcome, RoomStatus};
use waykeeper_room::{Room, RoomSpec, simulated};

const MILLISECOND: u64 = 1_000_000_000;
/// Time in which a room settles: some passes of the chase, and more than the others need to fill the L3.
const SETTLE: u64 = 12 * MILLISECOND;
/// Time over which a settled state is measured.
const WINDOW: u64 = 8 * MILLISECOND;
/// Time between looks while figures move.
const STEP: u64 = MILLISECOND;

const WIDE: (&str, &str) = ("ff000", "fff");
const NARROW: (&str, &str) = ("c0000", "3ffff");

/// A backing whose time passes only as far as it is let, so that nothing depends on how fast this machine is.
struct Gated {
    inner: Box<dyn Backing>,
    until: Arc<AtomicU64>,
}

impl Backing for Gated {
    fn advance(&mut self, until_ps: u64, sink: &mut dyn SampleSink) {
        let until = until_ps.min(self.until.load(Ordering::SeqCst));
        if until > self.inner.now_ps() {
            self.inner.advance(until, sink);
        } else {
            std::thread::yield_now();
        }
    }
    fn now_ps(&self) -> u64 {
        self.inner.now_ps()
    }
    fn tick_ns(&self) -> f64 {
        self.inner.tick_ns()
    }
    fn start(&mut self, work: &Work) -> Result<(), String> {
        self.inner.start(work)
    }
    fn stop(&mut self, core: CoreId) -> Result<(), String> {
        self.inner.stop(core)
    }
    fn set(&mut self, control: ControlChange) -> Result<(), String> {
        self.inner.set(control)
    }
    fn lock(&mut self, level: u8, core: CoreId, ways: u32) -> Result<u64, String> {
        self.inner.lock(level, core, ways)
    }
    fn unlock(&mut self, region: u64) -> Result<(), String> {
        self.inner.unlock(region)
    }
    fn give(&mut self, core: CoreId, bytes: u64) -> Result<u64, String> {
        self.inner.give(core, bytes)
    }
    fn take_back(&mut self, memory: u64) -> Result<(), String> {
        self.inner.take_back(memory)
    }
    fn monitored(&self, level: u8, core: CoreId, monitor: u8) -> MonitorCounts {
        self.inner.monitored(level, core, monitor)
    }
    fn counts(&self, core: CoreId) -> CoreCounts {
        self.inner.counts(core)
    }
    fn monitors(&self) -> u8 {
        self.inner.monitors()
    }
}

/// What a settled room shows over a window.
#[derive(Debug, Clone, Copy)]
struct Seen {
    occupancy_bytes: f64,
    bandwidth_bytes_s: f64,
    latency_ticks: f64,
}

impl Seen {
    fn figures(&self) -> [(&'static str, f64); 3] {
        [("occupancy", self.occupancy_bytes), ("bandwidth", self.bandwidth_bytes_s), ("latency", self.latency_ticks)]
    }
}

struct Stage {
    room: Room,
    until: Arc<AtomicU64>,
}

impl Stage {
    /// A room with the target's and the others' masks, before anything has run.
    fn new((target, others): (&str, &str)) -> Self {
        let platform = Platform::from_toml(find_bundled("xeon-d-2752ter").unwrap().text, "x").unwrap();
        let until = Arc::new(AtomicU64::new(0));
        let backing = Box::new(Gated { inner: simulated(&platform).unwrap(), until: Arc::clone(&until) });
        let mut plan = RoomSpec::new(platform, KernelRelease::V6_12);
        plan.proc = "/nowhere".into();
        let stage = Self { room: Room::open(plan, backing).unwrap(), until };
        let make = FileOperation::Mkdir { path: b"rt".to_vec(), mode: 0o755 };
        stage.room.apply(&Caller::default(), &make).unwrap();
        stage.write("rt/cpus", "1\n");
        stage.masks((target, others));
        let target = r#"{"kind":"chase","size":"5 MiB"}"#;
        let other = r#"{"kind":"random","data":"LLC","data_accesses":768,"data_modifies":256,"code":"1 line","code_calls":1,"event_code_lines":1,"event_data_lines":1}"#;
        for (core, watched, workload) in [(0, true, target), (1, false, other), (2, false, other)] {
            let line = format!(
                r#"{{"version":1,"ask":"start","name":"x","workload":{workload},"core":{core},"target":{watched}}}"#
            );
            assert!(matches!(stage.ask(&line), RoomOutcome::Started { .. }), "{line}");
        }
        stage
    }

    fn ask(&self, line: &str) -> RoomOutcome {
        self.room.answer(line.as_bytes()).outcome
    }

    fn write(&self, path: &str, text: &str) {
        let operation = FileOperation::Write { path: path.into(), data: text.into() };
        self.room.apply(&Caller::default(), &operation).unwrap();
    }

    fn masks(&self, (target, others): (&str, &str)) {
        // The shrinking one first would do as well: overlapping masks are allowed in between.
        self.write("rt/schemata", &format!("L3:0={target}\n"));
        self.write("schemata", &format!("L3:0={others}\n"));
        // Requests are taken in order: when this one is refused, the masks are in force.
        assert!(matches!(self.ask(r#"{"version":1,"ask":"stop","id":999}"#), RoomOutcome::Refused { .. }));
    }

    /// Lets simulated time pass.
    fn pass(&self, ps: u64) {
        let until = self.until.fetch_add(ps, Ordering::SeqCst) + ps;
        loop {
            let RoomOutcome::Waited { now_ns } = self.ask(r#"{"version":1,"ask":"wait","ns":0}"#) else { panic!() };
            if now_ns * 1000.0 >= until as f64 {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn counter(&self, name: &str) -> f64 {
        let path = format!("rt/mon_data/mon_L3_00/{name}").into_bytes();
        let Reply::Bytes(text) = self.room.apply(&Caller::default(), &FileOperation::Read { path }).unwrap() else {
            panic!()
        };
        String::from_utf8(text).unwrap().trim().parse().unwrap()
    }

    fn status(&self) -> RoomStatus {
        let RoomOutcome::Status(status) = self.ask(r#"{"version":1,"ask":"status"}"#) else { panic!() };
        status
    }

    /// Measures over a window. The occupancy is the mean of its beginning, middle and end.
    fn measure(&self) -> Seen {
        self.status();
        let before = self.counter("mbm_total_bytes");
        let mut occupancy = self.counter("llc_occupancy");
        for _ in 0..2 {
            self.pass(WINDOW / 2);
            occupancy += self.counter("llc_occupancy");
        }
        let moved = self.counter("mbm_total_bytes") - before;
        let latency = self.status().loads[0].latency.expect("the chase has samples");
        Seen {
            occupancy_bytes: occupancy / 3.0,
            bandwidth_bytes_s: moved / (WINDOW as f64 / 1e12),
            latency_ticks: latency.mean,
        }
    }
}

fn settled(masks: (&str, &str)) -> (Stage, Seen) {
    let stage = Stage::new(masks);
    stage.pass(SETTLE);
    let seen = stage.measure();
    (stage, seen)
}

/// How much of the way from one value to another is covered.
fn covered(from: f64, to: f64, now: f64) -> f64 {
    (now - from) / (to - from)
}

/// Changes a room from one state to the other, and looks on.
fn moves(stage: &Stage, from: &Seen, to: &Seen, masks: (&str, &str)) {
    let at = |now: f64| covered(from.occupancy_bytes, to.occupancy_bytes, now);
    stage.masks(masks);
    let first = at(stage.counter("llc_occupancy"));
    // Time passes in steps, and what was covered after each is kept.
    let mut course = Vec::new();
    for _ in 0..SETTLE / STEP {
        stage.pass(STEP);
        course.push(at(stage.counter("llc_occupancy")));
    }
    let after = stage.measure();
    println!("from {from:?}\nto {to:?}\nafter {after:?}\nright after the write {first:.3}, then {course:.2?}");
    assert!(first.abs() < 0.1, "lines stay until they are evicted: {first} of the way was covered at once");
    assert!(course.iter().any(|part| (0.2..0.8).contains(part)), "it moved in one step: {course:?}");
    for ((what, old), ((_, new), (_, found))) in
        from.figures().into_iter().zip(to.figures().into_iter().zip(after.figures()))
    {
        let part = covered(old, new, found);
        assert!((0.9..=1.1).contains(&part), "{what}: from {old} towards {new}, and came to {found}");
    }
}

#[test]
fn a_change_of_masks_comes_to_where_a_room_with_those_masks_is() {
    let (wide_room, wide) = settled(WIDE);
    let (narrow_room, narrow) = settled(NARROW);
    // The set-up is worth something only if the states differ: a task that does not fit moves more and waits longer.
    assert!(wide.occupancy_bytes > 1.5 * narrow.occupancy_bytes, "{wide:?} {narrow:?}");
    assert!(narrow.bandwidth_bytes_s > 2.0 * wide.bandwidth_bytes_s, "{wide:?} {narrow:?}");
    assert!(narrow.latency_ticks > 1.2 * wide.latency_ticks, "{wide:?} {narrow:?}");
    moves(&wide_room, &wide, &narrow, NARROW);
    moves(&narrow_room, &narrow, &wide, WIDE);
}
