//! Random hierarchies as data, small enough that every mechanism runs all the time.

use proptest::prelude::*;
use waykeeper_platform::{Allocation, EntryTaken, Inclusion, Replacement};
use waykeeper_simulator::caches::access::Want;
use waykeeper_simulator::caches::cache::Cache;
use waykeeper_simulator::caches::hierarchy::Hierarchy;
use waykeeper_simulator::caches::node::HierarchyPlan;
use waykeeper_simulator::caches::private::{Private, SecondLevel};
use waykeeper_simulator::caches::shared_level::SharedLevel;
use waykeeper_simulator::caches::snoop_filter::SnoopFilter;
use waykeeper_simulator::line::Line;
use waykeeper_simulator::observe::label::Label;

pub const CORES: usize = 4;
pub const CLASSES: usize = 4;
/// Lines from here on are fetched more often than read.
pub const CODE_FROM: Line = Line::new(48);
pub const LINES: u32 = 64;

/// Sets, ways and replacement.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub sets: usize,
    pub ways: usize,
    pub replacement: Replacement,
}

#[derive(Debug, Clone, Copy)]
pub struct CoreSetup {
    pub l1d: Shape,
    pub l1i: Shape,
    pub l2: Option<(Shape, Inclusion)>,
    pub written_through: bool,
    /// Levels that page walks, streamed stores and stores that miss go to.
    pub walks: u8,
    pub streams: u8,
    pub stores: u8,
}

#[derive(Debug, Clone)]
pub struct NodeSetup {
    pub cores: u32,
    pub cache: Option<(u8, Shape, Allocation)>,
    pub filter: Option<(Shape, EntryTaken)>,
    /// By class, which at the start is the number of a core: the ways that data and instructions may fill, to be cut to
    /// those that there are; 0 stands for all.
    pub masks: [(u32, u32); CLASSES],
}

#[derive(Debug, Clone)]
pub struct Setup {
    pub cores: Vec<CoreSetup>,
    pub nodes: Vec<NodeSetup>,
    pub seed: u64,
}

/// What happens next.
#[derive(Debug, Clone, Copy)]
pub enum Action {
    Access {
        core: usize,
        line: Line,
        want: Want,
    },
    /// The memory answers the oldest request, or one of the others.
    Answer {
        which: usize,
    },
    /// A line is locked into these ways of a level.
    Lock {
        core: usize,
        line: Line,
        level: u8,
        ways: u32,
    },
    Unlock {
        level: u8,
    },
    /// A core gets another class and monitor.
    Label {
        core: usize,
        label: Label,
    },
    /// A class gets other ways, for data and instructions, in the cache of a level that a core uses; perhaps none.
    Ways {
        core: usize,
        level: u8,
        class: usize,
        ways: [u32; 2],
    },
    /// Ways are taken from everybody, or given back.
    Reserve {
        core: usize,
        level: u8,
        ways: u32,
        back: bool,
    },
}

fn shape(
    sets: impl Strategy<Value = usize>,
    ways: impl Strategy<Value = usize>,
    random: bool,
) -> impl Strategy<Value = Shape> {
    use Replacement::{Biased, BitPlru, Lru, Mru, Random, RoundRobin, TreePlru};
    let kinds =
        if random { vec![Lru, TreePlru, BitPlru, RoundRobin, Mru, Biased, Random] } else { vec![Lru, RoundRobin, Mru] };
    (sets, ways, prop::sample::select(kinds)).prop_map(|(sets, ways, replacement)| {
        let tree = replacement == Replacement::TreePlru && !ways.is_power_of_two();
        Shape { sets, ways, replacement: if tree { Replacement::Lru } else { replacement } }
    })
}

