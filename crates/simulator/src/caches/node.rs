//! Nodes on the way from the cores to the memory: what lies inside each, its cache and its filter.

use waykeeper_platform::EntryTaken;

use crate::caches::allocation::no_allocate_mode::NoAllocateMode;
use crate::caches::flags::{Flags, SHARED};
use crate::caches::shared_level::SharedLevel;
use crate::caches::snoop_filter::{Known, SnoopFilter};
use crate::line::Line;

/// The most nodes on the way of a core: three shared caches and the interconnect.
pub const MOST_STOPS: usize = 4;

/// A finite filter that tracks the lines in caches further in than its node's own.
#[derive(Debug, Clone)]
pub struct Filter {
    /// The entries; owners are the node's units.
    pub entries: SnoopFilter,
    /// When a line gets its entry.
    pub taken: EntryTaken,
    /// Whether requests must ask it: not if it is behind everything that they ask before, and what lies inside is one
    /// unit whose lines in flight a filter further in knows.
    pub asked: bool,
}

/// What lies directly inside a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeChild {
    /// A core's private caches.
    Core(usize),
    /// A node further in.
    Node(usize),
}

/// A node: a shared cache, a filter, both, or just a place where ways from several cores meet.
#[derive(Debug, Clone)]
pub struct InterconnectNode {
    /// The cores inside, one bit each.
    pub cores: u32,
    /// What lies directly inside; an owner's bit in the filter is its number here.
    pub units: Vec<NodeChild>,
    /// The shared cache.
    pub cache: Option<SharedLevel>,
    /// The filter. Without one, the caches of whoever may hold a line are asked, as if a filter knew it at no cost.
    pub filter: Option<Filter>,
    /// Evictions from inside bypass the cache while it is on.
    pub mode: Option<NoAllocateMode>,
    /// The next node outward; the memory where there is none.
    pub outer: Option<Stop>,
    /// The flag that a line here no longer needs once nobody inside holds it: none if caches outside may.
    pub alone: Flags,
}

/// A node as a core, or a node further in, meets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stop {
    node: u32,
    /// The bit of the unit that comes from inside.
    pub unit: u32,
}

impl Stop {
    fn new(node: usize, unit: u32) -> Self {
        Self { node: node as u32, unit }
    }

    /// Number of the node.
    #[inline(always)]
    pub fn node(self) -> usize {
        self.node as usize
    }
}

/// What a hierarchy is built from: nodes, inner ones first.
#[derive(Debug, Clone)]
pub struct HierarchyPlan {
    /// The cores inside, one bit each. Any two plans nest or have no core in common.
    pub cores: u32,
    /// The shared cache.
    pub cache: Option<SharedLevel>,
    /// The filter and when it allocates entries.
    pub filter: Option<(SnoopFilter, EntryTaken)>,
    /// The mode of the cache.
    pub mode: Option<NoAllocateMode>,
}

impl HierarchyPlan {
    /// A node of these cores with nothing in it.
    pub fn new(cores: u32) -> Self {
        Self { cores, cache: None, filter: None, mode: None }
    }
}

/// The nodes of a core, inner ones first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Route {
    stops: [Stop; MOST_STOPS],
    len: u32,
}

impl Route {
    /// The stops, from the core outward.
    #[inline(always)]
    pub fn stops(&self) -> &[Stop] {
        &self.stops[..self.len as usize]
    }

    /// The innermost stop.
    #[inline(always)]
    pub fn nearest(&self) -> Stop {
        self.stops[0]
    }
}

/// The nodes of `plans` for so many cores, and the route of each core. Cores that have no node, or nodes that
/// meet nowhere, get one without a cache in front of the memory.
///
/// # Errors
/// The numbers of two plans that overlap without nesting, or of one that makes a route too long (twice).
pub fn connect(
    mut plans: Vec<HierarchyPlan>,
    cores: usize,
) -> Result<(Vec<InterconnectNode>, Vec<Route>), (usize, usize)> {
    let all = u32::MAX >> (32 - cores);
    for (at, plan) in plans.iter().enumerate() {
        let clash = |inner: &&HierarchyPlan| inner.cores & plan.cores != 0 && inner.cores & !plan.cores != 0;
        if let Some(inner) = plans[..at].iter().position(|inner| clash(&inner)) {
            return Err((inner, at));
        }
    }
    if !plans.iter().any(|plan| plan.cores == all) {
        plans.push(HierarchyPlan::new(all));
    }
    let covers: Vec<_> = plans.iter().map(|plan| plan.cores).collect();
    let outer_of = |at: usize| (at + 1..covers.len()).find(|outer| covers[*outer] & covers[at] != 0);
    let mut nodes: Vec<InterconnectNode> = plans.into_iter().map(InterconnectNode::unconnected).collect();
    let mut routes = vec![Route::default(); cores];
    for (core, route) in routes.iter_mut().enumerate() {
        let mut next = (0..covers.len()).find(|at| covers[*at] >> core & 1 == 1);
        let mut unit = NodeChild::Core(core);
        while let Some(at) = next {
            let Some(stop) = route.stops.get_mut(route.len as usize) else { return Err((at, at)) };
            *stop = Stop::new(at, nodes[at].bit_of(unit));
            route.len += 1;
            unit = NodeChild::Node(at);
            next = outer_of(at);
        }
    }
    for at in 0..nodes.len() {
        nodes[at].outer = outer_of(at).map(|outer| Stop::new(outer, nodes[outer].bit_of(NodeChild::Node(at))));
    }
    for at in 0..nodes.len() {
        let outside = std::iter::successors(nodes[at].outer, |stop| nodes[stop.node()].outer);
        let others_outside = outside.into_iter().any(|stop| nodes[stop.node()].units.len() > 1);
        let knows = |inner: usize| nodes[inner].cores == nodes[at].cores && nodes[inner].knows_in_flight();
        let covered = (0..at).any(knows);
        let node = &mut nodes[at];
        node.alone = if others_outside { 0 } else { SHARED };
        if let Some(filter) = &mut node.filter {
            filter.asked =
                node.units.len() > 1 || node.cache.is_some() || (filter.taken == EntryTaken::AtRequest && !covered);
        }
    }
    Ok((nodes, routes))
}

