//! `waykeeper run`: read, plan, measure, conclude, keep, print.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use serde_json::json;
use toml::Value;
use waykeeper_executor::{Begun, Executor, ExecutorError, Finished, RunSettings};
use waykeeper_experiment::cases::Plan;
use waykeeper_experiment::site::RefusalRecord;
use waykeeper_experiment::site::{ExecutorKind, Site};
use waykeeper_experiment::sweep::Sweep;
use waykeeper_experiment::{InputError, Loaded, Set};
use waykeeper_report::Length;
use waykeeper_report::shown::one_line;
use waykeeper_run::folder;
use waykeeper_run::unfinished::{FORMAT, Header, Log, REPEATS_FILE, checksum_of};
use waykeeper_run::{Run as Record, SCHEMA, Tool};
use waykeeper_statistics::{Budget, JudgementKind};

use super::notes::notes;
use super::out::Folder;
use super::output::{Kind, print, print_json, say};
use super::place;
use super::repeats::{Repeats, files, hold, now};
use crate::arguments::Run;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Bar;
use crate::stop;

/// Runs an experiment.
pub fn run(arguments: &Run) -> Result<Exit, Failure> {
    if let Some(folder) = &arguments.resume {
        return super::resume::resume(arguments, folder);
    }
    // A program alone is measured on this machine.
    let name = arguments.experiment.as_deref().unwrap_or("this-machine");
    let loaded = Loaded::open(name, sets(arguments)?)?;
    let budgets = budgets(arguments, &loaded)?;
    let executor = place::executor(&loaded, arguments.on)?;
    let site = &executor.place().site;
    let plan = Plan::new(&loaded, site)?;
    let impossible = plan.cases.iter().find_map(|case| executor.refuses(case));
    check_budgets(arguments, &loaded, &plan, &budgets)?;
    if arguments.explain.is_some() && !executor.explains() {
        let message = "only the simulator knows what a core waited for; expected `--on sim` and a simulated platform";
        return Err(InputError::in_option("--explain", message).into());
    }
    if arguments.explain.is_some() && plan.cases.iter().any(|case| case.sampled.is_some()) {
        let message = "passes that are measured in windows leave no whole sample to explain; expected targets without \
                       `sampled`, such as with `--set targets.0.sampled=false`";
        return Err(InputError::in_option("--explain", message).into());
    }
    if arguments.fast && site.executor != ExecutorKind::Sim {
        let message = "only simulated neighbours can skip; expected `--on sim` and a simulated platform";
        return Err(InputError::in_option("--fast", message).into());
    }
    let explain = arguments.explain.map_or(0, usize::from);
    let settings = RunSettings { explain, fast: arguments.fast, ..settings(&loaded, site) };
    if arguments.dry_run {
        return dry_run(arguments, &loaded, plan, impossible, site, &settings);
    }
    if let Some(why) = impossible {
        return Err(ExecutorError::Refused(why).into());
    }
    let out = Folder::prepare(arguments.out.as_deref(), &loaded.name)?;
    let _held = hold(out.path(), &format!("--out {}", out.path().display()))?;
    let base = begun(&loaded, executor.as_ref(), &plan, &settings);
    let experiment_toml = loaded.to_toml();
    let header = Header {
        format: FORMAT,
        run: base.clone(),
        plan: plan.clone(),
        thresholds_ns: Vec::new(),
        budgets: budgets.iter().map(ToString::to_string).collect(),
        explain,
        fast: arguments.fast,
        experiment_crc: checksum_of(&experiment_toml),
        files: files(&loaded)?,
    };
    let keeper = Repeats::new(Log::new(out.path()), header, experiment_toml);
    let stop = stop::on_ctrl_c();
    let measuring = Measuring { executor: executor.as_ref(), plan: &plan, settings: &settings };
    let finished = measure(&measuring, None, &keeper, out.path(), &stop)?;
    conclude(arguments, &loaded, &plan, finished, base, &budgets, out.path())
}

/// What is measured, and where.
pub struct Measuring<'a> {
    /// The place.
    pub executor: &'a dyn Executor,
    /// The cases.
    pub plan: &'a Plan,
    /// How they are run.
    pub settings: &'a RunSettings,
}

