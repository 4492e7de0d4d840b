//! `waykeeper import`.

use waykeeper_experiment::InputError;
use waykeeper_imports::{ImportedRun, conclude, read};
use waykeeper_run::folder;
use waykeeper_session::{Concluded, Kept, RunFolder, asked_budgets};
use waykeeper_workload::parse_duration_ns;

use super::run::show;
use crate::arguments::Import;
use crate::exit::Exit;
use crate::failure::Failure;

/// Reads the histograms of another tool as a run.
pub fn import(arguments: &Import) -> Result<Exit, Failure> {
    let name = arguments.file.display().to_string();
    let bad = |why: String| InputError::in_file(&name, why);
    let text = waykeeper_platform::read_text(&name).map_err(|error| bad(format!("it cannot be read: {error}")))?;
    let imported = read(&text).map_err(bad)?;
    let budgets = asked_budgets(&arguments.budgets)?;
    let length_s = arguments.duration.as_deref().map(length).transpose()?;
    let command_line = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let ImportedRun { record, measured, experiment_toml } =
        conclude(&imported, &name, length_s, &budgets, command_line)?;
    let place = RunFolder::prepare(arguments.out.as_deref(), &record.experiment)?;
    let path = place.path().to_owned();
    let kept = match folder::write(&path, &record, &measured, &experiment_toml) {
        Ok(()) => Kept::Whole(path),
        Err(error) => Kept::Failed { folder: path, error },
    };
    show(arguments.json, Concluded { record, measured, failed: None, kept })
}

fn length(text: &str) -> Result<f64, InputError> {
    let option = format!("--duration {text}");
    let ns = parse_duration_ns(text).map_err(|error| InputError::in_option(&option, error.to_string()))?;
    match ns > 0.0 && ns < 1e18 {
        true => Ok(ns / 1e9),
        false => Err(InputError::in_option(&option, "expected a time over 0, such as `24h`")),
    }
}
