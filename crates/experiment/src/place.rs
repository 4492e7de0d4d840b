//! Workloads on cores: what the names of an experiment come to at a site.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use waykeeper_platform::CoreId;
use waykeeper_workload::{CacheShapes, Passes, Pattern, Workload, find_bundled};

use crate::cores::{NeighbourCores, TargetCore};
use crate::describe::{Measure, Neighbour, NeighbourBuffer, Target};
use crate::error::{InputError, Origin};
use crate::explain;
use crate::load::Loaded;
use crate::point::PointLabel;
use crate::sampled::Sampling;
use crate::site::{ExecutorKind, Site};

/// A workload on a core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    /// The workload's name.
    pub workload: String,
    /// Keys of the workload that have other values here.
    pub with: BTreeMap<String, String>,
    /// What it does there.
    pub pattern: Pattern,
    /// The core.
    pub core: CoreId,
    /// Whose buffer it accesses; of a target, its own.
    #[serde(default, skip_serializing_if = "NeighbourBuffer::is_own")]
    pub buffer: NeighbourBuffer,
}

impl Placed {
    /// The workload's name and what is different about it: `stream_modify (size 8 KiB)`.
    pub fn called(&self) -> String {
        called(&self.workload, &self.with)
    }
}

/// A workload's name and the keys that have other values than it.
pub fn called(workload: &str, with: &BTreeMap<String, String>) -> String {
    let with: Vec<_> = with.iter().map(|(key, value)| format!("{key} {value}")).collect();
    if with.is_empty() { workload.to_owned() } else { format!("{workload} ({})", with.join(", ")) }
}

pub(crate) fn target(loaded: &Loaded, site: &Site, index: usize, target: &Target) -> Result<Placed, InputError> {
    let key = format!("targets.{index}");
    let core = match target.core {
        TargetCore::Number(core) => core,
        TargetCore::Auto => site.auto_core,
    };
    let caches = caches_of(loaded, site, &format!("{key}.core"), core)?;
    let pattern = pattern_for(loaded, &key, &target.workload, &target.with, caches)?;
    if let Some(why) = site.refuses_target(&pattern) {
        return Err(loaded.error(&format!("{key}.workload"), format!("found `{}`: {why}", target.workload)));
    }
    let bytes = pattern.bytes_per_access(caches.line_bytes()).unwrap_or(0);
    if target.measure == Measure::Throughput && bytes == 0 {
        let message = format!("`{}` moves no bytes that could be counted; expected `latency`", target.workload);
        return Err(loaded.error(&format!("{key}.measure"), message));
    }
    if let Some(sampling) = &target.sampled.0
        && let Some(why) = cannot_sample(sampling, target, &pattern, site)
    {
        return Err(loaded.error(&format!("{key}.sampled"), why));
    }
    let buffer = NeighbourBuffer::Own;
    Ok(Placed { workload: target.workload.clone(), with: flat(&target.with), pattern, core, buffer })
}

/// Why the passes of a target cannot be measured in these windows, where they cannot.
fn cannot_sample(sampling: &Sampling, target: &Target, pattern: &Pattern, site: &Site) -> Option<String> {
    let full = "`sampled = false` would do";
    if !matches!(pattern, Pattern::Trace { .. }) {
        let found = format!("found windows for `{}`, which is no whole program", target.workload);
        return Some(format!("{found}; expected a workload of the kind `trace`, or none: {full}"));
    }
    // On the host nothing depends on it, and to count takes as long as a pass.
    if site.executor == ExecutorKind::Host {
        return None;
    }
    sampling.does_not_fit(pattern.pass_length()?.accesses)
}

