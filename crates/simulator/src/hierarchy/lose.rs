//! Lines that caches must give up because something further out needs their place.

use crate::bits::bits;
use crate::cache::{CODE, Evicted, Flags};
use crate::counters::Loss;
use crate::filter::Displaced;
use crate::hierarchy::Hierarchy;
use crate::station::Unit;
use crate::tags::Line;

impl Hierarchy {
    /// A station's filter needs the entry of a line: everything further in loses it.
    pub(super) fn lose_entry(&mut self, station: usize, out: Displaced, now: u64) {
        let at = &mut self.stations[station];
        if let Some(mode) = &mut at.mode {
            mode.evicted(now);
        }
        let loss = match at.cache.is_some() {
            true => {
                self.shared_counts.cluster_filter_evictions += 1;
                Loss::ClusterFilter
            }
            false => {
                self.shared_counts.interconnect_filter_evictions += 1;
                Loss::InterconnectFilter
            }
        };
        let mut flags = 0;
        for unit in bits(out.owners) {
            flags |= self.take_out(self.stations[station].units[unit], out.line, loss, false);
        }
        let core = self.first_core(station, out.owners);
        self.arrive(station, core, Evicted { line: out.line, flags }, 0, now);
    }

    /// The first core of the first of some units: its share of the station's cache takes what they lose.
    fn first_core(&self, station: usize, units: u32) -> usize {
        match self.stations[station].units[units.trailing_zeros() as usize] {
            Unit::Core(core) => core,
            Unit::Station(inner) => self.stations[inner].cores.trailing_zeros() as usize,
        }
    }

    /// An inclusive cache has lost a line: everything further in loses it too. Gives the flags of the copies there.
    pub(super) fn lose_inside(&mut self, station: usize, out: Evicted) -> Flags {
        let units = self.give_up_entry(station, out.line, out.flags & CODE != 0);
        let mut flags = 0;
        for unit in bits(units) {
            let unit = self.stations[station].units[unit];
            flags |= self.take_out(unit, out.line, Loss::Inclusion, out.flags & CODE != 0);
        }
        flags
    }

    /// Takes a station's entry of a line away; gives the units whose caches must be searched for it.
    fn give_up_entry(&mut self, station: usize, line: Line, code: bool) -> u32 {
        let owners = self.stations[station].filter.as_mut().map(|filter| filter.entries.release(line).unwrap_or(0));
        match owners {
            // Filters do not know of instruction copies.
            Some(owners) if !code => owners,
            _ => self.may_hold(station, line),
        }
    }

    /// Takes a line out of all snooped caches of a unit, and out of instruction caches if `code` is true; gives the
    /// flags of its copies.
    pub(super) fn take_out(&mut self, unit: Unit, line: Line, loss: Loss, code: bool) -> Flags {
        let inner = match unit {
            Unit::Core(core) => return self.take_out_of_core(core, line, loss, code),
            Unit::Station(inner) => inner,
        };
        let removed = self.stations[inner].cache.as_mut().and_then(|shared| shared.cache.remove(line));
        let mut flags = removed.unwrap_or(0);
        for unit in bits(self.give_up_entry(inner, line, code)) {
            flags |= self.take_out(self.stations[inner].units[unit], line, loss, code);
        }
        flags
    }

    fn take_out_of_core(&mut self, core: usize, line: Line, loss: Loss, code: bool) -> Flags {
        let private = &mut self.cores[core];
        if code && private.l1i.remove(line).is_some() {
            self.disturbed |= 1 << core;
        }
        let Some(had) = private.invalidate(line) else { return 0 };
        self.counts[core].lost(loss);
        self.disturbed |= 1 << core;
        had | self.labels[core]
    }
}
