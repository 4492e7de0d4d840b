//! Launch times on a real kernel: packets that `etf` keeps in software on a virtual cable, and what the kernel reports about each.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use waykeeper_linux::qdisc::{PacketTiming, QueueingDiscipline, queueing_disciplines};
use waykeeper_packets::frame::{Frame, LEAST_PAYLOAD, MacAddress, Packet, PacketKind, WorkOfResponder};
use waykeeper_packets::generate::{GenerateOptions, generate};
use waykeeper_packets::interface::NetInterface;
use waykeeper_packets::path::launch::{Departure, LaunchQueue};
use waykeeper_packets::path::{DataPath, PacketSocket, PacketWait, PathKind};
use waykeeper_packets::record::GenerateRecord;
use waykeeper_packets::respond::{RespondOptions, respond};
use waykeeper_packets::role::RoleOptions;

use crate::circle::load_module;

/// Modules of the kernel's package that are needed.
pub const MODULES: [&str; 3] = ["veth.ko", "sch_etf.ko", "sch_taprio.ko"];

/// An emulated processor is slow: a packet has this long to leave.
const DELTA_NS: i64 = 50_000_000;
const LEAD_NS: i64 = 150_000_000;

/// Packets of the generator, and of the comparison with the receiver's clock.
const CYCLES: u64 = 50;
const FRAMES: u64 = 20;

/// Commands of iproute2: a cable with one queue and one with two.
const CABLES: [&str; 6] = [
    "/bin/ip link add wk0 address 02:00:00:00:00:0a numtxqueues 1 type veth peer name wk1 address 02:00:00:00:00:0b",
    "/bin/ip link set wk0 up",
    "/bin/ip link set wk1 up",
    "/bin/ip link add wk2 numtxqueues 2 type veth peer name wk3 numtxqueues 2",
    "/bin/ip link set wk2 up",
    "/bin/ip link set wk3 up",
];
const TAPRIO: &str = "/sbin/tc qdisc replace dev wk2 parent root taprio num_tc 2 map 0 1 queues 1@0 1@1 base-time 0 \
                      sched-entry S 01 300000 sched-entry S 03 200000 clockid CLOCK_TAI";

/// Tries launch times. Only the guest calls this.
///
/// # Errors
/// What is not as it should be.
pub fn run() -> Result<String, String> {
    for module in MODULES {
        load_module(&format!("/{module}"));
    }
    CABLES.iter().try_for_each(|line| command(line))?;
    let interface = NetInterface::find("wk0").map_err(|error| error.to_string())?;
    let refused = LaunchQueue::find(&interface, LEAD_NS).map(drop).map_err(|error| error.to_string());
    expect("a cable without `etf`", refused.as_ref().is_err_and(|why| why.contains("noqueue")), &refused)?;

    command(TAPRIO)?;
    let gates = disciplines("wk2")?;
    let timing =
        PacketTiming::Taprio { clock: Some(libc::CLOCK_TAI), cycle_ns: Some(500_000), assisted: false, offload: false };
    expect("the list with `taprio`", gates.iter().any(|one| one.timing == Some(timing)), &gates)?;

    command(&format!("/sbin/tc qdisc replace dev wk0 root etf clockid CLOCK_TAI delta {DELTA_NS}"))?;
    let found = disciplines("wk0")?;
    let delta_ns = DELTA_NS as i32;
    let timing =
        PacketTiming::Etf { clock: libc::CLOCK_TAI, delta_ns, offload: false, deadline: false, skip_check: false };
    expect("the list with `etf`", found.iter().any(|one| one.timing == Some(timing)), &found)?;

    let seen = frames(&interface)?;
    let record = whole_run()?;
    let counts = account(&record)?;
    Ok(format!("{seen} of {FRAMES} frames in their windows by the receiver's clock; of {CYCLES} cycles {counts}"))
}

fn command(line: &str) -> Result<(), String> {
    let mut words = line.split_whitespace();
    let output = Command::new(words.next().unwrap_or_default()).args(words).output();
    let output = output.map_err(|error| format!("{line}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{line}: {}", said.trim())) }
}

fn disciplines(interface: &str) -> Result<Vec<QueueingDiscipline>, String> {
    queueing_disciplines(interface).map_err(|error| format!("{interface}: {error}"))
}

fn expect(what: &str, holds: bool, found: &impl std::fmt::Debug) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("launch, {what}: {found:?}")) }
}

