//! Which of the listed mitigations a site offers.

use crate::describe::Combine;
use crate::error::InputError;
use crate::load::Loaded;
use crate::mitigation;
use crate::site::RefusalRecord;
use crate::site::{ExecutorKind, MitigationOffer, Site};

/// The mitigations to be run, `none` first, and those that are unavailable.
pub(crate) fn offered(loaded: &Loaded, site: &Site) -> Result<(Vec<String>, Vec<RefusalRecord>), InputError> {
    let experiment = &loaded.experiment;
    let listed = experiment.mitigations.as_slice();
    if experiment.combine == Combine::Cross && listed.len() > mitigation::MOST_CROSSED {
        let message =
            format!("{} mitigations cannot be crossed; at most {} can", listed.len(), mitigation::MOST_CROSSED);
        return Err(loaded.error("mitigations", message));
    }
    for (index, name) in listed.iter().enumerate() {
        for part in mitigation::parts(name) {
            if !is_known(loaded, site, part) {
                let offered = site.mitigations.iter().filter(|(_, offer)| matches!(offer, MitigationOffer::Applied(_)));
                let own = experiment.assignments.keys().filter(|_| site.executor == ExecutorKind::Sim);
                let mut known: Vec<_> = offered.map(|(name, _)| name).chain(own).map(String::as_str).collect();
                known.sort_unstable();
                known.dedup();
                let key = if experiment.mitigations.as_slice().len() > 1 {
                    format!("mitigations.{index}")
                } else {
                    "mitigations".into()
                };
                let expected = if known.is_empty() {
                    "`[]`, for there are none".into()
                } else {
                    format!("{}, or several joined by `+`", known.join(", "))
                };
                let message = if part.is_empty() {
                    format!("found `{name}`, in which a name is missing; expected {expected}")
                } else {
                    format!("found `{part}`, which no mitigation of {} is called; expected {expected}", site.called)
                };
                return Err(loaded.error(&key, message));
            }
        }
    }
    let mut refused: Vec<RefusalRecord> = Vec::new();
    let offered = mitigation::expand(listed, experiment.combine)
        .into_iter()
        .filter(|name| {
            let why = mitigation::parts(name).into_iter().find_map(|part| refusal(loaded, site, part));
            if let Some(why) = &why {
                refused.push(RefusalRecord { what: format!("mitigation {name}"), why: why.clone() });
            }
            why.is_none()
        })
        .collect();
    Ok((offered, refused))
}

/// Whether anybody knows a mitigation: the site, another place, or the experiment itself.
pub(crate) fn is_known(loaded: &Loaded, site: &Site, part: &str) -> bool {
    site.mitigations.contains_key(part) || loaded.experiment.assignments.contains_key(part)
}

fn refusal(loaded: &Loaded, site: &Site, part: &str) -> Option<String> {
    if loaded.experiment.assignments.contains_key(part) {
        let why = "an assignment of controls of a simulated platform, which this machine does not have";
        return (site.executor == ExecutorKind::Host).then(|| why.to_owned());
    }
    match &site.mitigations[part] {
        MitigationOffer::Refused(why) => Some(why.clone()),
        MitigationOffer::Applied(_) => None,
    }
}
