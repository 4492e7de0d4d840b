//! From a policy and an offer to an assignment.

mod ask;
mod capacity;
mod colours;
mod controls;
mod divide;
mod gaps;
mod limits;
mod lockdown;
mod locks;
mod named_caches;

use waykeeper_platform::{CoreId, format_cpulist};

use crate::assignment::{AssignedClass, AssignedLock, AssignedMask, Assignment, CdpType, DividedCache};
use crate::cache_shares::CacheShares;
use crate::check::OTHERS;
use crate::describe::Policy;
use crate::load::LoadedPolicy;
use crate::membership::{Membership, Named};
use crate::offer::{CacheOffer, DomainOffer, Offer};
use crate::refusal::Refusal;
use crate::share::CacheShare;
use crate::step::MountSettings;

use ask::{Ask, Claim, Division};
use divide::divide;

/// Resolves a policy for a machine.
///
/// # Errors
/// What the machine cannot do, or not at the same time.
pub fn plan(loaded: &LoadedPolicy, offer: &Offer, membership: &Membership) -> Result<Assignment, Refusal> {
    let policy = &loaded.policy;
    let planner = Planner { policy, offer, cores: class_cores(policy, offer)?, membership };
    planner.resctrl_is_free()?;
    let mount = planner.mount()?;
    planner.classes_suffice(mount)?;
    let locks = locks::find(policy, offer, mount)?;
    let mut assignment = Assignment {
        policy: loaded.name.clone(),
        title: policy.title.clone(),
        machine: offer.called.clone(),
        classes: planner.classes(),
        locks: Vec::new(),
        controls: Default::default(),
        mount,
        divided: Vec::new(),
        notes: Vec::new(),
        leaves_open: Vec::new(),
    };
    for level in [2, 3] {
        if let Some(cache) = planner.used_cache(level)? {
            planner.divide_level(cache, &locks, &mut assignment)?;
        }
    }
    limits::limit(policy, offer, &mut assignment)?;
    note_taken_cores(offer, &mut assignment);
    note_absent_cgroups(&mut assignment);
    controls::assign(policy, offer, &mut assignment)?;
    colours::assign(policy, offer, &mut assignment)?;
    lockdown::assign(policy, offer, &mut assignment)?;
    gaps::find(policy, offer, &mut assignment);
    Ok(assignment)
}

/// Writing `cpus_list` takes cores from the group that has them.
fn note_taken_cores(offer: &Offer, to: &mut Assignment) {
    for group in offer.resctrl.iter().flat_map(|state| &state.groups) {
        for class in to.classes.iter().filter(|class| class.number > 0) {
            let taken: Vec<CoreId> = class.cores.iter().copied().filter(|core| group.cores.contains(core)).collect();
            if !taken.is_empty() {
                let which = if taken.len() == 1 { "core" } else { "cores" };
                let leave = if taken.len() == 1 { "leaves" } else { "leave" };
                to.notes.push(format!(
                    "{which} {} {leave} the group `{}` for `{}`: a core is in one group",
                    format_cpulist(&taken),
                    group.name,
                    class.name
                ));
            }
        }
    }
}

/// A cgroup that comes later is no mistake; one that is misspelt is, and looks the same.
fn note_absent_cgroups(to: &mut Assignment) {
    for class in &to.classes {
        for member in class.members.iter().filter(|member| member.absent) {
            let Named::Cgroup(name) = &member.named else { continue };
            to.notes.push(format!(
                "there is no cgroup `{name}` now, so `{}` has none of its tasks yet: they join when it comes, while `waykeeper follow` runs",
                class.name
            ));
        }
    }
}

/// The cores of each class.
fn class_cores(policy: &Policy, offer: &Offer) -> Result<Vec<Vec<CoreId>>, Refusal> {
    let of = |(i, class): (usize, &crate::describe::Class)| {
        let key = format!("classes.{i}.cores");
        let Some(cores) = &class.cores else { return Ok(Vec::new()) };
        let cores = cores.on(&offer.name).map_err(|message| Refusal::wrong(key.clone(), message))?;
        is_there(&key, cores, offer, "`--cores CLASS=LIST` names others")?;
        Ok(cores.to_vec())
    };
    policy.classes.iter().enumerate().map(of).collect()
}

