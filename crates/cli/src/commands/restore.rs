//! `waykeeper restore`.

use waykeeper_control::Restored;

use super::acting::{host, indented, state};
use super::output::{print, print_json};
use crate::arguments::Restore;
use crate::exit::Exit;
use crate::failure::Failure;

/// Puts back what was there before.
pub fn restore(arguments: &Restore) -> Result<Exit, Failure> {
    let mut host = host(arguments.root.as_deref());
    let restored = waykeeper_control::restore(&mut host.machine(), &state(arguments.root.as_deref()), arguments.force)?;
    match arguments.json {
        true => print_json(&restored)?,
        false => print(&text(&restored, arguments.force))?,
    }
    Ok(if matches!(restored, Restored::Partly { .. }) { Exit::CannotDo } else { Exit::Done })
}

fn text(restored: &Restored, force: bool) -> String {
    let found = |findings: &[String]| match findings.is_empty() {
        true => String::new(),
        false => format!("found changed since:\n{}", indented(findings)),
    };
    match restored {
        Restored::Nothing => "nothing is applied: there is nothing to undo\n".into(),
        Restored::Rebooted { policy, began } => format!(
            "{policy}, applied {began}, went with the reboot since then; nothing was written, and its journal is cleared\n"
        ),
        Restored::Back { policy, began, findings, .. } => {
            format!("{}{policy}, applied {began}, is undone\n", found(findings))
        }
        Restored::Partly { policy, began, findings, failures } => {
            let then =
                if force { "given up" } else { "`waykeeper restore` tries again, with --force it gives them up" };
            let failed = indented(failures);
            format!("{}{policy}, applied {began}, is undone but for\n{failed}{then}\n", found(findings))
        }
    }
}
