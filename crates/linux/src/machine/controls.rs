//! Controls, and how each was found: several places may tell of one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waykeeper_platform::CoreId;
use waykeeper_platform::catalogue::catalogue;

use super::identity::Identity;
use super::tree_caches::TreeCaches;
use super::{CacheKind, CacheUse, Reading, arm_controls, cpuid_controls, other_controls, resctrl_controls};

/// Something that shares or guards a resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Control {
    /// Its id: `l2_ways`, `l3_ways`, `memory_bandwidth`, `monitoring`, `frequency`, `smt`, `idle_states`, `prefetchers`;
    /// on Arm `dsu_way_groups`, `mpam`, `dsu_counters`, `interconnect_counters` too.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The cores, where not all of them.
    pub cpus: Option<Vec<CoreId>>,
    /// Shares, for ways of a cache.
    pub shares: Option<Shares>,
    /// Limits, for bandwidth.
    pub limits: Option<Limits>,
    /// Whether Linux offers it: without, it takes registers or firmware.
    pub offered_by_linux: bool,
    /// What it can do, or is set to.
    pub detail: String,
    /// How it was found.
    pub found: Vec<Evidence>,
}

/// Shares of a cache's ways.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shares {
    /// The cache's level.
    pub level: u8,
    /// Bits of a mask.
    pub bits: Option<u32>,
    /// Classes.
    pub classes: Option<u32>,
    /// The least number of bits in a mask.
    pub min_bits: Option<u32>,
    /// Whether masks may have holes.
    pub holes: Option<bool>,
    /// Bits that others, such as devices, fill too.
    pub shareable: Option<u32>,
    /// Whether code and data can have masks of their own.
    pub code_and_data: Option<bool>,
}

/// Limits of bandwidth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// How they are counted.
    pub unit: Unit,
    /// The least.
    pub min: u32,
    /// The most: no limit.
    pub max: u32,
    /// From one to the next.
    pub step: u32,
    /// Classes.
    pub classes: Option<u32>,
}

/// How limits of bandwidth are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Percent.
    Percent,
    /// MiB/s, held by the kernel (`mba_MBps`).
    MegabytesPerSecond,
    /// 1/8 GB/s.
    EighthsOfGigabytePerSecond,
}

/// Where a control was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The place.
    pub by: How,
    /// What it says.
    pub says: String,
}

/// Places that tell of controls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// CPUID enumerates it.
    Cpuid,
    /// The kernel's resctrl has it.
    Resctrl,
    /// resctrl has it, and it is Arm MPAM below.
    Mpam,
    /// Its registers were written and read back.
    Probe,
    /// The catalogue has it for this processor.
    Catalogue,
    /// A file of sysfs or procfs.
    Sysfs,
    /// A register could be read.
    Register,
    /// The manual of a part that was recognised.
    Manual,
}

impl Control {
    pub(super) fn new(id: &str, name: impl Into<String>, by: How, says: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            cpus: None,
            shares: None,
            limits: None,
            offered_by_linux: matches!(by, How::Resctrl | How::Mpam | How::Sysfs),
            detail: String::new(),
            found: vec![Evidence { by, says: says.into() }],
        }
    }

    /// Takes what another place says of the same; what is known already stays.
    fn join(&mut self, other: Self, notes: &mut Vec<String>) {
        if let (Some(known), Some(said)) = (&mut self.shares, &other.shares) {
            if let (Some(a), Some(b)) = (known.bits, said.bits)
                && a != b
            {
                let (first, second) = (&self.found[0].says, &other.found[0].says);
                notes.push(format!("{}: {first}, but {second}", self.name));
            }
            known.bits = known.bits.or(said.bits);
            known.classes = known.classes.or(said.classes);
            known.min_bits = known.min_bits.or(said.min_bits);
            known.holes = known.holes.or(said.holes);
            known.shareable = known.shareable.or(said.shareable);
            known.code_and_data = known.code_and_data.or(said.code_and_data);
        }
        self.limits = self.limits.take().or(other.limits);
        self.offered_by_linux |= other.offered_by_linux;
        self.found.extend(other.found);
        if self.detail.is_empty() {
            self.detail = other.detail;
        }
    }
}

