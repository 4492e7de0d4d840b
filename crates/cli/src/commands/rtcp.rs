//! `waykeeper rtcp`.

mod text;

use std::path::Path;

use serde::Serialize;
use waykeeper_experiment::InputError;
use waykeeper_linux::Root;
use waykeeper_packets::compute::InstructionCount;
use waykeeper_packets::frame::{MacAddress, VlanTag};
use waykeeper_packets::generate::{GenerateOptions, generate};
use waykeeper_packets::path::{PacketWait, PathKind};
use waykeeper_packets::respond::{RespondOptions, respond};
use waykeeper_packets::role::RoleOptions;
use waykeeper_workload::{Pattern, parse_duration_ns};

use super::latency::pattern;
use super::output::{Kind, print, print_json, say};
use super::whole_file;
use crate::arguments::{Rtcp, RtcpGenerate, RtcpOptions, RtcpPath, RtcpRespond, RtcpRole};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stop;

/// The shortest period: a packet takes some microseconds.
const LEAST_PERIOD_NS: i64 = 10_000;

/// A queue that keeps packets longer has no use here.
const LONGEST_LEAD_NS: i64 = 1_000_000_000;

/// Sends sensor packets, or answers them.
pub fn rtcp(arguments: &Rtcp) -> Result<Exit, Failure> {
    let (RtcpRole::Generate(RtcpGenerate { common, .. }) | RtcpRole::Respond(RtcpRespond { common, .. })) =
        &arguments.role;
    common.out.as_deref().map_or(Ok(()), |out| whole_file::check(Path::new(out)))?;
    match &arguments.role {
        RtcpRole::Generate(arguments) => generator(arguments),
        RtcpRole::Respond(arguments) => responder(arguments),
    }
}

fn generator(arguments: &RtcpGenerate) -> Result<Exit, Failure> {
    let period_ns = time("--period", &arguments.period, LEAST_PERIOD_NS)?;
    let deadline_ns = arguments.deadline.as_deref().map(|text| time("--deadline", text, 1)).transpose()?;
    let length_ns = arguments.duration.as_deref().map(|text| time("--duration", text, period_ns)).transpose()?;
    let launch_lead_ns =
        arguments.launch_time.as_deref().map(|text| launch_lead(text, arguments.common.path)).transpose()?;
    let options = GenerateOptions {
        role: RoleOptions { launch_lead_ns, ..role(&arguments.common) },
        peer: arguments.peer.as_deref().map(|text| parsed::<MacAddress>("--peer", text)).transpose()?,
        period_ns,
        deadline_ns: deadline_ns.unwrap_or(period_ns),
        cycles: arguments.count,
        length_ns,
        vlan: arguments.vlan.as_deref().map(|text| parsed::<VlanTag>("--vlan", text)).transpose()?,
    };
    warn_of_throttling(&options.role);
    let stop = stop::on_ctrl_c();
    let record = generate(&options, &stop)?;
    finish(&arguments.common, &record, &text::generated(&record))?;
    ended(record.interface_lost.as_deref(), record.cut_short)
}

fn responder(arguments: &RtcpRespond) -> Result<Exit, Failure> {
    let length_ns = arguments.duration.as_deref().map(|text| time("--duration", text, 1)).transpose()?;
    let (work, instructions) = match arguments.compute.as_deref() {
        Some(text) => work(text, arguments.common.core).map(|(pattern, count)| (Some(pattern), count))?,
        None => (None, 0),
    };
    let role = role(&arguments.common);
    let options = RespondOptions { role, work, instructions, cycles: arguments.count, length_ns };
    warn_of_throttling(&options.role);
    let stop = stop::on_ctrl_c();
    let record = respond(&options, &stop, |interface, path| {
        say(Kind::Plain, &format!("{} ({}): {path}; waits for a generator", interface.name, interface.mac));
    })?;
    finish(&arguments.common, &record, &text::responded(&record))?;
    ended(record.interface_lost.as_deref(), record.cut_short)
}

/// An interface that went away is a failure whose result was printed.
fn ended(interface_lost: Option<&str>, cut_short: bool) -> Result<Exit, Failure> {
    match interface_lost {
        Some(error) => Err(Failure::Machine(format!("the interface takes no packets any more: {error}"))),
        None if cut_short => Ok(Exit::Interrupted),
        None => Ok(Exit::Done),
    }
}

