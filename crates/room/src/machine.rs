//! A platform as its kernel would see it.

use waykeeper_platform::{BandwidthScheme, CoreId, Platform, WayControl};
use waykeeper_resctrl::{
    AllocatableCache, BandwidthResource, CpuSet, Domain, KernelRelease, MachineCpus, MonitorEvent, MonitorResource,
    QosTechnology, ResctrlMachine, Throttle,
};

use crate::instances::{Divided, divided, is_arm};

/// Intel's throttle counts in steps of ten percent (Intel SDM, volume 3, Memory Bandwidth Allocation).
const MBA_STEP: u32 = 10;
/// The throttle registers have settings for eight classes on parts with a linear scale (Intel SDM, volume 3; CPUID leaf
/// 0x10.3 on all servers so far). A platform that says how many classes it has says it for both.
const MBA_CLASSES: u32 = 8;

/// Why a platform has no resctrl.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("platform `{platform}` has no resctrl: {why}")]
pub struct NoResctrl {
    /// The platform.
    pub platform: String,
    /// The reason.
    pub why: String,
}

/// The machine that a kernel finds on a platform.
///
/// L3 CAT that CPUID does not enumerate is not part of it, nor is MPAM on kernels without a driver for it.
///
/// # Errors
/// A platform on which this kernel would offer no resctrl at all.
pub fn machine_of(platform: &Platform, kernel: KernelRelease) -> Result<ResctrlMachine, NoResctrl> {
    let refuse = |why: String| Err(NoResctrl { platform: platform.name.clone(), why });
    let caches = [3, 2].map(|level| divided(platform, level));
    let shown = caches.iter().flatten().filter(|cache| is_shown(cache.control));
    let mpam = caches.iter().flatten().any(|cache| cache.control == Some(WayControl::MpamPortions));
    if mpam && kernel < KernelRelease::V7_3 {
        return refuse(format!("kernels of {} have no driver for MPAM; --kernel newest has one", name(kernel)));
    }
    if shown.count() == 0 {
        return refuse(match caches.iter().flatten().find_map(|cache| Some((cache.level, cache.control?))) {
            Some((level, control)) => format!(
                "its level {level} is divided by {control}, which Linux does not offer there{}",
                if control == WayControl::CatNotEnumerated { "; `waykeeper enter` shows its registers" } else { "" }
            ),
            None if is_arm(platform) => "its caches have no MPAM".into(),
            None => "none of its caches can be divided".into(),
        });
    }
    let [l3, l2] = caches.map(|cache| cache.filter(|cache| is_shown(cache.control)));
    let pseudo_lock = l3.iter().chain(&l2).any(|cache| cache.pseudo_lock);
    let cores = platform.core_ids();
    let possible = cores.last().map_or(0, |last| last + 1);
    Ok(ResctrlMachine {
        kernel,
        architecture: if mpam { QosTechnology::Mpam } else { QosTechnology::Intel },
        cpus: MachineCpus { possible, parsed: possible, online: set(&cores) },
        l3: l3.map(|cache| allocation(platform, &cache)),
        l2: l2.map(|cache| allocation(platform, &cache)),
        mb: bandwidth(platform).filter(|_| !mpam),
        smba: None,
        // The first MPAM drivers have no monitors (drivers/resctrl/mpam_resctrl.c).
        monitoring: monitoring(platform).filter(|_| !mpam),
        pseudo_lock,
    })
}

/// Whether anything of a platform can be shown in a room: resctrl, or registers.
///
/// # Errors
/// Why there is neither.
pub fn has_room(platform: &Platform, kernel: KernelRelease) -> Result<(), NoResctrl> {
    match machine_of(platform, kernel) {
        Err(none) if is_arm(platform) => Err(none),
        _ => Ok(()),
    }
}

fn is_shown(control: Option<WayControl>) -> bool {
    matches!(control, Some(WayControl::Cat | WayControl::MpamPortions))
}

fn set(cores: &[CoreId]) -> CpuSet {
    cores.iter().copied().collect()
}

fn domains(groups: &[Vec<CoreId>]) -> Vec<Domain> {
    groups.iter().enumerate().map(|(id, group)| Domain { id: id as u32, cpus: set(group) }).collect()
}

fn allocation(platform: &Platform, cache: &Divided) -> AllocatableCache {
    let mpam = cache.control == Some(WayControl::MpamPortions);
    AllocatableCache {
        domains: domains(&cache.groups),
        mask_bits: cache.bits,
        min_bits: 1,
        closids: cache.classes,
        // Masters that Linux does not know use PARTID 0: its driver calls all bits shareable.
        shareable: if mpam { u32::MAX >> (32 - cache.bits) } else { 0 },
        sparse: mpam,
        cdp: cache.cdp,
        size_bytes: u32::try_from(cache.size_bytes).unwrap_or(u32::MAX),
        line_bytes: platform.line_bytes.value as u32,
    }
}

