//! The budgets of a run: those of the experiment, then those of the options.

use std::collections::BTreeSet;

use waykeeper_executor::RunSettings;
use waykeeper_experiment::cases::Plan;
use waykeeper_experiment::site::{ExecutorKind, Site};
use waykeeper_experiment::{InputError, Loaded};
use waykeeper_statistics::{BadBudget, Budget, Metric};
use waykeeper_workload::format_ns;

/// Reads both kinds.
///
/// # Errors
/// The first that is no budget, with its place in the file or the option.
pub(crate) fn read(loaded: &Loaded, asked: &[String]) -> Result<Vec<Budget>, InputError> {
    let mut budgets = own_budgets(loaded)?;
    budgets.extend(asked_budgets(asked)?);
    Ok(budgets)
}

/// The budgets of an experiment.
///
/// # Errors
/// The first that is no budget, with its place in the file.
pub fn own_budgets(loaded: &Loaded) -> Result<Vec<Budget>, InputError> {
    let read = |(index, text): (usize, &String)| {
        text.parse().map_err(|bad: BadBudget| loaded.error(&format!("budgets.{index}"), bad.to_string()))
    };
    loaded.experiment.budgets.as_slice().iter().enumerate().map(read).collect()
}

/// The budgets of `--budget`.
///
/// # Errors
/// The first that is no budget, with its option.
pub fn asked_budgets(asked: &[String]) -> Result<Vec<Budget>, InputError> {
    asked.iter().map(|text| text.parse().map_err(|bad: BadBudget| in_option(text, bad.to_string()))).collect()
}

/// A budget that covers no case would pass unseen.
///
/// # Errors
/// The first such budget.
pub(crate) fn check(loaded: &Loaded, asked: &[String], plan: &Plan, budgets: &[Budget]) -> Result<(), InputError> {
    let from_file = loaded.experiment.budgets.as_slice().len();
    for (index, budget) in budgets.iter().enumerate() {
        if plan.cases.iter().any(|case| budget.applies_to(&case.mitigation)) {
            continue;
        }
        let mut known: Vec<&str> = plan.cases.iter().map(|case| case.mitigation.as_str()).collect();
        let mut seen = BTreeSet::new();
        known.retain(|name| seen.insert(*name));
        let message = format!("`{budget}` covers no case; expected a mitigation that is run: {}", known.join(", "));
        return Err(match index.checked_sub(from_file) {
            Some(index) => in_option(&asked[index], message),
            None => loaded.error(&format!("budgets.{index}"), message),
        });
    }
    Ok(())
}

/// The budgets that a run of this length at this place cannot meet, a sentence each.
pub(crate) fn out_of_reach(budgets: &[Budget], plan: &Plan, settings: &RunSettings, site: &Site) -> Vec<String> {
    let measured_s = settings.duration_s * f64::from(settings.repeats);
    let beside = |budget: &Budget| {
        plan.cases.iter().any(|case| budget.applies_to(&case.mitigation) && !case.neighbours.is_empty())
    };
    let why = |budget: &Budget| match budget.metric {
        Metric::Misses if site.executor == ExecutorKind::Host => {
            Some("cannot be judged: misses are not counted on this machine".to_owned())
        }
        Metric::Slowdown if !beside(budget) => Some("cannot be judged: nothing runs beside the target".to_owned()),
        _ if budget.over_s.is_some_and(|over_s| over_s > measured_s) => Some(format!(
            "can be seen broken and not met: each case is measured for {} in all (--duration times --repeats)",
            format_ns(measured_s * 1e9)
        )),
        _ => None,
    };
    budgets.iter().filter_map(|budget| Some(format!("The budget `{budget}` {}.", why(budget)?))).collect()
}

fn in_option(budget: &str, message: String) -> InputError {
    InputError::in_option(format!("--budget '{budget}'"), message)
}