/// Adds a control, or what is new to one that is known.
pub(crate) fn add(controls: &mut Vec<Control>, control: Control, notes: &mut Vec<String>) {
    match controls.iter_mut().find(|known| known.id == control.id && known.cpus == control.cpus) {
        Some(known) => known.join(control, notes),
        None => controls.push(control),
    }
}

/// In the order of trust: what the kernel offers, what the processor enumerates, what a document says.
pub(super) fn read(
    reading: &Reading,
    identity: &Identity,
    caches: &[CacheKind],
    tree: &TreeCaches,
    notes: &mut Vec<String>,
) -> Vec<Control> {
    let mut controls = Vec::new();
    for control in resctrl_controls::read(reading, identity)
        .into_iter()
        .chain(cpuid_controls::read(reading))
        .chain(by_catalogue(identity))
    {
        add(&mut controls, control, notes);
    }
    unenumerated_l2(reading, caches, &mut controls);
    controls.extend(arm_controls::read(reading, caches));
    controls.extend(tree.lockdown());
    controls.extend(other_controls::read(reading));
    controls
}

/// Masks that the processor has and no CPUID leaf reports.
fn by_catalogue(identity: &Identity) -> Option<Control> {
    let sku = identity.catalogue.as_ref()?;
    let mask = catalogue().masks.iter().find(|mask| mask.sku == *sku)?;
    let says = format!(
        "{} bits, {} classes ({sku}; {}, section {})",
        mask.bits,
        mask.classes,
        catalogue().document,
        mask.section
    );
    let mut control =
        Control::new(&format!("l{}_ways", mask.level), CacheKind::ways_name(mask.level, false), How::Catalogue, says);
    control.shares = Some(Shares {
        level: mask.level,
        bits: Some(mask.bits),
        classes: Some(mask.classes),
        min_bits: Some(1),
        holes: Some(false),
        shareable: None,
        code_and_data: None,
    });
    control.detail = "model-specific: not enumerated by CPUID, registers only".into();
    Some(control)
}

/// Hybrid parts with CAT have masks for the second level that CPUID does not report unless firmware is set to; their
/// lengths differ by kind of core (the guide, section 5.4.3).
fn unenumerated_l2(reading: &Reading, caches: &[CacheKind], controls: &mut Vec<Control>) {
    let hybrid = reading.leaves.iter().any(|(_, leaves)| leaves.get(7, 0).edx >> 15 & 1 == 1);
    let by_catalogue = controls.iter().any(|it| it.found.iter().any(|evidence| evidence.by == How::Catalogue));
    if !hybrid || !by_catalogue || controls.iter().any(|control| control.id == "l2_ways") {
        return;
    }
    for cache in caches.iter().filter(|cache| cache.level == 2 && cache.holds == CacheUse::Unified) {
        let Some(ways) = cache.ways else { continue };
        let says = format!(
            "hybrid parts have it, a bit a way, here {ways}; firmware (L2 QoS Enumeration) decides whether CPUID shows it ({}, \
             section 5.4.3)",
            catalogue().document
        );
        let mut control = Control::new("l2_ways", CacheKind::ways_name(2, false), How::Catalogue, says);
        let mut cpus: Vec<_> = cache.shared_by.iter().flatten().copied().collect();
        cpus.sort_unstable();
        control.cpus = Some(cpus);
        control.shares = Some(Shares {
            level: 2,
            bits: Some(ways as u32),
            min_bits: Some(1),
            holes: Some(false),
            ..Shares::default()
        });
        control.detail = "not enumerated; a kernel that takes one length for all cores leaves the others short".into();
        controls.push(control);
    }
}
