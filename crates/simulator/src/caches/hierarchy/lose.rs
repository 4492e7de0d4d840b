//! Lines that caches must give up because something further out needs their place.

use crate::bits::bits;
use crate::caches::cache::Evicted;
use crate::caches::flags::{Flags, WATCHED, class_of, merged};
use crate::caches::hierarchy::Hierarchy;
use crate::caches::hierarchy::transaction::Transaction;
use crate::caches::node::NodeChild;
use crate::caches::snoop_filter::Displaced;
use crate::line::Line;
use crate::observe::losses::{Cause, Lost};

impl Hierarchy {
    /// The same as [`Hierarchy::lose_entry`], where that happens seldom.
    #[cold]
    #[inline(never)]
    pub(super) fn lose_entry_seldom(&mut self, by: &mut Transaction<'_>, node: usize, out: Displaced) {
        self.lose_entry(by, node, out);
    }

    /// A node's filter needs the entry of a line: everything further in loses it.
    #[inline(always)]
    pub(super) fn lose_entry(&mut self, by: &mut Transaction<'_>, node: usize, out: Displaced) {
        let at = &mut self.nodes[node];
        let cause = match at.cache.is_some() {
            true => {
                if let Some(mode) = &mut at.mode {
                    mode.evicted(by.now);
                }
                self.shared_counts.cluster_filter_evictions += 1;
                Cause::ClusterFilter
            }
            false => {
                self.shared_counts.interconnect_filter_evictions += 1;
                Cause::InterconnectFilter
            }
        };
        let first = self.nodes[node].units[out.owners.trailing_zeros() as usize];
        let (flags, core) = match first {
            NodeChild::Core(core) if out.owners & (out.owners - 1) == 0 => {
                (self.take_out_of_core(by, core, out.line, cause, false), core)
            }
            _ => {
                let flags = self.take_out_of_units(by, node, out.owners, out.line, cause, false);
                (flags, self.first_core(first))
            }
        };
        if let Some(lost) = &mut self.back_invalidated
            && class_of(flags) == lost.class
        {
            lost.lines[self.nodes[node].kind_of_filter()].push(out.line);
        }
        self.arrive(by, node, core, Evicted { line: out.line, flags }, 0);
    }

    /// The first core of a unit: its share of the node's cache takes what the unit loses.
    fn first_core(&self, unit: NodeChild) -> usize {
        match unit {
            NodeChild::Core(core) => core,
            NodeChild::Node(inner) => self.nodes[inner].cores.trailing_zeros() as usize,
        }
    }

    /// An inclusive cache has lost a line: everything further in loses it too, instruction copies not left out. Returns the
    /// flags of the copies there.
    pub(super) fn lose_inside(&mut self, by: &mut Transaction<'_>, node: usize, out: Evicted) -> Flags {
        let units = self.give_up_entry(node, out.line, true);
        self.take_out_of_units(by, node, units, out.line, Cause::Inclusion, true)
    }

    /// Removes a node's entry of a line; returns the units whose caches must be searched for it.
    fn give_up_entry(&mut self, node: usize, line: Line, code: bool) -> u32 {
        let owners = self.nodes[node].filter.as_mut().map(|filter| filter.entries.release(line).unwrap_or(0));
        match owners {
            // Filters do not know of instruction copies.
            Some(owners) if !code => owners,
            _ => self.may_hold(node, line),
        }
    }

    #[cold]
    #[inline(never)]
    fn take_out_of_units(
        &mut self,
        by: &mut Transaction<'_>,
        node: usize,
        units: u32,
        line: Line,
        cause: Cause,
        code: bool,
    ) -> Flags {
        let mut flags = 0;
        for unit in bits(units) {
            flags = merged(flags, self.take_out(by, self.nodes[node].units[unit], line, cause, code));
        }
        flags
    }

    /// Takes a line out of all snooped caches of a unit, and out of instruction caches if `code` is true or where an
    /// inclusive cache loses it; returns the flags of its copies.
    pub(super) fn take_out(
        &mut self,
        by: &mut Transaction<'_>,
        unit: NodeChild,
        line: Line,
        cause: Cause,
        code: bool,
    ) -> Flags {
        match unit {
            NodeChild::Core(core) => self.take_out_of_core(by, core, line, cause, code),
            NodeChild::Node(inner) => self.take_out_of_node(by, inner, line, cause, code),
        }
    }

    fn take_out_of_node(
        &mut self,
        by: &mut Transaction<'_>,
        node: usize,
        line: Line,
        cause: Cause,
        mut code: bool,
    ) -> Flags {
        let mut flags = 0;
        if let Some(shared) = &mut self.nodes[node].cache
            && let Some(had) = shared.remove(line)
        {
            flags = had;
            let level = shared.level;
            code |= shared.is_inclusive();
            if had & WATCHED != 0 {
                self.lost(by, line, cause, level);
            }
        }
        let units = self.give_up_entry(node, line, code);
        merged(flags, self.take_out_of_units(by, node, units, line, cause, code))
    }

    #[inline(always)]
    fn take_out_of_core(
        &mut self,
        by: &mut Transaction<'_>,
        core: usize,
        line: Line,
        cause: Cause,
        code: bool,
    ) -> Flags {
        if code && self.cores[core].l1i.remove(line).is_some() {
            by.effects.disturb(core);
        }
        let Some(had) = self.cores[core].invalidate(line) else { return 0 };
        self.counts[core].lost(cause);
        by.effects.disturb(core);
        if self.losses.watches(core) {
            self.lost(by, line, cause, 0);
        }
        had | self.labels[core]
    }

    /// A line of a watched core went from its private caches (level 0) or a shared one.
    #[cold]
    #[inline(never)]
    pub(super) fn lost(&mut self, by: &mut Transaction<'_>, line: Line, cause: Cause, level: u8) {
        self.losses.add(Lost { line, cause, level, by: by.core, at: by.now.get() });
    }
}
