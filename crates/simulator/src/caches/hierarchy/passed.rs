//! Where the accesses of a core may meet, for the fast path.

use crate::caches::hierarchy::Hierarchy;

/// The numbers of sets of what the accesses of a core pass: lines that differ modulo all of them never meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// The first level of each side, data first.
    pub first: [usize; 2],
    /// Every cache and filter behind it.
    pub outer: Vec<usize>,
}

impl Hierarchy {
    /// What the accesses of a core pass; none if other bits than the lowest decide on a set somewhere.
    pub fn passed(&self, core: usize) -> Option<Passed> {
        let private = &self.cores[core];
        let mut outer = Vec::new();
        if private.l2.is_some() {
            outer.push(private.last().linear_sets()?);
        }
        for stop in self.routes[core].stops() {
            let node = &self.nodes[stop.node()];
            if let Some(shared) = &node.cache {
                outer.push(shared.cache.linear_sets()?);
            }
            if let Some(filter) = &node.filter {
                outer.push(filter.entries.linear_sets()?);
            }
        }
        Some(Passed { first: [private.l1d.linear_sets()?, private.l1i.linear_sets()?], outer })
    }
}
