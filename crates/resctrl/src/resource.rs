//! Resources that can be allocated, their domains' settings, and the lines of `schemata` that they get.

use crate::group::GroupId;
use crate::{AllocatableCache, BandwidthResource, CpuSet, Domain, MountOptions, ResctrlMachine};

/// Bandwidth in MiB/s that no one is held to.
const UNLIMITED_MBPS: u32 = u32::MAX;

/// A resource that can be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceId {
    /// The level 3 cache.
    L3,
    /// The level 2 caches.
    L2,
    /// Memory bandwidth.
    Mb,
    /// Bandwidth of slow memory.
    Smba,
}

impl ResourceId {
    /// Its name in `schemata`, without CODE and DATA.
    pub fn name(self) -> &'static str {
        match self {
            ResourceId::L3 => "L3",
            ResourceId::L2 => "L2",
            ResourceId::Mb => "MB",
            ResourceId::Smba => "SMBA",
        }
    }

    /// Whether its settings are masks of a cache.
    pub fn is_cache(self) -> bool {
        matches!(self, ResourceId::L3 | ResourceId::L2)
    }
}

/// Which accesses a setting is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConfType {
    /// All.
    Both,
    /// Instruction fetches, with CDP.
    Code,
    /// Everything else, with CDP.
    Data,
}

/// What a resource's settings look like.
#[derive(Clone, Debug)]
pub(crate) enum Scale {
    Mask(AllocatableCache),
    Bandwidth(BandwidthResource),
}

/// A resource of the mounted file system.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub id: ResourceId,
    pub scale: Scale,
    /// Whether code and data are apart.
    pub cdp: bool,
    pub domains: Vec<DomainState>,
}

/// A domain's settings.
#[derive(Clone, Debug)]
pub(crate) struct DomainState {
    pub id: u32,
    pub cpus: CpuSet,
    /// What the hardware's registers hold: by CLOSID, with CDP data at 2 n and code at 2 n + 1.
    controls: Vec<u32>,
    /// Targets of the software controller in MiB/s, by CLOSID.
    pub mbps: Vec<u32>,
    /// Settings that were parsed and wait for the rest of the write, by [`ConfType`].
    pub staged: [Option<u32>; 3],
    /// The group with a pseudo-locked region here, or one on the way to it.
    pub locked_by: Option<GroupId>,
}

impl DomainState {
    fn new(domain: &Domain, closids: u32, default: u32) -> Self {
        DomainState {
            id: domain.id,
            cpus: domain.cpus.clone(),
            controls: vec![default; closids as usize],
            mbps: vec![UNLIMITED_MBPS; closids as usize],
            staged: [None; 3],
            locked_by: None,
        }
    }

    /// What the registers hold.
    pub fn controls(&self) -> &[u32] {
        &self.controls
    }

    pub fn control(&self, closid: u32, kind: ConfType) -> u32 {
        self.controls[slot(closid, kind)]
    }

    /// Makes the staged settings of a class those of the hardware.
    fn apply_staged(&mut self, closid: u32) {
        for kind in [ConfType::Both, ConfType::Code, ConfType::Data] {
            if let Some(value) = self.staged[kind as usize].take() {
                self.controls[slot(closid, kind)] = value;
            }
        }
    }
}

fn slot(closid: u32, kind: ConfType) -> usize {
    match kind {
        ConfType::Both => closid as usize,
        ConfType::Data => closid as usize * 2,
        ConfType::Code => closid as usize * 2 + 1,
    }
}

