//! The offer of a platform file.

use waykeeper_platform::{BandwidthScheme, CoreId, Param, Platform, WayControl};

use super::{BandwidthOffer, BandwidthUnit, CacheOffer, ControlOffer, DomainOffer, Offer, Shared};
use crate::mask::Mask;

/// Intel's throttle counts in steps of ten percent (Intel SDM, volume 3, Memory Bandwidth Allocation; the kernel's
/// `min_bandwidth` and `bandwidth_gran` are 10 on parts with a linear scale).
const MBA_STEP: u32 = 10;

/// A cache, or several of the same kind.
struct Seen<'p> {
    groups: Vec<Vec<CoreId>>,
    size_kib: &'p Param<u64>,
    ways: &'p Param<u64>,
    way_groups: &'p Param<u64>,
    control: Option<WayControl>,
    classes: Option<u64>,
    cdp: bool,
    pseudo_lock: bool,
}

impl Offer {
    /// What a platform can be asked for. Its file does not know the kernel's numbers of caches: they are counted in the
    /// file's order.
    pub fn of_platform(platform: &Platform) -> Self {
        let mut offer = Self {
            name: platform.name.clone(),
            called: format!("platform `{}`", platform.name),
            cores: platform.core_ids(),
            siblings: Vec::new(),
            caches: [2, 3].into_iter().filter_map(|level| cache(platform, level)).collect(),
            bandwidth: None,
            no_bandwidth: None,
            controls: ControlOffer::of_platform(platform),
            shared: shared(platform),
            unoffered: Vec::new(),
            resctrl: None,
        };
        limits(platform, &mut offer);
        offer
    }
}

fn cache(platform: &Platform, level: u8) -> Option<CacheOffer> {
    let private = platform.cores.iter().filter(|_| level == 2).filter_map(|kind| {
        let cache = kind.l2.as_ref()?;
        Some(Seen {
            groups: kind.ids.iter().map(|core| vec![*core]).collect(),
            size_kib: &cache.size_kib,
            ways: &cache.ways,
            way_groups: cache.way_groups.as_ref()?,
            control: cache.way_control.as_ref().map(|control| control.value),
            classes: cache.classes.as_ref().map(|classes| classes.value),
            cdp: false,
            pseudo_lock: false,
        })
    });
    let shared = platform.shared_caches.iter().filter(|cache| cache.level == level).filter_map(|cache| {
        Some(Seen {
            groups: cache.groups().cloned().collect(),
            size_kib: &cache.size_kib,
            ways: &cache.ways,
            way_groups: cache.way_groups.as_ref()?,
            control: cache.way_control.as_ref().map(|control| control.value),
            classes: cache.classes.as_ref().map(|classes| classes.value),
            cdp: cache.code_data_masks.as_ref().is_some_and(|masks| masks.value),
            pseudo_lock: cache.pseudo_lock.as_ref().is_some_and(|lock| lock.value),
        })
    });
    let seen: Vec<Seen> = private.chain(shared).collect();
    let control = seen.first()?.control;
    let mut domains: Vec<DomainOffer> = seen.iter().flat_map(domains).collect();
    domains.sort_by_key(|domain| domain.cores.first().copied());
    for (id, domain) in domains.iter_mut().enumerate() {
        domain.id = id as u32;
    }
    Some(CacheOffer {
        level,
        control,
        domains,
        min_bits: 1,
        // Intel: by the SDM, contiguous unless CPUID says otherwise. The others' registers have a bit for each group.
        sparse: !matches!(control, None | Some(WayControl::Cat | WayControl::CatNotEnumerated)),
        classes: match seen.iter().filter_map(|cache| cache.classes).min() {
            Some(classes) => Some(classes as u32),
            // A scheme ID has three bits (CLUSTERTHREADSID_EL1).
            None => (control == Some(WayControl::DsuSchemes)).then_some(8),
        },
        cdp: seen.iter().all(|cache| cache.cdp),
        pseudo_lock: seen.iter().any(|cache| cache.pseudo_lock),
    })
}

fn domains<'s>(cache: &'s Seen) -> impl Iterator<Item = DomainOffer> + 's {
    cache.groups.iter().map(|group| {
        let mut cores = group.clone();
        cores.sort_unstable();
        let bits = cache.way_groups.value.min(32) as u32;
        // Masters that Linux does not know use PARTID 0: its driver calls all of a cache shareable, and no group can become
        // exclusive (drivers/resctrl/mpam_resctrl.c).
        let is_mpam = cache.control == Some(WayControl::MpamPortions);
        DomainOffer {
            id: 0,
            cores,
            bits,
            ways: cache.ways.value as u32,
            size_bytes: cache.size_kib.value * 1024,
            io_alloc: Mask(0),
            shareable: if is_mpam { Mask::full(bits) } else { Mask(0) },
            kept: Mask(0),
            filled: Mask(0),
            filled_by: Vec::new(),
        }
    })
}

fn limits(platform: &Platform, offer: &mut Offer) {
    let mut controlled =
        platform.shared_caches.iter().filter_map(|cache| Some((cache, cache.bandwidth_control.as_ref()?)));
    let Some((cache, control)) = controlled.next_back() else { return };
    if control.scheme.value != BandwidthScheme::Delay {
        let scheme = match control.scheme.value {
            BandwidthScheme::Delay => "a delay",
            BandwidthScheme::Stride => "a proportional stride (MPAM)",
            BandwidthScheme::Maximum => "a maximum (MPAM)",
            BandwidthScheme::Minimum => "a minimum (MPAM)",
            BandwidthScheme::Portions => "portions (MPAM)",
        };
        offer.no_bandwidth =
            Some(format!("its bandwidth is regulated by {scheme}, which limits in percent cannot set"));
        return;
    }
    let max = (control.steps.value as u32).max(1);
    offer.bandwidth = Some(BandwidthOffer {
        domains: cache.groups().enumerate().map(|(id, group)| (id as u32, group.clone())).collect(),
        unit: BandwidthUnit::Percent,
        min: MBA_STEP.min(max),
        max,
        step: MBA_STEP.min(max),
        classes: cache.classes.as_ref().map(|classes| classes.value as u32),
        rates: false,
    });
}

fn shared(platform: &Platform) -> Vec<Shared> {
    let caches = platform.shared_caches.iter().map(|cache| Shared::Cache {
        level: cache.level,
        groups: cache.groups().cloned().collect(),
        filter: cache.snoop_filter.is_some(),
    });
    let mut shared: Vec<_> = caches.collect();
    if let Some(outside) = &platform.interconnect {
        shared.extend(outside.snoop_filter.iter().map(|_| Shared::Filter));
        shared.extend(outside.memory_cache.iter().map(|_| Shared::MemoryCache));
    }
    shared
}