/// The outermost cache whose classes' requests can be delayed: Intel's MBA. Other schemes have no form in percent.
fn bandwidth(platform: &Platform) -> Option<BandwidthResource> {
    let controlled = platform.shared_caches.iter().filter_map(|cache| Some((cache, cache.bandwidth_control.as_ref()?)));
    let (cache, control) = controlled.max_by_key(|(cache, _)| cache.level)?;
    if control.scheme.value != BandwidthScheme::Delay {
        return None;
    }
    let groups: Vec<_> = cache.groups().cloned().collect();
    Some(BandwidthResource {
        domains: domains(&groups),
        closids: cache.classes.as_ref().map_or(MBA_CLASSES, |classes| (classes.value as u32).min(MBA_CLASSES)),
        min: MBA_STEP,
        max: 100,
        granularity: MBA_STEP,
        linear: true,
        throttle: Some(Throttle::Max),
    })
}

fn monitoring(platform: &Platform) -> Option<MonitorResource> {
    let cache = platform.shared_caches.iter().find(|cache| cache.level == 3 && cache.monitoring.is_some())?;
    let monitoring = cache.monitoring.as_ref()?;
    let groups: Vec<_> = cache.groups().cloned().collect();
    Some(MonitorResource {
        domains: domains(&groups),
        rmids: monitoring.monitors.value as u32,
        events: MonitorEvent::ALL.to_vec(),
        scale_bytes: monitoring.scale_bytes.value as u32,
        counter_bits: monitoring.counter_bits.value as u32,
        llc_bytes: u32::try_from(cache.size_kib.value * 1024).unwrap_or(u32::MAX),
        configurable: None,
    })
}

/// The generation that a name means: `6.1`, `6.12`, `6.18`, `7.3` or `newest`.
pub fn kernel_named(text: &str) -> Option<KernelRelease> {
    match text {
        "newest" => KernelRelease::ALL.last().copied(),
        _ => KernelRelease::ALL.into_iter().find(|kernel| name(*kernel) == text),
    }
}

/// The name of a generation.
pub fn name(kernel: KernelRelease) -> &'static str {
    match kernel {
        KernelRelease::V6_1 => "6.1",
        KernelRelease::V6_12 => "6.12",
        KernelRelease::V6_18 => "6.18",
        KernelRelease::V7_3 => "7.3",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use waykeeper_platform::find_bundled;

    fn bundled(name: &str) -> Platform {
        Platform::from_toml(find_bundled(name).unwrap().text, name).unwrap()
    }

    #[test]
    fn the_atom_has_two_second_levels_of_eight_segments_and_can_lock() {
        // Two modules of two cores; 1 MiB each; eight segments of 12.5 % (Intel's cookbook).
        let machine = machine_of(&bundled("apollo-lake-e3950"), KernelRelease::V6_1).unwrap();
        let l2 = machine.l2.unwrap();
        assert_eq!((l2.mask_bits, l2.domains.len(), l2.size_bytes), (8, 2, 1 << 20));
        assert_eq!(l2.domains[1].cpus, [2, 3].into_iter().collect());
        assert!(machine.pseudo_lock && machine.l3.is_none() && machine.monitoring.is_none());
    }

    #[test]
    fn what_cpuid_does_not_enumerate_is_not_in_resctrl() {
        let refusal = machine_of(&bundled("i7-1185gre"), KernelRelease::V6_12).unwrap_err().to_string();
        assert!(refusal.contains("CPUID does not enumerate") && refusal.contains("enter"), "{refusal}");
        // This one's L2 is enumerated, its L3 is not.
        let machine = machine_of(&bundled("x7425e"), KernelRelease::V6_12).unwrap();
        assert!(machine.l2.is_some() && machine.l3.is_none());
    }

    #[test]
    fn mpam_needs_a_kernel_that_knows_it() {
        let platform = bundled("cd8180");
        assert!(machine_of(&platform, KernelRelease::V6_12).unwrap_err().why.contains("newest"));
        let machine = machine_of(&platform, KernelRelease::V7_3).unwrap();
        assert_eq!(machine.architecture, QosTechnology::Mpam);
        let l3 = machine.l3.unwrap();
        assert!(l3.sparse && l3.shareable == u32::MAX >> (32 - l3.mask_bits));
    }

    #[test]
    fn arm_without_mpam_has_none() {
        for name in ["agilex5", "rk3588", "zynq7000"] {
            machine_of(&bundled(name), KernelRelease::V7_3).unwrap_err();
        }
    }
}