fn tai_ns() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one structure.
    unsafe { libc::clock_gettime(libc::CLOCK_TAI, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Sends frames with launch times and looks when they come, by the clock of the receiver. One more frame has a launch time that is over.
fn frames(from: &NetInterface) -> Result<u64, String> {
    let to = NetInterface::find("wk1").map_err(|error| error.to_string())?;
    let mut sender = PacketSocket::launching(from, PacketWait::BusyPoll).map_err(|error| error.to_string())?;
    let mut receiver = PacketSocket::open(&to, PacketWait::Interrupt).map_err(|error| error.to_string())?;
    let failed = |error: std::io::Error| format!("launch: {error}");
    let mut frame = Frame::default();
    let begun = tai_ns();
    let launch_ns = |cycle: u64| begun + LEAD_NS + cycle as i64 * 2_000_000;
    for cycle in 1..=FRAMES {
        frame.write(&packet(from.mac, to.mac, cycle), LEAST_PAYLOAD);
        sender.launch(&frame, launch_ns(cycle)).map_err(failed)?;
    }
    frame.write(&packet(from.mac, to.mac, FRAMES + 1), LEAST_PAYLOAD);
    let refused = sender.launch(&frame, begun - 1).map_err(|error| error.raw_os_error());
    expect("a launch time that is over", refused == Err(Some(libc::ENOBUFS)), &refused)?;
    let (mut came, mut left, mut missed, mut late) = (0, 0, 0, Vec::new());
    while tai_ns() < launch_ns(FRAMES) + LEAD_NS {
        while receiver.receive(&mut frame).map_err(failed)? {
            let seen_ns = tai_ns();
            let Ok(packet) = frame.read(to.mac) else { continue };
            came += 1;
            let opens = launch_ns(packet.cycle) - DELTA_NS;
            expect("a frame came before its window", seen_ns >= opens, &(packet.cycle, seen_ns - opens))?;
        }
        while let Some(departure) = sender.departure(&mut frame).map_err(failed)? {
            match departure {
                Departure::Left { .. } => left += 1,
                Departure::Missed => missed += 1,
                Departure::Refused => late.push(frame.read(to.mac).map_or(0, |packet| packet.cycle)),
            }
        }
        receiver.pass_time(Duration::from_millis(2)).map_err(failed)?;
    }
    expect("each frame left or missed its time", (left, left + missed) == (came, FRAMES), &(came, left, missed))?;
    expect("only the frame whose time was over is refused", late == [FRAMES + 1], &late)?;
    Ok(came)
}

fn packet(source: MacAddress, destination: MacAddress, cycle: u64) -> Packet {
    let work = WorkOfResponder::default();
    Packet { destination, source, vlan: None, kind: PacketKind::Sensor, session: 1, cycle, turnaround_ns: 0, work }
}

fn role(interface: &str, launch_lead_ns: Option<i64>) -> RoleOptions {
    RoleOptions {
        interface: interface.into(),
        path: PathKind::AfPacket,
        queue: None,
        wait: PacketWait::Interrupt,
        payload: LEAST_PAYLOAD,
        core: None,
        fifo: None,
        launch_lead_ns,
    }
}

/// `rtcp generate --launch-time` beside `rtcp respond`.
fn whole_run() -> Result<GenerateRecord, String> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let options =
            RespondOptions { role: role("wk1", None), work: None, instructions: 0, cycles: None, length_ns: None };
        let stop = &stop;
        let responder = scope.spawn(move || respond(&options, stop, |_, _| {}));
        let options = GenerateOptions {
            role: role("wk0", Some(LEAD_NS)),
            peer: None,
            period_ns: 10_000_000,
            deadline_ns: 10_000_000_000,
            cycles: Some(CYCLES),
            length_ns: None,
            vlan: None,
        };
        let generated = generate(&options, &AtomicBool::new(false));
        stop.store(true, Ordering::Relaxed);
        let responded = responder.join().map_err(|_| "the responder panicked".to_owned())?;
        responded.map_err(|error| format!("respond: {error}"))?;
        generated.map_err(|error| format!("generate: {error}"))
    })
}

/// Each packet left, or the kernel said why not; and no other one was lost.
fn account(record: &GenerateRecord) -> Result<String, String> {
    let launch = record.launch.as_ref().ok_or("the record has no launch times")?;
    let (counts, of) = (&record.counts, launch.counts);
    let all = (counts.sent + counts.refused, counts.refused);
    expect("all packets were sent, or refused by the queue", all == (CYCLES, of.refused), &(counts, of))?;
    expect("each packet is reported once", (of.left + of.missed, of.not_seen) == (counts.sent, 0), &(counts, of))?;
    expect("packets that missed their time are lost, and no others", counts.lost == of.missed, &(counts, of))?;
    let departures = record.figures.iter().find(|figure| figure.what.contains("departure"));
    let departures = departures.ok_or("the record has no departures")?;
    let early = departures.backwards;
    expect("no packet left before its window", early == 0 && departures.samples > 0, &(early, departures.samples))?;
    expect("no PTP in a bare guest", (launch.ptp4l.as_str(), launch.phc2sys.as_str()) == ("no", "no"), launch)?;
    Ok(format!("{} left, {} missed their launch time, {} came too late for it", of.left, of.missed, of.refused))
}
