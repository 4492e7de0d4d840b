//! Policies as mitigations: the same file divides this machine and a simulated platform.

use std::collections::BTreeMap;

use waykeeper_experiment::is_policy_file;
use waykeeper_experiment::site::MitigationOffer as Offered;
use waykeeper_platform::CoreId;
use waykeeper_policy::{Class, CoreList, LoadedPolicy, bundled, find_bundled};

mod controls;
mod simulated;

pub use simulated::{Simulated, settings};

/// Whether a mitigation is a policy: a bundled one, or a file.
pub fn is_policy(mitigation: &str) -> bool {
    find_bundled(mitigation).is_some() || is_policy_file(mitigation)
}

/// Files of policies that serve as mitigations: where each is, by its name.
pub type PolicyFiles = BTreeMap<String, String>;

/// Where the policy of that name is: its file, or the name of a bundled one.
pub fn located<'f>(files: &'f PolicyFiles, name: &'f str) -> &'f str {
    files.get(name).map_or(name, String::as_str)
}

/// Every bundled policy and these files, with whether each is available: `can` tries it, and returns what is left out.
pub fn offers(files: &PolicyFiles, can: impl Fn(&str) -> Result<Vec<String>, String>) -> BTreeMap<String, Offered> {
    let offer = |located: &str| match (LoadedPolicy::open(located), can(located)) {
        (Ok(loaded), Ok(left_out)) => Offered::Applied(title(&loaded.policy.title, &left_out)),
        (Err(error), _) => Offered::Refused(error.to_string()),
        (_, Err(why)) => Offered::Refused(why),
    };
    let names = bundled().iter().map(|policy| policy.name).chain(files.keys().map(String::as_str));
    names.map(|name| (name.to_owned(), offer(located(files, name)))).collect()
}

/// The title of a policy, with what is left out of it.
pub fn title(title: &str, left_out: &[String]) -> String {
    std::iter::once(title).chain(left_out.iter().map(String::as_str)).collect::<Vec<_>>().join("; ")
}

/// A policy for a machine, by where it is. A class that names nobody there is the target's, if it is the only such class.
///
/// # Errors
/// A name that is no policy.
pub fn for_target(located: &str, machine: &str, target: CoreId) -> Result<LoadedPolicy, String> {
    let loaded = LoadedPolicy::open(located).map_err(|error| error.to_string())?;
    let names_nobody = |class: &&Class| {
        let cores = class.cores.as_ref().is_some_and(|cores| cores.on(machine).is_ok());
        !cores && class.tasks.is_empty() && class.cgroups.is_empty()
    };
    let nobodys: Vec<String> =
        loaded.policy.classes.iter().filter(names_nobody).map(|class| class.name.clone()).collect();
    match nobodys.as_slice() {
        [class] => loaded.with_cores(class, CoreList::parse(&target.to_string())?).map_err(|error| error.to_string()),
        _ => Ok(loaded),
    }
}

/// The policy among mitigations, if there is one.
///
/// # Errors
/// More than one.
pub fn the_policy<'m>(mitigations: &[&'m str], is_policy: impl Fn(&str) -> bool) -> Result<Option<&'m str>, String> {
    let mut policies = mitigations.iter().copied().filter(|name| is_policy(name));
    match (policies.next(), policies.next()) {
        (Some(first), Some(second)) => {
            Err(format!("`{first}` and `{second}` are both policies; write one that has the classes of both"))
        }
        (one, _) => Ok(one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_policies_at_once_are_none() {
        let both = the_policy(&["fifo", "tcc-halves", "apollo-lake-half"], is_policy);
        assert!(both.unwrap_err().contains("`tcc-halves` and `apollo-lake-half` are both policies"));
        assert_eq!(the_policy(&["fifo", "tcc-halves"], is_policy), Ok(Some("tcc-halves")));
    }
}
