//! `waykeeper run --resume`: an interrupted run goes on where it ended.

use std::path::Path;

use serde_json::Value;
use waykeeper_executor::{Begun, OfferedSite, RunSettings};
use waykeeper_experiment::InputError;
use waykeeper_experiment::cases::{Case, Plan};
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_run::Run as Record;
use waykeeper_run::folder;
use waykeeper_run::unfinished::{self, Entry, Header, Log, Unfinished, checksum};

use super::output::print;
use super::repeats::{Repeats, hold, now};
use super::run::{Measuring, measure, settings};
use super::{place, run};
use crate::arguments::{On, Run};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stop;

/// The counter's frequency is measured anew each time: this much apart, it is still the same counter.
const SAME_FREQUENCY: f64 = 1e-3;

/// Goes on with the run in a folder.
pub fn resume(arguments: &Run, folder: &Path) -> Result<Exit, Failure> {
    let option = format!("--resume {}", folder.display());
    let refuse = |message: String| Failure::from(InputError::in_option(&option, message));
    if !folder.is_dir() {
        return Err(refuse("this is no folder; expected the folder of a run that was interrupted or killed".into()));
    }
    let _held = hold(folder, &option)?;
    let unfinished = found(folder).map_err(|why| why.unwrap_or_else(|message| refuse(message.into())))?;
    let loaded = unfinished.experiment(folder)?;
    let on = if unfinished.header.run.executor == ExecutorKind::Sim { On::Sim } else { On::Host };
    let executor = place::executor(&loaded, Some(on))?;
    let plan = Plan::new(&loaded, &executor.place().site)?;
    if let Some(difference) = difference(&unfinished.header, executor.place(), &plan) {
        let message = format!(
            "{difference}; a run goes on only with the same experiment and program on the same machine and kernel; run the \
             experiment.toml in the folder anew with `waykeeper run`, or look at the complete repeats with `waykeeper show`"
        );
        return Err(refuse(message));
    }
    let (done, planned) = (unfinished.repeats.len(), unfinished.planned());
    if arguments.dry_run {
        print(&format!("{done} of {planned} repeats are complete; {} would be measured\n", planned - done))?;
        return Ok(Exit::Done);
    }
    let budgets = unfinished.budgets(folder)?;
    let cannot_write = |error| Failure::Write { folder: folder.to_owned(), error };
    folder::take_conclusion_away(folder).map_err(cannot_write)?;
    let mut log = Log::reopen(folder, unfinished.end).map_err(cannot_write)?;
    log.append(&Entry::Resumed { at: now() }).map_err(cannot_write)?;
    let unfinished = found(folder).map_err(|why| why.unwrap_or_else(|message| refuse(message.into())))?;

    let settings = RunSettings {
        explain: unfinished.header.explain,
        fast: unfinished.header.fast,
        ..settings(&loaded, &executor.place().site)
    };
    let mut base: Record = unfinished.header.run.clone();
    base.notes.extend(unfinished.gap_notes());
    let Unfinished { header, experiment_toml, repeats, .. } = unfinished;
    let begun = Begun { thresholds_ns: header.thresholds_ns.clone(), repeats };
    // The published figures beside the cases are those of the experiment as it was written.
    let plan = header.plan.clone();
    let keeper = Repeats::new(log, header, experiment_toml);
    let stop = stop::on_ctrl_c();
    let measuring = Measuring { executor: executor.as_ref(), plan: &plan, settings: &settings };
    let finished = measure(&measuring, Some(begun), &keeper, folder, &stop)?;
    run::conclude(arguments, &loaded, &plan, finished, base, &budgets, folder)
}

/// The unfinished run in a folder. Without one: an error of its files, or what is wrong with the folder.
fn found(folder: &Path) -> Result<Unfinished, Result<Failure, &'static str>> {
    match unfinished::read(folder) {
        Ok(Some(unfinished)) => Ok(unfinished),
        Err(error) => Err(Ok(error.into())),
        Ok(None) if folder.join(folder::RUN_FILE).exists() => {
            Err(Err("this run is complete; `waykeeper show` shows it, and a new run needs a folder of its own"))
        }
        Ok(None) => {
            Err(Err("it has no log of repeats (repeats.log); expected the folder of a run of which a repeat was \
                             complete when it was interrupted or killed"))
        }
    }
}

/// What is not as it was when the run began.
fn difference(header: &Header, place: &OfferedSite, plan: &Plan) -> Option<String> {
    let (then, version) = (&header.run, env!("CARGO_PKG_VERSION"));
    if then.tool.version != version {
        return Some(format!(
            "the run was begun by version {} of the program, and this is {version}",
            then.tool.version
        ));
    }
    let (was, is) = (&then.platform, &place.site.platform);
    if was != is {
        return Some(format!("the run was begun on `{was}`, and this is `{is}`"));
    }
    if let Some((path, _)) = header.files.iter().find(|(path, sum)| checksum(path) != **sum) {
        return Some(format!("`{path}` was changed since the run began"));
    }
    let values = |what: &str, was: Value, is: Value| differing(what, &was, &is);
    let json = |value: serde_json::Result<Value>| value.unwrap_or_default();
    let machine =
        values("machine", json(serde_json::to_value(&then.machine)), json(serde_json::to_value(&place.machine)));
    let parameters = || {
        let (was, is) = (serde_json::to_value(&then.parameters), serde_json::to_value(&place.parameters));
        values("parameters", json(was), json(is))
    };
    machine.or_else(parameters).or_else(|| clock(header, place)).or_else(|| cases(&header.plan.cases, &plan.cases))
}

fn clock(header: &Header, place: &OfferedSite) -> Option<String> {
    let (was, is) = (&header.run.clock, &place.clock);
    if was.name != is.name {
        return Some(format!("samples were timed by {}, and would be by {}", was.name, is.name));
    }
    let apart = (is.frequency_hz / was.frequency_hz - 1.0).abs();
    (apart > SAME_FREQUENCY)
        .then(|| format!("{} ran at {} Hz, and runs at {} Hz", was.name, was.frequency_hz, is.frequency_hz))
}

/// Published figures do not count: they are those of the experiment before overrides.
fn cases(was: &[Case], is: &[Case]) -> Option<String> {
    if was.len() != is.len() {
        return Some(format!("the run has {} cases, and {} are possible here now", was.len(), is.len()));
    }
    let bare = |case: &Case| Case { reference: None, ..case.clone() };
    let (was, _) = was.iter().zip(is).find(|(was, is)| bare(was) != bare(is))?;
    Some(format!("the case `{}` would not be the same as before", was.name))
}

/// The first key at which two values differ, with both.
fn differing(key: &str, was: &Value, is: &Value) -> Option<String> {
    if was == is {
        return None;
    }
    let (Value::Object(a), Value::Object(b)) = (was, is) else {
        return Some(format!("{key} was {was} when the run began, and is {is}"));
    };
    let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
    keys.into_iter().find_map(|name| {
        let of = |map: &serde_json::Map<String, Value>| map.get(name).cloned().unwrap_or_default();
        differing(&format!("{key}.{name}"), &of(a), &of(b))
    })
}
