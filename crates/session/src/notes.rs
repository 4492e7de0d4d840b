//! What a run says besides its figures, of its experiment.

use std::collections::BTreeSet;

use waykeeper_experiment::Loaded;
use waykeeper_experiment::cases::Plan;
use waykeeper_experiment::site::{ExecutorKind, Site};
use waykeeper_workload::{Pattern, TraceSource, load_trace};

/// The notes of an experiment on a site.
pub(crate) fn notes(loaded: &Loaded, plan: &Plan, site: &Site) -> Vec<String> {
    runs_in_full(loaded, site).into_iter().chain(recordings(plan)).chain(programs(plan, site)).collect()
}

/// That `sampled` does nothing here, where a target has it: a machine cannot run a part of a program.
fn runs_in_full(loaded: &Loaded, site: &Site) -> Option<String> {
    let sampled = loaded.experiment.targets.iter().any(|target| target.sampled.0.is_some());
    (sampled && site.executor == ExecutorKind::Host)
        .then(|| "Programs run in full here: `sampled` is for the simulator.".into())
}

/// Programs that will be recorded, where the run has not begun.
fn programs(plan: &Plan, site: &Site) -> impl Iterator<Item = String> {
    let is_simulated = site.executor == ExecutorKind::Sim;
    let programs: BTreeSet<&str> = plan
        .cases
        .iter()
        .filter_map(|case| match &case.target.pattern {
            Pattern::Command { argv, .. } if is_simulated => argv.first().map(String::as_str),
            _ => None,
        })
        .collect();
    programs.into_iter().map(|program| {
        format!(
            "`{program}` cannot run on a simulated platform: it is run and recorded once, with valgrind, and its recording \
             stands for it."
        )
    })
}

/// What a recording leaves open, for each that is used.
fn recordings(plan: &Plan) -> impl Iterator<Item = String> {
    let placed = plan.cases.iter().flat_map(|case| std::iter::once(&case.target).chain(&case.neighbours));
    let files: BTreeSet<&str> = placed
        .filter_map(|placed| match &placed.pattern {
            Pattern::Trace { source: TraceSource::File(path), .. } => Some(path.as_str()),
            _ => None,
        })
        .collect();
    files.into_iter().map(|path| {
        let part = load_trace(path).is_ok_and(|trace| trace.header().is_part);
        let part = if part { " It is a part: it was ended before the program did." } else { "" };
        format!(
            "`{path}` is a recording, which does not tell which loads wait for which: all count as independent, so that a \
             program that follows pointers is simulated too fast.{part}"
        )
    })
}