/// Refuses cores that the machine does not have; `instead` says what would do.
fn is_there(key: &str, cores: &[CoreId], offer: &Offer, instead: &str) -> Result<(), Refusal> {
    match cores.iter().find(|core| !offer.cores.contains(core)) {
        Some(core) => {
            let message =
                format!("there is no core {core}; {} has {}; {instead}", offer.called, format_cpulist(&offer.cores));
            Err(Refusal::wrong(key, message))
        }
        None => Ok(()),
    }
}

struct Planner<'p> {
    policy: &'p Policy,
    offer: &'p Offer,
    cores: Vec<Vec<CoreId>>,
    membership: &'p Membership,
}

/// What a class says of a level.
fn class_shares(policy: &Policy, class: usize, level: u8) -> Option<&CacheShares> {
    let class = &policy.classes[class];
    if level == 2 { class.l2.as_ref() } else { class.l3.as_ref() }
}

/// What the others are said to have of a level.
fn others_shares(policy: &Policy, level: u8) -> Option<&CacheShares> {
    if level == 2 { policy.others.l2.as_ref() } else { policy.others.l3.as_ref() }
}

impl<'p> Planner<'p> {
    /// The shares that are given of a level, with their keys.
    fn shares(&self, level: u8) -> Vec<(String, &'p CacheShare)> {
        let of_class = |i| Some((format!("classes.{i}.l{level}"), class_shares(self.policy, i, level)?));
        let classes = (0..self.policy.classes.len()).filter_map(of_class);
        let others = others_shares(self.policy, level).map(|shares| (format!("others.l{level}"), shares));
        let each = |(key, shares): (String, &'p CacheShares)| {
            shares.all().into_iter().map(move |(place, share)| (format!("{key}{place}"), share))
        };
        classes.chain(others).flat_map(each).collect()
    }

    /// The cache of a level, if the policy says anything of it.
    fn used_cache(&self, level: u8) -> Result<Option<&CacheOffer>, Refusal> {
        let locks = self.policy.pseudo_locks.iter().enumerate().filter(|(_, lock)| lock.level == level);
        let locks = locks.map(|(i, _)| format!("pseudo_locks.{i}.level"));
        let Some(key) = self.shares(level).into_iter().map(|(key, _)| key).chain(locks).next() else { return Ok(None) };
        match self.offer.cache(level) {
            Some(cache) if cache.control.is_some() => Ok(Some(cache)),
            Some(_) => {
                let message = format!(
                    "the file of {} does not say which registers divide its L{level} (`way_control`)",
                    self.offer.called
                );
                Err(Refusal::lacking(key, message))
            }
            None => {
                let levels: Vec<_> = self.offer.caches.iter().map(|cache| format!("L{}", cache.level)).collect();
                let bandwidth = self.offer.bandwidth.is_some().then(|| "memory bandwidth".to_owned());
                let levels: Vec<_> = levels.into_iter().chain(bandwidth).collect();
                let has = if levels.is_empty() {
                    "nothing there can be divided".into()
                } else {
                    format!("it can divide {}", levels.join(" and "))
                };
                if self.offer.unoffered.contains(&level) {
                    let message = format!(
                        "the processor can divide its L{level} by ways (`cat_l{level}` in /proc/cpuinfo), but the kernel offers none of \
                         it: `rdt=l{level}cat` on the kernel command line switches it on (errata of some parts switch it off); {has}"
                    );
                    return Err(Refusal::lacking(key, message));
                }
                Err(Refusal::lacking(key, format!("{} cannot divide an L{level} by ways; {has}", self.offer.called)))
            }
        }
    }

    fn is_apart(&self, level: u8, mount: MountSettings) -> bool {
        if level == 3 { mount.cdp } else { mount.cdp_l2 }
    }

    /// The classes without their shares, the others first.
    fn classes(&self) -> Vec<AssignedClass> {
        let named = |core: &CoreId| self.cores.iter().any(|cores| cores.contains(core));
        let class = |number, name: &str, cores, members| AssignedClass {
            number,
            name: name.to_owned(),
            cores,
            members,
            masks: Vec::new(),
            limits: Vec::new(),
        };
        let rest = self.offer.cores.iter().copied().filter(|core| !named(core)).collect();
        let mut classes = vec![class(0, OTHERS, rest, Vec::new())];
        for (i, it) in self.policy.classes.iter().enumerate() {
            let members = self.membership.0.get(i).cloned().unwrap_or_default();
            classes.push(class(i as u32 + 1, &it.name, self.cores[i].clone(), members));
        }
        classes
    }

