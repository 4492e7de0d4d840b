//! The responder: receives a sensor packet, computes, sends the actuator packet, and measures from receive to transmit.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use waykeeper_workload::Pattern;

use crate::compute::Computation;
use crate::control_loop::{ControlCycle, ControlLoop, Served};
use crate::figure::CycleTimes;
use crate::interface::NetInterface;
use crate::path::PathInUse;
use crate::record::{RespondRecord, SCHEMA, WorkRecord};
use crate::role::{LOOK, Ready, RoleError, RoleOptions, RoleThread, apart};
use crate::time::{self, now_ns};

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
    control: ControlLoop,
    thread: RoleThread,
    options: &'o RespondOptions,
    work: Option<Computation>,
    turnaround: CycleTimes,
    computing: CycleTimes,
    delivery: CycleTimes,
    began_ns: i64,
}

impl<'o> Responder<'o> {
    fn new(ready: Ready, options: &'o RespondOptions, work: Option<Computation>) -> Self {
        let Ready { interface, path, thread, .. } = ready;
        let greeting = work.as_ref().map(Computation::work).unwrap_or_default();
        Self {
            control: ControlLoop::new(interface, path, options.role.payload, greeting),
            thread,
            options,
            work,
            turnaround: CycleTimes::default(),
            computing: CycleTimes::default(),
            delivery: CycleTimes::default(),
            began_ns: now_ns(),
        }
    }

    fn run(mut self, stop: &AtomicBool) -> RespondRecord {
        let ended = self.serve(stop);
        let ended_ns = now_ns();
        let run_length_s = (ended_ns - self.began_ns) as f64 / 1e9;
        let in_use = self.control.path_in_use();
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
            interface: self.control.interface().name.clone(),
            mac: self.control.interface().mac.to_string(),
            payload_bytes: self.options.role.payload as u64,
            path: in_use,
            thread: self.thread,
            work: WorkRecord::of(self.control.greeting()),
            run_length_s,
            cut_short: self.options.is_limited() && !ended.as_ref().is_ok_and(|reached| *reached),
            interface_lost: ended.err().map(|error| error.to_string()),
            drops: self.control.drops(),
            counts: self.control.counts(),
            strangers: self.control.strangers(),
            figures,
        }
    }

    /// Answers; false where it was interrupted before its end.
    fn serve(&mut self, stop: &AtomicBool) -> io::Result<bool> {
        let ends = self.options.length_ns.map_or(i64::MAX, |length| self.began_ns.saturating_add(length));
        loop {
            loop {
                let mut compute = self.work.as_mut().map(|work| || work.run());
                match self.control.serve(compute.as_mut().map(|compute| compute as &mut dyn FnMut()))? {
                    Served::Nothing => break,
                    Served::Other => {}
                    Served::Cycle(cycle) => self.add(cycle),
                }
                if self.options.cycles.is_some_and(|cycles| self.control.counts().received >= cycles) {
                    return Ok(true);
                }
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            if now_ns() >= ends {
                return Ok(true);
            }
            self.control.pass_time(LOOK)?;
        }
    }

    fn add(&mut self, served: ControlCycle) {
        let ControlCycle { cycle, seen_ns, sent_ns, computed_ns, delivered_ns } = served;
        self.turnaround.add(cycle, seen_ns, sent_ns);
        if let Some((from_ns, to_ns)) = computed_ns {
            self.computing.add(cycle, from_ns, to_ns);
        }
        if let Some((from_ns, to_ns)) = delivered_ns {
            self.delivery.add(cycle, from_ns, to_ns);
        }
    }
}
