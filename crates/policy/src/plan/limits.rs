//! Limits of memory bandwidth in the machine's own steps.

use waykeeper_platform::{CoreId, format_cpulist};

use crate::assignment::{AssignedLimit, Assignment};
use crate::bandwidth::BandwidthLimit;
use crate::describe::Policy;
use crate::offer::{BandwidthOffer, BandwidthUnit, Offer};
use crate::refusal::Refusal;

/// The limits of a policy: key, class number, limit.
fn limits(policy: &Policy) -> Vec<(String, usize, BandwidthLimit)> {
    let others = policy.others.bandwidth.map(|limit| ("others.bandwidth".to_owned(), 0, limit));
    let classes = policy.classes.iter().enumerate();
    let classes = classes.filter_map(|(i, class)| Some((format!("classes.{i}.bandwidth"), i + 1, class.bandwidth?)));
    others.into_iter().chain(classes).collect()
}

/// Whether the kernel has to hold classes to MB/s.
///
/// # Errors
/// A machine that cannot limit bandwidth, or not in these terms.
pub fn needs_rates(policy: &Policy, offer: &Offer) -> Result<bool, Refusal> {
    let limits = limits(policy);
    let Some((key, ..)) = limits.first() else { return Ok(false) };
    let Some(bandwidth) = &offer.bandwidth else {
        let why = offer.no_bandwidth.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        return Err(Refusal::lacking(key.clone(), format!("{} cannot limit memory bandwidth{why}", offer.called)));
    };
    let is_rate = |limit: &BandwidthLimit| matches!(limit, BandwidthLimit::Rate(_));
    if bandwidth.unit != BandwidthUnit::Percent {
        return Ok(false);
    }
    let Some((key, _, limit)) = limits.iter().find(|(.., limit)| is_rate(limit)) else { return Ok(false) };
    if !bandwidth.rates {
        let message = format!("{} limits bandwidth in percent; found {limit}, \"20 %\" would do", offer.called);
        return Err(Refusal::lacking(key.clone(), message));
    }
    match limits.iter().find(|(.., limit)| !is_rate(limit)) {
        Some((key, ..)) => Err(Refusal::wrong(key.clone(), "limits are in percent or in MB/s, all of them")),
        None => Ok(true),
    }
}

/// Assigns classes their limits in every domain that they use.
///
/// # Errors
/// Limits below the machine's least, or in terms that it does not know; cores whose domain of bandwidth is unknown.
pub fn limit(policy: &Policy, offer: &Offer, to: &mut Assignment) -> Result<(), Refusal> {
    let Some(bandwidth) = &offer.bandwidth else { return Ok(()) };
    let unit = if to.mount.mbps { BandwidthUnit::MegabytesPerSecond } else { bandwidth.unit };
    for (key, class, limit) in limits(policy) {
        let (value, rounded) = value(&key, limit, unit, bandwidth)?;
        let text = shown(value, unit);
        if rounded {
            to.notes.push(format!("{limit} of bandwidth is no step of {}, and becomes {text}", offer.called));
        }
        let class = &mut to.classes[class];
        if class.number > 0 {
            domain_is_known(&key, &class.cores, offer, bandwidth)?;
        }
        let roams = class.number == 0 || !class.members.is_empty();
        for (domain, cores) in &bandwidth.domains {
            if roams || class.cores.iter().any(|core| cores.contains(core)) {
                class.limits.push(AssignedLimit { domain: *domain, value, text: text.clone() });
            }
        }
    }
    Ok(())
}

/// Refuses cores that lie in no domain whose cores are known: their limit would be written nowhere.
fn domain_is_known(key: &str, cores: &[CoreId], offer: &Offer, bandwidth: &BandwidthOffer) -> Result<(), Refusal> {
    let known = |core: &CoreId| bandwidth.domains.iter().any(|(_, cores)| cores.contains(core));
    let lost: Vec<CoreId> = cores.iter().copied().filter(|core| !known(core)).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = bandwidth.domains.iter().map(|(id, _)| id.to_string()).collect();
    Err(Refusal::lacking(
        key,
        format!(
            "no MB domain could be found for cores {}: {} has MB domains {}, and cores are known only where these are ids of its L3 caches; a class \
             without cores (`tasks`, `cgroups`) is limited in every domain",
            format_cpulist(&lost),
            offer.called,
            ids.join(", ")
        ),
    ))
}

/// A limit in the machine's unit, rounded down: it is the most that a class may take.
fn value(
    key: &str,
    limit: BandwidthLimit,
    unit: BandwidthUnit,
    offer: &BandwidthOffer,
) -> Result<(u32, bool), Refusal> {
    let wrong = |message: String| Err(Refusal::wrong(key, message));
    let (part, of) = match (limit, unit) {
        (BandwidthLimit::Percent(milli), BandwidthUnit::Percent) => (u64::from(milli), 1000),
        // The kernel compares bytes / SZ_1M with the value (resctrl.rst: "in MiBps").
        (BandwidthLimit::Rate(rate), BandwidthUnit::MegabytesPerSecond) => (rate * 1_000_000, 1 << 20),
        (BandwidthLimit::Rate(rate), BandwidthUnit::EighthsOfGigabytePerSecond) => (rate, 125),
        (BandwidthLimit::Percent(_), _) => {
            return wrong(format!("found {limit}, and bandwidth is limited in MB/s here; \"2 GB/s\" would do"));
        }
        (BandwidthLimit::Rate(_), BandwidthUnit::Percent) => {
            return wrong(format!("found {limit}, and bandwidth is limited in percent here; \"20 %\" would do"));
        }
    };
    let (min, max, step) = match unit {
        BandwidthUnit::MegabytesPerSecond => (1, u32::MAX, 1),
        _ => (offer.min.max(1), offer.max, offer.step.max(1)),
    };
    let whole = part / of / u64::from(step) * u64::from(step);
    match u32::try_from(whole) {
        Ok(value) if value < min => wrong(format!("found {limit}; the least limit is {}", shown(min, unit))),
        Ok(value) if value <= max => Ok((value, whole * of != part)),
        _ => wrong(format!("found {limit}; the highest limit is {}", shown(max, unit))),
    }
}

fn shown(value: u32, unit: BandwidthUnit) -> String {
    match unit {
        BandwidthUnit::Percent => format!("{value} %"),
        BandwidthUnit::MegabytesPerSecond => format!("{value} MiB/s"),
        BandwidthUnit::EighthsOfGigabytePerSecond => format!("{} MB/s", u64::from(value) * 125),
    }
}
