//! `waykeeper tune`: parse, search, print.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use waykeeper_experiment::{InputError, OptionOverrides};
use waykeeper_report::figure::counted;
use waykeeper_report::shown::one_line;
use waykeeper_search::alternate::{self, AlternateRequest};
use waykeeper_search::tune::{self, Family, TuneEvent, TuneOver, TuneRequest, TuneWatcher, Tuned};
use waykeeper_session::{Note, Observer, Progress};
use waykeeper_statistics::JudgementKind;
use waykeeper_workload::format_ns;

use super::output::{Kind, print, print_json, say};
use super::overrides;
use super::whole_file;
use crate::arguments::{On, Tune};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stop;

/// Searches for the smallest measure that holds the budgets.
pub fn tune(arguments: &Tune) -> Result<Exit, Failure> {
    arguments.out.as_deref().map_or(Ok(()), whole_file::check)?;
    let (request, notes) = request(arguments)?;
    let say_notes = || notes.iter().for_each(|said| say(Kind::Note, said));
    if arguments.dry_run {
        let families = tune::candidates(&request)?;
        say_notes();
        if arguments.json {
            print_json(&listed(&families))?;
        } else {
            print(&list(&families))?;
        }
        return Ok(Exit::Done);
    }
    if arguments.hunt {
        return alternate(arguments, request, say_notes);
    }
    let stop = stop::on_ctrl_c();
    let bar = Following::new(request.time_limit);
    let found = tune::tune(&request, &bar, &stop);
    bar.ended();
    let tuned = found?;
    say_notes();
    if arguments.json {
        print_json(&tuned)?;
    } else {
        print(&tune::text(&tuned, arguments.all))?;
    }
    if let (Some(out), Some(policy)) = (&arguments.out, &tuned.policy) {
        let text = std::fs::read(policy).map_err(|error| Failure::Machine(format!("{policy}: {error}")))?;
        whole_file::write(out, "policy", &text)?;
    }
    let interrupted = stop.load(std::sync::atomic::Ordering::Relaxed);
    Ok(exit(&tuned, interrupted))
}

/// Searches the measure and the worst neighbour by turns.
fn alternate(arguments: &Tune, request: TuneRequest, say_notes: impl Fn()) -> Result<Exit, Failure> {
    let stop = stop::on_ctrl_c();
    let (tuning, hunting) = (Following::new(request.time_limit), super::hunt::Following::new(request.time_limit));
    let request = AlternateRequest {
        candidates: arguments.candidates as usize,
        seed: arguments.measured.seed.unwrap_or(1).unsigned_abs(),
        tune: request,
    };
    let found = alternate::alternate(&request, &tuning, &hunting, &stop);
    tuning.ended();
    hunting.bar.finish_and_clear();
    let found = found?;
    say_notes();
    if arguments.json {
        print_json(&found)?;
    } else {
        print(&format!("{}\n{}", tune::text(&found.tuned, arguments.all), alternate::text(&found)))?;
    }
    if let (Some(out), Some(policy)) = (&arguments.out, &found.tuned.policy) {
        let text = std::fs::read(policy).map_err(|error| Failure::Machine(format!("{policy}: {error}")))?;
        whole_file::write(out, "policy", &text)?;
    }
    Ok(exit(&found.tuned, stop.load(std::sync::atomic::Ordering::Relaxed)))
}

fn exit(tuned: &Tuned, interrupted: bool) -> Exit {
    let thin = tuned
        .families
        .iter()
        .flat_map(|family| &family.candidates)
        .any(|candidate| candidate.judged.is_some_and(|kind| kind != JudgementKind::Broken));
    match () {
        () if tuned.already_met || tuned.answer.is_some() => Exit::Done,
        () if interrupted => Exit::Interrupted,
        () if tuned.cut_short || thin => Exit::TooThin,
        () => Exit::NothingHolds,
    }
}

/// Repeats that a judgement needs at least.
const LEAST_REPEATS: i64 = 5;

