//! `waykeeper apply`.

use std::path::Path;

use serde::Deserialize;
use waykeeper_control::{Applied, ApplyError, ApplyRequest, ApplyState, Files, Preview, Status};
use waykeeper_experiment::InputError;
use waykeeper_platform::explain::{read_json, said};
use waykeeper_platform::read_text;
use waykeeper_policy::{Form, Membership, Offer, Refusal, Step, lower, plan as resolve};
use waykeeper_report::shown::one_line;

use super::acting::{applied, files, host, indented, state};
use super::output::{print, print_json};
use super::plan::{open, platform, refused, this_machine};
use crate::arguments::{Apply, ApplyForm};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::stop;

/// Applies a policy or a plan, or shows what that would do.
pub fn apply(arguments: &Apply) -> Result<Exit, Failure> {
    let root = arguments.root.as_deref();
    // Its own groups would be in the way of what is planned now.
    if let Some(Status { policy, began, phase, .. }) = applied(root)? {
        return Err(match phase {
            ApplyState::Remains => ApplyError::Remains { policy, began },
            _ => ApplyError::Already { policy, began },
        }
        .into());
    }
    let (policy, steps) = match (&arguments.steps, &arguments.policy) {
        (Some(file), _) => (name_of(file), read_steps(file)?),
        (None, Some(policy)) => (name_of(Path::new(policy)), steps_of(arguments, policy)?),
        (None, None) => (String::new(), Vec::new()),
    };
    if arguments.dry_run {
        let preview = waykeeper_control::preview(&mut host(root).machine(), &steps).map_err(ApplyError::from)?;
        match arguments.json {
            true => print_json(&preview)?,
            false => print(&would(&preview))?,
        }
        return Ok(Exit::Done);
    }
    let stop = stop::on_ctrl_c_or("`waykeeper restore` puts back what was there before");
    let request = ApplyRequest { policy: &policy, version: env!("CARGO_PKG_VERSION"), steps: &steps };
    let applied = waykeeper_control::apply(&mut host(root).machine(), &state(root), &request, &stop)?;
    match arguments.json {
        true => print_json(&applied)?,
        false => print(&done(&applied))?,
    }
    Ok(Exit::Done)
}

/// The steps of a policy on this machine.
fn steps_of(arguments: &Apply, policy: &str) -> Result<Vec<Step>, Failure> {
    let loaded = open(policy, &arguments.cores)?;
    let refused = |refusal: Refusal| refused(&loaded, refusal);
    let tree = Files(files(arguments.root.as_deref()));
    let offer = match &arguments.platform {
        Some(name) => Offer::of_platform(&platform(name)?),
        None => this_machine(&tree)?,
    };
    let membership = Membership::read(&loaded.policy, &tree).map_err(refused)?;
    let assignment = resolve(&loaded, &offer, &membership).map_err(refused)?;
    let form = arguments.form.map_or_else(|| Form::suiting(&assignment, &offer), form);
    Ok(lower(&assignment, &offer, form).map_err(refused)?.steps())
}

fn form(form: ApplyForm) -> Form {
    match form {
        ApplyForm::Resctrl => Form::Resctrl,
        ApplyForm::Msr => Form::Msr,
        ApplyForm::Hwp => Form::Hwp,
    }
}

/// A name for people: that of the file, without its ending.
fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// What `plan --json` prints, of which the steps count, or the steps alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum StepsFile {
    Plan { steps: serde_json::Value },
    Steps(Vec<serde_json::Value>),
}

fn read_steps(file: &Path) -> Result<Vec<Step>, Failure> {
    let name = file.display().to_string();
    let refuse = |message: String| InputError::in_file(&name, message);
    let text = read_text(file).map_err(|error| refuse(format!("the plan cannot be read: {error}")))?;
    let read: Result<StepsFile, _> = serde_json::from_str(&text);
    let steps = match read {
        Ok(StepsFile::Plan { steps: serde_json::Value::Array(steps) }) | Ok(StepsFile::Steps(steps)) => steps,
        _ => {
            let expected = "expected JSON: a list of steps, or what `waykeeper plan --json` prints";
            return Err(refuse(format!("this is no plan; {expected}")).into());
        }
    };
    let step = |(index, step): (usize, serde_json::Value)| {
        read_json(&step).map_err(|mistake| refuse(format!("step {}: {}", index + 1, said(mistake))))
    };
    Ok(steps.into_iter().enumerate().map(step).collect::<Result<_, _>>()?)
}

fn would(preview: &[Preview]) -> String {
    let mut text = String::from("would be done, each with what is there now:\n");
    for (index, Preview { step, now }) in preview.iter().enumerate() {
        text += &format!(
            "  {:2}. {}\n      now: {}\n",
            index + 1,
            one_line(&step.to_string()),
            one_line(&now.replace('\n', ", "))
        );
    }
    text + "nothing was written\n"
}

fn done(applied: &Applied) -> String {
    let mut text = format!("applied {}: {} steps, all of them read back\n", one_line(&applied.policy), applied.steps);
    if applied.mounted {
        text += "resctrl was mounted for it\n";
    }
    if !applied.rounded.is_empty() {
        text += "the kernel rounded silently:\n";
        text += &indented(&applied.rounded);
    }
    text += &indented(&applied.cgroups);
    if !applied.cgroups.is_empty() {
        text += "`waykeeper follow` puts tasks that come later into their groups, as long as it runs\n";
    }
    text + "`waykeeper verify` tests whether it is in force, `waykeeper restore` undoes it\n"
}
