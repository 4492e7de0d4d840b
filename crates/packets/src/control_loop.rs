//! The control loop: a sensor packet in, a computation, an actuator packet out; whom it serves and what it counts.

use std::io;
use std::time::Duration;

use waykeeper_workload::PacketLink;

use crate::accounts::{SensorAccount, SensorCounts, StrangerCounts};
use crate::frame::{Frame, MacAddress, Packet, PacketKind, WorkOfResponder};
use crate::interface::NetInterface;
use crate::path::{self, DataPath, PathDrops, PathInUse, is_full};
use crate::role::RoleError;
use crate::time::{now_ns, realtime_ns};

/// Another generator is served when the one before has been silent for so long.
const SILENCE_NS: i64 = 1_000_000_000;

/// A control loop on an interface.
pub struct ControlLoop {
    interface: NetInterface,
    path: Box<dyn DataPath>,
    payload: usize,
    /// What its greetings say.
    greeting: WorkOfResponder,
    /// Whom it serves, and when that one was last heard.
    session: Option<(u64, MacAddress)>,
    heard_ns: i64,
    account: SensorAccount,
    strangers: StrangerCounts,
    frame: Frame,
    answer: Frame,
}

/// What was made of the next frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// There was none.
    Nothing,
    /// A greeting, or a frame that is not for it.
    Other,
    /// A sensor packet, which was answered.
    Cycle(ControlCycle),
}

/// A cycle that was served. Times are nanoseconds of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlCycle {
    /// Its number.
    pub cycle: u64,
    /// When the program first saw the sensor packet.
    pub seen_ns: i64,
    /// When the actuator packet was sent: after the system call.
    pub sent_ns: i64,
    /// From the beginning to the end of the computation, where there is one.
    pub computed_ns: Option<(i64, i64)>,
    /// From the kernel's time stamp of the sensor packet to the program, where there is one; nanoseconds of CLOCK_REALTIME.
    pub delivered_ns: Option<(i64, i64)>,
}

impl ControlLoop {
    /// Opens the interface. The calling thread is the one that serves.
    ///
    /// # Errors
    /// An interface or a path that cannot be used.
    pub fn open(link: &PacketLink, work: WorkOfResponder) -> Result<Self, RoleError> {
        let interface = NetInterface::find(&link.interface)?;
        let payload = usize::from(link.payload);
        let path = path::open(&interface, link.path, link.queue, link.wait, payload)?;
        Ok(Self::new(interface, path, payload, work))
    }

    pub(crate) fn new(interface: NetInterface, path: Box<dyn DataPath>, payload: usize, work: WorkOfResponder) -> Self {
        let greeting = WorkOfResponder { path: path.in_use().number(), ..work };
        Self {
            interface,
            path,
            payload,
            greeting,
            session: None,
            heard_ns: 0,
            account: SensorAccount::default(),
            strangers: StrangerCounts::default(),
            frame: Frame::default(),
            answer: Frame::default(),
        }
    }

    /// The interface.
    pub fn interface(&self) -> &NetInterface {
        &self.interface
    }

    /// The path that its packets take.
    pub fn path_in_use(&self) -> PathInUse {
        self.path.in_use()
    }

    /// What came so far.
    pub fn counts(&self) -> SensorCounts {
        self.account.counts()
    }

    /// Frames that were not for it.
    pub fn strangers(&self) -> StrangerCounts {
        self.strangers
    }

    /// What the kernel dropped in front of it so far; `None` where it cannot be read.
    pub fn drops(&mut self) -> Option<PathDrops> {
        self.path.drops()
    }

    /// What its greetings say of its computation.
    pub fn greeting(&self) -> WorkOfResponder {
        self.greeting
    }

    /// Passes the time until a frame comes, at most so long: sleeps, or returns at once to be called again.
    ///
    /// # Errors
    /// An interface that went down, or away.
    pub fn pass_time(&mut self, most: Duration) -> io::Result<()> {
        self.path.pass_time(most)
    }

    /// Takes the next frame, and answers it where it is a sensor packet of whom it serves. Never waits for one.
    ///
    /// # Errors
    /// An interface that went down, or away.
    pub fn serve(&mut self, compute: Option<&mut dyn FnMut()>) -> io::Result<Served> {
        if !self.path.receive(&mut self.frame)? {
            return Ok(Served::Nothing);
        }
        let seen_ns = now_ns();
        let packet = match self.frame.read(self.interface.mac) {
            Ok(packet) if matches!(packet.kind, PacketKind::Sensor | PacketKind::Hello) => packet,
            Ok(_) => {
                self.strangers.foreign += 1;
                return Ok(Served::Other);
            }
            Err(what) => {
                self.strangers.add(what);
                return Ok(Served::Other);
            }
        };
        if !self.serves(&packet, seen_ns) {
            self.strangers.foreign += 1;
            return Ok(Served::Other);
        }
        match packet.kind {
            PacketKind::Hello => self.greet(&packet).map(|()| Served::Other),
            _ => self.cycle(&packet, seen_ns, compute).map(Served::Cycle),
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
            source: self.interface.mac,
            kind: PacketKind::Actuator,
            work: WorkOfResponder::default(),
            ..*packet
        }
    }

    fn cycle(&mut self, packet: &Packet, seen_ns: i64, compute: Option<&mut dyn FnMut()>) -> io::Result<ControlCycle> {
        let delivered_ns = self.frame.kernel_ns.map(|kernel_ns| (kernel_ns, realtime_ns()));
        let computed_ns = compute.map(|compute| {
            let from_ns = now_ns();
            compute();
            (from_ns, now_ns())
        });
        let turnaround_ns = (now_ns() - seen_ns).max(0) as u64;
        self.send(&Packet { turnaround_ns, ..self.answer_to(packet) })?;
        let sent_ns = now_ns();
        self.account.receive(packet.cycle);
        Ok(ControlCycle { cycle: packet.cycle, seen_ns, sent_ns, computed_ns, delivered_ns })
    }

    fn send(&mut self, packet: &Packet) -> io::Result<()> {
        self.answer.write(packet, self.payload);
        match self.path.send(&self.answer) {
            Err(error) if is_full(&error) => {
                self.account.refuse();
                Ok(())
            }
            other => other,
        }
    }
}