/// What is asked for, and what a person should hear of it.
fn request(arguments: &Tune) -> Result<(TuneRequest, Vec<String>), Failure> {
    if let Some(repeats) = arguments.measured.repeats.filter(|repeats| *repeats < LEAST_REPEATS) {
        let option = format!("--repeats {repeats}");
        return Err(InputError::in_option(option, format!("expected {LEAST_REPEATS} or more for a judgement")).into());
    }
    let over = arguments.over.iter().map(|name| {
        name.trim().parse::<TuneOver>().map_err(|why| InputError::in_option(format!("--over {name}"), why))
    });
    let overrides = sets(arguments)?;
    let request = TuneRequest {
        experiment: arguments.experiment.clone(),
        sets: overrides.sets,
        on: arguments.measured.on.map(On::kind),
        budgets: arguments.budgets.clone(),
        over: over.collect::<Result<_, _>>()?,
        time_limit: overrides::time_limit(&arguments.time_limit)?,
        folder: arguments.keep.clone(),
        fast: arguments.fast,
    };
    Ok((request, overrides.notes))
}

/// The overrides: `--set` as typed, and the options that stand for a field.
pub(super) fn sets(arguments: &Tune) -> Result<OptionOverrides, InputError> {
    let mut all = overrides::of_search(&arguments.measured, &arguments.experiment)?;
    if let Some(path) = &arguments.against {
        all.extend(overrides::against(path, &arguments.experiment, &all.sets)?);
    }
    Ok(all)
}

fn list(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families {
        text += &format!("{}\n", family.what);
        for rung in &family.rungs {
            text += &format!("  {}: {}\n", rung.name, rung.called);
        }
    }
    text
}

fn listed(families: &[Family]) -> serde_json::Value {
    let of = |family: &Family| {
        let rungs: Vec<_> = family
            .rungs
            .iter()
            .map(|rung| json!({ "name": rung.name, "called": rung.called, "taken": rung.taken, "policy": rung.policy }))
            .collect();
        json!({ "what": family.what, "dimensions": family.dimensions, "candidates": rungs })
    };
    json!({ "families": families.iter().map(of).collect::<Vec<_>>() })
}

/// A line on standard error: kinds that are done, the time that is left at most, and the candidate that was judged last.
struct Following {
    bar: ProgressBar,
    begun: Instant,
    limit: Duration,
    /// The confirmed candidate that was seen last.
    best: Mutex<Option<String>>,
}

impl Following {
    fn new(limit: Duration) -> Self {
        let bar = ProgressBar::new(0);
        bar.set_draw_target(ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len} kinds, {prefix}: {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, begun: Instant::now(), limit, best: Mutex::new(None) }
    }

    fn show(&self) {
        if self.bar.is_hidden() && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let left = self.limit.saturating_sub(self.begun.elapsed()).as_secs_f64().round();
        self.bar.set_prefix(format!("{} left at most", format_ns(left * 1e9)));
    }
}

impl Observer for Following {
    fn progress(&self, _: Progress<'_>) {}

    fn recording(&self, program: &str, accesses: u64) {
        self.show();
        self.bar.set_message(format!("recording {}: {accesses} accesses", one_line(program)));
    }

    fn note(&self, note: &Note) {
        say(Kind::Note, &note.to_string());
    }

    fn ended(&self) {
        self.bar.finish_and_clear();
    }
}

impl TuneWatcher for Following {
    fn event(&self, event: TuneEvent<'_>) {
        match event {
            TuneEvent::Begins { candidates, families, folder, known } => {
                let goes_on = if known > 0 { format!(", {known} repeats known from before") } else { String::new() };
                let folder = folder.display();
                let candidates = counted(candidates as u64, "candidate", "candidates");
                let families = counted(families as u64, "kind", "kinds");
                say(Kind::Plain, &format!("{candidates} of {families}{goes_on}; kept in {folder}"));
            }
            TuneEvent::Judged { called, progress } => {
                self.show();
                self.bar.set_length(progress.ladders as u64);
                self.bar.set_position(progress.ended as u64);
                let mut best = self.best.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                if progress.confirmation && progress.judgement.kind == JudgementKind::NotSeenBroken {
                    *best = Some(called.to_owned());
                }
                let best = best.as_ref().map_or(String::new(), |best| format!(" (holds so far: {best})"));
                self.bar.set_message(format!("{called}: {}{best}", progress.judgement.kind));
            }
        }
    }
}
