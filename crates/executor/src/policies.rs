//! Policies as mitigations: the same file divides this machine and a simulated platform.

use std::collections::BTreeMap;

use waykeeper_experiment::site::Offer as Offered;
use waykeeper_platform::{CoreId, Lock, Locked, Platform, Settings, WayGroups};
use waykeeper_policy::{
    Access, AssignedClass, AssignedControls, Assignment, Class, CoreList, Loaded, Mask, Membership, Offer, bundled,
    find_bundled, plan,
};

/// Whether a mitigation is a policy: a bundled one, or a file.
pub fn is_policy(mitigation: &str) -> bool {
    find_bundled(mitigation).is_some() || is_file(mitigation)
}

/// Whether the part of a mitigation's name is a policy file.
pub fn is_file(part: &str) -> bool {
    part.ends_with(".toml")
}

/// Every bundled policy and these files, with whether each can be had: `can` tries it.
pub fn offers<T>(files: &[String], can: impl Fn(&str) -> Result<T, String>) -> BTreeMap<String, Offered> {
    let offer = |name: &str| match (Loaded::open(name), can(name)) {
        (Ok(loaded), Ok(_)) => Offered::Applied(loaded.policy.title),
        (Err(error), _) => Offered::Refused(error.to_string()),
        (_, Err(why)) => Offered::Refused(why),
    };
    let names = bundled().iter().map(|policy| policy.name).chain(files.iter().map(String::as_str));
    names.map(|name| (name.to_owned(), offer(name))).collect()
}

