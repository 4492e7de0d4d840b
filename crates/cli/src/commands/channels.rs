//! `waykeeper channels`.

use std::path::Path;

use waykeeper_channels::{ChannelPlace, ChannelPolicy, of_machine, of_platform, text};
use waykeeper_control::Files;
use waykeeper_doctor::{BadCores, View, examine};
use waykeeper_experiment::InputError;
use waykeeper_linux::Root;
use waykeeper_linux::machine::Machine;
use waykeeper_policy::{Form, Membership, Offer, Refusal, lower, plan as resolve};

use super::acting::{host, state};
use super::output::{print, print_json};
use super::plan::{named_platform, open, refused, this_machine};
use crate::arguments::{Channels, THIS_MACHINE};
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints the interference channels of a place.
pub fn channels(arguments: &Channels) -> Result<Exit, Failure> {
    let (place, policy) = match arguments.place == THIS_MACHINE {
        true => of_this_machine(arguments)?,
        false => of_file(arguments)?,
    };
    let table = place.table(policy);
    match arguments.json {
        true => print_json(&table)?,
        false => print(&text(&table))?,
    }
    Ok(Exit::Done)
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