impl Resource {
    /// What a machine has, in the kernel's order.
    pub fn all(machine: &ResctrlMachine, options: MountOptions) -> Vec<Resource> {
        let cache = |id, cache: &Option<AllocatableCache>, cdp| {
            cache.as_ref().map(|cache| {
                let default = full_mask(cache.mask_bits);
                let domains = cache.domains.iter().map(|domain| DomainState::new(domain, cache.closids, default));
                Resource { id, domains: domains.collect(), scale: Scale::Mask(cache.clone()), cdp }
            })
        };
        let bandwidth = |id, bandwidth: &Option<BandwidthResource>| {
            bandwidth.as_ref().map(|bw| {
                let domains = bw.domains.iter().map(|domain| DomainState::new(domain, bw.closids, bw.max));
                Resource { id, domains: domains.collect(), scale: Scale::Bandwidth(bw.clone()), cdp: false }
            })
        };
        let all = [
            cache(ResourceId::L3, &machine.l3, options.cdp),
            cache(ResourceId::L2, &machine.l2, options.cdpl2),
            bandwidth(ResourceId::Mb, &machine.mb),
            bandwidth(ResourceId::Smba, &machine.smba).filter(|_| machine.kernel.has_slow_memory()),
        ];
        all.into_iter().flatten().collect()
    }

    /// The cache behind it, if there is one.
    pub fn cache(&self) -> Option<&AllocatableCache> {
        match &self.scale {
            Scale::Mask(cache) => Some(cache),
            Scale::Bandwidth(_) => None,
        }
    }

    /// How many classes can be distinguished.
    pub fn closids(&self) -> u32 {
        let closids = match &self.scale {
            Scale::Mask(cache) => cache.closids,
            Scale::Bandwidth(bandwidth) => bandwidth.closids,
        };
        if self.cdp { closids / 2 } else { closids }
    }

    pub fn clear_staged(&mut self) {
        self.domains.iter_mut().for_each(|domain| domain.staged = [None; 3]);
    }

    /// Makes the staged settings of a class those of the hardware.
    pub fn apply_staged(&mut self, closid: u32) {
        self.domains.iter_mut().for_each(|domain| domain.apply_staged(closid));
    }

    /// The widest value in characters, which the older kernels pad all values to.
    fn value_width(&self) -> usize {
        match &self.scale {
            // Two bits at least: a Haswell server, whose cache the kernel finds by a write. It notes no width then.
            Scale::Mask(cache) if cache.min_bits > 1 => 0,
            Scale::Mask(cache) => cache.mask_bits.div_ceil(4) as usize,
            // Percent; AMD's units are recognised by having no least value.
            Scale::Bandwidth(bandwidth) => 3 + usize::from(bandwidth.min == 0),
        }
    }
}

/// A line of `schemata`.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    /// Index of the resource.
    pub resource: usize,
    pub kind: ConfType,
    pub name: String,
    /// How many classes it has settings for.
    pub closids: u32,
}

impl Schema {
    /// The lines in the order in which they are printed: each new one comes first.
    pub fn all(resources: &[Resource]) -> Vec<Schema> {
        let mut schemas = Vec::new();
        for (index, resource) in resources.iter().enumerate() {
            let kinds: &[ConfType] = if resource.cdp { &[ConfType::Code, ConfType::Data] } else { &[ConfType::Both] };
            for &kind in kinds {
                let suffix = match kind {
                    ConfType::Both => "",
                    ConfType::Code => "CODE",
                    ConfType::Data => "DATA",
                };
                let name = format!("{}{suffix}", resource.id.name());
                schemas.insert(0, Schema { resource: index, kind, name, closids: resource.closids() });
            }
        }
        schemas
    }
}

/// The width of the names: that of the longest, where a cache that could have CDP counts with its suffix.
pub(crate) fn name_width(resources: &[Resource]) -> usize {
    let width = |resource: &Resource| {
        let suffix = if resource.cache().is_some_and(|cache| cache.cdp) { "CODE".len() } else { 0 };
        resource.id.name().len() + suffix
    };
    resources.iter().map(width).max().unwrap_or(0)
}

/// The width of values on kernels that pad them.
pub(crate) fn value_width(resources: &[Resource]) -> usize {
    resources.iter().map(Resource::value_width).max().unwrap_or(0)
}

/// A mask with all bits.
pub(crate) fn full_mask(bits: u32) -> u32 {
    u32::MAX.checked_shr(32 - bits).unwrap_or(0)
}
