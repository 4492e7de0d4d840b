//! All caches and what tracks them: private caches, shared caches, snoop filters. State only; time is elsewhere.
//!
//! A core's way outward leads over nodes, each with a shared cache, a filter or both, to the memory. Kept at all
//! times (and checked in `tests/invariants.rs`): a node's filter has an entry for every data line that lies further
//! in than its cache; an exclusive cache has no line that a core inside holds alone; an inclusive one has every line
//! that a core inside holds.
//!
//! Where a node has no filter, lines are followed exactly and without bounds: the caches of those who may hold a line
//! are asked. A line that two cores read is clean in both: its changes go to the node where their ways meet.

mod bypass;
mod effects;
mod enter;
mod forget;
mod guard;
mod in_flight;
mod leave;
mod levels;
mod lose;
mod passed;
mod request;
mod sharers;
mod sharing;
mod straight;
mod transaction;

use waykeeper_platform::EntryTaken;
use waykeeper_workload::Xorshift;

use crate::caches::access::{Answer, Want};
use crate::caches::allocation::code::Code;
use crate::caches::flags::{Flags, SHARED, WATCHED, flags_of, label_of};
use crate::caches::node::{HierarchyPlan, InterconnectNode, Route, connect};
use crate::caches::private::{Found, Private};
use crate::line::Line;
use crate::observe::back_invalidated::BackInvalidated;
use crate::observe::counters::{CoreCounters, SharedCounters};
use crate::observe::label::Label;
use crate::observe::losses::Losses;
use crate::time::Ps;
use in_flight::InFlight;
use sharers::Sharers;
use transaction::Transaction;

pub use effects::{Effects, Write};
pub use guard::NotLocked;
use levels::{Levels, To};
pub use passed::Passed;
pub use straight::Straight;

/// The most cores: the filters tell so many apart.
pub const MOST_CORES: usize = 31;

/// All caches and the filters that track them.
#[derive(Debug, Clone)]
pub struct Hierarchy {
    /// Private caches by core.
    pub cores: Vec<Private>,
    /// Shared caches and filters, inner ones first.
    pub nodes: Vec<InterconnectNode>,
    routes: Vec<Route>,
    levels: Vec<Levels>,
    /// By core, what its lines carry in shared caches: its label, and whether it is watched.
    labels: Vec<Flags>,
    /// Where no filter is: who may hold a line.
    sharers: Option<Sharers>,
    /// Whether a shared cache takes lines on their way in.
    takes_inward: bool,
    /// Whether all cores have the way outward that [`straight`] is about.
    is_straight: bool,
    /// Lines in flight that no filter of all cores knows.
    in_flight: InFlight,
    /// Whether a filter of all cores has an entry for every line in flight to a core.
    filter_knows: bool,
    /// Lines compete for entries if they agree in these bits: those of the filter with the fewest sets. None if some
    /// filter finds its sets otherwise.
    competing_bits: Option<u32>,
    /// The lines that hold instructions.
    pub code: Code,
    /// Lines of a class that were back-invalidated, if anybody asks.
    pub back_invalidated: Option<Box<BackInvalidated>>,
    /// Why lines of watched cores went.
    pub losses: Losses,
    /// Lines from here on lie in the on-chip RAM.
    on_chip_from: Line,
    /// Counts by core.
    pub counts: Vec<CoreCounters>,
    /// Counts of what is shared.
    pub shared_counts: SharedCounters,
    random: Xorshift,
}

impl Hierarchy {
    /// Empty caches of up to 31 cores behind the nodes of `plans`, inner ones first. The seed decides random choices.
    ///
    /// # Errors
    /// The numbers of two plans that overlap without nesting, or of one that makes a core's way too long (twice).
    pub fn new(cores: Vec<Private>, plans: Vec<HierarchyPlan>, seed: u64) -> Result<Self, (usize, usize)> {
        let (nodes, routes) = connect(plans, cores.len())?;
        let all = u32::MAX >> (32 - cores.len());
        let unfiltered = |node: &InterconnectNode| node.filter.is_none() && node.units.len() > 1;
        let inclusive = |node: &InterconnectNode| node.cache.as_ref().is_some_and(|shared| shared.takes_inward());
        let knows = |node: &InterconnectNode| node.cores == all && node.knows_in_flight();
        Ok(Self {
            takes_inward: nodes.iter().any(inclusive),
            sharers: nodes.iter().any(|at| unfiltered(at) || inclusive(at)).then(Sharers::default),
            in_flight: InFlight::new(),
            filter_knows: nodes.iter().any(knows),
            is_straight: straight::is_straight(&nodes),
            competing_bits: competing_bits(&nodes),
            levels: vec![Levels::default(); cores.len()],
            labels: vec![0; cores.len()],
            code: Code::default(),
            back_invalidated: None,
            losses: Losses::default(),
            on_chip_from: Line::EMPTY,
            counts: vec![CoreCounters::default(); cores.len()],
            shared_counts: SharedCounters::default(),
            random: Xorshift::new(seed),
            cores,
            nodes,
            routes,
        })
    }

