//! `waykeeper channels`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use waykeeper_channels::{
    ChannelPlace, ChannelPolicy, ChannelRuns, MeasureRequest, experiment, of_machine, of_platform, text,
};
use waykeeper_control::Files;
use waykeeper_doctor::{BadCores, View, examine};
use waykeeper_experiment::InputError;
use waykeeper_linux::Root;
use waykeeper_linux::machine::Machine;
use waykeeper_linux::thread::spawn;
use waykeeper_policy::{Form, Membership, Offer, Refusal, lower, plan as resolve};
use waykeeper_session::{Concluded, Keep, Kept, Options, Session, SessionError};

use super::acting::{host, state};
use super::output::{print, print_json};
use super::overrides;
use super::plan::{named_platform, open, refused, this_machine};
use crate::arguments::{Channels, THIS_MACHINE};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Bar;
use crate::stop;

/// Prints the interference channels of a place.
pub fn channels(arguments: &Channels) -> Result<Exit, Failure> {
    let (place, policy) = match arguments.place == THIS_MACHINE {
        true => of_this_machine(arguments)?,
        false => of_file(arguments)?,
    };
    let mut runs = ChannelRuns::default();
    arguments.runs.iter().try_for_each(|run| runs.add(run, &place))?;
    let measured = if arguments.measure { Some(measure(arguments, &place, policy.core)?) } else { None };
    let ended = measured.map_or(Ok(Exit::Done), |measured| measured.into_runs(&mut runs));
    // What was measured is shown also where the place could not go on, or it cannot be kept.
    let table = place.table(policy, &runs);
    match arguments.json {
        true => print_json(&table)?,
        false => print(&text(&table))?,
    }
    ended
}

/// What `--measure` left.
struct Measured {
    concluded: Concluded,
    /// By the user, and not by the time limit.
    interrupted: bool,
}

impl Measured {
    /// Adds the run to those of the table, and returns how the measurement ended.
    fn into_runs(self, runs: &mut ChannelRuns) -> Result<Exit, Failure> {
        let Self { concluded: Concluded { record, kept, failed, .. }, interrupted } = self;
        let called = match &kept {
            Kept::Whole(folder) | Kept::Unfinished(folder) => folder.display().to_string(),
            Kept::Nowhere | Kept::Shard { .. } | Kept::Failed { .. } => "this measurement".to_owned(),
        };
        runs.add_measured(&called, record);
        match (kept, failed) {
            (Kept::Failed { folder, error }, _) => Err(SessionError::Write { folder, error }.into()),
            (_, Some(error)) => Err(error.into()),
            _ => Ok(if interrupted { Exit::Interrupted } else { Exit::Done }),
        }
    }
}

/// Makes the run for the table; `core` is the one that the policy is for.
fn measure(arguments: &Channels, place: &ChannelPlace, core: Option<u32>) -> Result<Measured, Failure> {
    if let Some(cores) = arguments.cores.first() {
        let message = "--measure takes the cores that the policy itself names; expected a policy file with these cores";
        return Err(InputError::in_option(format!("--cores {cores}"), message).into());
    }
    let limit = overrides::time_limit(&arguments.time_limit)?;
    let is_platform = arguments.place != THIS_MACHINE;
    let target = arguments.target.as_deref().map(target).transpose()?;
    let request = MeasureRequest {
        platform: is_platform.then(|| arguments.place.clone()),
        core: target.as_ref().map(|(_, core)| *core).or(core),
        target: target.map(|(workload, _)| workload),
        policy: arguments.policy.clone(),
        sets: overrides::sets(&arguments.sets, None, None, None)?,
    };
    let options = Options {
        commit: crate::commit().map(str::to_owned),
        source_date_epoch: std::env::var("SOURCE_DATE_EPOCH").ok(),
        command_line: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        ..Options::default()
    };
    let started =
        Session::plan(experiment(place, &request)?, &options)?.start(Keep::InFolder(arguments.out.as_deref()))?;
    let stop = stop::on_ctrl_c();
    let is_over = Arc::new(AtomicBool::new(false));
    let (stopping, over) = (Arc::clone(&stop), Arc::clone(&is_over));
    // Where the system refuses a thread there is no limit; Ctrl-C ends it all the same.
    let _ = spawn("time-limit", move || {
        std::thread::sleep(limit);
        over.store(!stopping.load(Ordering::Relaxed), Ordering::Relaxed);
        stopping.store(true, Ordering::Relaxed);
    });
    let concluded = started.run(&Bar::new(), &stop)?;
    let interrupted = stop.load(Ordering::Relaxed) && !is_over.load(Ordering::Relaxed);
    Ok(Measured { concluded, interrupted })
}