/// A policy for a machine. A class that names nobody there is the target's, if it is the only such class.
///
/// # Errors
/// A name that is no policy.
pub fn for_target(name: &str, machine: &str, target: CoreId) -> Result<Loaded, String> {
    let loaded = Loaded::open(name).map_err(|error| error.to_string())?;
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

/// What a policy comes to as settings of a simulated platform, where the target has one share and its neighbours one.
///
/// # Errors
/// What the platform lacks for it; a target that is in no class; neighbours with different shares of a cache of the target's.
pub fn settings(name: &str, platform: &Platform, target: CoreId, neighbours: &[CoreId]) -> Result<Settings, String> {
    let loaded = for_target(name, &platform.name, target)?;
    let assignment = plan(&loaded, &Offer::of_platform(platform), &Membership::unread(&loaded.policy))
        .map_err(|refusal| loaded.error(&refusal.key, refusal.message).to_string())?;
    if assignment.classes.iter().any(|class| !class.limits.is_empty()) {
        return Err(format!(
            "`{name}` limits bandwidth, which a policy does on real machines only; the platform's own mitigations do it here"
        ));
    }
    if assignment.controls != AssignedControls::default() {
        return Err(format!(
            "`{name}` sets more than ways, which a policy does on real machines only; the platform's own mitigations do it here"
        ));
    }
    let outermost = platform.shared_caches.iter().filter(|cache| cache.serves(target)).map(|cache| cache.level).max();
    let mut set = Settings::default();
    for level in [2, 3] {
        let groups = way_groups(name, &assignment, level, target, neighbours)?;
        *if Some(level) == outermost { &mut set.way_groups } else { &mut set.l2_way_groups } = groups;
    }
    for lock in assignment.locks.iter().filter(|lock| lock.cores.contains(&target)) {
        let groups = groups_of(lock.mask);
        set.lock = Some(Lock { level: lock.level, groups, what: Locked::Buffer, lines: None });
    }
    Ok(set)
}

fn way_groups(
    name: &str,
    assignment: &Assignment,
    level: u8,
    target: CoreId,
    neighbours: &[CoreId],
) -> Result<Option<WayGroups>, String> {
    let divided = assignment.divided.iter().find(|cache| cache.level == level && cache.cores.contains(&target));
    let Some(cache) = divided else { return Ok(None) };
    let mask = |class: &AssignedClass, accesses: [Access; 2]| {
        let own = class.masks.iter().filter(|mask| mask.level == level && mask.domain == cache.domain);
        own.filter(|mask| accesses.contains(&mask.access)).map(|mask| mask.mask).next()
    };
    let (data, code) = ([Access::All, Access::Data], [Access::All, Access::Code]);
    let class = assignment.classes.iter().find(|class| class.cores.contains(&target));
    let class = class.ok_or_else(|| format!("the target's core {target} is in no class of `{name}`"))?;
    // Neighbours beside other caches fill nothing here. Without neighbours somebody else's share stands for theirs.
    let of_core = |core: &CoreId| assignment.classes.iter().find(|class| class.cores.contains(core));
    let here = |core: &&CoreId| cache.cores.contains(core);
    let mut others: Vec<&AssignedClass> = neighbours.iter().filter(here).filter_map(of_core).collect();
    if others.is_empty() {
        let elsewhere = cache.cores.iter().filter_map(of_core).find(|other| other.number != class.number);
        others.push(elsewhere.unwrap_or(class));
    }
    let masks_of = |class: &AssignedClass| (mask(class, data), mask(class, code));
    if others.iter().any(|other| masks_of(other) != masks_of(others[0])) {
        return Err(format!(
            "`{name}` gives the neighbours different shares of the target's L{level}; in the simulator they have one"
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

fn groups_of(mask: Mask) -> Vec<u8> {
    (0..32).filter(|bit| mask.0 >> bit & 1 == 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use waykeeper_platform::find_bundled as find_platform;

    fn platform(name: &str) -> Platform {
        Platform::from_toml(find_platform(name).unwrap().text, name).unwrap()
    }

    #[test]
    fn policies_come_to_what_the_platforms_own_mitigations_set() {
        for (policy, name, core, mitigation) in [
            ("apollo-lake-one-segment", "apollo-lake-e3950", 3, "one-segment"),
            ("apollo-lake-half", "apollo-lake-e3950", 3, "four-segments"),
            ("apollo-lake-pseudo-lock", "apollo-lake-e3950", 3, "pseudo-lock"),
            ("tcc-halves", "i7-13800hre", 4, "cat-half"),
        ] {
            let platform = platform(name);
            assert_eq!(
                settings(policy, &platform, core, &[]).as_ref(),
                Ok(&platform.mitigations[mitigation].set),
                "{policy}"
            );
        }
    }

    #[test]
    fn everybody_has_the_share_of_the_own_class() {
        let platform = platform("i7-13800hre");
        let ways = |target, neighbours: &[CoreId]| {
            settings("tcc-halves", &platform, target, neighbours).map(|set| set.way_groups.unwrap())
        };
        let halves: [Vec<u8>; 2] = [(0..6).collect(), (6..12).collect()];
        let shares = |target: usize, others: usize| (halves[target].clone(), halves[others].clone());
        // The classes: cores 4 and 5, and everyone else.
        for (target, neighbours, expected) in [
            (4, &[0, 1][..], shares(1, 0)),
            (3, &[4, 5], shares(0, 1)),
            (3, &[0, 1], shares(0, 0)),
            (4, &[5], shares(1, 1)),
        ] {
            let ways = ways(target, neighbours).unwrap();
            assert_eq!((ways.target, ways.others), expected, "{target} beside {neighbours:?}");
        }
        let why = ways(4, &[0, 5]).unwrap_err();
        assert!(why.contains("different shares of the target's L3"), "{why}");
    }

    #[test]
    fn two_policies_at_once_are_none() {
        let both = the_policy(&["fifo", "tcc-halves", "apollo-lake-half"], is_policy);
        assert!(both.unwrap_err().contains("`tcc-halves` and `apollo-lake-half` are both policies"));
        assert_eq!(the_policy(&["fifo", "tcc-halves"], is_policy), Ok(Some("tcc-halves")));
    }
}
