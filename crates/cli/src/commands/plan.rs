//! `waykeeper plan`.

use serde::Serialize;
use waykeeper_control::Files;
use waykeeper_experiment::InputError;
use waykeeper_linux::Root;
use waykeeper_platform::{Platform, bundled, find_bundled, read_text};
use waykeeper_policy::offer::Tree;
use waykeeper_policy::{
    Assignment, CoreList, Form, LoadedPolicy, Lowered, Membership, Offer, Refusal, Step, lower, plan as resolve,
};

use super::output::{print, print_json};
use crate::arguments::{Plan, PlanForm};
use crate::exit::Exit;
use crate::failure::Failure;

/// Prints what a policy comes to on a machine.
pub fn plan(arguments: &Plan) -> Result<Exit, Failure> {
    let loaded = open(&arguments.policy, &arguments.cores)?;
    let refused = |refusal: Refusal| refused(&loaded, refusal);
    let (offer, membership) = match &arguments.platform {
        Some(name) => (Offer::of_platform(&platform(name)?), Membership::unread(&loaded.policy)),
        None => {
            let root = arguments.root.as_deref().map(Root::open).transpose();
            let root = root.map_err(|error| InputError::in_option("--root", error.to_string()))?;
            let tree = Files(root.unwrap_or_default());
            (this_machine(&tree)?, Membership::read(&loaded.policy, &tree).map_err(refused)?)
        }
    };
    let without = |refusal: Refusal| refused(refusal.with_platforms(&loaded));
    let assignment = resolve(&loaded, &offer, &membership).map_err(without)?;
    let form = arguments.form.map_or_else(|| Form::suiting(&assignment, &offer), form);
    let lowered = lower(&assignment, &offer, form).map_err(refused)?;
    if arguments.json {
        print_json(&Planned::new(&assignment, &lowered))?;
    } else if arguments.script {
        print(&lowered.script(&assignment))?;
    } else {
        print(&waykeeper_report::assignment(&assignment, &lowered))?;
    }
    Ok(Exit::Done)
}

/// A plan as JSON.
#[derive(Serialize)]
struct Planned<'p> {
    assignment: &'p Assignment,
    lowered: &'p Lowered,
    steps: Vec<Step>,
    script: String,
}

impl<'p> Planned<'p> {
    fn new(assignment: &'p Assignment, lowered: &'p Lowered) -> Self {
        Self { assignment, lowered, steps: lowered.steps(), script: lowered.script(assignment) }
    }
}

fn form(form: PlanForm) -> Form {
    match form {
        PlanForm::Resctrl => Form::Resctrl,
        PlanForm::Pqos => Form::Pqos,
        PlanForm::Msr => Form::Msr,
        PlanForm::Hwp => Form::Hwp,
        PlanForm::Dsu => Form::Dsu,
        PlanForm::Tfa => Form::Tfa,
        PlanForm::Uboot => Form::Uboot,
        PlanForm::Mpam => Form::Mpam,
        PlanForm::Pl310 => Form::Pl310,
        PlanForm::Xen => Form::Xen,
        PlanForm::Bao => Form::Bao,
        PlanForm::Jailhouse => Form::Jailhouse,
        PlanForm::Cmdline => Form::Cmdline,
    }
}

/// A policy, with other cores for its classes.
///
/// # Errors
/// A policy that cannot be read, an option that names no class or no cores.
pub fn open(policy: &str, cores: &[String]) -> Result<LoadedPolicy, Failure> {
    let mut loaded = LoadedPolicy::open(policy)?;
    for option in cores {
        let typed = format!("--cores {option}");
        let refuse = |message: String| InputError::in_option(&typed, message);
        let parts = option.split_once('=');
        let (class, list) = parts.ok_or_else(|| refuse("expected CLASS=LIST, such as `real-time=2,3`".into()))?;
        let list = CoreList::parse(list).map_err(refuse)?;
        loaded = loaded.with_cores_of(&typed, class, list)?;
    }
    Ok(loaded)
}

/// The platform of `--for`: by name or file.
///
/// # Errors
/// A name that is neither, a file with a mistake.
pub fn platform(name: &str) -> Result<Platform, Failure> {
    named_platform("--for", name)
}

/// A platform by name or file; `option` is what named it.
///
/// # Errors
/// A name that is neither, a file with a mistake.
pub fn named_platform(option: &str, name: &str) -> Result<Platform, Failure> {
    if let Some(found) = find_bundled(name) {
        return Ok(Platform::from_toml(found.text, &format!("platforms/{name}.toml"))?);
    }
    let text = read_text(name).map_err(|error| {
        let message = format!(
            "found `{name}`, which is neither bundled nor a file that can be read ({error}); bundled are {}",
            names().join(", ")
        );
        InputError::in_option(option, message)
    })?;
    Ok(Platform::from_toml(&text, name)?)
}

fn names() -> Vec<&'static str> {
    bundled().iter().map(|file| file.name).collect()
}

/// What this machine can be asked for, or why nobody can tell.
///
/// # Errors
/// A machine without a mounted resctrl.
pub fn this_machine(tree: &dyn Tree) -> Result<Offer, Failure> {
    Offer::of_linux(tree).map_err(|missing| {
        Failure::NoOffer(format!(
            "nothing can be planned for this machine: {missing}; `--for PLATFORM` plans for another: {}",
            names().join(", ")
        ))
    })
}

/// Says where in the policy a refusal stands.
pub fn refused(loaded: &LoadedPolicy, refusal: Refusal) -> Failure {
    let error = loaded.error(&refusal.key, refusal.message);
    if refusal.lacking { Failure::Lacking(error) } else { Failure::Policy(error) }
}
