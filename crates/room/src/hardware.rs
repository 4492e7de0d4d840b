//! The registers: what resctrl and whoever writes MSRs share, and what the simulation obeys.
//!
//! resctrl keeps its own copy of the masks, as the kernel does: a register that somebody else wrote reads as written,
//! `schemata` shows what resctrl wrote, and resctrl's next change of that value wins.

use std::collections::BTreeMap;

use waykeeper_platform::{CoreId, Platform};

use crate::backing::ControlChange;
use crate::instances::{Divided, divided};

/// The class and monitor of a core: IA32_PQR_ASSOC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Association {
    pub closid: u32,
    pub rmid: u32,
}

/// The mask registers of a level.
#[derive(Debug, Clone)]
pub(crate) struct Masks {
    pub cache: Divided,
    /// Masks have no effect.
    inert: bool,
    /// Class n has its data mask at 2 n, its code mask at 2 n + 1.
    pub cdp: bool,
    /// By domain and register.
    pub values: Vec<Vec<u32>>,
}

/// The throttle registers: percent that is left, by domain and register.
#[derive(Debug, Clone)]
pub(crate) struct Throttles {
    pub groups: Vec<Vec<CoreId>>,
    pub values: Vec<Vec<u32>>,
}

/// All registers.
#[derive(Debug, Clone)]
pub(crate) struct Hardware {
    pub masks: BTreeMap<u8, Masks>,
    pub throttles: Option<Throttles>,
    pub associations: BTreeMap<CoreId, Association>,
    /// What the simulation has to change.
    pub changes: Vec<Change>,
}

/// A change of registers, before monitors have numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Control(ControlChange),
    Associate(CoreId, Association),
}

impl Hardware {
    /// The registers after reset: all masks full, nothing throttled, everyone in class 0.
    pub fn new(platform: &Platform, throttles: Option<Throttles>) -> Self {
        let masks = [2, 3].into_iter().filter_map(|level| {
            let cache = divided(platform, level)?;
            let full = u32::MAX >> (32 - cache.bits);
            let values = vec![vec![full; cache.classes as usize]; cache.groups.len()];
            let inert = platform.flaws.inert_masks.contains(&level);
            Some((level, Masks { cache, inert, cdp: false, values }))
        });
        Self {
            masks: masks.collect(),
            throttles,
            associations: platform.core_ids().into_iter().map(|core| (core, Association::default())).collect(),
            changes: Vec::new(),
        }
    }

    /// Writes a mask register.
    pub fn set_mask(&mut self, level: u8, domain: usize, register: usize, value: u32) {
        let Some(masks) = self.masks.get_mut(&level) else { return };
        let Some(held) = masks.values.get_mut(domain).and_then(|values| values.get_mut(register)) else { return };
        if std::mem::replace(held, value) != value {
            let class = if masks.cdp { register / 2 } else { register };
            let change = masks.change(level, domain, class);
            self.changes.extend(change);
        }
    }

    /// Turns separate masks for code and data on or off.
    pub fn set_cdp(&mut self, level: u8, on: bool) {
        let Some(masks) = self.masks.get_mut(&level) else { return };
        if std::mem::replace(&mut masks.cdp, on) == on {
            return;
        }
        let classes = masks.cache.classes as usize / if on { 2 } else { 1 };
        for domain in 0..masks.values.len() {
            self.changes.extend((0..classes).filter_map(|class| masks.change(level, domain, class)));
        }
    }

    /// Writes a throttle register, as percent that is left.
    pub fn set_throttle(&mut self, domain: usize, register: usize, percent: u32) {
        let Some(throttles) = &mut self.throttles else { return };
        let core = throttles.groups.get(domain).and_then(|group| group.first().copied());
        let held = throttles.values.get_mut(domain).and_then(|values| values.get_mut(register));
        let (Some(core), Some(held)) = (core, held) else { return };
        if std::mem::replace(held, percent) != percent {
            let control = ControlChange::Bandwidth { core, class: register as u32, percent };
            self.changes.push(Change::Control(control));
        }
    }

    /// Writes a core's class and monitor.
    pub fn associate(&mut self, core: CoreId, association: Association) {
        let Some(held) = self.associations.get_mut(&core) else { return };
        if std::mem::replace(held, association) != association {
            self.changes.push(Change::Associate(core, association));
        }
    }
}

impl Masks {
    fn change(&self, level: u8, domain: usize, class: usize) -> Option<Change> {
        if self.inert {
            return None;
        }
        let values = &self.values[domain];
        let (data, code) = match self.cdp {
            true => (*values.get(2 * class)?, *values.get(2 * class + 1)?),
            false => (*values.get(class)?, *values.get(class)?),
        };
        let core = *self.cache.groups[domain].first()?;
        Some(Change::Control(ControlChange::Ways { level, core, class: class as u32, data, code }))
    }

    /// The domain of a core.
    pub fn domain(&self, core: CoreId) -> Option<usize> {
        self.cache.groups.iter().position(|group| group.contains(&core))
    }
}
