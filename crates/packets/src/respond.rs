//! The responder: receives a sensor packet, computes, sends the actuator packet, and measures from receive to transmit.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use waykeeper_workload::Pattern;

use crate::accounts::{SensorAccount, StrangerCounts};
use crate::compute::Computation;
use crate::figure::CycleTimes;
use crate::frame::{Frame, MacAddress, Packet, PacketKind, WorkOfResponder};
use crate::interface::NetInterface;
use crate::path::{PathInUse, is_full};
use crate::record::{RespondRecord, SCHEMA, WorkRecord};
use crate::role::{LOOK, Ready, RoleError, RoleOptions, apart};
use crate::time::{self, now_ns, realtime_ns};

/// Another generator is served when the one before has been silent for so long.
const SILENCE_NS: i64 = 1_000_000_000;

/// What a responder does.
#[derive(Debug, Clone)]
pub struct RespondOptions {
    /// On which interface, path and core.
    pub role: RoleOptions,
    /// What it computes in each cycle; nothing where absent.
    pub work: Option<Pattern>,
    /// Instructions of that, where they are known.
    pub instructions: u64,
    /// It ends after so many sensor packets; where absent, when it is interrupted.
    pub cycles: Option<u64>,
    /// It ends after so many nanoseconds.
    pub length_ns: Option<i64>,
}

impl RespondOptions {
    fn is_limited(&self) -> bool {
        self.cycles.is_some() || self.length_ns.is_some()
    }
}

/// Answers until it is interrupted. Calls `ready` when it can be sent to.
///
/// # Errors
/// See [`RoleError`]. An interface that goes away meanwhile ends the run early, and what was measured until then is returned.
pub fn respond(
    options: &RespondOptions,
    stop: &AtomicBool,
    ready: impl FnOnce(&NetInterface, PathInUse) + Send,
) -> Result<RespondRecord, RoleError> {
    apart("rtcp-respond", || {
        // Memory first, so that it is locked with the rest.
        let work = options.work.as_ref().map(|pattern| Computation::new(pattern, options.instructions));
        let work = work.transpose().map_err(RoleError::Computation)?;
        let set_up = options.role.ready()?;
        ready(&set_up.interface, set_up.path.in_use());
        Ok(Responder::new(set_up, options, work).run(stop))
    })
}

struct Responder<'o> {
    ready: Ready,
    options: &'o RespondOptions,
    work: Option<Computation>,
    /// What its greetings say.
    greeting: WorkOfResponder,
    /// Whom it serves, and when that one was last heard.
    session: Option<(u64, MacAddress)>,
    heard_ns: i64,
    account: SensorAccount,
    strangers: StrangerCounts,
    turnaround: CycleTimes,
    computing: CycleTimes,
    delivery: CycleTimes,
    answer: Frame,
    began_ns: i64,
}

impl<'o> Responder<'o> {
    fn new(ready: Ready, options: &'o RespondOptions, work: Option<Computation>) -> Self {
        let path = ready.path.in_use().number();
        let greeting = WorkOfResponder { path, ..work.as_ref().map(Computation::work).unwrap_or_default() };
        Self {
            ready,
            options,
            work,
            greeting,
            session: None,
            heard_ns: 0,
            account: SensorAccount::default(),
            strangers: StrangerCounts::default(),
            turnaround: CycleTimes::default(),
            computing: CycleTimes::default(),
            delivery: CycleTimes::default(),
            answer: Frame::default(),
            began_ns: now_ns(),
        }
    }

    fn run(mut self, stop: &AtomicBool) -> RespondRecord {
        let ended = self.serve(stop);
        let ended_ns = now_ns();
        let run_length_s = (ended_ns - self.began_ns) as f64 / 1e9;
        let in_use = self.ready.path.in_use();
        let path = in_use.to_string();
        let figure = |times: &CycleTimes, what: &str, stamps: &str| {
            times.figure(what, &path, stamps, self.began_ns, run_length_s)
        };
        let mut figures = vec![figure(&self.turnaround, "receive to transmit", time::SOFTWARE)];
        if self.work.is_some() {
            figures.push(figure(&self.computing, "of which computing", time::SOFTWARE));
        }
        let delivery = self.delivery.figure("kernel to program", &path, time::KERNEL, 0, run_length_s);
        if delivery.samples > 0 {
            // Its readings are of another clock, so the time of its maximum is not one since the start.
            figures.push(crate::figure::CycleFigure { max_at_s: None, ..delivery });
        }
        RespondRecord {
            schema: SCHEMA,
            role: "respond".into(),
            interface: self.ready.interface.name,
            mac: self.ready.interface.mac.to_string(),
            payload_bytes: self.options.role.payload as u64,
            path: in_use,
            thread: self.ready.thread,
            work: WorkRecord::of(self.greeting),
            run_length_s,
            cut_short: self.options.is_limited() && !ended.as_ref().is_ok_and(|reached| *reached),
            interface_lost: ended.err().map(|error| error.to_string()),
            drops: self.ready.path.drops(),
            counts: self.account.counts(),
            strangers: self.strangers,
            figures,
        }
    }

