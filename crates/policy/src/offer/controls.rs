//! What a machine can be asked for beside ways and limits of bandwidth.

use serde::Serialize;
use waykeeper_platform::{Architecture, BandwidthScheme, CoreId, Platform, SharedCache, WayControl};

/// What a machine can be asked for beside ways and limits of bandwidth; nothing where it is not known.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ControlOffer {
    /// Its instruction set.
    pub architecture: Option<Architecture>,
    /// Levels of priority on the bus.
    pub priority_levels: Option<u32>,
    /// The bit of CLUSTERACTLR_EL1 that switches off the mode in which evictions bypass the last shared cache.
    pub no_allocate_bit: Option<u32>,
    /// The largest value of a proportional stride, less one.
    pub largest_stride: Option<u32>,
    /// Cores whose clock can be asked for, by kind.
    pub clocks: Vec<ClockOffer>,
    /// MHz of a step of the ring's clock.
    pub ring_step_mhz: Option<u32>,
    /// Page colours of the last shared cache.
    pub colours: Option<ColourOffer>,
    /// Why there are none, where that needs words.
    pub no_colours: Option<String>,
    /// Lockdown of cache ways and TLB entries.
    pub lockdown: Option<LockdownOffer>,
    /// Numbers of the cores in MPIDR_EL1, where known: the core, and its number shifted into place.
    pub mpidr: Vec<(CoreId, u64)>,
}

/// Cores of one kind whose clock can be asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClockOffer {
    /// Their kind.
    pub kind: String,
    /// The cores.
    pub cores: Vec<CoreId>,
    /// Their base clock.
    pub base_mhz: Option<u32>,
    /// Thousandths of a level of performance for 100 MHz.
    pub milli_levels_per_100_mhz: u32,
}

/// Page colours of a cache: pages of different colours never share a set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColourOffer {
    /// Its level.
    pub level: u8,
    /// How many there are, for pages of 4 KiB.
    pub colours: u32,
    /// Size of the cache in bytes.
    pub size_bytes: u64,
    /// Its ways.
    pub ways: u32,
    /// Bytes of a way of the first-level data cache of the lowest core.
    pub first_level_way_bytes: Option<u64>,
}

/// Lockdown of cache ways and TLB entries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LockdownOffer {
    /// Physical address of the cache controller's registers.
    pub registers_at: u64,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// TLB entries of each core that can be locked.
    pub tlb_entries: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
}

/// Bytes of a page for which colours are counted.
pub const PAGE_BYTES: u64 = 4096;

impl ControlOffer {
    /// What a platform file says.
    pub(super) fn of_platform(platform: &Platform) -> Self {
        let last = platform.shared_caches.iter().max_by_key(|cache| cache.level);
        let mode = last.and_then(|cache| cache.no_allocate_mode.as_ref()?.disable_bit.as_ref());
        let strides = |cache: &SharedCache| {
            let control = cache.bandwidth_control.as_ref()?;
            (control.scheme.value == BandwidthScheme::Stride).then_some(control.steps.value as u32)
        };
        let (colours, no_colours) = match last.map(|cache| colours(platform, cache)) {
            Some(Ok(colours)) => (Some(colours), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, Some("no cache there is shared".into())),
        };
        Self {
            architecture: platform.architecture.as_ref().map(|it| it.value),
            priority_levels: last.and_then(|cache| Some(cache.priority_levels.as_ref()?.value as u32)),
            no_allocate_bit: mode.map(|bit| bit.value as u32),
            largest_stride: platform.shared_caches.iter().find_map(strides),
            clocks: clocks(platform),
            ring_step_mhz: platform.interconnect.as_ref().and_then(|it| Some(it.ring_step_mhz.as_ref()?.value as u32)),
            colours,
            no_colours,
            lockdown: lockdown(platform),
            mpidr: mpidr(platform),
        }
    }
}

fn clocks(platform: &Platform) -> Vec<ClockOffer> {
    let of = |kind: &waykeeper_platform::CoreKind| {
        let levels = kind.performance_per_100_mhz.as_ref()?.value;
        Some(ClockOffer {
            kind: kind.kind.clone(),
            cores: kind.ids.clone(),
            base_mhz: kind.clock_ghz.as_ref().map(|clock| (clock.value * 1000.0).round() as u32),
            milli_levels_per_100_mhz: (levels * 1000.0).round() as u32,
        })
    };
    platform.cores.iter().filter_map(of).collect()
}

/// The set of a line is chosen by the address bits above the line; those above the page are the colour. A hash takes bits
/// from everywhere, so that the bits above the page tell nothing.
fn colours(platform: &Platform, cache: &SharedCache) -> Result<ColourOffer, String> {
    let level = cache.level;
    if let Some(index) = &cache.index
        && (index.hashed.value || index.slices.as_ref().is_some_and(|slices| slices.value > 1))
    {
        return Err(format!(
            "the L{level} chooses a line's place by a hash of its whole address, so that no bits of a page's address make a colour"
        ));
    }
    let way_bytes = cache.size_kib.value * 1024 / cache.ways.value.max(1);
    let colours = way_bytes / PAGE_BYTES;
    if colours < 2 || !colours.is_power_of_two() || colours > 65_536 {
        return Err(format!("a way of the L{level} has {way_bytes} bytes, which are no two pages or more"));
    }
    let first =
        platform.core_ids().first().and_then(|core| platform.core_kind(*core)).and_then(|kind| kind.l1d.as_ref());
    Ok(ColourOffer {
        level,
        colours: colours as u32,
        size_bytes: cache.size_kib.value * 1024,
        ways: cache.ways.value as u32,
        first_level_way_bytes: first.map(|cache| cache.size_kib.value * 1024 / cache.ways.value.max(1)),
    })
}

fn lockdown(platform: &Platform) -> Option<LockdownOffer> {
    let is_lockdown =
        |cache: &&SharedCache| cache.way_control.as_ref().is_some_and(|it| it.value == WayControl::Lockdown);
    let cache = platform.shared_caches.iter().find(is_lockdown)?;
    let kind = platform.cores.first()?;
    let entries = kind.tlbs.iter().filter_map(|tlb| Some(tlb.lockable_entries.as_ref()?.value)).max();
    Some(LockdownOffer {
        registers_at: cache.registers_at.as_ref()?.value,
        line_bytes: platform.line_bytes.value as u32,
        tlb_entries: entries.unwrap_or(0) as u32,
        page_bytes: kind.translation.as_ref().map_or(PAGE_BYTES as u32, |it| it.page_kib.value as u32 * 1024),
    })
}

fn mpidr(platform: &Platform) -> Vec<(CoreId, u64)> {
    let of = |kind: &waykeeper_platform::CoreKind| {
        let shift = kind.mpidr_shift.as_ref().map(|shift| shift.value.min(32));
        kind.ids.iter().filter_map(move |core| Some((*core, u64::from(*core) << shift?))).collect::<Vec<_>>()
    };
    let mut found: Vec<_> = platform.cores.iter().flat_map(of).collect();
    found.sort_unstable();
    found
}
