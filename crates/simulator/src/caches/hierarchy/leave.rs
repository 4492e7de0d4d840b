//! Lines on their way out.

use waykeeper_platform::Allocation;

use crate::caches::allocation::rule::{Outward, on_way_out};
use crate::caches::cache::Evicted;
use crate::caches::flags::{DIRTY, Flags, HELD, LABEL, SHARED, WATCHED, class_of, merged};
use crate::caches::hierarchy::Hierarchy;
use crate::caches::hierarchy::transaction::Transaction;
use crate::caches::node::{InterconnectNode, Stop};
use crate::caches::shared_level::SharedLevel;
use crate::observe::losses::Cause;

/// What a line carries through caches on its way out.
const CARRIED: Flags = WATCHED | LABEL;

impl Hierarchy {
    /// A line leaves a core's caches by replacement, or did not get into them for this reason.
    #[inline]
    pub(super) fn leave_core(&mut self, by: &mut Transaction<'_>, out: Evicted, cause: Cause) {
        if out.line >= self.on_chip_from {
            // The RAM is next, and takes a change without anyone's waiting for it.
            return;
        }
        let core = by.core;
        let out = Evicted { flags: out.flags | self.labels[core], ..out };
        let stop = self.routes[core].nearest();
        if out.flags & (HELD | WATCHED) != 0 {
            if out.flags & HELD != 0 {
                return self.write_back(by, Some(stop), core, out);
            }
            self.lost(by, out.line, cause, 0);
        }
        self.leave_unit(by, stop, core, out);
    }

    /// A line is no longer in a unit of a node, and may go to the share of `core` there.
    #[inline(always)]
    fn leave_unit(&mut self, by: &mut Transaction<'_>, stop: Stop, core: usize, out: Evicted) {
        let left = match &mut self.nodes[stop.node()].filter {
            Some(filter) => filter.entries.drop_owner(out.line, stop.unit),
            None => self.holders(stop.node(), out.line, stop.unit),
        };
        self.arrive_seldom(by, stop.node(), core, out, left);
    }

    /// The same as [`Hierarchy::arrive`], for lines that come there seldom.
    #[cold]
    #[inline(never)]
    pub(super) fn arrive_seldom(
        &mut self,
        by: &mut Transaction<'_>,
        node: usize,
        core: usize,
        out: Evicted,
        left: u32,
    ) {
        self.arrive(by, node, core, out, left);
    }

    /// A line arrives at a node from inside, where the units `left` still hold it.
    #[inline(always)]
    pub(super) fn arrive(&mut self, by: &mut Transaction<'_>, node: usize, core: usize, out: Evicted, left: u32) {
        let at = &mut self.nodes[node];
        let outer = at.outer;
        let Some(shared) = &mut at.cache else {
            return match left {
                0 => self.leave_node(by, node, core, out),
                _ => self.write_back(by, outer, core, out),
            };
        };
        let inward = shared.takes_inward();
        let alone = if left == 0 { at.alone } else { 0 };
        // What a core holds alone is not in an exclusive cache.
        if inward || out.flags & SHARED != 0 {
            if let Some(place) = shared.cache.find(out.line) {
                if left == 0 || inward {
                    shared.cache.clear(place, alone);
                    shared.cache.mark(place, out.flags & DIRTY);
                }
                return;
            }
        } else {
            debug_assert!(shared.cache.find(out.line).is_none(), "line {:#x} is in both", out.line.number());
        }
        let passed = Evicted { flags: out.flags & !alone, ..out };
        match on_way_out(shared.allocation, (out.flags & DIRTY != 0, left != 0), at.mode.as_mut(), by.now) {
            Outward::Allocated if inward => self.allocate(by, node, core, out),
            Outward::Allocated => self.allocate(by, node, core, passed),
            Outward::PassedOn => self.leave_node(by, node, core, out),
            Outward::WrittenBack => self.write_back(by, outer, core, out),
            Outward::Bypassed => {
                let level = shared.level;
                self.shared_counts.bypassed += 1;
                if out.flags & WATCHED != 0 {
                    self.lost(by, out.line, Cause::NotAllocated, level);
                }
                self.leave_node(by, node, core, passed);
            }
        }
    }

