//! From a policy and an offer to an assignment.

mod divide;
mod gaps;
mod limits;
mod locks;

use waykeeper_platform::{CoreId, format_cpulist};

use crate::assignment::{Access, AssignedClass, AssignedLock, AssignedMask, Assignment, DividedCache};
use crate::check::OTHERS;
use crate::describe::Policy;
use crate::load::Loaded;
use crate::membership::Membership;
use crate::offer::{CacheOffer, DomainOffer, Offer};
use crate::refusal::Refusal;
use crate::share::CacheShare;
use crate::step::MountSettings;

use divide::{Claim, Division, divide};

/// Resolves a policy for a machine.
///
/// # Errors
/// What the machine cannot do, or not at the same time.
pub fn plan(loaded: &Loaded, offer: &Offer, membership: &Membership) -> Result<Assignment, Refusal> {
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
    gaps::find(policy, offer, &mut assignment);
    Ok(assignment)
}

/// The cores of each class.
fn class_cores(policy: &Policy, offer: &Offer) -> Result<Vec<Vec<CoreId>>, Refusal> {
    let of = |(i, class): (usize, &crate::describe::Class)| {
        let key = format!("classes.{i}.cores");
        let Some(cores) = &class.cores else { return Ok(Vec::new()) };
        let cores = cores.on(&offer.name).map_err(|message| Refusal::wrong(key.clone(), message))?;
        is_there(&key, cores, offer)?;
        Ok(cores.to_vec())
    };
    policy.classes.iter().enumerate().map(of).collect()
}

