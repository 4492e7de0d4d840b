//! `waykeeper verify --colours`.

use std::sync::atomic::AtomicBool;

use serde::Serialize;
use waykeeper_control::VerifyError;
use waykeeper_control::probe::{Coloration, ColourPlan, ProbeVerdict, judge, measure_colours};
use waykeeper_linux::{Root, discover, schedule};

use super::output::{print, print_json};
use super::verify::{median, survived};
use crate::exit::Exit;
use crate::failure::Failure;

#[derive(Serialize)]
struct Told {
    plan: ColourPlan,
    #[serde(flatten)]
    measured: Coloration,
    #[serde(flatten)]
    verdict: ProbeVerdict,
}

/// Measures whether page colours keep two workloads that take turns on one core apart in its L2.
pub fn colours(repeats: usize, json: bool, stop: &AtomicBool) -> Result<Exit, Failure> {
    let found = discover(&Root::default()).map_err(|error| Failure::NoOffer(error.to_string()))?;
    let core = schedule::allowed().last().copied().unwrap_or(0);
    let cache = found.platform.caches(core).into_iter().find(|cache| cache.level == 2);
    let cache = cache.ok_or_else(|| Failure::NoOffer(format!("core {core} shows no L2")))?;
    let plan =
        ColourPlan { core, cache_bytes: cache.size_bytes, ways: cache.ways, line_bytes: cache.line_bytes, repeats };
    let measured = measure_colours(&plan, stop).map_err(VerifyError::NotMeasured)?;
    let told = Told { plan, verdict: judge(&measured.samples), measured };
    match json {
        true => print_json(&told)?,
        false => print(&text(&told))?,
    }
    Ok(match told.verdict {
        ProbeVerdict::Enforced { .. } => Exit::Done,
        ProbeVerdict::Inert { .. } => Exit::DoesNotHold,
        ProbeVerdict::Inconclusive { .. } => Exit::TooThin,
    })
}

fn text(told: &Told) -> String {
    let Told { plan, measured, verdict } = told;
    let verdict = match verdict {
        ProbeVerdict::Enforced { survival } => format!("colours keep workloads apart: {}", survived(survival)),
        ProbeVerdict::Inert { survival } => format!(
            "colours do NOTHING: {}; the cache hashes its index, or the host does not back this machine with huge pages",
            survived(survival)
        ),
        ProbeVerdict::Inconclusive { reason, .. } => format!("inconclusive: {reason}"),
    };
    let addresses = match measured.confirmed {
        true => "each page's colour is confirmed by the kernel's page map",
        false => "physical addresses are hidden, so colours are places within huge pages",
    };
    let samples = &measured.samples;
    let [alone, same, apart] = [&samples.positive, &samples.negative, &samples.treated].map(|times| median(times));
    format!(
        "L2 of core {}, {} KiB in {} ways, {} colours: {verdict}\n  a chase of {} KiB, ns an access: {alone:.1} alone, {same:.1} \
         after an intruder with its colours, {apart:.1} after one with other colours\n  {addresses}\n",
        plan.core,
        plan.cache_bytes >> 10,
        plan.ways,
        measured.colours,
        measured.chase_bytes >> 10,
    )
}
