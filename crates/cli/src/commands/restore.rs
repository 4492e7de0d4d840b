//! `waykeeper restore`.

use waykeeper_control::{OthersChanges, Restored, WAYS_ON};
use waykeeper_report::shown::one_line;

use super::acting::{host, indented, state};
use super::output::{print, print_json};
use crate::arguments::Restore;
use crate::exit::Exit;
use crate::failure::Failure;

/// Puts back what was there before.
pub fn restore(arguments: &Restore) -> Result<Exit, Failure> {
    let others = match (arguments.force, arguments.keep) {
        (true, _) => OthersChanges::Overwrite,
        (_, true) => OthersChanges::Accept,
        _ => OthersChanges::Leave,
    };
    let mut host = host(arguments.root.as_deref());
    let restored = waykeeper_control::restore(&mut host.machine(), &state(arguments.root.as_deref()), others)?;
    match arguments.json {
        true => print_json(&restored)?,
        false => print(&text(&restored, arguments.force))?,
    }
    Ok(match restored {
        Restored::Partly { .. } => Exit::CannotDo,
        Restored::Left { .. } => Exit::OthersLeft,
        Restored::Nothing | Restored::Rebooted { .. } | Restored::Back { .. } => Exit::Done,
    })
}

fn text(restored: &Restored, force: bool) -> String {
    let found = |findings: &[String]| match findings.is_empty() {
        true => String::new(),
        false => format!("found changed since:\n{}", indented(findings)),
    };
    let applied = |policy: &str, began: &str| one_line(&format!("{policy}, applied {began}")).into_owned();
    match restored {
        Restored::Nothing => "nothing is applied: there is nothing to undo\n".into(),
        Restored::Rebooted { policy, began } => format!(
            "{}, went with the reboot since then; nothing was written, and its journal is cleared\n",
            applied(policy, began)
        ),
        Restored::Back { policy, began, findings, .. } => {
            format!("{}{}, is undone\n", found(findings), applied(policy, began))
        }
        Restored::Left { policy, began, findings, left, .. } => format!(
            "{}{}, is undone but for what others have changed since\n{}{WAYS_ON}; until then its journal is kept\n",
            found(findings),
            applied(policy, began),
            indented(left)
        ),
        Restored::Partly { policy, began, findings, left, failures } => {
            let then = if force { "dropped" } else { "`waykeeper restore` tries again, with --force it drops them" };
            let all: Vec<String> = findings.iter().chain(left).cloned().collect();
            let failed = indented(failures);
            format!("{}{}, is undone but for\n{failed}{then}\n", found(&all), applied(policy, began))
        }
    }
}
