//! Mitigations of an experiment's own: whether a platform has the controls that they set.

use waykeeper_experiment::mitigation::parts;
use waykeeper_experiment::{InputError, Loaded};
use waykeeper_platform::Platform;

/// Checks the assignments that an experiment lists among its mitigations, at every point of its sweeps. One that is not listed may
/// be for another platform.
///
/// # Errors
/// The first key whose control the platform lacks, or which has a value that the control does not take.
pub fn check_assignments(loaded: &Loaded, platform: &Platform) -> Result<(), InputError> {
    for variant in loaded.variants()? {
        let experiment = &variant.loaded.experiment;
        for part in experiment.mitigations.as_slice().iter().flat_map(|name| parts(name)) {
            let Some(assignment) = experiment.assignments.get(part) else { continue };
            let checked = platform.check_settings(&format!("assignments.{part}.set"), &assignment.set);
            checked.map_err(|(key, message)| {
                variant.loaded.error(&key, format!("on platform `{}`: {message}", platform.name))
            })?;
        }
    }
    Ok(())
}
