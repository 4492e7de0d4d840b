//! Whether what is applied is live: it reads as it was written, and it does what it says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use serde::Serialize;
use waykeeper_linux::Root;

use crate::MachineAccess;
use crate::cgroups::{FollowedCgroup, Strays};
use crate::host::caches::{Cache, caches};
use crate::journal::Journal;
use crate::perform::MachineError;
use crate::probe::{
    Arrangement, NotArranged, NotMeasured, PartitionedCache, ProbeSamples, ProbeVerdict, Prober, arrange, judge,
};
use crate::read_back::{Difference, EndedTask};
use crate::schemata::DomainShare;
use crate::settings::Settings;
use crate::since_apply::SinceApply;
use crate::snapshot::Snapshot;
use crate::status::{StatusError, left};
use crate::store::Store;
use crate::system::this_boot;

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verified {
    /// The policy.
    pub policy: String,
    /// Settings that have changed since `apply`.
    pub differences: Vec<Difference>,
    /// What is there of each cgroup that the plan names; absent where it names none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cgroups: Vec<FollowedCgroup>,
    /// Tasks of groups for cgroups that are in none of these; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strays: Vec<Strays>,
    /// Tasks that the plan names and that have ended since; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<EndedTask>,
    /// What the probes say, one a class and cache.
    pub probes: Vec<ProbeReport>,
    /// Caches that were set and cannot be probed, and why.
    pub not_probed: Vec<String>,
}

/// One probe.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProbeReport {
    /// Who walked and who streamed.
    #[serde(flatten)]
    pub arrangement: Arrangement,
    /// The times.
    pub samples: ProbeSamples,
    /// What they say.
    #[serde(flatten)]
    pub verdict: ProbeVerdict,
}

/// Why nothing was verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The journal or the machine cannot be looked at.
    #[error("{0}")]
    Status(#[from] StatusError),
    /// Nothing is applied.
    #[error("nothing is applied: there is nothing to verify; `waykeeper verify --try` runs the probe all the same")]
    Nothing,
    /// It is not applied as a whole.
    #[error("`{0}` is not applied as a whole: `waykeeper status` shows how far it is, `waykeeper restore` undoes it")]
    Partly(String),
    /// The probe could not run.
    #[error("the probe: {0}")]
    NotMeasured(#[from] NotMeasured),
}

/// How the probe is done.
#[derive(Clone, Copy)]
pub struct Probing<'p> {
    /// Where its walks are done.
    pub prober: &'p dyn Prober,
    /// How often each arrangement is measured; 0 for no probe at all.
    pub repeats: usize,
}

/// Verifies what is applied. Runs for seconds, and keeps the cores that it uses busy.
///
/// # Errors
/// See [`VerifyError`]. What is found is no error.
pub fn verify(
    machine: &mut MachineAccess<'_>,
    store: &mut dyn Store,
    root: &Root,
    probing: Probing<'_>,
    stop: &AtomicBool,
) -> Result<Verified, VerifyError> {
    let journal = Journal::load(store).map_err(StatusError::from)?.ok_or(VerifyError::Nothing)?;
    if journal.head.boot != this_boot(machine.system).map_err(StatusError::from)? {
        return Err(VerifyError::Nothing);
    }
    if !journal.applied || journal.undo.is_some() || journal.remains.is_some() {
        return Err(VerifyError::Partly(journal.head.policy));
    }
    let settings = left(&journal);
    let since = SinceApply::read(machine, &journal, &settings).map_err(StatusError::from)?;
    let mut verified = Verified {
        policy: journal.head.policy.clone(),
        differences: since.differences,
        cgroups: since.cgroups,
        strays: since.strays,
        ended: since.ended,
        probes: Vec::new(),
        not_probed: Vec::new(),
    };
    if probing.repeats == 0 {
        return Ok(verified);
    }
    if settings.registers.is_empty()
        && machine.tree.mounted().map_err(MachineError::from).map_err(StatusError::from)?.is_none()
    {
        verified.not_probed.push("resctrl is not mounted, so nothing of the policy can be in force".into());
        return Ok(verified);
    }
    if let Some(group) = own_group(machine, &settings)? {
        let group = crate::undo::name(&group);
        verified
            .not_probed
            .push(format!("this program is itself in {group}, whatever the core; start it in the root group"));
        return Ok(verified);
    }
    let levels = levels(machine, &journal, &settings, root).map_err(StatusError::from)?;
    for (level, classes) in levels {
        match arrange(&level, &classes, probing.repeats) {
            Ok(arrangements) => {
                for arrangement in arrangements {
                    verified.probes.push(probe(arrangement, probing.prober, stop)?);
                }
            }
            Err(reason) => verified.not_probed.push(reason.to_string()),
        }
    }
    verified
        .not_probed
        .extend(without_a_probe(&settings, verified.probes.is_empty() && verified.not_probed.is_empty()));
    Ok(verified)
}