/// Refuses cores that the machine does not have.
fn is_there(key: &str, cores: &[CoreId], offer: &Offer) -> Result<(), Refusal> {
    match cores.iter().find(|core| !offer.cores.contains(core)) {
        Some(core) => {
            let message = format!("there is no core {core}; {} has {}", offer.called, format_cpulist(&offer.cores));
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
fn class_share(policy: &Policy, class: usize, level: u8) -> Option<&CacheShare> {
    let class = &policy.classes[class];
    if level == 2 { class.l2.as_ref() } else { class.l3.as_ref() }
}

/// What the others are said to have of a level.
fn others_share(policy: &Policy, level: u8) -> Option<&CacheShare> {
    if level == 2 { policy.others.l2.as_ref() } else { policy.others.l3.as_ref() }
}

impl Planner<'_> {
    /// The running machine's resctrl must not stand in the way.
    fn resctrl_is_free(&self) -> Result<(), Refusal> {
        let Some(state) = &self.offer.resctrl else { return Ok(()) };
        let classes = self.policy.classes.iter().enumerate().map(|(i, it)| (format!("classes.{i}.name"), &it.name));
        let locks = self.policy.pseudo_locks.iter().enumerate();
        let locks = locks.map(|(i, lock)| (format!("pseudo_locks.{i}.name"), &lock.name));
        for (key, name) in classes.chain(locks) {
            if state.groups.iter().any(|group| group.name == *name) {
                let message = format!("resctrl has a group `{name}` already; another name would do, or its removal");
                return Err(Refusal::wrong(key, message));
            }
        }
        if state.root_mode != "shareable" {
            let message = format!("resctrl's root group is `{}`; it has to be `shareable`", state.root_mode);
            return Err(Refusal::lacking("", message));
        }
        self.new_groups_have_space()
    }

    /// The kernel gives a new group what no group keeps for itself, or the lowest run of it, before a mask can be written;
    /// less than the least makes it refuse the group.
    fn new_groups_have_space(&self) -> Result<(), Refusal> {
        for cache in &self.offer.caches {
            for domain in &cache.domains {
                let free = domain.full().without(domain.kept);
                let bits = if cache.sparse { free.count() } else { free.first_run() };
                if bits < cache.min_bits {
                    let message = format!(
                        "groups that resctrl has keep so much of L{} {} that the kernel makes no further group",
                        cache.level, domain.id
                    );
                    return Err(Refusal::lacking("", message));
                }
            }
        }
        Ok(())
    }

    /// The shares that are given of a level, with their keys.
    fn shares(&self, level: u8) -> Vec<(String, &CacheShare)> {
        let of_class = |i| Some((format!("classes.{i}.l{level}"), class_share(self.policy, i, level)?));
        let classes = (0..self.policy.classes.len()).filter_map(of_class);
        let others = others_share(self.policy, level).map(|share| (format!("others.l{level}"), share));
        classes.chain(others).collect()
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
                let has = if levels.is_empty() {
                    "nothing there can be divided".into()
                } else {
                    format!("it can divide {}", levels.join(" and "))
                };
                Err(Refusal::lacking(key, format!("{} cannot divide an L{level} by ways; {has}", self.offer.called)))
            }
        }
    }

    /// How resctrl has to be mounted: with code and data apart where the policy says so, or where it is so already.
    fn mount(&self) -> Result<MountSettings, Refusal> {
        let mut wanted = MountSettings::default();
        for level in [2, 3] {
            let Some((key, _)) = self.shares(level).into_iter().find(|(_, share)| share.is_apart()) else { continue };
            if let Some(cache) = self.used_cache(level)?
                && !cache.cdp
            {
                let message = format!("{} cannot tell code from data in its L{level} (no CDP)", self.offer.called);
                return Err(Refusal::lacking(key, message));
            }
            *if level == 3 { &mut wanted.cdp } else { &mut wanted.cdp_l2 } = true;
        }
        wanted.mbps = limits::needs_rates(self.policy, self.offer)?;
        let Some(state) = &self.offer.resctrl else { return Ok(wanted) };
        let now = state.mounted;
        for (option, wanted, now) in
            [("cdp", wanted.cdp, now.cdp), ("cdpl2", wanted.cdp_l2, now.cdp_l2), ("mba_MBps", wanted.mbps, now.mbps)]
        {
            if wanted && !now {
                let message = format!(
                    "the policy needs resctrl mounted with `{option}`, and it is mounted without; `umount` it first, which ends its groups"
                );
                return Err(Refusal::lacking("", message));
            }
        }
        Ok(now)
    }

    fn is_apart(&self, level: u8, mount: MountSettings) -> bool {
        if level == 3 { mount.cdp } else { mount.cdp_l2 }
    }

    fn classes_suffice(&self, mount: MountSettings) -> Result<(), Refusal> {
        let locks = u32::from(!self.policy.pseudo_locks.is_empty());
        let own = (self.policy.classes.len() as u32).max(locks);
        let taken = self.offer.taken_classes();
        let live = self.offer.resctrl.is_some();
        let caches = self.offer.caches.iter().filter(|cache| live || !self.shares(cache.level).is_empty());
        let caches = caches.filter_map(|cache| {
            let classes = cache.classes?;
            let apart = self.is_apart(cache.level, mount);
            Some((format!("its L{}", cache.level), if apart { classes / 2 } else { classes }))
        });
        let limits = self.policy.classes.iter().any(|class| class.bandwidth.is_some());
        let bandwidth = self.offer.bandwidth.as_ref().filter(|_| live || limits);
        let bandwidth = bandwidth.and_then(|bandwidth| Some(("its memory bandwidth".to_owned(), bandwidth.classes?)));
        let Some((what, there)) = caches.chain(bandwidth).min_by_key(|(_, classes)| *classes) else { return Ok(()) };
        if own.saturating_add(taken).saturating_add(1) <= there {
            return Ok(());
        }
        let present = if taken > 0 { format!(", {taken} for groups that are there already") } else { String::new() };
        Err(Refusal::lacking(
            "classes",
            format!(
                "{} are needed ({own} and one for the others{present}), and {what} tells {there} apart",
                own + taken + 1
            ),
        ))
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
            let share = class_share(self.policy, i, level)?;
            let name = self.policy.classes[i].name.clone();
            self.touches(i, domain).then(|| Claim { who: i + 1, name, key: format!("classes.{i}.l{level}"), share })
        };
        (0..self.policy.classes.len()).filter_map(class).collect()
    }

    fn divide_level(&self, cache: &CacheOffer, locks: &[locks::Lock], to: &mut Assignment) -> Result<(), Refusal> {
        let level = cache.level;
        let apart = self.is_apart(level, to.mount);
        for domain in &cache.domains {
            let claims = self.claims(level, domain);
            let here = |lock: &&locks::Lock| lock.level == level && lock.domain == domain.id;
            let locked: Vec<_> = locks.iter().filter(here).collect();
            let others = others_share(self.policy, level).map(|share| (format!("others.l{level}"), share));
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
            let ask = divide::Ask { cache, domain, claims: &claims, locks: &locked, others };
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

    /// Gives every class its mask in a cache that is divided, or that it uses.
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
            let accesses: &[Access] = if apart { &[Access::Code, Access::Data] } else { &[Access::All] };
            for &access in accesses {
                let mask = if access == Access::Code { share.code } else { share.data };
                let exclusive = share.exclusive;
                class.masks.push(AssignedMask { level, domain: domain.id, access, mask, exclusive, used });
            }
        }
    }
}
