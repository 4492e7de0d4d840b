//! The generator: sends a sensor packet once every period and measures the time until the actuator packet comes.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::accounts::{CycleAccount, CycleAnswer, StrangerCounts};
use crate::figure::CycleTimes;
use crate::frame::{Frame, MacAddress, Packet, PacketKind, VlanTag, WorkOfResponder};
use crate::launches::Launches;
use crate::path::is_full;
use crate::record::{GenerateRecord, SCHEMA, WorkRecord};
use crate::role::{LOOK, Ready, RoleError, RoleOptions, apart};
use crate::time::{self, now_ns};

/// How long a responder is looked for, and how often it is asked.
const GREETING: Duration = Duration::from_secs(3);
const BETWEEN_GREETINGS: Duration = Duration::from_millis(20);

/// After the last packet, answers are waited for until none has come for so many periods, and at least for so long.
const LAST_PERIODS: i64 = 10;
const LAST_NS: i64 = 1_000_000_000;
/// How often it looks whether all have come.
const LAST_LOOK_NS: i64 = 1_000_000;

/// What a generator does.
#[derive(Debug, Clone)]
pub struct GenerateOptions {
    /// On which interface, path and core.
    pub role: RoleOptions,
    /// The responder's address; whoever answers a broadcast where absent.
    pub peer: Option<MacAddress>,
    /// Time between two sensor packets, ns.
    pub period_ns: i64,
    /// An answer later than this is late, ns.
    pub deadline_ns: i64,
    /// It ends after so many sensor packets.
    pub cycles: Option<u64>,
    /// It sends for so long, ns.
    pub length_ns: Option<i64>,
    /// The tag of its packets.
    pub vlan: Option<VlanTag>,
}

/// Sends and measures until its end, or until `stop` is set.
///
/// # Errors
/// See [`RoleError`]. An interface that goes away meanwhile ends the run early, and what was measured until then is returned.
pub fn generate(options: &GenerateOptions, stop: &AtomicBool) -> Result<GenerateRecord, RoleError> {
    apart("rtcp-generate", || {
        let mut ready = options.role.ready()?;
        let launches = ready.launch.take().map(Launches::new);
        let session = RandomState::new().hash_one(now_ns());
        let mut generator = Generator {
            ready,
            options,
            session,
            peer: MacAddress::BROADCAST,
            strangers: StrangerCounts::default(),
            launches,
        };
        let work = generator.greet(stop)?;
        Ok(generator.run(work, stop))
    })
}

struct Generator<'o> {
    ready: Ready,
    options: &'o GenerateOptions,
    session: u64,
    peer: MacAddress,
    strangers: StrangerCounts,
    launches: Option<Launches>,
}

/// What a run gathers.
struct Gathered {
    account: CycleAccount,
    round_trip: CycleTimes,
    turnaround: CycleTimes,
    received: Frame,
}