/// What no probe is made for: regions that are locked, and policies that divide no cache.
fn without_a_probe(settings: &Settings, nothing_else: bool) -> Vec<String> {
    let locked = settings.modes.iter().filter(|(_, mode)| mode.starts_with("pseudo-lock"));
    let mut reasons: Vec<String> = locked
        .map(|(group, _)| {
            format!(
                "whether the lines of {} stay where they are locked: there is no probe for it",
                crate::undo::name(group)
            )
        })
        .collect();
    if nothing_else && reasons.is_empty() {
        reasons.push(
            "no cache is divided: the settings were read back, and whether they are in force was not seen".into(),
        );
    }
    reasons
}

/// The group that this process is in, where that is not the root: then its CPUs' classes do not count. resctrl is mounted, where
/// the settings are its own.
fn own_group(machine: &mut MachineAccess<'_>, settings: &Settings) -> Result<Option<String>, StatusError> {
    if !settings.registers.is_empty() {
        return Ok(None);
    }
    let now = Snapshot::take(machine.tree).map_err(MachineError::from)?;
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    Ok(now.home_of_task(own).map(|home| home.control).filter(|group| !group.is_empty()))
}

/// Measures one arrangement, and judges it.
fn probe(arrangement: Arrangement, prober: &dyn Prober, stop: &AtomicBool) -> Result<ProbeReport, NotMeasured> {
    let samples = prober.measure(&arrangement.plan, stop)?;
    Ok(ProbeReport { verdict: judge(&samples), arrangement, samples })
}

/// Runs the probe without any setting, on the last-level cache of the first core: the "other class" is just another core.
/// `inert` is what it ought to say; `inconclusive` means that it could not tell here either way.
///
/// # Errors
/// Where the machine shows no cache that two cores share, or the probe could not run.
pub fn try_probe(
    root: &Root,
    cores: &[u32],
    probing: Probing<'_>,
    stop: &AtomicBool,
) -> Result<ProbeReport, VerifyError> {
    let none = || VerifyError::Status(StatusError::Machine(absent("no cache that two of the allowed cores share")));
    let core = *cores.first().ok_or_else(none)?;
    let all = caches(root, core);
    let last = all.iter().max_by_key(|cache| cache.level).ok_or_else(none)?;
    let classes = last.cores.iter().filter(|other| cores.contains(other));
    // As if each had half of the cache: the masks only say who is whose other, and how long the chase is.
    let named: BTreeMap<u32, String> = classes.map(|&other| (other, class_of_core(other, core))).collect();
    let level = PartitionedCache {
        masks: [(String::new(), 1), (OTHER.into(), 2)].into(),
        mask_bits: 2,
        ..level_of(last, &all, named)
    };
    if level.classes.len() < 2 {
        return Err(none());
    }
    let impossible = |why: NotArranged| VerifyError::Status(StatusError::Machine(absent(&why.to_string())));
    let arrangements = arrange(&level, &[String::new()], probing.repeats).map_err(impossible)?;
    let arrangement = arrangements.into_iter().next().ok_or_else(none)?;
    Ok(probe(Arrangement { class: "none".into(), other: "none".into(), ..arrangement }, probing.prober, stop)?)
}

const OTHER: &str = "other";

fn class_of_core(other: u32, core: u32) -> String {
    if other == core { String::new() } else { OTHER.into() }
}

fn absent(what: &str) -> MachineError {
    let (action, path, reason) = ("look at", "/sys/devices/system/cpu".into(), what.into());
    MachineError::Tree(crate::TreeError { action, path, errno: None, reason, status: None })
}

fn level_of(cache: &Cache, all: &[Cache], classes: BTreeMap<u32, String>) -> PartitionedCache {
    PartitionedCache {
        name: format!("L{}:{}", cache.level, cache.id),
        bytes: cache.bytes,
        mask_bits: 0,
        line_bytes: cache.line_bytes,
        private_bytes: all.iter().filter(|inner| inner.level < cache.level).map(|inner| inner.bytes).sum(),
        classes,
        masks: BTreeMap::new(),
    }
}

/// Every cache that is divided, with the classes that were set in it.
fn levels(
    machine: &mut MachineAccess<'_>,
    journal: &Journal,
    settings: &Settings,
    root: &Root,
) -> Result<Vec<(PartitionedCache, Vec<String>)>, MachineError> {
    let mut found: BTreeMap<(u8, u32), (PartitionedCache, Vec<String>)> = BTreeMap::new();
    let cores = machine.system.online_cpus();
    let classes = match settings.registers.is_empty() {
        true => classes_of_tree(machine, settings)?,
        false => classes_of_registers(machine, journal, &cores, root)?,
    };
    for &core in &cores {
        let all = caches(root, core);
        for cache in all.iter().filter(|cache| matches!(cache.level, 2 | 3)) {
            let set = classes.set(cache);
            if set.is_empty() || found.contains_key(&(cache.level, cache.id)) {
                continue;
            }
            let named =
                cache.cores.iter().filter_map(|core| Some((*core, classes.of_core.get(core)?.clone()))).collect();
            let masks = classes.masks(cache);
            let level = PartitionedCache { masks, mask_bits: classes.bits(cache), ..level_of(cache, &all, named) };
            found.insert((cache.level, cache.id), (level, set));
        }
    }
    // New groups have full masks in caches that the policy leaves alone: there is nothing to probe in these.
    Ok(found.into_values().filter(|(level, _)| level.is_divided()).collect())
}

