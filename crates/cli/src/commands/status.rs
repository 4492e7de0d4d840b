//! `waykeeper status`.

use std::path::Path;

use serde::Serialize;
use waykeeper_control::{ApplyState, Holder, Status as Applied, StatusError, WAYS_ON};
use waykeeper_export::machine::{AppliedMetrics, status as metrics_of};
use waykeeper_report::shown::one_line;

use super::acting::{applied, indented, state};
use super::output::{print, print_json};
use super::whole_file;
use crate::arguments::Status;
use crate::exit::Exit;
use crate::failure::Failure;

#[derive(Serialize)]
struct Told {
    /// What is applied; null where nothing is.
    applied: Option<Applied>,
    /// The Waykeeper that is at work now.
    at_work: Option<Holder>,
    /// Why it cannot be seen whether one is at work.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_seen: Option<String>,
}

/// Whether a Waykeeper is at work, and which.
enum AtWork {
    Nobody,
    Somebody(Option<Holder>),
    NotSeen(String),
}

/// Shows what is applied.
pub fn status(arguments: &Status) -> Result<Exit, Failure> {
    let applied = applied(arguments.root.as_deref());
    if let Some(out) = &arguments.openmetrics {
        return metrics(out, applied);
    }
    let applied = applied?;
    let at_work = match state(arguments.root.as_deref()).holder() {
        Ok(None) => AtWork::Nobody,
        Ok(Some(holder)) => AtWork::Somebody(holder),
        Err(error) => AtWork::NotSeen(format!("whether a Waykeeper is at work cannot be seen: {error}")),
    };
    let exit = exit(applied.as_ref());
    match arguments.json {
        true => {
            let (at_work, not_seen) = match at_work {
                AtWork::Nobody => (None, None),
                AtWork::Somebody(holder) => (holder, None),
                AtWork::NotSeen(reason) => (None, Some(reason)),
            };
            print_json(&Told { applied, at_work, not_seen })?
        }
        false => print(&text(applied.as_ref(), at_work))?,
    }
    Ok(exit)
}

fn exit(applied: Option<&Applied>) -> Exit {
    match applied {
        Some(applied) if applied.phase != ApplyState::Applied || !applied.differences.is_empty() => Exit::DoesNotHold,
        _ => Exit::Done,
    }
}

/// Writes metrics, also that nothing could be seen: a file of before would go on saying what was.
fn metrics(out: &Path, applied: Result<Option<Applied>, StatusError>) -> Result<Exit, Failure> {
    let metrics = match &applied {
        Err(_) => AppliedMetrics::NotSeen,
        Ok(None) => AppliedMetrics::Nothing,
        Ok(Some(Applied { policy, phase, differences, .. })) => {
            AppliedMetrics::Policy { policy: policy.clone(), phase: word(*phase).into(), changed: differences.len() }
        }
    };
    whole_file::write(out, "metrics", metrics_of(&metrics).as_bytes())?;
    Ok(exit(applied?.as_ref()))
}

/// One of [`waykeeper_export::machine::PHASES`].
fn word(phase: ApplyState) -> &'static str {
    match phase {
        ApplyState::Applied => "applied",
        ApplyState::Applying => "applying",
        ApplyState::Restoring => "restoring",
        ApplyState::Remains => "remains",
        ApplyState::Rebooted => "rebooted",
    }
}

fn text(applied: Option<&Applied>, at_work: AtWork) -> String {
    let mut text = String::new();
    let busy = matches!(at_work, AtWork::Somebody(_));
    match at_work {
        AtWork::Somebody(Some(holder)) => {
            text += &format!("process {} is at work: {}\n", holder.pid, one_line(&holder.work))
        }
        AtWork::Somebody(None) => text += "another Waykeeper is at work\n",
        AtWork::NotSeen(reason) => text += &format!("{}\n", one_line(&reason)),
        AtWork::Nobody => {}
    }
    match applied {
        None => text + "nothing is applied\n",
        Some(applied) => text + &applied_text(applied, busy),
    }
}

/// What is applied, and how far; `busy` where a Waykeeper is at work on it.
pub fn applied_text(applied: &Applied, busy: bool) -> String {
    let mut text = String::new();
    let Applied { policy, began, pid, version, phase, steps, of, differences, cgroups, strays, ended, left } = applied;
    let head = format!("{policy}, since {began}, by process {pid} (waykeeper {version})");
    text += &format!("{}\n", one_line(&head));
    if *phase != ApplyState::Remains {
        text += &indented(steps);
    }
    text += &match phase {
        ApplyState::Applied if differences.is_empty() => {
            format!("all {of} steps are done, and the machine reads as it was left\n")
        }
        ApplyState::Applied => format!("all {of} steps were done; changed since `apply`:\n{}", indented(differences)),
        ApplyState::Applying if busy => format!("{} of {of} steps have begun\n", steps.len()),
        ApplyState::Applying => {
            format!("cut off after {} of {of} steps had begun; `waykeeper restore` undoes them\n", steps.len())
        }
        ApplyState::Restoring if busy => "it is being undone\n".into(),
        ApplyState::Restoring => {
            "undoing it was cut off, or not all of it could be undone; `waykeeper restore` goes on\n".into()
        }
        ApplyState::Remains if left.is_empty() => {
            "undone, and what others had changed is no more as they left it; `waykeeper restore` clears this\n".into()
        }
        ApplyState::Remains => format!("undone, but for what others have changed since\n{}{WAYS_ON}\n", indented(left)),
        ApplyState::Rebooted => {
            "the machine was started again since, and nothing of it holds any more; `waykeeper restore` clears this\n"
                .into()
        }
    };
    text + &indented(cgroups) + &indented(strays) + &indented(ended)
}