    /// Whether a class can run on a core of this cache: its tasks run anywhere.
    fn touches(&self, class: usize, domain: &DomainOffer) -> bool {
        let it = &self.policy.classes[class];
        let roams = !it.tasks.is_empty() || !it.cgroups.is_empty();
        roams || self.cores[class].iter().any(|core| domain.cores.contains(core))
    }

    fn claims(&self, level: u8, domain: &DomainOffer) -> Vec<Claim<'_>> {
        let class = |i: usize| {
            let (place, share) = class_shares(self.policy, i, level)?.of(domain.id)?;
            let (name, key) = (self.policy.classes[i].name.clone(), format!("classes.{i}.l{level}{place}"));
            self.touches(i, domain).then_some(Claim { who: i + 1, name, key, share })
        };
        (0..self.policy.classes.len()).filter_map(class).collect()
    }

    fn divide_level(
        &self,
        cache: &CacheOffer,
        locks: &[locks::PseudoLockedRegion],
        to: &mut Assignment,
    ) -> Result<(), Refusal> {
        let level = cache.level;
        self.named_caches_are_there(cache)?;
        let apart = self.is_apart(level, to.mount);
        for domain in &cache.domains {
            let claims = self.claims(level, domain);
            let here = |lock: &&locks::PseudoLockedRegion| lock.level == level && lock.domain == domain.id;
            let locked: Vec<_> = locks.iter().filter(here).collect();
            let others = others_shares(self.policy, level).and_then(|shares| shares.of(domain.id));
            let others = others.map(|(place, share)| (format!("others.l{level}{place}"), share));
            for claim in claims.iter().filter(|claim| claim.share.exclusive) {
                let cores = &self.cores[claim.who - 1];
                if domain.cores.iter().all(|core| cores.contains(core)) {
                    to.notes.push(format!(
                        "L{level} {}: only cores of `{}` use it, so that a share of it takes ways away and guards nothing",
                        domain.id, claim.name
                    ));
                }
            }
            let is_divided = !claims.is_empty() || !locked.is_empty() || others.is_some();
            let ask = Ask { cache, domain, claims: &claims, locks: &locked, others };
            let division = divide(&ask, &mut to.notes)?;
            for (lock, mask) in locked.iter().zip(&division.locks) {
                to.locks.push(AssignedLock {
                    name: lock.name.clone(),
                    level,
                    domain: domain.id,
                    cores: domain.cores.clone(),
                    mask: *mask,
                    size_bytes: domain.size_bytes / u64::from(domain.bits) * u64::from(mask.count()),
                });
                locks::fits(lock, domain, to.locks.last())?;
            }
            self.assign(level, domain, apart, is_divided, &division, to);
            if is_divided {
                to.divided.push(DividedCache {
                    level,
                    domain: domain.id,
                    cores: domain.cores.clone(),
                    bits: domain.bits,
                    size_bytes: domain.size_bytes,
                });
            }
        }
        Ok(())
    }

    /// Assigns every class its mask in a cache that is divided, or that it uses.
    fn assign(
        &self,
        level: u8,
        domain: &DomainOffer,
        apart: bool,
        is_divided: bool,
        division: &Division,
        to: &mut Assignment,
    ) {
        for class in &mut to.classes {
            let index = class.number as usize;
            let used = match index.checked_sub(1) {
                None => class.cores.iter().any(|core| domain.cores.contains(core)),
                Some(i) => self.touches(i, domain),
            };
            if !is_divided && (index == 0 || !used) {
                continue;
            }
            let share = division.of(index);
            let accesses: &[CdpType] = if apart { &[CdpType::Code, CdpType::Data] } else { &[CdpType::All] };
            for &access in accesses {
                let mask = if access == CdpType::Code { share.code } else { share.data };
                let exclusive = share.exclusive;
                class.masks.push(AssignedMask { level, domain: domain.id, access, mask, exclusive, used });
            }
        }
    }
}
