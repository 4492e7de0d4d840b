//! The budgets of a run: those of the experiment, then those of the options.

use std::collections::BTreeSet;

use waykeeper_experiment::cases::Plan;
use waykeeper_experiment::{InputError, Loaded};
use waykeeper_statistics::{BadBudget, Budget};

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

fn in_option(budget: &str, message: String) -> InputError {
    InputError::in_option(format!("--budget '{budget}'"), message)
}