    /// Answers; false where it was interrupted before its end.
    fn serve(&mut self, stop: &AtomicBool) -> io::Result<bool> {
        let mut frame = Frame::default();
        let ends = self.options.length_ns.map_or(i64::MAX, |length| self.began_ns.saturating_add(length));
        loop {
            while self.ready.path.receive(&mut frame)? {
                self.take(&frame, now_ns())?;
                if self.options.cycles.is_some_and(|cycles| self.account.counts().received >= cycles) {
                    return Ok(true);
                }
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            if now_ns() >= ends {
                return Ok(true);
            }
            self.ready.path.pass_time(LOOK)?;
        }
    }

    fn take(&mut self, frame: &Frame, seen_ns: i64) -> io::Result<()> {
        let packet = match frame.read(self.ready.interface.mac) {
            Ok(packet) if matches!(packet.kind, PacketKind::Sensor | PacketKind::Hello) => packet,
            Ok(_) => {
                self.strangers.foreign += 1;
                return Ok(());
            }
            Err(what) => {
                self.strangers.add(what);
                return Ok(());
            }
        };
        if !self.serves(&packet, seen_ns) {
            self.strangers.foreign += 1;
            return Ok(());
        }
        match packet.kind {
            PacketKind::Hello => self.greet(&packet),
            _ => self.cycle(&packet, frame.kernel_ns, seen_ns),
        }
    }

    /// Whether a packet is of the generator that is served. Another one becomes it after a silence.
    fn serves(&mut self, packet: &Packet, seen_ns: i64) -> bool {
        // Numbers of cycles begin at 1.
        if packet.kind == PacketKind::Sensor && packet.cycle == 0 {
            return false;
        }
        let who = (packet.session, packet.source);
        if self.session != Some(who) {
            if self.session.is_some() && seen_ns - self.heard_ns < SILENCE_NS {
                return false;
            }
            self.session = Some(who);
            self.account.begin_session();
        }
        self.heard_ns = seen_ns;
        true
    }

    fn greet(&mut self, packet: &Packet) -> io::Result<()> {
        let here = Packet { kind: PacketKind::Here, work: self.greeting, ..self.answer_to(packet) };
        self.send(&here)
    }

    fn answer_to(&self, packet: &Packet) -> Packet {
        Packet {
            destination: packet.source,
            source: self.ready.interface.mac,
            kind: PacketKind::Actuator,
            work: WorkOfResponder::default(),
            ..*packet
        }
    }

    fn cycle(&mut self, packet: &Packet, kernel_ns: Option<i64>, seen_ns: i64) -> io::Result<()> {
        let cycle = packet.cycle;
        if let Some(kernel_ns) = kernel_ns {
            self.delivery.add(cycle, kernel_ns, realtime_ns());
        }
        if let Some(work) = &mut self.work {
            let from_ns = now_ns();
            work.run();
            self.computing.add(cycle, from_ns, now_ns());
        }
        let turnaround_ns = (now_ns() - seen_ns).max(0) as u64;
        self.send(&Packet { turnaround_ns, ..self.answer_to(packet) })?;
        self.turnaround.add(cycle, seen_ns, now_ns());
        self.account.receive(cycle);
        Ok(())
    }

    fn send(&mut self, packet: &Packet) -> io::Result<()> {
        self.answer.write(packet, self.options.role.payload);
        match self.ready.path.send(&self.answer) {
            Err(error) if is_full(&error) => {
                self.account.refuse();
                Ok(())
            }
            other => other,
        }
    }
}
