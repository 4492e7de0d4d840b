//! Overrides of an experiment: `--set` as typed, and the options that stand for a field.

use std::path::Path;
use std::time::Duration;

use toml::Value;
use waykeeper_experiment::{InputError, Loaded, OptionOverrides, Set};
use waykeeper_platform::read_text;
use waykeeper_search::hunt;
use waykeeper_workload::parse_duration_ns;

use crate::arguments::Searched;

/// What `--set`, `--duration`, `--repeats` and `--seed` are.
///
/// # Errors
/// A `--set` that cannot be read.
pub fn sets(
    sets: &[String],
    duration: Option<&str>,
    repeats: Option<i64>,
    seed: Option<i64>,
) -> Result<Vec<Set>, InputError> {
    let mut sets = sets.iter().map(|text| Set::parse(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some(duration) = duration {
        for key in ["duration", "simulated_duration"] {
            sets.push(Set::from_option(format!("--duration {duration}"), key, Value::String(duration.into())));
        }
    }
    for (option, value) in [("repeats", repeats), ("seed", seed)] {
        if let Some(value) = value {
            sets.push(Set::from_option(format!("--{option} {value}"), option, Value::Integer(value)));
        }
    }
    Ok(sets)
}

/// What the options of a search in an experiment are.
///
/// # Errors
/// An option that cannot be read; a target that does not fit into the experiment.
pub fn of_search(options: &Searched, experiment: &str) -> Result<OptionOverrides, InputError> {
    let mut sets = sets(&options.sets, options.duration.as_deref(), options.repeats, options.seed)?;
    if let Some(platform) = &options.platform {
        sets.push(Set::from_option(format!("--for {platform}"), "platform", Value::String(platform.clone())));
    }
    let Some(target) = &options.target else { return Ok(OptionOverrides { sets, notes: Vec::new() }) };
    let typed = format!("--target {target}");
    let refuse = || InputError::in_option(&typed, "expected WORKLOAD@CORE, such as `rta_128k@3`");
    let (workload, core) = target.rsplit_once('@').ok_or_else(refuse)?;
    let core: u32 = core.trim().parse().map_err(|_| refuse())?;
    let mut chosen = Loaded::open(experiment, sets.clone())?.with_target(&typed, workload.trim(), core)?;
    chosen.sets.splice(0..0, sets);
    Ok(chosen)
}

/// A time limit.
///
/// # Errors
/// No time, or none over 0.
pub fn time_limit(text: &str) -> Result<Duration, InputError> {
    let option = format!("--time-limit {text}");
    let limit = parse_duration_ns(text).map_err(|why| InputError::in_option(&option, why.to_string()))?;
    let limit = Duration::try_from_secs_f64(limit / 1e9).ok().filter(|limit| !limit.is_zero());
    limit.ok_or_else(|| InputError::in_option(&option, "expected a time over 0, such as `20min`"))
}

/// The neighbours of a file in the place of an experiment's.
///
/// # Errors
/// A file that cannot be read; one without neighbours; an experiment that does not say on which cores they run.
pub fn against(path: &Path, experiment: &str, sets: &[Set]) -> Result<OptionOverrides, InputError> {
    let option = format!("--against {}", path.display());
    let text =
        read_text(path).map_err(|error| InputError::in_option(&option, format!("the file cannot be read: {error}")))?;
    hunt::against(&text, &option, &Loaded::open(experiment, sets.to_vec())?)
}
