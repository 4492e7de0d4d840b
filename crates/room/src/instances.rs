//! The caches of a platform that can be divided, instance by instance, with the kernel's numbers.

use waykeeper_platform::{Architecture, CoreId, Platform, WayControl};

/// The caches of one level that can be divided. The kernel's id of an instance is its place in `groups`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Divided {
    pub level: u8,
    pub control: Option<WayControl>,
    /// The cores of each instance, ascending, by their first core.
    pub groups: Vec<Vec<CoreId>>,
    /// Bits of a mask.
    pub bits: u32,
    pub size_bytes: u64,
    pub classes: u32,
    pub cdp: bool,
    pub pseudo_lock: bool,
}

/// The least that CAT ever had, for platforms that do not say how many classes they have.
const FEW_CLASSES: u64 = 4;

/// The caches of a level that can be divided, if there are any.
pub(crate) fn divided(platform: &Platform, level: u8) -> Option<Divided> {
    let private = platform.cores.iter().filter(|_| level == 2).filter_map(|kind| {
        let cache = kind.l2.as_ref()?;
        Some(Divided {
            level,
            control: cache.way_control.as_ref().map(|control| control.value),
            groups: kind.ids.iter().map(|core| vec![*core]).collect(),
            bits: cache.way_groups.as_ref()?.value.min(32) as u32,
            size_bytes: cache.size_kib.value * 1024,
            classes: cache.classes.as_ref().map_or(FEW_CLASSES, |classes| classes.value) as u32,
            cdp: false,
            pseudo_lock: false,
        })
    });
    let shared = platform.shared_caches.iter().filter(|cache| cache.level == level).filter_map(|cache| {
        Some(Divided {
            level,
            control: cache.way_control.as_ref().map(|control| control.value),
            groups: cache.groups().cloned().collect(),
            bits: cache.way_groups.as_ref()?.value.min(32) as u32,
            size_bytes: cache.size_kib.value * 1024,
            classes: cache.classes.as_ref().map_or(FEW_CLASSES, |classes| classes.value) as u32,
            cdp: cache.code_data_masks.as_ref().is_some_and(|masks| masks.value),
            pseudo_lock: cache.pseudo_lock.as_ref().is_some_and(|lock| lock.value),
        })
    });
    // The kernel has one mask width and one number of classes a level: those that hold everywhere.
    let mut all = private.chain(shared).reduce(|mut all, other| {
        all.groups.extend(other.groups);
        all.bits = all.bits.min(other.bits);
        all.classes = all.classes.min(other.classes);
        all.size_bytes = all.size_bytes.max(other.size_bytes);
        all.cdp &= other.cdp;
        all.pseudo_lock |= other.pseudo_lock;
        all
    })?;
    all.groups.iter_mut().for_each(|group| group.sort_unstable());
    all.groups.sort_by_key(|group| group.first().copied());
    Some(all)
}

/// Whether a platform is an Arm machine. Where its file does not say: Arm's cores are called so.
pub(crate) fn is_arm(platform: &Platform) -> bool {
    match &platform.architecture {
        Some(architecture) => architecture.value != Architecture::X86,
        None => platform.cores.iter().any(|kind| kind.kind.starts_with("Cortex") || kind.kind.starts_with("Neoverse")),
    }
}
