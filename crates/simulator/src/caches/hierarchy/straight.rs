//! Reads on the straight way: through a core's own caches and one shared cache with a filter, then past a filter without a
//! cache to the memory. What happens to nearly every access of a stream there, and nothing else, is written out in one
//! piece each for a read and its fill; whatever is different takes the general way, which does the same to the same state.

use waykeeper_platform::EntryTaken;

use crate::caches::hierarchy::transaction::Transaction;
use crate::caches::hierarchy::{Effects, Hierarchy};
use crate::caches::node::{InterconnectNode, NodeChild};
use crate::caches::snoop_filter::{EntryAllocation, NoEntry};
use crate::line::Line;
use crate::time::Ps;

/// What becomes of a read on the straight way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Straight {
    /// The first level has the line.
    Hit,
    /// Memory is asked; this entry of the filter waits for the line.
    Asked(u8),
    /// Every entry of the line's set in the shared cache's filter waits for a fill.
    Busy,
}

/// The number of the node with the shared cache.
const SHARED: usize = 0;

/// The number of the node without one.
const OUTER: usize = 1;

/// The one unit of the outer node.
const ALL: u32 = 1;

/// Whether all cores have the straight way, and no other.
pub(super) fn is_straight(nodes: &[InterconnectNode]) -> bool {
    let [shared, outer] = nodes else { return false };
    let taken = |node: &InterconnectNode, taken| node.filter.as_ref().is_some_and(|filter| filter.taken == taken);
    let asked = |node: &InterconnectNode| node.filter.as_ref().is_some_and(|filter| filter.asked);
    shared.cache.as_ref().is_some_and(|cache| !cache.takes_inward())
        && shared.units.iter().enumerate().all(|(at, unit)| *unit == NodeChild::Core(at))
        && taken(shared, EntryTaken::AtRequest)
        && asked(shared)
        && outer.cache.is_none()
        && outer.units == [NodeChild::Node(SHARED)]
        && taken(outer, EntryTaken::AtFill)
        && !asked(outer)
}

impl Hierarchy {
    /// From now on nothing takes the straight way.
    pub fn avoid_straight_ways(&mut self) {
        self.is_straight = false;
    }

    /// Whether data that a core reads takes the straight way.
    pub fn reads_straight(&self, core: usize) -> bool {
        self.is_straight && self.on_chip_from == Line::EMPTY && !self.losses.watches(core)
    }

    /// A core reads data. None if it is not one of the usual cases: then nothing has changed, and [`Hierarchy::access`] is
    /// the way. A core that mostly `misses` asks the filter first, which knows what the core's own caches have.
    #[inline(always)]
    pub fn read_straight(
        &mut self,
        core: usize,
        line: Line,
        misses: bool,
        now: Ps,
        effects: &mut Effects,
    ) -> Option<Straight> {
        if !misses && self.hits_first(core, line) {
            return Some(Straight::Hit);
        }
        let InterconnectNode { filter: Some(filter), cache: Some(shared), .. } = &mut self.nodes[SHARED] else {
            return None;
        };
        let is_shared = || shared.cache.find(line).is_some();
        match filter.entries.take_for(line, 1 << core, &mut self.random, is_shared) {
            Err(NoEntry::NoRoom) => Some(Straight::Busy),
            Err(NoEntry::Known) => (misses && self.hits_first(core, line)).then_some(Straight::Hit),
            Ok((entry, displaced)) => {
                if let Some(out) = displaced {
                    self.lose_entry(&mut Transaction::new(core, now, effects), SHARED, out);
                }
                Some(Straight::Asked(entry))
            }
        }
    }

    /// Whether a core's first level has a line, which is then used.
    #[inline(always)]
    fn hits_first(&mut self, core: usize, line: Line) -> bool {
        let first = &mut self.cores[core].l1d;
        let Some(place) = first.find(line) else { return false };
        first.touch(place, 0);
        true
    }

    /// Memory has answered a read of data, whose entry in the filter is in this way; false if it is not the usual case: then
    /// nothing has changed, and [`Hierarchy::fill`] is the way.
    #[inline(always)]
    pub fn fill_straight(&mut self, core: usize, line: Line, entry: u8, now: Ps, effects: &mut Effects) -> bool {
        let [InterconnectNode { filter: Some(shared), .. }, InterconnectNode { filter: Some(outer), .. }] =
            &mut self.nodes[..]
        else {
            return false;
        };
        if !self.is_straight || !shared.entries.settle_in(line, entry) {
            return false;
        }
        let entry = outer.entries.take(line, ALL, false, &mut self.random);
        let by = &mut Transaction::new(core, now, effects);
        debug_assert!(entry != EntryAllocation::AllBusy, "no entry waits for a fill where they are taken at the fill");
        if let EntryAllocation::Taken(Some(out)) = entry {
            self.lose_entry_seldom(by, OUTER, out);
        }
        let leaving = self.cores[core].fill_data(line, 0, 0, &mut self.random);
        self.send_off(by, leaving);
        true
    }
}