fn core(random: bool) -> impl Strategy<Value = CoreSetup> {
    use Inclusion::{ExclusiveOfL1d, InclusiveOfL1d, NonInclusive};
    let first = || shape(1..3usize, 1..4usize, random);
    let inclusion = prop::sample::select(vec![ExclusiveOfL1d, InclusiveOfL1d, NonInclusive]);
    let l2 = prop::option::weighted(0.7, (shape(1..4usize, 1..5usize, random), inclusion));
    let levels = (1..5u8, 2..5u8, prop_oneof![3 => Just(1u8), 1 => 2..5u8]);
    (first(), first(), l2, prop::bool::weighted(0.2), levels).prop_map(|(l1d, l1i, mut l2, written_through, levels)| {
        // A smaller inclusive level would be refused by any designer.
        if let Some((shape, InclusiveOfL1d)) = &mut l2 {
            shape.ways = shape.ways.max(2);
        }
        let (walks, streams, stores) = levels;
        CoreSetup { l1d, l1i, l2, written_through, walks, streams, stores }
    })
}

fn node(cores: u32, level: Option<u8>, random: bool) -> impl Strategy<Value = NodeSetup> {
    use Allocation::{ExclusiveUntilShared, Inclusive, NonInclusive, Victim};
    let kinds = prop::sample::select(vec![ExclusiveUntilShared, Inclusive, NonInclusive, Victim]);
    let cache = (shape(1..6usize, 1..6usize, random), kinds);
    let taken = prop::sample::select(vec![EntryTaken::AtRequest, EntryTaken::AtFill]);
    let filter = prop::option::of((shape(1..4usize, 2..9usize, random), taken));
    let mask = || prop_oneof![3 => Just(0u32), 1 => 1..32u32];
    let masks = prop::array::uniform4((mask(), mask()));
    (cache, filter, masks).prop_map(move |((shape, kind), filter, masks)| NodeSetup {
        cores,
        cache: level.map(|level| (level, shape, kind)),
        filter,
        masks,
    })
}

/// Any hierarchy of four cores; with policies that draw random numbers or that a reference model does not know if
/// `random` is true.
pub fn setup(random: bool) -> impl Strategy<Value = Setup> {
    // By core, the levels of caches that it shares with whom.
    let places: Vec<Vec<(u32, Option<u8>)>> = vec![
        vec![],
        vec![(0b1111, Some(3))],
        vec![(0b1111, Some(3)), (0b1111, None)],
        vec![(0b0011, Some(2)), (0b1100, Some(2))],
        vec![(0b0011, Some(2)), (0b1100, Some(2)), (0b1111, None)],
        vec![(0b0011, Some(2)), (0b1100, Some(2)), (0b1111, Some(3))],
        vec![(0b0011, Some(2)), (0b1100, Some(2)), (0b1111, Some(3)), (0b1111, None)],
        vec![(0b0110, Some(3)), (0b1111, None)],
        vec![(0b1110, Some(2)), (0b1111, Some(3)), (0b1111, None)],
        vec![(0b1111, Some(2)), (0b1111, Some(3))],
        vec![(0b0001, Some(2)), (0b0111, Some(3))],
    ];
    let nodes = prop::sample::select(places).prop_flat_map(move |places| {
        places.into_iter().map(|(cores, level)| node(cores, level, random).boxed()).collect::<Vec<_>>()
    });
    (prop::collection::vec(core(random), CORES), nodes, any::<u64>()).prop_map(|(mut cores, nodes, seed)| {
        // A level 2 is private or shared, not both.
        for node in nodes.iter().filter(|node| matches!(node.cache, Some((2, ..)))) {
            for (at, core) in cores.iter_mut().enumerate().filter(|(at, _)| node.cores >> at & 1 == 1) {
                let _ = at;
                core.l2 = None;
            }
        }
        Setup { cores, nodes, seed }
    })
}

/// A line.
fn line() -> impl Strategy<Value = Line> {
    (0..LINES).prop_map(Line::new)
}

