//! Which of the simulation's monitors counts for which RMID: there may be more RMIDs than monitors.

use std::collections::BTreeMap;

use crate::backing::MonitorCounts;
use crate::hardware::Association;
use crate::runner::Snapshot;

/// A monitor in use.
#[derive(Debug, Clone, Default)]
struct Slot {
    holder: Association,
    /// What it had counted before its holder got it, by domain.
    base: BTreeMap<u32, MonitorCounts>,
}

/// All monitors, by number. The first is the root group's.
#[derive(Debug)]
pub(crate) struct Slots {
    most: u8,
    slots: Vec<Slot>,
}

impl Slots {
    pub fn new(most: u8) -> Self {
        Self { most: most.max(1), slots: vec![Slot::default()] }
    }

    pub fn find(&self, wanted: Association) -> Option<u8> {
        self.slots.iter().position(|slot| slot.holder == wanted).map(|at| at as u8)
    }

    /// The monitor of an RMID: its own, a new one, or one that nobody uses and that has nothing left in a cache. Without
    /// any the root group's.
    pub fn slot_of(&mut self, wanted: Association, in_use: &[Association], snapshot: &Snapshot) -> u8 {
        if let Some(slot) = self.find(wanted) {
            return slot;
        }
        if self.slots.len() < usize::from(self.most) {
            self.slots.push(Slot { holder: wanted, base: BTreeMap::new() });
            return (self.slots.len() - 1) as u8;
        }
        let counted = |slot: usize| {
            let of = snapshot.monitored.iter().filter(move |((_, number), _)| usize::from(*number) == slot);
            of.map(|((domain, _), counted)| (*domain, *counted)).collect::<BTreeMap<_, _>>()
        };
        let free = (1..self.slots.len()).find(|&slot| {
            !in_use.contains(&self.slots[slot].holder) && counted(slot).values().all(|it| it.occupancy_bytes == 0)
        });
        let Some(free) = free else { return 0 };
        self.slots[free] = Slot { holder: wanted, base: counted(free) };
        free as u8
    }

    /// Whose a monitor is, and what it had counted before.
    pub fn holder(&self, domain: u32, slot: u8) -> Option<(Association, MonitorCounts)> {
        let slot = self.slots.get(usize::from(slot))?;
        Some((slot.holder, slot.base.get(&domain).copied().unwrap_or_default()))
    }

    /// The numbers of all monitors in use.
    pub fn used(&self) -> Vec<u8> {
        (0..self.slots.len() as u8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_monitor_is_reused_only_when_empty_and_counts_from_there() {
        let rmid = |rmid| Association { closid: 0, rmid };
        let mut slots = Slots::new(2);
        let mut snapshot = Snapshot::default();
        assert_eq!(slots.slot_of(rmid(0), &[], &snapshot), 0);
        assert_eq!(slots.slot_of(rmid(7), &[], &snapshot), 1);
        let left = MonitorCounts { occupancy_bytes: 64, total_bytes: 1000, local_bytes: 1000 };
        snapshot.monitored.insert((0, 1), left);
        assert_eq!(slots.slot_of(rmid(8), &[rmid(8)], &snapshot), 0, "monitor 1 still has a line");
        let empty = MonitorCounts { occupancy_bytes: 0, ..left };
        snapshot.monitored.insert((0, 1), empty);
        assert_eq!(slots.slot_of(rmid(8), &[rmid(7)], &snapshot), 0, "monitor 1 is in use");
        assert_eq!(slots.slot_of(rmid(8), &[rmid(8)], &snapshot), 1);
        assert_eq!(slots.holder(0, 1), Some((rmid(8), empty)));
    }
}
