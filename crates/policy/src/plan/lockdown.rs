//! Memory that is locked into a cache and a TLB: which ways, and whether it fits.

use std::collections::BTreeMap;

use crate::amount::size;
use crate::assignment::{AssignedLockdown, Assignment};
use crate::describe::Policy;
use crate::lockdown::{Location, Lockdown, LockedLines};
use crate::mask::Mask;
use crate::offer::{DomainOffer, LockdownOffer, Offer};
use crate::refusal::Refusal;

/// Finds the ways and checks what can be checked before the program is linked.
///
/// # Errors
/// A machine without lockdown, more than it has entries or ways for.
pub fn assign(policy: &Policy, offer: &Offer, to: &mut Assignment) -> Result<(), Refusal> {
    let Some(lockdown) = &policy.lockdown else { return Ok(()) };
    let Some(there) = &offer.controls.lockdown else {
        let message = format!("{} locks neither cache ways nor TLB entries, as far as is known", offer.called);
        return Err(Refusal::lacking("lockdown", message));
    };
    let cores = lockdown.core.on(&offer.name).map_err(|message| Refusal::wrong("lockdown.core", message))?;
    super::is_there("lockdown.core", cores, offer, "a copy of the policy can name another")?;
    let &[core] = cores else { return Err(Refusal::wrong("lockdown.core", "it names several cores, expected one")) };
    pages(lockdown, there, offer)?;
    let cache = offer.cache(2).and_then(|cache| cache.domains.iter().find(|domain| domain.cores.contains(&core)));
    let Some(domain) = cache else {
        return Err(Refusal::lacking(
            "lockdown",
            format!("core {core} of {} uses no second level that locks", offer.called),
        ));
    };
    let ways = match &lockdown.l2 {
        None => Mask(0),
        Some(_) if !to.divided.is_empty() => {
            let message = "classes divide caches by the registers that lock lines; one of both would do";
            return Err(Refusal::wrong("lockdown.l2", message));
        }
        Some(share) => {
            let amount = super::ask::amounts(share)[0];
            let shape =
                crate::amount::MaskGeometry { bits: domain.bits, ways: domain.ways, size_bytes: domain.size_bytes };
            let bits = amount.bits(&shape);
            let mask = amount.mask().or_else(|| domain.full().take(bits.bits, share.at));
            let fits =
                |mask: &Mask| !mask.is_empty() && mask.without(domain.full()).is_empty() && *mask != domain.full();
            mask.filter(fits).ok_or_else(|| {
                let message =
                    format!("found {amount}; of {} ways at least 1 can be locked, and 1 has to stay", domain.bits);
                Refusal::wrong("lockdown.l2", message)
            })?
        }
    };
    lines(&lockdown.lines, ways, there, domain, to)?;
    to.controls.lockdown = Some(AssignedLockdown {
        core,
        others: offer.cores.iter().copied().filter(|other| *other != core).collect(),
        ways,
        all_ways: domain.bits,
        lines: lockdown.lines.clone(),
        pages: lockdown.pages.clone(),
    });
    Ok(())
}

fn pages(lockdown: &Lockdown, there: &LockdownOffer, offer: &Offer) -> Result<(), Refusal> {
    if lockdown.pages.len() > there.tlb_entries as usize {
        let message = format!(
            "{} pages, and a core of {} locks {} entries of its TLB",
            lockdown.pages.len(),
            offer.called,
            there.tlb_entries
        );
        return Err(Refusal::lacking("lockdown.pages", message));
    }
    let mut seen = BTreeMap::new();
    for (i, page) in lockdown.pages.iter().enumerate() {
        let Location::Address(address) = page else { continue };
        if let Some(other) = seen.insert(address / there.page_bytes.max(1), page) {
            let message = format!("{page} is in the same page of {} as {other}", size(there.page_bytes.into()));
            return Err(Refusal::wrong(format!("lockdown.pages.{i}"), message));
        }
    }
    Ok(())
}

/// A way holds one line of each set.
fn lines(
    lines: &[LockedLines],
    ways: Mask,
    there: &LockdownOffer,
    domain: &DomainOffer,
    to: &mut Assignment,
) -> Result<(), Refusal> {
    if lines.is_empty() {
        return Ok(());
    }
    let way_bytes = domain.size_bytes / u64::from(domain.ways.max(1));
    let line = u64::from(there.line_bytes.max(1));
    let known = |it: &LockedLines| {
        let Location::Address(start) = it.start else { return None };
        let end = match (&it.end, it.bytes) {
            (Some(Location::Address(end)), _) => u64::from(*end),
            (None, Some(bytes)) => u64::from(start) + u64::from(bytes),
            _ => return None,
        };
        Some((u64::from(start) / line, end.div_ceil(line)))
    };
    let mut sets: BTreeMap<u64, u32> = BTreeMap::new();
    let mut unknown = false;
    let mut seen = std::collections::BTreeSet::new();
    for (i, it) in lines.iter().enumerate() {
        let Some((first, end)) = known(it) else {
            unknown = true;
            continue;
        };
        let too_much = || {
            let message = format!(
                "it is more than {} locked ways of {} hold: each has one line of every set",
                ways.count(),
                size(way_bytes)
            );
            Err(Refusal::wrong(format!("lockdown.lines.{i}"), message))
        };
        if end - first > way_bytes / line * u64::from(ways.count()) {
            return too_much();
        }
        for number in (first..end).filter(|number| seen.insert(*number)) {
            let count = sets.entry(number % (way_bytes / line)).or_default();
            *count += 1;
            if *count > ways.count() {
                return too_much();
            }
        }
    }
    if unknown {
        to.notes.push(format!(
            "where the symbols lie is known when the program is linked: at most {} of the locked lines may be a multiple of {} apart",
            ways.count(),
            size(way_bytes)
        ));
    }
    Ok(())
}
