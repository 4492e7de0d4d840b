//! All caches and what tracks them: private caches, shared caches, snoop filters. State only; time is elsewhere.
//!
//! A core's way outward leads over stations, each with a shared cache, a filter or both, to the memory. Kept at all
//! times (and checked in `tests/invariants.rs`): a station's filter has an entry for every data line that lies further
//! in than its cache; an exclusive cache has no line that a core inside holds alone; an inclusive one has every line
//! that a core inside holds.
//!
//! Where a station has no filter, lines are followed exactly and without bounds: the caches of those who may hold a line
//! are asked. A line that two cores read is clean in both: its changes go to the station where their ways meet.

mod bypass;
mod enter;
mod guard;
mod leave;
mod levels;
mod lose;
mod request;
mod sharing;

use waykeeper_platform::EntryTaken;
use waykeeper_workload::Xorshift;

use crate::access::{Answer, Want};
use crate::cache::{CLASS_AT, Flags, MOST_CLASSES, SHARED};
use crate::counters::{CoreCounters, SharedCounters};
use crate::private::{Found, Leaving, Private};
use crate::station::{Plan, Route, Station, connect};
use crate::tags::Line;
use crate::touched::Touched;
use crate::under_way::UnderWay;

use levels::{Levels, To};

/// All caches and the filters that track them.
#[derive(Debug, Clone)]
pub struct Hierarchy {
    /// Private caches by core.
    pub cores: Vec<Private>,
    /// Shared caches and filters, inner ones first.
    pub stations: Vec<Station>,
    routes: Vec<Route>,
    levels: Vec<Levels>,
    /// By core, what its lines carry in shared caches: its class.
    labels: Vec<Flags>,
    /// Where no filter is: who may hold a line.
    touched: Option<Touched>,
    /// Where no filter of all cores knows it: which lines are under way.
    under_way: Option<UnderWay>,
    leaving: Leaving,
    /// Lines to be written to memory since this was last emptied, with the class of who brought them in.
    pub writes: Vec<(Line, u8)>,
    /// Cores that lost a line since this was last cleared, one bit each.
    pub disturbed: u32,
    /// Counts by core.
    pub counts: Vec<CoreCounters>,
    /// Counts of what is shared.
    pub shared_counts: SharedCounters,
    random: Xorshift,
}

impl Hierarchy {
    /// Empty caches of up to 31 cores behind the stations of `plans`, inner ones first. The seed decides random choices.
    ///
    /// # Errors
    /// The numbers of two plans that overlap without nesting, or of one that makes a core's way too long (twice).
    pub fn new(cores: Vec<Private>, plans: Vec<Plan>, seed: u64) -> Result<Self, (usize, usize)> {
        let (stations, routes) = connect(plans, cores.len())?;
        let all = u32::MAX >> (32 - cores.len());
        let unfiltered = |station: &Station| station.filter.is_none() && station.units.len() > 1;
        let inclusive = |station: &Station| station.cache.as_ref().is_some_and(|shared| shared.takes_inward());
        let knows = |station: &Station| station.cores == all && station.knows_under_way();
        Ok(Self {
            touched: stations.iter().any(|at| unfiltered(at) || inclusive(at)).then(Touched::default),
            under_way: (!stations.iter().any(knows)).then(UnderWay::new),
            levels: vec![Levels::default(); cores.len()],
            labels: vec![0; cores.len()],
            leaving: Leaving::default(),
            writes: Vec::new(),
            disturbed: 0,
            counts: vec![CoreCounters::default(); cores.len()],
            shared_counts: SharedCounters::default(),
            random: Xorshift::new(seed),
            cores,
            stations,
            routes,
        })
    }

    /// One access of a core. Where the answer is not [`Answer::Memory`], [`Answer::UnderWay`] or busy, the line is then
    /// where the access wants it, unless every way that it may fill there is locked.
    #[inline]
    pub fn access(&mut self, core: usize, line: Line, want: Want, now: u64) -> Answer {
        let private = &mut self.cores[core];
        let found = match want {
            Want::Read => private.data(line, 0, &mut self.leaving, &mut self.random),
            Want::Fetch => private.instructions(line, &mut self.random),
            Want::Write if self.levels[core].stores == To::First => {
                let add = private.adds(true);
                private.data(line, add, &mut self.leaving, &mut self.random)
            }
            _ => return self.bypass(core, line, want, now),
        };
        let (answer, flags) = match found {
            Found::L1(flags) => (Answer::L1, flags),
            Found::L2(flags) => {
                self.send_off(core, now);
                (Answer::L2, flags)
            }
            Found::Nowhere => return self.request(core, line, want, self.destination(core, want), now),
        };
        if want == Want::Write {
            self.stored(core, line, flags);
        }
        answer
    }

    /// A core has changed a line whose copy here had these flags.
    #[inline]
    fn stored(&mut self, core: usize, line: Line, flags: Flags) {
        if flags & SHARED != 0 {
            self.own(core, line);
        }
        if self.cores[core].is_written_through() {
            self.store_through(core, line);
        }
    }

    /// Memory has answered a request. The line goes where `want` wants it, which may be further in than the request did.
    #[inline]
    pub fn fill(&mut self, core: usize, line: Line, want: Want, now: u64) {
        let mut to = self.destination(core, want);
        if to == To::Memory {
            return;
        }
        if let Some(under_way) = &mut self.under_way {
            under_way.remove(line);
        }
        let route = self.routes[core];
        let stops = route.stops();
        for (at, stop) in stops.iter().enumerate().skip(to.tracked_from()).rev() {
            let settled = match &mut self.stations[stop.station].filter {
                None => true,
                Some(filter) => filter.taken == EntryTaken::AtRequest && filter.entries.settle(line),
            };
            if !settled && !self.take_entry(*stop, line, false, now) {
                // There is no entry for it: it goes no further in than here.
                to = To::Stop(at as u8);
                break;
            }
        }
        self.enter(core, line, 0, want, to, stops.len(), now);
    }

    /// Whether two lines compete for entries in one of the filters, or are the same.
    #[inline]
    pub fn compete(&self, one: Line, other: Line) -> bool {
        let compete = |station: &Station| station.filter.as_ref().is_some_and(|at| at.entries.same_set(one, other));
        one == other || self.stations.iter().any(compete)
    }

    /// Puts a core into a class, 0 to 7. Lines that it brought before stay in the class that it had.
    pub fn set_class(&mut self, core: usize, class: u8) {
        debug_assert!(usize::from(class) < MOST_CLASSES);
        self.labels[core] = class << CLASS_AT;
    }

    /// Bytes of memory that all of this takes.
    pub fn bytes(&self) -> usize {
        self.cores.iter().map(Private::bytes).sum::<usize>()
            + self.stations.iter().map(Station::bytes).sum::<usize>()
            + self.touched.as_ref().map_or(0, Touched::bytes)
            + self.under_way.as_ref().map_or(0, UnderWay::bytes)
    }
}
