//! Options that searches share: which fields of the experiment they stand for.

use std::time::Duration;

use toml::{Table, Value};
use waykeeper_experiment::{InputError, Set};
use waykeeper_workload::parse_duration_ns;

/// Options as typed.
pub struct Typed<'a> {
    /// `--set`.
    pub sets: &'a [String],
    /// `--for`.
    pub platform: Option<&'a str>,
    /// `--target`.
    pub target: Option<&'a str>,
    /// `--duration`.
    pub duration: Option<&'a str>,
    /// `--repeats`.
    pub repeats: Option<i64>,
    /// `--seed`.
    pub seed: Option<i64>,
}

/// The overrides that they are.
///
/// # Errors
/// An option that cannot be read.
pub fn sets(typed: &Typed<'_>) -> Result<Vec<Set>, InputError> {
    let mut sets = typed.sets.iter().map(|text| Set::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let mut option = |typed: String, key: &str, value: Value| sets.push(Set::from_option(typed, key, value));
    if let Some(platform) = typed.platform {
        option(format!("--for {platform}"), "platform", Value::String(platform.into()));
    }
    if let Some(target) = typed.target {
        let typed = format!("--target {target}");
        let refuse = || InputError::in_option(&typed, "expected WORKLOAD@CORE, such as `rta_128k@3`");
        let (workload, core) = target.rsplit_once('@').ok_or_else(refuse)?;
        let core: u32 = core.trim().parse().map_err(|_| refuse())?;
        let own = [("workload".to_owned(), Value::String(workload.trim().into())), ("core".to_owned(), core.into())];
        option(typed, "targets", Value::Array(vec![Value::Table(Table::from_iter(own))]));
    }
    if let Some(duration) = typed.duration {
        for key in ["duration", "simulated_duration"] {
            option(format!("--duration {duration}"), key, Value::String(duration.into()));
        }
    }
    for (name, value) in [("repeats", typed.repeats), ("seed", typed.seed)] {
        if let Some(value) = value {
            option(format!("--{name} {value}"), name, Value::Integer(value));
        }
    }
    Ok(sets)
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