impl InterconnectNode {
    fn unconnected(plan: HierarchyPlan) -> Self {
        Self {
            cores: plan.cores,
            units: Vec::new(),
            cache: plan.cache,
            filter: plan.filter.map(|(entries, taken)| Filter { entries, taken, asked: true }),
            mode: plan.mode,
            outer: None,
            alone: 0,
        }
    }

    fn bit_of(&mut self, unit: NodeChild) -> u32 {
        let known = self.units.iter().position(|held| *held == unit);
        1 << known.unwrap_or_else(|| {
            self.units.push(unit);
            self.units.len() - 1
        })
    }

    /// The number of its filter among those that are distinguished: 0 at a shared cache, 1 without one.
    #[inline]
    pub fn kind_of_filter(&self) -> usize {
        usize::from(self.cache.is_none())
    }

    /// Whether its filter has an entry for every line in flight to a core inside.
    pub fn knows_in_flight(&self) -> bool {
        self.filter.as_ref().is_some_and(|filter| filter.taken == EntryTaken::AtRequest)
    }

    /// Whether its filter knows a line to be in flight.
    pub fn awaits(&self, line: Line) -> bool {
        let filter = self.filter.as_ref().filter(|filter| filter.taken == EntryTaken::AtRequest);
        filter.is_some_and(|filter| filter.entries.look(line) == Known::InFlight)
    }

    /// Bytes of memory that the node takes.
    pub fn bytes(&self) -> usize {
        self.cache.as_ref().map_or(0, |shared| shared.cache.bytes())
            + self.filter.as_ref().map_or(0, |filter| filter.entries.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes_of(routes: &[Route], core: usize) -> Vec<usize> {
        routes[core].stops().iter().map(|stop| stop.node()).collect()
    }

    #[test]
    fn clusters_and_single_cores_meet_in_front_of_the_memory() {
        // Cores 0 and 1 alone, 2 and 3 share, 4 and 5 share.
        let (nodes, routes) = connect(vec![HierarchyPlan::new(0b001100), HierarchyPlan::new(0b110000)], 6).unwrap();
        assert_eq!([0, 2, 5].map(|core| nodes_of(&routes, core)), [vec![2], vec![0, 2], vec![1, 2]]);
        use NodeChild::{Core, Node};
        assert_eq!(nodes[2].units, [Core(0), Core(1), Node(0), Node(1)]);
        assert_eq!(nodes[1].outer, Some(Stop::new(2, 0b1000)));
        assert_eq!([0, 2].map(|at| nodes[at].alone), [0, SHARED]);
    }

    #[test]
    fn the_outermost_node_of_all_cores_is_the_last() {
        let (nodes, routes) =
            connect(vec![HierarchyPlan::new(0b1100), HierarchyPlan::new(0b1111), HierarchyPlan::new(0b1111)], 4)
                .unwrap();
        assert_eq!((nodes.len(), nodes_of(&routes, 0), nodes_of(&routes, 3)), (3, vec![1, 2], vec![0, 1, 2]));
        assert_eq!([0, 1].map(|at| nodes[at].alone), [0, SHARED]);
    }

    #[test]
    fn overlapping_nodes_are_refused() {
        assert_eq!(connect(vec![HierarchyPlan::new(0b0111), HierarchyPlan::new(0b1100)], 4).unwrap_err(), (0, 1));
        assert_eq!(
            connect(vec![HierarchyPlan::new(0b0111), HierarchyPlan::new(0b0011)], 4).unwrap_err(),
            (0, 1),
            "inner ones come first"
        );
        assert_eq!(connect(vec![HierarchyPlan::new(1); 5], 1).unwrap_err(), (4, 4));
    }
}