fn finish(options: &RtcpOptions, record: &impl Serialize, text: &str) -> Result<(), Failure> {
    if let Some(out) = &options.out {
        let json = serde_json::to_vec_pretty(record).map_err(|error| Failure::Output(error.into()))?;
        whole_file::write(Path::new(out), "result", &json)?;
    }
    if options.json { print_json(record) } else { print(text) }
}

/// A busy-polling thread under SCHED_FIFO loses its core for a part of each period, unless the kernel keeps nothing.
fn warn_of_throttling(role: &RoleOptions) {
    if role.fifo.is_none() || role.wait != PacketWait::BusyPoll {
        return;
    }
    let core = role.core.or_else(|| waykeeper_linux::schedule::allowed().first().copied()).unwrap_or(0);
    let kept = waykeeper_linux::kept_for_ordinary_tasks(&Root::default(), core).0;
    kept.iter().for_each(|one| say(Kind::Note, &text::throttled(one, core)));
}

fn role(options: &RtcpOptions) -> RoleOptions {
    RoleOptions {
        interface: options.interface.clone(),
        path: match options.path {
            RtcpPath::Xdp => PathKind::AfXdp,
            RtcpPath::Packet => PathKind::AfPacket,
        },
        queue: options.queue,
        wait: if options.interrupt { PacketWait::Interrupt } else { PacketWait::BusyPoll },
        payload: options.size.into(),
        core: options.core,
        fifo: options.fifo,
        launch_lead_ns: None,
    }
}

/// How long before its launch time a packet is handed over. AF_XDP passes by the queueing disciplines that keep launch times.
fn launch_lead(text: &str, path: RtcpPath) -> Result<i64, Failure> {
    let bad = |why: String| Failure::from(InputError::in_option(format!("--launch-time {text}"), why));
    let lead_ns = time("--launch-time", text, 1)?;
    match path {
        _ if lead_ns > LONGEST_LEAD_NS => {
            Err(bad(format!("expected {} or less", waykeeper_workload::format_ns(LONGEST_LEAD_NS as f64))))
        }
        RtcpPath::Xdp => {
            Err(bad("AF_XDP passes by the queueing disciplines that keep launch times; expected it with --path packet"
                .into()))
        }
        RtcpPath::Packet => Ok(lead_ns),
    }
}

/// What `--compute` names, and its instructions where they are known.
fn work(text: &str, core: Option<u32>) -> Result<(Pattern, u64), Failure> {
    let refuse = |why: String| Failure::from(InputError::in_option(format!("--compute {text}"), why));
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        let count: InstructionCount =
            text.parse().map_err(|bad: waykeeper_packets::compute::BadInstructionCount| refuse(bad.to_string()))?;
        return Ok((count.pattern(), count.instructions));
    }
    let core = core.unwrap_or_else(|| waykeeper_linux::schedule::allowed().first().copied().unwrap_or(0));
    let pattern = pattern(text, core).map_err(refuse)?;
    let refused = match &pattern {
        Pattern::Command { .. } => Some("an external program"),
        Pattern::Trace { .. } => Some("a whole program"),
        Pattern::Wakeup { .. } | Pattern::Interrupt { .. } | Pattern::Packets { .. } => Some("a thread that waits"),
        _ => None,
    };
    match refused {
        Some(what) => Err(refuse(format!("it is {what}; expected a timed loop, such as `stream_read`, or 264KiBx12k"))),
        None => Ok((pattern, 0)),
    }
}

fn time(option: &str, text: &str, least_ns: i64) -> Result<i64, Failure> {
    let bad = |why: String| Failure::from(InputError::in_option(format!("{option} {text}"), why));
    let ns = parse_duration_ns(text).map_err(|error| bad(error.to_string()))?;
    match ns >= least_ns as f64 && ns < 1e18 {
        true => Ok(ns as i64),
        false => Err(bad(format!("expected {} or more", waykeeper_workload::format_ns(least_ns as f64)))),
    }
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(option: &str, text: &str) -> Result<T, Failure> {
    text.parse().map_err(|bad: T::Err| InputError::in_option(option, bad.to_string()).into())
}