    /// A node's cache takes a line, into the ways of the class of who brought it in.
    #[inline(always)]
    pub(super) fn allocate(&mut self, by: &mut Transaction<'_>, node: usize, core: usize, line: Evicted) {
        self.shared_counts.allocations += 1;
        let shared = self.nodes[node].cache.as_mut().expect("the node has a cache");
        let flags = line.flags & (DIRTY | SHARED | CARRIED);
        let code = shared.ways.tell_code() && self.code.has(line.line);
        let ways = shared.ways.of(class_of(flags))[usize::from(code)];
        if let Some(out) = shared.insert(line.line, flags, ways, &mut self.random) {
            let cause = if out.line == line.line { Cause::Refused } else { self.pushed_out(by) };
            self.evicted(by, node, core, out, cause);
        }
    }

    /// Why a line goes that makes room for what a core does, as a watched core sees it.
    #[inline]
    pub(super) fn pushed_out(&self, by: &Transaction<'_>) -> Cause {
        if self.losses.watches(by.core) { Cause::Own } else { Cause::Neighbour }
    }

    /// A node's cache lost a line by replacement, or did not take it, for this reason.
    #[inline(always)]
    pub(super) fn evicted(&mut self, by: &mut Transaction<'_>, node: usize, core: usize, out: Evicted, cause: Cause) {
        let takes_inward = self.nodes[node].cache.as_ref().is_none_or(SharedLevel::takes_inward);
        if takes_inward || out.flags & (WATCHED | SHARED) != 0 {
            self.evicted_from_many(by, node, core, out, cause);
        } else {
            // Nobody inside has it.
            self.leave_node(by, node, core, out);
        }
    }

    /// The same where cores may have the line, or somebody asks why it went.
    #[inline(never)]
    fn evicted_from_many(
        &mut self,
        by: &mut Transaction<'_>,
        node: usize,
        core: usize,
        mut out: Evicted,
        cause: Cause,
    ) {
        let shared = self.nodes[node].cache.as_ref().expect("the node has a cache");
        if out.flags & WATCHED != 0 {
            self.lost(by, out.line, cause, shared.level);
        }
        let held = match self.nodes[node].cache.as_ref().map(|shared| shared.allocation) {
            Some(Allocation::Inclusive) => {
                out.flags = merged(out.flags, self.lose_inside(by, node, out));
                false
            }
            _ if by.gives == Some((node, out.line)) => false,
            Some(Allocation::NonInclusive) => self.is_inside(node, out.line),
            // A shared line may still be in cores when an exclusive cache drops its copy.
            _ => out.flags & SHARED != 0 && self.is_inside(node, out.line),
        };
        match held {
            true => self.write_back(by, self.nodes[node].outer, core, out),
            false => self.leave_node(by, node, core, out),
        }
    }

    /// A line is no longer in a node's cache, nor further in.
    #[inline(always)]
    pub(super) fn leave_node(&mut self, by: &mut Transaction<'_>, node: usize, core: usize, out: Evicted) {
        let Some(stop) = self.nodes[node].outer else { return by.effects.write_to_memory(core, out) };
        match &mut self.nodes[stop.node()] {
            // Behind this filter is the memory, whoever else has the line.
            InterconnectNode { cache: None, filter: Some(filter), outer: None, .. } => {
                filter.entries.drop_owner(out.line, stop.unit);
                by.effects.write_to_memory(core, out);
            }
            _ => self.leave_unit(by, stop, core, out),
        }
    }

    /// A change goes outward from a place that keeps its copy, or need not be asked: to the next cache that has the line
    /// or takes lines inward, or to memory.
    pub(super) fn write_back(&mut self, by: &mut Transaction<'_>, outer: Option<Stop>, core: usize, out: Evicted) {
        if out.flags & DIRTY != 0 {
            self.write_out(by, outer, core, out);
        }
    }

    #[cold]
    #[inline(never)]
    fn write_out(&mut self, by: &mut Transaction<'_>, mut outer: Option<Stop>, core: usize, out: Evicted) {
        while let Some(stop) = outer {
            let at = &mut self.nodes[stop.node()];
            if let Some(shared) = &mut at.cache {
                if let Some(place) = shared.cache.find(out.line) {
                    return shared.cache.mark(place, DIRTY);
                }
                if shared.takes_inward() {
                    return self.allocate(by, stop.node(), core, out);
                }
            }
            outer = at.outer;
        }
        by.effects.write_to_memory(core, out);
    }
}
