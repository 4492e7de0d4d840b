//! Lines that several caches hold: who they are, and what a reader or a writer does to them.

use waykeeper_platform::Allocation;

use crate::bits::bits;
use crate::caches::cache::Evicted;
use crate::caches::flags::{DIRTY, Flags, SHARED, merged};
use crate::caches::hierarchy::Hierarchy;
use crate::caches::hierarchy::transaction::Transaction;
use crate::caches::node::NodeChild;
use crate::caches::snoop_filter::Known;
use crate::line::Line;
use crate::observe::losses::Cause;

impl Hierarchy {
    /// The units of a node without a filter that hold a line, but for those of `except`.
    #[inline(never)]
    pub(super) fn holders(&self, node: usize, line: Line, except: u32) -> u32 {
        let at = &self.nodes[node];
        let units = &at.units;
        let touched = self.sharers.as_ref().map_or(u32::MAX, |touched| touched.cores(line)) & at.cores;
        if except != 0 && (units.len() == 1 || touched.is_power_of_two()) {
            // Only one core ever asked for lines near this one, and it is in the excepted unit.
            return 0;
        }
        let holds = |at: &usize| self.holds(units[*at], line);
        bits(self.may_hold(node, line) & !except).filter(holds).fold(0, |mask, at| mask | 1 << at)
    }

    /// The units of a node that may hold a line.
    pub(super) fn may_hold(&self, node: usize, line: Line) -> u32 {
        let may = self.sharers.as_ref().map_or(u32::MAX, |touched| touched.cores(line));
        let touches = |unit: &NodeChild| match unit {
            NodeChild::Core(core) => may >> core & 1 == 1,
            NodeChild::Node(inner) => may & self.nodes[*inner].cores != 0,
        };
        let units = self.nodes[node].units.iter().enumerate();
        units.filter(|(_, unit)| touches(unit)).fold(0, |mask, (at, _)| mask | 1 << at)
    }

    /// Whether a data or unified cache of a unit holds a line.
    fn holds(&self, unit: NodeChild, line: Line) -> bool {
        match unit {
            NodeChild::Core(core) => self.cores[core].holds(line),
            NodeChild::Node(inner) => {
                let cache = self.nodes[inner].cache.as_ref();
                cache.is_some_and(|shared| shared.cache.find(line).is_some()) || self.is_inside(inner, line)
            }
        }
    }

    /// Whether a cache further in than a node's own holds a line.
    pub(super) fn is_inside(&self, node: usize, line: Line) -> bool {
        self.units_with(node, line) != 0
    }

    /// The units of a node that hold a line.
    fn units_with(&self, node: usize, line: Line) -> u32 {
        match &self.nodes[node].filter {
            None => self.holders(node, line, 0),
            Some(filter) => match filter.entries.look(line) {
                Known::Held(owners) => owners,
                Known::InFlight | Known::Nothing | Known::NoRoom => 0,
            },
        }
    }

    /// A line that `units` of a node hold becomes shared: its changes go to the node's cache, which takes a copy
    /// if it is not one for evictions only, or past it.
    #[inline(never)]
    pub(super) fn share(&mut self, by: &mut Transaction<'_>, node: usize, units: u32, line: Line) {
        let core = by.core;
        let had = bits(units).fold(0, |had, unit| had | self.share_unit(by, self.nodes[node].units[unit], line));
        let flags = SHARED | had & DIRTY;
        let out = Evicted { line, flags: flags | self.labels[core] };
        let at = &mut self.nodes[node];
        let Some(shared) = &mut at.cache else { return self.write_back(by, self.nodes[node].outer, core, out) };
        match shared.cache.find(line) {
            Some(place) => shared.cache.mark(place, flags),
            None if shared.allocation == Allocation::Victim => {
                self.write_back(by, self.nodes[node].outer, core, out);
            }
            None => self.allocate(by, node, core, out),
        }
    }

    /// Marks every copy in a unit as shared and clean; returns the flags that they had.
    fn share_unit(&mut self, by: &mut Transaction<'_>, unit: NodeChild, line: Line) -> Flags {
        let inner = match unit {
            NodeChild::Core(core) => {
                by.effects.disturb(core);
                return self.cores[core].share(line);
            }
            NodeChild::Node(inner) => inner,
        };
        let mut had = 0;
        if let Some(shared) = &mut self.nodes[inner].cache
            && let Some(place) = shared.cache.find(line)
        {
            had = shared.cache.flags(place);
            shared.cache.clear(place, DIRTY);
            shared.cache.mark(place, SHARED);
        }
        bits(self.units_with(inner, line))
            .fold(had, |had, unit| had | self.share_unit(by, self.nodes[inner].units[unit], line))
    }

    /// A core changes a line that may be shared: all copies but those on its own way outward go.
    #[inline(never)]
    pub(super) fn own(&mut self, by: &mut Transaction<'_>, line: Line) {
        self.own_outside(by, line, 0);
        self.cores[by.core].unshare(line);
    }

    /// A line is changed further in than a stop of a core: what there is of it from there on, but on the way of the core,
    /// goes.
    pub(super) fn own_outside(&mut self, by: &mut Transaction<'_>, line: Line, from: usize) {
        for at in from..self.routes[by.core].stops().len() {
            let stop = self.routes[by.core].stops()[at];
            let node = stop.node();
            for unit in bits(self.units_with(node, line) & !stop.unit) {
                self.take_out(by, self.nodes[node].units[unit], line, Cause::Write, false);
                if let Some(filter) = &mut self.nodes[node].filter {
                    filter.entries.drop_owner(line, 1 << unit);
                }
            }
            if let Some(shared) = &mut self.nodes[node].cache {
                match shared.takes_inward() {
                    false => drop(shared.remove(line)),
                    true => {
                        if let Some(place) = shared.cache.find(line) {
                            shared.cache.clear(place, SHARED);
                        }
                    }
                }
            }
        }
    }

    /// A core is about to write a line that its own caches do not have: copies in other units of its nodes go, and
    /// what they changed goes outward.
    pub(super) fn take_away_elsewhere(&mut self, by: &mut Transaction<'_>, line: Line) {
        for at in 0..self.routes[by.core].stops().len() {
            let stop = self.routes[by.core].stops()[at];
            let node = stop.node();
            let units = self.units_with(node, line) & !stop.unit;
            if units == 0 {
                continue;
            }
            let mut flags = 0;
            for unit in bits(units) {
                flags = merged(flags, self.take_out(by, self.nodes[node].units[unit], line, Cause::Write, false));
                if let Some(filter) = &mut self.nodes[node].filter {
                    filter.entries.drop_owner(line, 1 << unit);
                }
            }
            let left = self.units_with(node, line);
            // Whether the node's cache may have a copy too is in the flags.
            let core = by.core;
            self.arrive_seldom(by, node, core, Evicted { line, flags }, left);
        }
    }
}