    /// One access of a core. Where the answer is not [`Answer::Memory`], [`Answer::InFlight`] or busy, the line is then
    /// where the access wants it, unless every way that it may fill there is locked. What it causes outside of the caches
    /// is added to `effects`, here and wherever they are an argument.
    #[inline(never)]
    pub fn access(&mut self, core: usize, line: Line, want: Want, now: Ps, effects: &mut Effects) -> Answer {
        let private = &mut self.cores[core];
        let found = match want {
            Want::Read => private.data(line, 0, &mut self.random),
            Want::Fetch => private.instructions(line, &mut self.random),
            Want::Write if self.levels[core].stores == To::First => {
                let add = private.adds(true);
                private.data(line, add, &mut self.random)
            }
            _ => return self.bypass(core, line, want, now, effects),
        };
        let (answer, flags) = match found {
            Found::L1(flags) => (Answer::L1, flags),
            Found::L2(flags, leaving) => {
                self.send_off(&mut Transaction::new(core, now, effects), leaving);
                (Answer::L2, flags)
            }
            Found::Nowhere => {
                return self.miss(&mut Transaction::new(core, now, effects), line, want, self.destination(core, want));
            }
        };
        if want == Want::Write {
            self.stored(&mut Transaction::new(core, now, effects), line, flags);
        }
        answer
    }

    /// A request that the core's own caches could not answer.
    #[inline(always)]
    fn miss(&mut self, by: &mut Transaction<'_>, line: Line, want: Want, to: To) -> Answer {
        if self.losses.watches(by.core) {
            self.watched_miss(by, line, want, to)
        } else {
            self.request(by, line, want, to)
        }
    }

    #[inline(never)]
    fn watched_miss(&mut self, by: &mut Transaction<'_>, line: Line, want: Want, to: To) -> Answer {
        let cause = self.losses.cause(line);
        let answer = self.request(by, line, want, to);
        let demanded = matches!(want, Want::Read | Want::Write | Want::Fetch | Want::Walk);
        if demanded && matches!(answer, Answer::Shared(_) | Answer::OtherCore | Answer::Memory) {
            self.counts[by.core].misses.add(cause);
        }
        answer
    }

    /// A core has changed a line whose copy here had these flags.
    #[inline]
    fn stored(&mut self, by: &mut Transaction<'_>, line: Line, flags: Flags) {
        if flags & SHARED != 0 {
            self.own(by, line);
        }
        if self.cores[by.core].is_written_through() {
            self.store_through(by, line);
        }
    }

    /// Memory has answered a request. The line goes where `want` wants it, which may be further in than the request did.
    #[cold]
    #[inline(never)]
    pub fn fill(&mut self, core: usize, line: Line, want: Want, now: Ps, effects: &mut Effects) {
        let mut to = self.destination(core, want);
        if to == To::Memory {
            return;
        }
        self.in_flight.remove(line);
        let by = &mut Transaction::new(core, now, effects);
        let route = self.routes[core];
        for (at, stop) in route.stops().iter().enumerate().skip(to.tracked_from()).rev() {
            let settled = match &mut self.nodes[stop.node()].filter {
                None => true,
                Some(filter) => filter.taken == EntryTaken::AtRequest && filter.entries.settle(line),
            };
            if !settled && !self.take_entry(by, *stop, line, false) {
                // There is no entry for it: it goes no further in than here.
                to = To::Stop(at as u8);
                break;
            }
        }
        self.enter(by, line, 0, want, to, route.stops().len());
    }

    /// Whether two lines compete for entries in one of the filters, or are the same.
    #[inline]
    pub fn compete(&self, one: Line, other: Line) -> bool {
        match self.competing_bits {
            Some(bits) => one.agrees(other, bits),
            None => self.compete_anywhere(one, other),
        }
    }

    fn compete_anywhere(&self, one: Line, other: Line) -> bool {
        let compete = |node: &InterconnectNode| node.filter.as_ref().is_some_and(|at| at.entries.same_set(one, other));
        one == other || self.nodes.iter().any(compete)
    }

    /// Lets the lines from this one on lie in the on-chip RAM: only first levels cache them. Cores must not have private
    /// second levels.
    pub fn set_on_chip_from(&mut self, line: Line) {
        debug_assert!(self.cores.iter().all(|core| core.l2.is_none()));
        self.on_chip_from = line;
    }

    /// Sets the label of a core, whose class decides which ways it fills from now on. Lines in shared caches keep the label
    /// of the core that brought them.
    pub fn set_label(&mut self, core: usize, label: Label) {
        self.labels[core] = self.labels[core] & WATCHED | flags_of(label);
        if let Some(l2) = &mut self.cores[core].l2 {
            l2.set_class(usize::from(label.class));
        }
    }

    /// The label of a core.
    pub fn label(&self, core: usize) -> Label {
        label_of(self.labels[core])
    }

    /// Remembers from now on why lines that a core brings in are lost, and counts its misses by cause.
    pub fn watch(&mut self, core: usize) {
        self.labels[core] |= WATCHED;
        self.losses.watch(core);
    }

    /// Bytes of memory that all of this takes.
    pub fn bytes(&self) -> usize {
        self.cores.iter().map(Private::bytes).sum::<usize>()
            + self.nodes.iter().map(InterconnectNode::bytes).sum::<usize>()
            + self.sharers.as_ref().map_or(0, Sharers::bytes)
            + self.in_flight.bytes()
            + self.losses.bytes()
    }
}

/// The bits that decide whether lines compete for entries: all of them where there is no filter.
fn competing_bits(nodes: &[InterconnectNode]) -> Option<u32> {
    let filters = nodes.iter().filter_map(|node| node.filter.as_ref());
    filters.map(|filter| filter.entries.linear_sets()).try_fold(u32::MAX, |bits, sets| Some(bits & (sets? - 1) as u32))
}