impl Generator<'_> {
    fn packet(&self, kind: PacketKind, cycle: u64) -> Packet {
        Packet {
            destination: self.peer,
            source: self.ready.interface.mac,
            vlan: self.options.vlan,
            kind,
            session: self.session,
            cycle,
            turnaround_ns: 0,
            work: WorkOfResponder::default(),
        }
    }

    /// Reads a frame of this session; counts others.
    fn read(&mut self, frame: &Frame) -> Option<Packet> {
        match frame.read(self.ready.interface.mac) {
            Ok(packet) if packet.session == self.session && self.is_of_peer(&packet) => Some(packet),
            Ok(_) => {
                self.strangers.foreign += 1;
                None
            }
            Err(what) => {
                self.strangers.add(what);
                None
            }
        }
    }

    fn is_of_peer(&self, packet: &Packet) -> bool {
        let of_peer = self.peer == MacAddress::BROADCAST || packet.source == self.peer;
        of_peer && matches!(packet.kind, PacketKind::Actuator | PacketKind::Here)
    }

    /// A packet is handed over so long before it is due.
    fn lead_ns(&self) -> i64 {
        self.launches.as_ref().map_or(0, Launches::lead_ns)
    }

    /// Hands a frame over: to leave at once, or at its launch time.
    fn send(&mut self, frame: &Frame, launch_ns: i64) -> io::Result<()> {
        match &self.launches {
            None => self.ready.path.send(frame),
            Some(_) => self.ready.path.launch(frame, launch_ns + time::ahead_ns(time::tai_ns)),
        }
    }

    fn gone(&self, error: io::Error) -> RoleError {
        RoleError::Gone { interface: self.ready.interface.name.clone(), error }
    }

    /// Finds the responder and what it does.
    fn greet(&mut self, stop: &AtomicBool) -> Result<WorkOfResponder, RoleError> {
        self.peer = self.options.peer.unwrap_or(MacAddress::BROADCAST);
        let (mut frame, mut found) = (Frame::default(), None);
        let ends = now_ns() + GREETING.as_nanos() as i64;
        while found.is_none() {
            if now_ns() > ends {
                let interface = self.ready.interface.name.clone();
                return Err(RoleError::NoResponder { interface, peer: self.peer, within: GREETING });
            }
            frame.write(&self.packet(PacketKind::Hello, 0), self.options.role.payload);
            self.send(&frame, now_ns() + self.lead_ns()).map_err(|error| self.gone(error))?;
            // The whole time also where one has answered: there may be two of them.
            let next = now_ns() + BETWEEN_GREETINGS.as_nanos() as i64;
            while now_ns() < next {
                if stop.load(Ordering::Relaxed) {
                    return Err(RoleError::Stopped);
                }
                if !self.ready.path.receive(&mut frame).map_err(|error| self.gone(error))? {
                    self.ready.path.pass_time(BETWEEN_GREETINGS).map_err(|error| self.gone(error))?;
                    // Reports about greetings, which would keep it awake.
                    while self.ready.path.departure(&mut frame).map_err(|error| self.gone(error))?.is_some() {}
                    continue;
                }
                let Some(packet) = self.read(&frame).filter(|packet| packet.kind == PacketKind::Here) else { continue };
                let (first, _) = *found.get_or_insert((packet.source, packet.work));
                if first != packet.source {
                    let interface = self.ready.interface.name.clone();
                    return Err(RoleError::SeveralResponders { interface, first, second: packet.source });
                }
            }
        }
        let (peer, work) = found.unwrap_or((self.peer, WorkOfResponder::default()));
        self.peer = peer;
        Ok(work)
    }

    fn run(mut self, work: WorkOfResponder, stop: &AtomicBool) -> GenerateRecord {
        let began_ns = now_ns();
        let mut gathered = Gathered {
            account: CycleAccount::new(began_ns, self.options.deadline_ns),
            round_trip: CycleTimes::default(),
            turnaround: CycleTimes::default(),
            received: Frame::default(),
        };
        let ended = self.cycles(&mut gathered, began_ns, stop);
        let run_length_s = (now_ns() - began_ns) as f64 / 1e9;
        let in_use = self.ready.path.in_use();
        let path = in_use.to_string();
        let last_answered = gathered.account.highest_answered();
        let (counts, late, lost, unlisted_lost) = gathered.account.finish();
        let launched = self.launches.take().map(|launches| launches.finish(counts.sent, &path, began_ns, run_length_s));
        let (launch, departures) = launched.unzip();
        // Where nobody answered any more, nothing was seen from then on.
        let run_length_of_figures =
            answered_s(last_answered, counts.sent, self.options.period_ns).unwrap_or(run_length_s);
        let round_trip =
            gathered.round_trip.figure("round trip", &path, time::SOFTWARE, began_ns, run_length_of_figures);
        let turnaround = gathered.turnaround.figure(
            "receive to transmit, as the responder's packets report it",
            &crate::path::words_of_number(work.path),
            "software, CLOCK_MONOTONIC in the responder, without its last system call",
            began_ns,
            run_length_of_figures,
        );
        GenerateRecord {
            schema: SCHEMA,
            role: "generate".into(),
            interface: self.ready.interface.name,
            mac: self.ready.interface.mac.to_string(),
            peer: self.peer.to_string(),
            period_ns: self.options.period_ns as u64,
            deadline_ns: self.options.deadline_ns as u64,
            cycles_asked: self.options.cycles,
            length_asked_s: self.options.length_ns.map(|ns| ns as f64 / 1e9),
            payload_bytes: self.options.role.payload as u64,
            vlan: self.options.vlan,
            launch,
            path: in_use,
            thread: self.ready.thread,
            boot_id: waykeeper_linux::boot_id(),
            responder: WorkRecord::of(work),
            run_length_s,
            cut_short: ended.as_ref().map_or(true, |all_sent| !all_sent),
            interface_lost: ended.err().map(|error| error.to_string()),
            drops: self.ready.path.drops(),
            counts,
            strangers: self.strangers,
            late,
            lost,
            unlisted_lost,
            last_answered: (last_answered > 0).then_some(last_answered),
            figures: [round_trip, turnaround].into_iter().chain(departures).collect(),
        }
    }

    /// Sends until the end; false where it was interrupted before it.
    fn cycles(&mut self, gathered: &mut Gathered, began_ns: i64, stop: &AtomicBool) -> io::Result<bool> {
        let period = self.options.period_ns;
        let (mut frame, lead) = (Frame::default(), self.lead_ns());
        let mut due = began_ns + period + lead;
        let ends = self.options.length_ns.map_or(i64::MAX, |length| began_ns.saturating_add(length));
        let mut left = self.options.cycles.unwrap_or(u64::MAX);
        while left > 0 && due <= ends {
            if !self.receive_until(due - lead, gathered, stop)? {
                return Ok(false);
            }
            let passed = ((now_ns() - (due - lead)) / period).max(0);
            gathered.account.miss(passed as u64);
            let launch_ns = due + period * passed;
            due = launch_ns + period;
            left -= 1;
            frame.write(&self.packet(PacketKind::Sensor, gathered.account.next_cycle()), self.options.role.payload);
            // The round trip has the system call in it.
            let sent_ns = if lead > 0 { launch_ns } else { now_ns() };
            match self.send(&frame, launch_ns) {
                Ok(()) => gathered.account.send(sent_ns),
                Err(error) if is_full(&error) => gathered.account.refuse(),
                Err(error) => return Err(error),
            }
        }
        self.last_answers(gathered, stop)?;
        Ok(true)
    }

    /// Waits for answers after the last packet, until none comes any more.
    fn last_answers(&mut self, gathered: &mut Gathered, stop: &AtomicBool) -> io::Result<()> {
        let silence = (LAST_PERIODS * self.options.period_ns).max(LAST_NS);
        let (mut answered, mut ends) = (gathered.account.answered(), now_ns() + silence);
        while !gathered.account.is_complete() && now_ns() < ends {
            if !self.receive_until(now_ns() + LAST_LOOK_NS, gathered, stop)? {
                break;
            }
            let now_answered = gathered.account.answered();
            if now_answered > answered {
                (answered, ends) = (now_answered, now_ns() + silence);
            }
        }
        Ok(())
    }

    /// Takes what the kernel reports about packets that had a launch time.
    fn take_departures(&mut self, gathered: &mut Gathered) -> io::Result<()> {
        let Some(launches) = &mut self.launches else { return Ok(()) };
        let mut frame = Frame::default();
        while let Some(departure) = self.ready.path.departure(&mut frame)? {
            // It went to the responder; greetings count nowhere.
            let packet = frame.read(self.peer).ok().filter(|packet| packet.session == self.session);
            if let Some(packet) = packet.filter(|packet| packet.kind == PacketKind::Sensor) {
                launches.take(departure, packet.cycle, &mut gathered.account);
            }
        }
        Ok(())
    }

    /// Takes what comes until a time; false where it is interrupted.
    fn receive_until(&mut self, until_ns: i64, gathered: &mut Gathered, stop: &AtomicBool) -> io::Result<bool> {
        loop {
            self.take_departures(gathered)?;
            while self.ready.path.receive(&mut gathered.received)? {
                let seen_ns = now_ns();
                // That of the packet that was answered is among them.
                self.take_departures(gathered)?;
                let Some(packet) = self.read(&gathered.received).filter(|packet| packet.kind == PacketKind::Actuator)
                else {
                    continue;
                };
                if let CycleAnswer::First { round_trip_ns } = gathered.account.answer(packet.cycle, seen_ns) {
                    gathered.round_trip.add(packet.cycle, seen_ns - round_trip_ns, seen_ns);
                    let turnaround_ns = i64::try_from(packet.turnaround_ns).unwrap_or(i64::MAX).min(seen_ns);
                    gathered.turnaround.add(packet.cycle, seen_ns - turnaround_ns, seen_ns);
                }
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let left = until_ns - now_ns();
            if left <= 0 {
                return Ok(true);
            }
            self.ready.path.pass_time(LOOK.min(Duration::from_nanos(left as u64)))?;
        }
    }
}

/// Seconds until the last answer, where so many cycles at the end had none that the responder or the link was gone: one in a hundred
/// of those that were sent.
fn answered_s(last_answered: u64, sent: u64, period_ns: i64) -> Option<f64> {
    let without = sent.saturating_sub(last_answered);
    (without > sent / 100 && last_answered > 0).then(|| last_answered as f64 * period_ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::answered_s;

    #[test]
    fn what_was_seen_ends_with_the_last_answer() {
        // 41.7 s of 1 ms, and a responder that ended after 17 s.
        assert_eq!(answered_s(17_000, 41_700, 1_000_000), Some(17.0));
        // Some answers are on their way when the last packet was sent, and single ones are lost.
        assert_eq!(answered_s(41_695, 41_700, 1_000_000), None);
        // Nothing was answered at all: there is no figure.
        assert_eq!(answered_s(0, 41_700, 1_000_000), None);
    }
}