/// Measures what is not there yet.
///
/// # Errors
/// A place that cannot go on before each case was measured once; an interruption before anything was measured.
pub fn measure(
    of: &Measuring<'_>,
    begun: Option<Begun>,
    keeper: &Repeats,
    folder: &Path,
    stop: &AtomicBool,
) -> Result<Finished, Failure> {
    let bar = Bar::new();
    let outcome =
        waykeeper_executor::run(of.executor, of.plan, of.settings, begun, keeper, stop, &|progress| bar.show(progress));
    drop(bar);
    let finished = outcome.inspect_err(|_| {
        if keeper.is_begun() {
            let folder = folder.display();
            let message = format!(
                "the repeats that are complete are kept: `waykeeper show {folder}` shows them, `waykeeper run --resume {folder}` \
                 goes on"
            );
            say(Kind::Note, &message);
        }
    })?;
    let nothing = finished.measured.iter().all(|measured| measured.repeats.is_empty());
    if nothing { Err(Failure::Stopped) } else { Ok(finished) }
}

/// Concludes, keeps and prints.
///
/// # Errors
/// A folder that cannot be written; why the place could not go on.
pub fn conclude(
    arguments: &Run,
    loaded: &Loaded,
    plan: &Plan,
    finished: Finished,
    base: Record,
    budgets: &[Budget],
    folder: &Path,
) -> Result<Exit, Failure> {
    let mut record = base.concluded(&loaded.experiment, plan, &finished.measured, budgets);
    record.cut_short = finished.cut_short;
    record.notes.extend(finished.failed.as_ref().map(|error| format!("The run ended early: {error}.")));
    let written = folder::write(folder, &record, &finished.measured, &loaded.to_toml());
    // What was measured is shown also where it cannot be kept.
    if arguments.json {
        print_json(&record)?;
    } else {
        let place = one_line(&folder.display().to_string()).into_owned();
        let kept = match &written {
            Ok(()) if folder.join(REPEATS_FILE).exists() => {
                format!("kept in {place}; `waykeeper run --resume {place}` goes on\n")
            }
            Ok(()) => format!("kept in {place}\n"),
            Err(_) => String::new(),
        };
        print(&format!("{}\n{kept}", waykeeper_report::run(&record, waykeeper_report::Detail::Ordinary)))?;
    }
    written.map_err(|error| Failure::Write { folder: folder.to_owned(), error })?;
    match finished.failed {
        Some(error) => Err(error.into()),
        None => Ok(exit(&record)),
    }
}

