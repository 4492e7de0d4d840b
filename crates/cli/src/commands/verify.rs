//! `waykeeper verify`.

use std::path::Path;

use waykeeper_control::probe::{Here, ProbeVerdict, Prober, Survival};
use waykeeper_control::{ProbeReport, Probing, Verified, try_probe, verify as look};
use waykeeper_linux::{discover, schedule};
use waykeeper_report::shown::one_line;
use waykeeper_room::guest::RoomProber;
use waykeeper_session::{Observer, Progress};

use super::acting::{files, host, indented, state};
use super::colours::colours;
use super::output::{print, print_json};
use crate::arguments::Verify;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Bar;
use crate::stop;

/// Proves that what is applied is in force, or says that it is not, or that it cannot tell.
pub fn verify(arguments: &Verify) -> Result<Exit, Failure> {
    let root = arguments.root.as_deref();
    let repeats = if arguments.no_probe { 0 } else { usize::from(arguments.repeats) };
    // Simulated walks through a large cache take minutes.
    let in_room = waykeeper_room::guest::client()?.map(|client| {
        let bar = Bar::new();
        RoomProber::new(client, move |done, total| {
            bar.progress(Progress { case: "the probe of a cache", done, total, figure: None })
        })
    });
    let prober: &dyn Prober = in_room.as_ref().map_or(&Here, |room| room);
    let (probing, stop) = (Probing { repeats, prober }, stop::on_ctrl_c());
    if arguments.colours {
        return colours(usize::from(arguments.repeats), arguments.json, &stop);
    }
    if arguments.try_probe {
        let probed = try_probe(&files(root), &cores(root, in_room.is_some()), probing, &stop);
        drop(in_room);
        let probed = probed?;
        match arguments.json {
            true => print_json(&probed)?,
            false => print(&told(&probed))?,
        }
        return Ok(Exit::Done);
    }
    let verified = look(&mut host(root).machine(), &mut state(root), &files(root), probing, &stop);
    // The bar goes before what is printed.
    drop(in_room);
    let verified = verified?;
    match arguments.json {
        true => print_json(&verified)?,
        false => print(&text(&verified))?,
    }
    Ok(exit(&verified))
}

/// Cores that a probe may use: in a room those of its files.
fn cores(root: Option<&Path>, in_room: bool) -> Vec<u32> {
    let found = in_room.then(|| discover(&files(root)).ok()).flatten();
    found.map_or_else(schedule::allowed, |found| found.platform.core_ids())
}

fn exit(verified: &Verified) -> Exit {
    let any = |wanted: fn(&ProbeVerdict) -> bool| verified.probes.iter().any(|probe| wanted(&probe.verdict));
    if !verified.differences.is_empty() || any(|verdict| matches!(verdict, ProbeVerdict::Inert { .. })) {
        Exit::DoesNotHold
    } else if !verified.not_probed.is_empty() || any(|verdict| matches!(verdict, ProbeVerdict::Inconclusive { .. })) {
        Exit::TooThin
    } else {
        Exit::Done
    }
}

fn text(verified: &Verified) -> String {
    let mut text = match verified.differences.is_empty() {
        true => format!("{}: every setting reads as it was left\n", one_line(&verified.policy)),
        false => {
            format!("{}: changed since `apply`:\n{}", one_line(&verified.policy), indented(&verified.differences))
        }
    };
    text += &indented(&verified.cgroups);
    text += &indented(&verified.strays);
    text += &indented(&verified.ended);
    text += &verified.probes.iter().map(told).collect::<String>();
    text += &verified.not_probed.iter().map(|reason| format!("not probed: {}\n", one_line(reason))).collect::<String>();
    text
}

fn told(probed: &ProbeReport) -> String {
    let arrangement = &probed.arrangement;
    let plan = &arrangement.plan;
    let class = |name: &str| if name.is_empty() { "the root group".to_owned() } else { one_line(name).into_owned() };
    let verdict = match &probed.verdict {
        ProbeVerdict::Enforced { survival } => format!("in force: {}", survived(survival)),
        ProbeVerdict::Inert { survival } => format!("INERT: {}", survived(survival)),
        ProbeVerdict::Inconclusive { reason, .. } => format!("inconclusive: {reason}"),
    };
    let samples = &probed.samples;
    let [alone, same, other] = [&samples.positive, &samples.negative, &samples.treated].map(|times| median(times));
    format!(
        "{}, class {} on core {} beside {} on core {}: {verdict}\n  a chase of {} KiB, ns an access: {alone:.1} alone, {same:.1} \
         after its own class streamed, {other:.1} after the other class did\n",
        arrangement.cache,
        class(&arrangement.class),
        plan.core,
        class(&arrangement.other),
        plan.neighbour,
        plan.chase_bytes >> 10,
    )
}

/// How much of a chase stayed in its cache.
pub fn survived(survival: &Survival) -> String {
    let percent = |share: f64| share * 100.0;
    let (estimate, least, most) = (percent(survival.estimate), percent(survival.at_least), percent(survival.at_most));
    // The limits are rounded outwards.
    format!("{estimate:.0} % of the chase survived ({:.0} to {:.0} %)", least.floor(), most.ceil())
}

/// The middle one.
pub fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