/// Classes, by whatever mechanism.
#[derive(Debug, Default)]
struct Classes {
    of_core: BTreeMap<u32, String>,
    /// Masks by class and cache.
    masks: BTreeMap<String, BTreeMap<DomainShare, u64>>,
    /// Classes that were set.
    set: BTreeSet<String>,
    /// Bits of a whole mask by resource.
    bits: BTreeMap<String, u32>,
}

impl Classes {
    /// Data is what a chase is made of: with CDP its mask counts.
    fn domains(cache: &Cache) -> [DomainShare; 2] {
        ["", "DATA"].map(|kind| DomainShare { resource: format!("L{}{kind}", cache.level), id: cache.id })
    }

    fn mask(&self, class: &str, cache: &Cache) -> Option<u64> {
        let masks = self.masks.get(class)?;
        Self::domains(cache).iter().find_map(|domain| masks.get(domain)).copied()
    }

    fn masks(&self, cache: &Cache) -> BTreeMap<String, u64> {
        self.masks.keys().filter_map(|class| Some((class.clone(), self.mask(class, cache)?))).collect()
    }

    fn set(&self, cache: &Cache) -> Vec<String> {
        self.set.iter().filter(|class| self.mask(class, cache).is_some()).cloned().collect()
    }

    fn bits(&self, cache: &Cache) -> u32 {
        Self::domains(cache).iter().find_map(|domain| self.bits.get(&domain.resource)).copied().unwrap_or(0)
    }
}

fn classes_of_tree(machine: &mut MachineAccess<'_>, settings: &Settings) -> Result<Classes, MachineError> {
    let now = Snapshot::take(machine.tree)?;
    let mut classes = Classes { set: settings.groups.iter().cloned().collect(), ..Classes::default() };
    for (path, group) in now.control().filter(|(_, group)| !group.is_locking()) {
        classes.of_core.extend(group.cpus.iter().map(|cpu| (*cpu, path.clone())));
        classes.masks.insert(path.clone(), group.shares().into_iter().collect());
    }
    for resource in ["L3", "L3DATA", "L2", "L2DATA"] {
        let Ok(text) = machine.tree.read(&format!("info/{resource}/cbm_mask")) else { continue };
        if let Ok(mask) = u64::from_str_radix(text.trim(), 16) {
            classes.bits.insert(resource.into(), mask.count_ones());
        }
    }
    Ok(classes)
}

/// The first mask register of a level, and how many follow (Intel SDM vol. 4, table 2-2).
const MASKS: [(u8, u32, u32); 2] = [(3, 0xc90, 128), (2, 0xd10, 64)];
/// IA32_PQR_ASSOC, with the class in its upper half.
const PQR_ASSOC: u32 = 0xc8f;

fn classes_of_registers(
    machine: &mut MachineAccess<'_>,
    journal: &Journal,
    cores: &[u32],
    root: &Root,
) -> Result<Classes, MachineError> {
    let mut classes = Classes::default();
    let written = |level: u8| {
        let (_, first, count) = *MASKS.iter().find(|it| it.0 == level)?;
        let registers = journal.head.before.registers.iter().map(|before| before.place.register);
        Some(registers.filter(|register| (first..first + count).contains(register)).collect::<BTreeSet<u32>>())
    };
    for &core in cores {
        // A CPU whose class cannot be read is in none that the probe could use.
        let Ok(class) = machine.registers.read(core, PQR_ASSOC).map(|value| value >> 32) else { continue };
        let name = format!("class {class}");
        classes.of_core.insert(core, name.clone());
        for cache in caches(root, core).iter().filter(|cache| matches!(cache.level, 2 | 3)) {
            let Some(registers) = written(cache.level).filter(|registers| !registers.is_empty()) else { continue };
            let (_, first, count) = MASKS[usize::from(cache.level == 2)];
            let register = first.saturating_add(u32::try_from(class).unwrap_or(u32::MAX));
            if register >= first + count {
                continue;
            }
            let mask = machine.registers.read(core, register)?;
            let domain = DomainShare { resource: format!("L{}", cache.level), id: cache.id };
            classes.masks.entry(name.clone()).or_default().insert(domain, mask);
            if registers.contains(&register) {
                classes.set.insert(name.clone());
            }
        }
    }
    // After a reset every mask is full: what was there before, with what is there now, has all its bits.
    for (level, first, count) in MASKS {
        let before =
            journal.head.before.registers.iter().filter(|it| (first..first + count).contains(&it.place.register));
        let of_level = format!("L{level}");
        let now =
            classes.masks.values().flatten().filter(|(domain, _)| domain.resource == of_level).map(|(_, mask)| *mask);
        let all = before.map(|it| it.value).chain(now).fold(0, |all, mask| all | mask);
        if all != 0 {
            classes.bits.insert(of_level, all.count_ones());
        }
    }
    Ok(classes)
}
