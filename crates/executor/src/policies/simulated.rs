//! What policies come to on a simulated platform.

use waykeeper_platform::{CoreId, Lock, Locked, Platform, Settings, WayGroups};
use waykeeper_policy::{AssignedClass, Assignment, CdpType, DividedCache, Mask, Membership, Offer, plan};

use super::controls;
use super::for_target;

/// A policy as settings of a simulated platform.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// The settings.
    pub set: Settings,
    /// What the policy asks for and the model has not: a clause each.
    pub left_out: Vec<String>,
}

/// The target, its neighbours, and what the policy assigns to them.
pub struct Parties<'a> {
    /// The policy's name.
    pub name: &'a str,
    /// Who has what.
    pub assignment: &'a Assignment,
    /// Core of the target.
    pub target: CoreId,
    /// Cores of the neighbours.
    pub neighbours: &'a [CoreId],
}

impl<'a> Parties<'a> {
    fn of_core(&self, core: CoreId) -> Option<&'a AssignedClass> {
        self.assignment.classes.iter().find(|class| class.cores.contains(&core))
    }

    /// The target's class.
    ///
    /// # Errors
    /// There is none.
    pub fn class(&self) -> Result<&'a AssignedClass, String> {
        self.of_core(self.target)
            .ok_or_else(|| format!("the target's core {} is in no class of `{}`", self.target, self.name))
    }

    /// The classes of neighbours on some of the cores. Without neighbours there somebody else's class stands for theirs.
    ///
    /// # Errors
    /// The target is in no class.
    pub fn others(&self, here: &[CoreId]) -> Result<Vec<&'a AssignedClass>, String> {
        let class = self.class()?;
        let neighbours = self.neighbours.iter().filter(|core| here.contains(core));
        let others: Vec<_> = neighbours.filter_map(|core| self.of_core(*core)).collect();
        if !others.is_empty() {
            return Ok(others);
        }
        let elsewhere = here.iter().filter_map(|core| self.of_core(*core)).find(|other| other.number != class.number);
        Ok(vec![elsewhere.unwrap_or(class)])
    }
}

/// What a policy comes to as settings of a simulated platform, where the target has one share and its neighbours one.
///
/// # Errors
/// What the platform or the model lacks for it; a target that is in no class; neighbours with different shares.
pub fn settings(name: &str, platform: &Platform, target: CoreId, neighbours: &[CoreId]) -> Result<Simulated, String> {
    let loaded = for_target(name, &platform.name, target)?;
    let assignment = plan(&loaded, &Offer::of_platform(platform), &Membership::unread(&loaded.policy))
        .map_err(|refusal| loaded.error(&refusal.key, refusal.message).to_string())?;
    let parties = Parties { name, assignment: &assignment, target, neighbours };
    let outermost = platform.shared_caches.iter().filter(|cache| cache.serves(target)).map(|cache| cache.level).max();
    let mut set = Settings::default();
    for level in [2, 3] {
        let groups = way_groups(&parties, level)?;
        *if Some(level) == outermost { &mut set.way_groups } else { &mut set.l2_way_groups } = groups;
    }
    for lock in assignment.locks.iter().filter(|lock| lock.cores.contains(&target)) {
        let groups = groups_of(lock.mask);
        set.lock = Some(Lock { level: lock.level, groups, what: Locked::Buffer, lines: None });
    }
    let left_out = controls::add(&parties, platform, &mut set)?;
    Ok(Simulated { set, left_out })
}

fn way_groups(parties: &Parties, level: u8) -> Result<Option<WayGroups>, String> {
    let is_the_targets = |cache: &&DividedCache| cache.level == level && cache.cores.contains(&parties.target);
    let Some(cache) = parties.assignment.divided.iter().find(is_the_targets) else { return Ok(None) };
    let mask = |class: &AssignedClass, accesses: [CdpType; 2]| {
        let own = class.masks.iter().filter(|mask| mask.level == level && mask.domain == cache.domain);
        own.filter(|mask| accesses.contains(&mask.access)).map(|mask| mask.mask).next()
    };
    let (data, code) = ([CdpType::All, CdpType::Data], [CdpType::All, CdpType::Code]);
    // Neighbours beside other caches fill nothing here.
    let (class, others) = (parties.class()?, parties.others(&cache.cores)?);
    let masks_of = |class: &AssignedClass| (mask(class, data), mask(class, code));
    if others.iter().any(|other| masks_of(other) != masks_of(others[0])) {
        return Err(format!(
            "`{}` sets different shares of the target's L{level} for the neighbours; in the simulator they have one",
            parties.name
        ));
    }
    let of = |class: &AssignedClass, accesses| {
        mask(class, accesses).map_or_else(|| (0..cache.bits as u8).collect(), groups_of)
    };
    let split = |class: &AssignedClass| (mask(class, data) != mask(class, code)).then(|| of(class, code));
    Ok(Some(WayGroups {
        target: of(class, data),
        others: of(others[0], data),
        target_code: split(class),
        others_code: split(others[0]),
    }))
}

/// The groups of ways of a mask.
pub fn groups_of(mask: Mask) -> Vec<u8> {
    (0..32).filter(|bit| mask.0 >> bit & 1 == 1).collect()
}

#[cfg(test)]
mod tests;
