//! Which caches pseudo-locks are in.

use crate::amount::size;
use crate::assignment::AssignedLock;
use crate::describe::Policy;
use crate::offer::{DomainOffer, Offer};
use crate::refusal::Refusal;
use crate::share::CacheShare;
use crate::step::MountSettings;

/// The largest region, which the kernel takes from its allocator in one piece (KMALLOC_MAX_SIZE on x86).
const REGION_MAX_BYTES: u64 = 4 << 20;

/// A pseudo-lock and its cache.
pub struct PseudoLockedRegion {
    pub key: String,
    pub name: String,
    pub level: u8,
    pub domain: u32,
    pub size: CacheShare,
}

/// The pseudo-locks of a policy.
///
/// # Errors
/// A machine that cannot lock, a core that is not there, two locks within one cache.
pub fn find(policy: &Policy, offer: &Offer, mount: MountSettings) -> Result<Vec<PseudoLockedRegion>, Refusal> {
    let mut found: Vec<(PseudoLockedRegion, Vec<u32>)> = Vec::new();
    for (i, lock) in policy.pseudo_locks.iter().enumerate() {
        let key = format!("pseudo_locks.{i}");
        let Some(cache) = offer.cache(lock.level) else {
            let message = format!("{} cannot divide an L{} by ways", offer.called, lock.level);
            return Err(Refusal::lacking(format!("{key}.level"), message));
        };
        if !cache.pseudo_lock {
            let message = format!(
                "{} cannot lock memory into its L{}: Linux knows how to stop the prefetchers of Goldmont, Goldmont Plus and Broadwell-X only",
                offer.called, lock.level
            );
            return Err(Refusal::lacking(key, message));
        }
        if mount.cdp || mount.cdp_l2 {
            let message = "nothing can be locked while code and data have masks of their own (CDP)";
            return Err(Refusal::wrong(key, message));
        }
        let core_key = format!("{key}.core");
        let cores = lock.core.on(&offer.name).map_err(|message| Refusal::wrong(core_key.clone(), message))?;
        super::is_there(&core_key, cores, offer, "a copy of the policy can name another")?;
        let Some(domain) = cache.domains.iter().find(|domain| cores.iter().all(|core| domain.cores.contains(core)))
        else {
            let message = format!("core {} has no L{} that can be divided", cores[0], lock.level);
            return Err(Refusal::lacking(core_key, message));
        };
        if let Some((other, _)) = found.iter().find(|(_, cores)| cores.iter().any(|core| domain.cores.contains(core))) {
            let message =
                format!("`{}` is in the same cache, or in one around it; Linux locks one region there", other.name);
            return Err(Refusal::wrong(key, message));
        }
        let size = lock.size.clone();
        let here = PseudoLockedRegion {
            key: format!("{key}.size"),
            name: lock.name.clone(),
            level: lock.level,
            domain: domain.id,
            size,
        };
        found.push((here, domain.cores.clone()));
    }
    Ok(found.into_iter().map(|(lock, _)| lock).collect())
}

/// Refuses a region that the kernel cannot allocate, or that devices would fill.
pub fn fits(lock: &PseudoLockedRegion, domain: &DomainOffer, assigned: Option<&AssignedLock>) -> Result<(), Refusal> {
    match assigned {
        Some(region) if region.mask.overlaps(domain.closed_to_exclusion()) => {
            let ways = region.mask.within(domain.closed_to_exclusion()).ways();
            let message = format!("devices fill ways {ways} of that cache, and Linux locks none of those");
            Err(Refusal::lacking(lock.key.clone(), message))
        }
        Some(region) if region.size_bytes > REGION_MAX_BYTES => {
            let message = format!("{} is more than Linux locks in one piece, 4 MiB", size(region.size_bytes));
            Err(Refusal::lacking(lock.key.clone(), message))
        }
        _ => Ok(()),
    }
}
