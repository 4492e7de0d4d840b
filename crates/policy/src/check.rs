//! What a policy must fulfil on any machine.

use std::collections::{BTreeMap, BTreeSet};

use crate::cache_shares::CacheShares;
use crate::cgroup::is_no_cgroup;
use crate::cores::Cores;
use crate::describe::Policy;
use crate::share::{CacheShare, Extent};

/// A key and what is wrong with it.
pub(crate) type Finding = (String, String);

/// Names that resctrl's root has already.
const TAKEN: [&str; 13] = [
    "info",
    "mon_groups",
    "mon_data",
    "cpus",
    "cpus_list",
    "tasks",
    "schemata",
    "mode",
    "size",
    "mba_MBps_event",
    "ctrl_hw_id",
    "mon_hw_id",
    "mbm_L3_assignments",
];

/// The name of everyone else.
pub const OTHERS: &str = "others";

/// The first thing that is wrong with a policy.
pub(crate) fn check(policy: &Policy) -> Result<(), Finding> {
    let controls = policy.lockdown.is_some() || policy.no_allocate_mode.is_some() || policy.ring.is_some();
    let nobody = policy.classes.is_empty() && policy.pseudo_locks.is_empty() && policy.others == Default::default();
    if nobody && !controls {
        return Err((
            String::new(),
            "it assigns nothing to anybody; expected a class, a pseudo-lock or `others`".into(),
        ));
    }
    if policy.title.contains(char::is_control) || policy.title.trim().is_empty() {
        return Err(("title".into(), "expected one line of text".into()));
    }
    let classes = policy.classes.iter().enumerate().map(|(i, class)| (format!("classes.{i}"), &class.name));
    let locks = policy.pseudo_locks.iter().enumerate().map(|(i, lock)| (format!("pseudo_locks.{i}"), &lock.name));
    let mut names = BTreeSet::new();
    for (key, name) in classes.chain(locks) {
        let refuse = |message: String| Err((format!("{key}.name"), message));
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(plain) || name.len() > 64 {
            return refuse(format!(
                "found {name:?}; expected at most 64 letters, digits, `-`, `_` or `.`, beginning with a letter or digit"
            ));
        }
        if TAKEN.contains(&name.as_str()) || name == OTHERS {
            return refuse(format!("`{name}` means something else already; any other name would do"));
        }
        if !names.insert(name) {
            return refuse(format!("there are two of the name `{name}`"));
        }
    }
    members(policy)?;
    shares(policy)
}

fn members(policy: &Policy) -> Result<(), Finding> {
    // By core: the platform, whose name is empty for a list that holds everywhere, and the class.
    let mut owners: BTreeMap<u32, Vec<(String, usize)>> = BTreeMap::new();
    let mut tasks: BTreeMap<u32, usize> = BTreeMap::new();
    let mut cgroups: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, class) in policy.classes.iter().enumerate() {
        let key = format!("classes.{i}");
        if class.cores.is_none() && class.tasks.is_empty() && class.cgroups.is_empty() {
            return Err((key, "it has no members; expected `cores`, `tasks` or `cgroups`".into()));
        }
        let lists: Vec<(String, &[u32])> = match &class.cores {
            None => Vec::new(),
            Some(Cores::Everywhere(list)) => vec![(String::new(), list.as_slice())],
            Some(Cores::ByPlatform(lists)) => {
                lists.iter().map(|(platform, list)| (platform.clone(), list.as_slice())).collect()
            }
        };
        for (platform, core) in lists.iter().flat_map(|(platform, list)| list.iter().map(move |core| (platform, *core)))
        {
            let same = |other: &str| other.is_empty() || platform.is_empty() || other == platform;
            let owners = owners.entry(core).or_default();
            if let Some((_, other)) = owners.iter().find(|(at, owner)| *owner != i && same(at)) {
                let message = format!("core {core} is in class `{}` already", policy.classes[*other].name);
                return Err((format!("{key}.cores"), message));
            }
            owners.push((platform.clone(), i));
        }
        for (j, task) in class.tasks.iter().enumerate() {
            let key = format!("{key}.tasks.{j}");
            if *task == 0 || *task > i32::MAX as u32 {
                return Err((key, format!("found {task}, which is the number of no task")));
            }
            if let Some(other) = tasks.insert(*task, i) {
                return Err((key, format!("task {task} is in class `{}` already", policy.classes[other].name)));
            }
        }
        for (j, cgroup) in class.cgroups.iter().enumerate() {
            let (key, name) = (format!("{key}.cgroups.{j}"), cgroup.trim_matches('/'));
            if let Some(message) = is_no_cgroup(name) {
                return Err((key, message));
            }
            if let Some(other) = cgroups.insert(name, i) {
                return Err((key, format!("cgroup `{name}` is in class `{}` already", policy.classes[other].name)));
            }
        }
    }
    Ok(())
}

fn shares(policy: &Policy) -> Result<(), Finding> {
    for (i, class) in policy.classes.iter().enumerate() {
        if !class.gets_something() {
            let message = "it gets nothing; expected `l2`, `l3`, `bandwidth` or another share".into();
            return Err((format!("classes.{i}"), message));
        }
        if class.weight == Some(0) {
            return Err((
                format!("classes.{i}.weight"),
                "found 0, which would be nothing; at least 1 is needed".into(),
            ));
        }
    }
    if policy.others.weight == Some(0) {
        return Err(("others.weight".into(), "found 0, which would be nothing; at least 1 is needed".into()));
    }
    if let Some((key, message)) = policy.lockdown.as_ref().and_then(|lockdown| lockdown.mistake()) {
        let key = if key.is_empty() { "lockdown".to_owned() } else { format!("lockdown.{key}") };
        return Err((key, message));
    }
    if policy.no_allocate_mode == Some(true) {
        let message = "the machine enters it by itself; `false` switches it off, and without the key it stays as it is";
        return Err(("no_allocate_mode".into(), message.into()));
    }
    if policy.ring == Some(crate::clock::CoreFrequency::Base) {
        return Err(("ring".into(), "it has no base clock; expected a clock such as \"4 GHz\"".into()));
    }
    for (key, shares) in [("others.l2", &policy.others.l2), ("others.l3", &policy.others.l3)] {
        for (place, share) in shares.iter().flat_map(CacheShares::all) {
            if !share.exclusive {
                let message = "others get what nobody has alone, which is never exclusive; leave the key out".into();
                return Err((format!("{key}{place}.exclusive"), message));
            }
        }
    }
    for (i, lock) in policy.pseudo_locks.iter().enumerate() {
        let key = format!("pseudo_locks.{i}");
        if !(2..=3).contains(&lock.level) {
            return Err((format!("{key}.level"), format!("found {}, expected 2 or 3", lock.level)));
        }
        let single = match &lock.core {
            Cores::Everywhere(list) => list.as_slice().len() == 1,
            Cores::ByPlatform(lists) => lists.values().all(|list| list.as_slice().len() == 1),
        };
        if !single {
            return Err((format!("{key}.core"), "it names several cores, expected one".into()));
        }
        match &lock.size {
            CacheShare { extent: Extent::Apart { .. }, .. } => {
                return Err((format!("{key}.size"), "code and data cannot be locked apart; expected `share`".into()));
            }
            CacheShare { exclusive: false, .. } => {
                return Err((
                    format!("{key}.size.exclusive"),
                    "locked ways are shared with nobody; leave it out".into(),
                ));
            }
            CacheShare { .. } => {}
        }
    }
    Ok(())
}