/// The neighbours of a group beside a target.
pub(crate) fn group(
    loaded: &Loaded,
    site: &Site,
    target: &Placed,
    group: &Option<String>,
) -> Result<Vec<Placed>, InputError> {
    let mut placed: Vec<Placed> = Vec::new();
    for (index, neighbour) in loaded.experiment.neighbours.iter().enumerate().filter(|(_, n)| n.group == *group) {
        let key = format!("neighbours.{index}");
        for core in cores_of(loaded, site, target, &key, neighbour, &placed)? {
            let cores_key = format!("{key}.cores");
            let caches = caches_of(loaded, site, &cores_key, core)?;
            if core == target.core && !leaves_its_core(site, target) {
                return Err(shared_core(loaded, target, &cores_key, &neighbour.workload));
            }
            if let Some(other) = placed.iter().find(|p| p.core == core) {
                let message = format!(
                    "found core {core}, which is already given to `{}`; one core runs one workload",
                    other.workload
                );
                return Err(loaded.error(&cores_key, message));
            }
            let pattern = pattern_for(loaded, &key, &neighbour.workload, &neighbour.with, caches)?;
            if let Some(why) = site.refuses_neighbour(&pattern) {
                return Err(loaded.error(&format!("{key}.workload"), format!("found `{}`: {why}", neighbour.workload)));
            }
            let (mut with, buffer) = (flat(&neighbour.with), neighbour.buffer);
            if buffer == NeighbourBuffer::Target {
                if let Some(why) = cannot_share(site, &pattern, &target.pattern) {
                    return Err(loaded.error(&format!("{key}.buffer"), format!("found `target`: {why}")));
                }
                // It is called so: what it does to the target is another thing.
                with.insert("buffer".into(), "target".into());
            }
            placed.push(Placed { workload: neighbour.workload.clone(), with, pattern, core, buffer });
        }
    }
    Ok(placed)
}

/// Why a neighbour cannot have the target's buffer as its own.
fn cannot_share(site: &Site, neighbour: &Pattern, target: &Pattern) -> Option<String> {
    if site.executor != ExecutorKind::Sim {
        let called = &site.called;
        return Some(format!(
            "on {called} each workload has memory of its own; expected `own`, or a simulated platform"
        ));
    }
    neighbour.cannot_share(target)
}

/// A neighbour's core is the target's. Where only the target's was typed as an option, that is the mistake.
fn shared_core(loaded: &Loaded, target: &Placed, cores_key: &str, neighbour: &str) -> InputError {
    let core = target.core;
    let is_typed = |key: &str| matches!(loaded.error(key, "").origin, Origin::Option(_));
    let mut targets = loaded.experiment.targets.iter();
    let place = targets.position(|t| t.workload == target.workload && t.core == TargetCore::Number(core));
    let target_key = place.map(|place| format!("targets.{place}.core"));
    match target_key.filter(|key| is_typed(key) && !is_typed(cores_key)) {
        Some(key) => {
            let message = format!(
                "found core {core}, which `{cores_key}` assigns to `{neighbour}`; a target needs a core of its own"
            );
            loaded.error(&key, message)
        }
        None => {
            let found = format!("found core {core}, which is the core of the target `{}`", target.workload);
            loaded.error(cores_key, format!("{found}; a neighbour needs a core of its own"))
        }
    }
}

/// Whether others can run on the target's core while it waits for its next period: on Linux, beside a periodic task.
fn leaves_its_core(site: &Site, target: &Placed) -> bool {
    let is_cyclictest = matches!(target.pattern, Pattern::Command { passes: Passes::Cyclictest, .. });
    let is_periodic = is_cyclictest || target.pattern.period_ns().is_some_and(|ns| ns > 0.0);
    is_periodic && site.executor == ExecutorKind::Host
}

fn cores_of(
    loaded: &Loaded,
    site: &Site,
    target: &Placed,
    key: &str,
    neighbour: &Neighbour,
    placed: &[Placed],
) -> Result<Vec<CoreId>, InputError> {
    let key = format!("{key}.cores");
    let cores = match &neighbour.cores {
        NeighbourCores::Numbers(cores) => cores.clone(),
        NeighbourCores::Others => {
            let taken: Vec<_> = placed.iter().map(|p| p.core).collect();
            site.others(target.core).into_iter().filter(|core| !taken.contains(core)).collect()
        }
    };
    if neighbour.cores == NeighbourCores::Numbers(Vec::new()) {
        let message = format!("found an empty list; expected cores of {} ({})", site.called, site.core_list());
        return Err(loaded.error(&key, message));
    }
    if cores.is_empty() {
        let message = format!(
            "no core is left for `{}` beside the target on core {}; {} has {}",
            neighbour.workload,
            target.core,
            site.called,
            site.core_list()
        );
        return Err(loaded.error(&key, message));
    }
    Ok(cores)
}