/// A random step.
pub fn action() -> impl Strategy<Value = Action> {
    let want = prop_oneof![
        6 => Just(Want::Read),
        4 => Just(Want::Write),
        3 => Just(Want::Fetch),
        2 => (1..5u8).prop_map(|level| Want::Prefetch { level }),
        1 => Just(Want::Walk),
        1 => Just(Want::Stream),
    ];
    let access = (0..CORES, line(), want, 0..20u8).prop_map(|(core, line, want, mixed)| {
        // Programs do not fetch what they write, but nothing keeps them from it.
        let want = match want {
            _ if mixed == 0 => want,
            _ if line >= CODE_FROM => Want::Fetch,
            Want::Fetch => Want::Read,
            want => want,
        };
        Action::Access { core, line, want }
    });
    let lock = (0..CORES, line(), 2..4u8, 1..4u32).prop_map(|(core, line, level, ways)| Action::Lock {
        core,
        line,
        level,
        ways,
    });
    prop_oneof![
        60 => access,
        40 => (0..4usize).prop_map(|which| Action::Answer { which }),
        2 => lock,
        1 => (2..4u8).prop_map(|level| Action::Unlock { level }),
        3 => change(),
    ]
}

/// A change of what cores and classes may do.
fn change() -> impl Strategy<Value = Action> {
    let place = || (0..CORES, 2..4u8);
    prop_oneof![
        (0..CORES, 0..CLASSES as u8, 0..6u8)
            .prop_map(|(core, class, monitor)| Action::Label { core, label: Label { class, monitor } }),
        (place(), 0..CLASSES, 0..32u32, 0..32u32).prop_map(|((core, level), class, data, code)| Action::Ways {
            core,
            level,
            class,
            ways: [data, code]
        }),
        (place(), 0..32u32, prop::bool::weighted(0.7)).prop_map(|((core, level), ways, back)| Action::Reserve {
            core,
            level,
            ways,
            back
        }),
    ]
}

fn cache(shape: Shape) -> Cache {
    Cache::new(shape.sets, shape.ways, shape.replacement)
}

impl Setup {
    /// The hierarchy.
    pub fn build(&self) -> Hierarchy {
        let private = |core: &CoreSetup| {
            let l2 = core.l2.map(|(shape, inclusion)| SecondLevel::new(cache(shape), inclusion));
            let private = Private::new(cache(core.l1d), cache(core.l1i), l2);
            if core.written_through { private.written_through() } else { private }
        };
        let plan = |node: &NodeSetup| HierarchyPlan {
            cores: node.cores,
            cache: node.cache.map(|(level, shape, kind)| SharedLevel::new(level, cache(shape), kind)),
            filter: node
                .filter
                .map(|(shape, taken)| (SnoopFilter::new(shape.sets, shape.ways, shape.replacement), taken)),
            mode: None,
        };
        let (cores, plans) = (self.cores.iter().map(private).collect(), self.nodes.iter().map(plan).collect());
        let mut hierarchy = Hierarchy::new(cores, plans, self.seed).unwrap();
        for (at, core) in self.cores.iter().enumerate() {
            hierarchy.set_walk_level(at, core.walks);
            hierarchy.set_stream_level(at, core.streams);
            hierarchy.set_store_level(at, core.stores);
        }
        (0..CORES).for_each(|core| hierarchy.set_label(core, label_at_start(core)));
        for node in &self.nodes {
            let Some((level, shape, _)) = node.cache else { continue };
            for class in 0..CLASSES {
                let core = node.cores.trailing_zeros() as usize;
                assert!(hierarchy.set_ways(level, core, class, node.ways_of(class, shape)));
            }
        }
        hierarchy
    }
}

/// Each core begins in a class of its own.
pub fn label_at_start(core: usize) -> Label {
    Label { class: core as u8, monitor: core as u8 }
}

impl Setup {
    /// Whether a core's page walks look into no cache.
    #[allow(dead_code, reason = "not every test asks")]
    pub fn reads_past_caches(&self, core: usize) -> bool {
        let setup = &self.cores[core];
        let shared = self.nodes.iter().filter(|at| at.cores >> core & 1 == 1).filter_map(|at| at.cache);
        setup.walks > 1
            && !(setup.walks == 2 && setup.l2.is_some())
            && !shared.into_iter().any(|(level, ..)| level >= setup.walks)
    }
}

impl NodeSetup {
    /// The ways that a class's data and instructions fill.
    pub fn ways_of(&self, class: usize, shape: Shape) -> [u32; 2] {
        let all = (1 << shape.ways) - 1;
        let (data, code) = self.masks[class];
        [data, code].map(|mask| if mask & all == 0 { all } else { mask & all })
    }
}