/// The overrides: `--set` as typed, and the options that stand for a field.
fn sets(arguments: &Run) -> Result<Vec<Set>, InputError> {
    let mut sets = arguments.sets.iter().map(|text| Set::parse(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some(duration) = &arguments.duration {
        for key in ["duration", "simulated_duration"] {
            sets.push(Set::from_option(format!("--duration {duration}"), key, Value::String(duration.clone())));
        }
    }
    for (option, value) in [("repeats", arguments.repeats), ("seed", arguments.seed)] {
        if let Some(value) = value {
            sets.push(Set::from_option(format!("--{option} {value}"), option, Value::Integer(value)));
        }
    }
    sets.extend(super::target_program::sets(&arguments.program)?);
    Ok(sets)
}

fn budgets(arguments: &Run, loaded: &Loaded) -> Result<Vec<Budget>, InputError> {
    let mut budgets = Vec::new();
    for (index, text) in loaded.experiment.budgets.as_slice().iter().enumerate() {
        budgets.push(text.parse().map_err(|error: waykeeper_statistics::BadBudget| {
            loaded.error(&format!("budgets.{index}"), error.to_string())
        })?);
    }
    for text in &arguments.budgets {
        budgets.push(text.parse().map_err(|error: waykeeper_statistics::BadBudget| {
            InputError::in_option(format!("--budget '{text}'"), error.to_string())
        })?);
    }
    Ok(budgets)
}

/// A budget that covers no case would pass unseen.
fn check_budgets(arguments: &Run, loaded: &Loaded, plan: &Plan, budgets: &[Budget]) -> Result<(), InputError> {
    let from_file = loaded.experiment.budgets.as_slice().len();
    for (index, budget) in budgets.iter().enumerate() {
        if plan.cases.iter().any(|case| budget.applies_to(&case.mitigation)) {
            continue;
        }
        let mut known: Vec<&str> = plan.cases.iter().map(|case| case.mitigation.as_str()).collect();
        let mut seen = std::collections::BTreeSet::new();
        known.retain(|name| seen.insert(*name));
        let message = format!("`{budget}` covers no case; expected a mitigation that is run: {}", known.join(", "));
        return Err(match index.checked_sub(from_file) {
            Some(index) => InputError::in_option(format!("--budget '{}'", arguments.budgets[index]), message),
            None => loaded.error(&format!("budgets.{index}"), message),
        });
    }
    Ok(())
}

/// How an experiment is run at a site, without what the command line adds.
pub fn settings(loaded: &Loaded, site: &Site) -> RunSettings {
    let experiment = &loaded.experiment;
    let simulated = experiment.simulated_duration.filter(|_| site.executor == ExecutorKind::Sim);
    RunSettings {
        duration_s: simulated.unwrap_or(experiment.duration).seconds(),
        simulated_samples: experiment.simulated_samples.filter(|_| site.executor == ExecutorKind::Sim),
        explain: 0,
        fast: false,
        occupancy: experiment.table.as_ref().is_some_and(|table| table.occupancy),
        repeats: experiment.repeats,
        seed: experiment.seed,
        excursion_over_min_ns: experiment.excursions.over_min.map(|over| over.0),
        gap_ns: experiment.excursions.gap.0,
        peak_interval_ns: experiment.peak_interval.0,
    }
}

fn dry_run(
    arguments: &Run,
    loaded: &Loaded,
    mut plan: Plan,
    impossible: Option<String>,
    site: &Site,
    settings: &RunSettings,
) -> Result<Exit, Failure> {
    // A dry run ends as the run would.
    let exit = if impossible.is_some() { Exit::CannotDo } else { Exit::Done };
    plan.refused.extend(impossible.map(|why| RefusalRecord { what: "the whole run".into(), why }));
    let ignored = notes(loaded, &plan, site);
    if !arguments.json {
        let RunSettings { repeats, duration_s, simulated_samples: samples, .. } = *settings;
        let plan = waykeeper_report::plan(&plan, site, Length { repeats, duration_s, samples });
        print(&ignored.into_iter().fold(plan, |plan, note| plan + &one_line(&note) + "\n"))?;
        return Ok(exit);
    }
    let placed =
        |placed: &waykeeper_experiment::cases::Placed| json!({ "workload": placed.workload, "core": placed.core });
    let cases = plan.cases.iter().map(|case| {
        let mut entry = json!({
            "name": case.name,
            "sentinel": case.purpose == waykeeper_experiment::cases::Purpose::Sentinel,
            "target": placed(&case.target),
            "neighbours": case.neighbours.iter().map(placed).collect::<Vec<_>>(),
            "mitigation": case.mitigation,
            "point": case.point.to_map(),
        });
        if let Some(sampling) = &case.sampled {
            entry["sampled"] = json!(sampling);
        }
        entry
    });
    let cases: Vec<_> = cases.collect();
    let mut planned = json!({
        "experiment": loaded.name,
        "platform": site.platform,
        "executor": site.executor,
        "duration_s": settings.duration_s,
        "repeats": settings.repeats,
        "seed": settings.seed,
        "cases": cases,
        "refused": plan.refused,
    });
    if let Some(samples) = settings.simulated_samples {
        planned["simulated_samples"] = json!(samples);
    }
    print_json(&planned)?;
    Ok(exit)
}

/// The record of a run before anything of it is measured.
fn begun(loaded: &Loaded, executor: &dyn Executor, plan: &Plan, settings: &RunSettings) -> Record {
    let place = executor.place();
    Record {
        schema: SCHEMA,
        tool: Tool { name: "waykeeper".into(), version: env!("CARGO_PKG_VERSION").into() },
        command_line: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        started: now(),
        experiment: loaded.name.clone(),
        title: loaded.experiment.title.clone(),
        platform: place.site.platform.clone(),
        executor: place.site.executor,
        duration_s: settings.duration_s,
        simulated_samples: settings.simulated_samples,
        peak_interval_s: Some(settings.peak_interval_ns / 1e9).filter(|interval| settings.duration_s > *interval),
        repeats: settings.repeats,
        seed: settings.seed,
        cut_short: false,
        clock: place.clock.clone(),
        machine: place.machine.clone(),
        parameters: place.parameters.clone(),
        privileges: Vec::new(),
        refused: plan.refused.clone(),
        sweeps: loaded.experiment.sweep.iter().map(Sweep::record).collect(),
        table: loaded.experiment.table.clone(),
        cases: Vec::new(),
        sentinels: Vec::new(),
        budgets: Vec::new(),
        expectations: Vec::new(),
        notes: place.notes.iter().cloned().chain(notes(loaded, plan, &place.site)).collect(),
    }
}

fn exit(record: &Record) -> Exit {
    let any = |kind| record.budgets.iter().any(|judged| judged.kind == kind);
    match () {
        () if any(JudgementKind::Broken) => Exit::BudgetBroken,
        () if record.cut_short => Exit::Interrupted,
        () if any(JudgementKind::TooThin) => Exit::TooThin,
        () => Exit::Done,
    }
}