fn caches_of<'s>(loaded: &Loaded, site: &'s Site, key: &str, core: CoreId) -> Result<&'s CacheShapes, InputError> {
    let found = site.core(core).ok_or_else(|| {
        loaded.error(
            key,
            format!("found core {core}, which {} does not have; expected {}", site.called, site.core_list()),
        )
    })?;
    Ok(&found.caches)
}

/// A bundled workload by name, with other values for some of its keys.
pub(crate) fn bundled_workload(name: &str, with: &Table) -> Option<Workload> {
    // A bundled file that does not parse fails a test, so it cannot reach a user.
    let mut table: Table = toml::from_str(find_bundled(name)?.text).ok()?;
    merge(&mut table, with);
    explain::workload(&table).ok()
}

/// `key` is that of the target or neighbour which names the workload.
fn pattern_for(
    loaded: &Loaded,
    key: &str,
    name: &str,
    with: &Table,
    caches: &CacheShapes,
) -> Result<Pattern, InputError> {
    let own = loaded.experiment.workloads.get(name);
    let workload = match own {
        Some(own) if with.is_empty() => own.clone(),
        Some(own) => {
            let table = Table::try_from(own).expect("every workload that was read can be written");
            with_values(loaded, key, table, with)?
        }
        None => {
            let Some(found) = find_bundled(name) else {
                let own = loaded.experiment.workloads.keys().map(String::as_str);
                let known: Vec<_> = own.chain(waykeeper_workload::bundled().iter().map(|b| b.name)).collect();
                let message =
                    format!("found `{name}`, which no workload is called; expected one of {}", known.join(", "));
                return Err(loaded.error(&format!("{key}.workload"), message));
            };
            with_values(loaded, key, toml::from_str(found.text).unwrap_or_default(), with)?
        }
    };
    let key_of = |of_workload: &str| match reaches(with, &[of_workload]) {
        true => format!("{key}.with.{of_workload}"),
        false => format!("workloads.{name}.{of_workload}"),
    };
    loaded.with_files(workload, key_of)?.resolve(caches).map_err(|refused| {
        let path: Vec<&str> = refused.key.split('.').collect();
        if reaches(with, &path) {
            return loaded.error(&format!("{key}.with.{}", refused.key), refused.why);
        }
        if own.is_some() {
            return loaded.error(&format!("workloads.{name}.{}", refused.key), refused.why);
        }
        let message = format!("workload `{name}` does not fit here: {}: {}", refused.key, refused.why);
        loaded.error(&format!("{key}.workload"), message)
    })
}

fn with_values(loaded: &Loaded, key: &str, mut table: Table, with: &Table) -> Result<Workload, InputError> {
    merge(&mut table, with);
    explain::workload(&table)
        .map_err(|(path, message)| loaded.error(&format!("{key}.with.{}", path.join(".")), message))
}

/// Puts the values of `with` into a table; tables are merged, everything else is replaced.
fn merge(table: &mut Table, with: &Table) {
    for (key, value) in with {
        match (table.get_mut(key), value) {
            (Some(Value::Table(inner)), Value::Table(more)) => merge(inner, more),
            _ => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}

fn reaches(table: &Table, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    match table.get(*first) {
        Some(Value::Table(inner)) if !rest.is_empty() => reaches(inner, rest),
        found => found.is_some(),
    }
}

/// Values by dotted key, as text.
pub fn flat(table: &Table) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => found.extend(flat(inner).into_iter().map(|(k, v)| (format!("{key}.{k}"), v))),
            value => {
                let text = PointLabel::of(value).map_or_else(|| value.to_string(), |label| label.0);
                found.insert(key.clone(), text);
            }
        }
    }
    found
}