/// A workload and its core.
fn target(text: &str) -> Result<(String, u32), InputError> {
    let refuse = || InputError::in_option(format!("--target {text}"), "expected WORKLOAD@CORE, such as `rta_128k@3`");
    let (workload, core) = text.rsplit_once('@').ok_or_else(refuse)?;
    Ok((workload.trim().to_owned(), core.trim().parse().map_err(|_| refuse())?))
}

/// A platform file, and the plan of a policy for it.
fn of_file(arguments: &Channels) -> Result<(ChannelPlace, ChannelPolicy), Failure> {
    for (option, is_set) in [("--root", arguments.root.is_some()), ("--rt-cores", arguments.rt_cores.is_some())] {
        if is_set {
            let message =
                format!("it is about a machine, and `{}` is a platform; expected one of both", arguments.place);
            return Err(InputError::in_option(option, message).into());
        }
    }
    let platform = named_platform("channels", &arguments.place)?;
    let policy = match &arguments.policy {
        None => ChannelPolicy::none("no policy was named; --policy plans one"),
        Some(_) => planned(arguments, &Offer::of_platform(&platform), None)?,
    };
    Ok((of_platform(&platform), policy))
}

/// This machine or a recorded one, and the policy that is applied to it or planned for it.
fn of_this_machine(arguments: &Channels) -> Result<(ChannelPlace, ChannelPolicy), Failure> {
    let root = arguments.root.as_deref().map(Root::open).transpose();
    let root = root.map_err(|error| InputError::in_option("--root", error.to_string()))?.unwrap_or_default();
    let machine = Machine::read(&root).map_err(|error| Failure::Machine(error.to_string()))?;
    let option = arguments.rt_cores.as_ref().map_or("channels".to_owned(), |cores| format!("--rt-cores {cores}"));
    let view = View::new(root.clone(), arguments.rt_cores.as_deref());
    let view = view.map_err(|BadCores(why)| InputError::in_option(option, why))?;
    let called = match &arguments.root {
        None => THIS_MACHINE.to_owned(),
        Some(path) => path.display().to_string(),
    };
    let policy = match &arguments.policy {
        None => applied(arguments.root.as_deref()),
        Some(_) => {
            let tree = Files(root.clone());
            planned(arguments, &this_machine(&tree)?, Some(&tree))?
        }
    };
    Ok((of_machine(&called, &root, &machine, &examine(&view)), policy))
}

/// What is applied. An archive of a machine has no journal.
fn applied(root: Option<&Path>) -> ChannelPolicy {
    if root.is_some_and(|root| !root.is_dir()) {
        return ChannelPolicy::not_seen("a recording has no journal of what was applied");
    }
    ChannelPolicy::applied(&mut host(root).machine(), &mut state(root))
}

/// A policy's plan; `tree` has the files of a machine.
fn planned(arguments: &Channels, offer: &Offer, tree: Option<&Files>) -> Result<ChannelPolicy, Failure> {
    let loaded = open(arguments.policy.as_deref().unwrap_or_default(), &arguments.cores)?;
    let refused = |refusal: Refusal| refused(&loaded, refusal);
    let membership = match tree {
        Some(tree) => Membership::read(&loaded.policy, tree).map_err(refused)?,
        None => Membership::unread(&loaded.policy),
    };
    let assignment = resolve(&loaded, offer, &membership).map_err(|it| refused(it.with_platforms(&loaded)))?;
    let form = Form::suiting(&assignment, offer);
    let lowered = lower(&assignment, offer, form).map_err(refused)?;
    Ok(ChannelPolicy::planned(&assignment, &lowered))
}
