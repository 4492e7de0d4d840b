//! The rules of the hierarchy, followed without haste: every question is answered by a look into the caches.

use waykeeper_platform::{Allocation, EntryTaken, Inclusion};
use waykeeper_simulator::caches::access::{Answer, Want};
use waykeeper_simulator::line::Line;
use waykeeper_simulator::observe::label::Label;

use crate::array::{Array, Slot};
use crate::setups::{CLASSES, CORES, CoreSetup, NodeSetup, Setup, label_at_start};

const ALL: u32 = u32::MAX;

/// Where a line is wanted: a private level, or the cache of the node at this place of the core's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    First,
    Instructions,
    Second,
    Stop(usize),
    Memory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Core(usize),
    Node(usize),
}

pub struct Core {
    pub setup: CoreSetup,
    pub l1d: Array,
    pub l1i: Array,
    pub l2: Option<Array>,
    pub inclusion: Option<Inclusion>,
    pub label: Label,
    /// Who may fill which ways of the second level.
    ways: Ways,
    /// Lines that leave once both levels have settled; true for those that the first level keeps.
    leaving: Vec<(Slot, bool)>,
}

pub struct Cache {
    pub level: u8,
    pub lines: Array,
    pub allocation: Allocation,
    ways: Ways,
}

/// The ways that classes may fill.
struct Ways {
    masks: [[u32; 2]; CLASSES],
    reserved: u32,
    /// While a line is locked: the ways that it goes to.
    for_lock: Option<u32>,
}

impl Ways {
    fn new(masks: [[u32; 2]; CLASSES]) -> Self {
        Self { masks, reserved: 0, for_lock: None }
    }

    fn of(&self, label: Label, code: bool) -> u32 {
        self.for_lock.unwrap_or(self.masks[usize::from(label.class)][usize::from(code)] & !self.reserved)
    }
}

/// Of two copies that become one, the higher number counts.
fn higher(one: Label, other: Label) -> Label {
    let number = |label: Label| (label.monitor, label.class);
    if number(one) > number(other) { one } else { other }
}

pub struct Node {
    cores: u32,
    pub cache: Option<Cache>,
    pub filter: Option<(Array, EntryTaken)>,
}

pub struct Model {
    pub cores: Vec<Core>,
    pub nodes: Vec<Node>,
    /// With whether they go to a shared cache only.
    pub in_flight: Vec<(Line, bool)>,
    pub writes: Vec<(Line, Label)>,
    /// A node, and a line of its cache that nobody inside has while entries are made for it.
    giving: Option<(usize, Line)>,
}

impl Node {
    fn new(setup: &NodeSetup) -> Self {
        let cache = setup.cache.map(|(level, shape, allocation)| {
            let ways = Ways::new(std::array::from_fn(|class| setup.ways_of(class, shape)));
            Cache { level, lines: Array::new(shape), allocation, ways }
        });
        let filter = setup.filter.map(|(shape, taken)| (Array::new(shape), taken));
        Self { cores: setup.cores, cache, filter }
    }

    fn inward(&self) -> bool {
        self.cache.as_ref().is_some_and(|c| matches!(c.allocation, Allocation::Inclusive | Allocation::NonInclusive))
    }

    fn at_request(&self) -> bool {
        self.filter.as_ref().is_some_and(|(_, taken)| *taken == EntryTaken::AtRequest)
    }
}

impl Model {
    pub fn new(setup: &Setup) -> Self {
        let core = |(number, core): (usize, &CoreSetup)| Core {
            setup: *core,
            l1d: Array::new(core.l1d),
            l1i: Array::new(core.l1i),
            l2: core.l2.map(|(shape, _)| Array::new(shape)),
            inclusion: core.l2.map(|(_, inclusion)| inclusion),
            label: label_at_start(number),
            ways: Ways::new([[ALL; 2]; CLASSES]),
            leaving: Vec::new(),
        };
        let mut nodes: Vec<_> = setup.nodes.iter().map(Node::new).collect();
        let all = (1 << CORES) - 1;
        if nodes.iter().all(|node| node.cores != all) {
            nodes.push(Node { cores: all, cache: None, filter: None });
        }
        Self {
            cores: setup.cores.iter().enumerate().map(core).collect(),
            nodes,
            in_flight: Vec::new(),
            writes: Vec::new(),
            giving: None,
        }
    }

    // Who lies where -----------------------------------------------------------------------------------------------

    fn way_of(&self, core: usize) -> Vec<usize> {
        (0..self.nodes.len()).filter(|at| self.nodes[*at].cores >> core & 1 == 1).collect()
    }

    fn outer(&self, node: usize) -> Option<usize> {
        (node + 1..self.nodes.len()).find(|at| self.nodes[*at].cores & self.nodes[node].cores != 0)
    }

    /// Core by core, what a node sees first of each: the core, or a node further in.
    fn units(&self, node: usize) -> Vec<Unit> {
        let mut units = Vec::new();
        for core in (0..CORES).filter(|core| self.nodes[node].cores >> core & 1 == 1) {
            let unit = match self.way_of(core).into_iter().take_while(|at| *at != node).last() {
                Some(inner) => Unit::Node(inner),
                None => Unit::Core(core),
            };
            if !units.contains(&unit) {
                units.push(unit);
            }
        }
        units
    }

    /// The unit of a node on a core's way.
    fn own_unit(&self, node: usize, core: usize) -> Unit {
        let inner = self.way_of(core).into_iter().take_while(|at| *at != node).last();
        inner.map_or(Unit::Core(core), Unit::Node)
    }

    fn others_outside(&self, node: usize) -> bool {
        let mut outside = std::iter::successors(self.outer(node), |at| self.outer(*at));
        outside.any(|at| self.units(at).len() > 1)
    }

    fn core_holds(&self, core: usize, line: Line) -> bool {
        let core = &self.cores[core];
        core.l1d.has(line) || core.l2.as_ref().is_some_and(|l2| l2.has(line))
    }

    fn holds(&self, unit: Unit, line: Line) -> bool {
        match unit {
            Unit::Core(core) => self.core_holds(core, line),
            Unit::Node(at) => self.cached_at(at, line) || self.inside(at, line),
        }
    }

    fn cached_at(&self, node: usize, line: Line) -> bool {
        self.nodes[node].cache.as_ref().is_some_and(|cache| cache.lines.has(line))
    }

    /// Whether a line lies further in than a node's cache, as far as the node knows: a filter hears of a line that
    /// leaves a core when it is told.
    fn inside(&self, node: usize, line: Line) -> bool {
        match &self.nodes[node].filter {
            _ if self.is_about_to_give(node, line) => false,
            Some((filter, _)) => filter.get(line).is_some_and(|entry| !entry.busy),
            None => !self.holders(node, line).is_empty(),
        }
    }

    fn is_about_to_give(&self, node: usize, line: Line) -> bool {
        let within = |outer: usize| node <= outer && self.nodes[outer].cores & self.nodes[node].cores != 0;
        self.giving.is_some_and(|(outer, given)| given == line && within(outer))
    }

    fn holders(&self, node: usize, line: Line) -> Vec<Unit> {
        self.units(node).into_iter().filter(|unit| self.holds(*unit, line)).collect()
    }

    fn place(&self, core: usize, level: u8) -> To {
        if level <= 1 {
            return To::First;
        }
        if level == 2 && self.cores[core].l2.is_some() {
            return To::Second;
        }
        let fits = |at: &usize| self.nodes[*at].cache.as_ref().is_some_and(|cache| cache.level >= level);
        self.way_of(core).iter().position(fits).map_or(To::Memory, To::Stop)
    }

    pub fn to(&self, core: usize, want: Want) -> To {
        let setup = &self.cores[core].setup;
        match want {
            Want::Read | Want::Update => To::First,
            Want::Fetch => To::Instructions,
            Want::Write => self.place(core, setup.stores),
            Want::Walk => self.place(core, setup.walks),
            Want::Stream => self.place(core, setup.streams),
            Want::Prefetch { level } => self.place(core, level),
        }
    }

    // Accesses -----------------------------------------------------------------------------------------------------

    pub fn access(&mut self, core: usize, line: Line, want: Want) -> Answer {
        let to = self.to(core, want);
        let held = self.core_holds(core, line);
        let in_first = self.cores[core].l1d.has(line);
        let level = if in_first { Answer::L1 } else { Answer::L2 };
        match want {
            Want::Fetch => return self.fetch(core, line),
            Want::Read => {}
            Want::Write if to == To::First => {}
            Want::Prefetch { .. } | Want::Walk if to == To::First => return self.access(core, line, Want::Read),
            Want::Write | Want::Stream if held => {
                self.store_where_it_is(core, line);
                return level;
            }
            Want::Write if to == To::Memory => return self.request(core, line, Want::Stream, to),
            Want::Walk if held => {
                if !in_first {
                    self.cores[core].l2.as_mut().unwrap().touch(line);
                }
                return level;
            }
            Want::Prefetch { .. } if held => return level,
            Want::Walk if to == To::Memory => return Answer::Memory,
            Want::Prefetch { .. } if to == To::Memory => return Answer::Sent,
            _ => return self.request(core, line, want, to),
        }
        if in_first {
            let slot = self.cores[core].l1d.touch(line).unwrap();
            if want == Want::Write {
                self.changed_in_first(core, line, slot.shared);
            }
            return Answer::L1;
        }
        if !held {
            return self.request(core, line, want, to);
        }
        let private = &mut self.cores[core];
        let l2 = private.l2.as_mut().unwrap();
        let slot = match private.inclusion.unwrap() {
            Inclusion::ExclusiveOfL1d => l2.take(line).unwrap(),
            _ => Slot { dirty: false, locked: false, ..l2.touch(line).unwrap() },
        };
        self.put_first(core, slot);
        self.send_off(core);
        if want == Want::Write {
            self.changed_in_first(core, line, slot.shared);
        }
        Answer::L2
    }

    fn fetch(&mut self, core: usize, line: Line) -> Answer {
        let private = &mut self.cores[core];
        if private.l1i.touch(line).is_some() {
            return Answer::L1;
        }
        let in_second = private.l2.as_mut().is_some_and(|l2| l2.touch(line).is_some());
        if in_second || private.l1d.has(line) {
            private.l1i.put(Slot { line, ..Slot::default() }, ALL).unwrap();
            return if in_second { Answer::L2 } else { Answer::L1 };
        }
        self.request(core, line, Want::Fetch, To::Instructions)
    }

    /// A store to a line of the first level, with everything that follows.
    fn changed_in_first(&mut self, core: usize, line: Line, shared: bool) {
        let through = self.cores[core].setup.written_through;
        self.cores[core].l1d.with(line, |slot| slot.dirty |= !through);
        self.after_store(core, line, shared);
    }

    fn after_store(&mut self, core: usize, line: Line, shared: bool) {
        if shared {
            self.make_own(core, line);
        }
        if self.cores[core].setup.written_through {
            self.store_through(core, line);
        }
    }

    fn store_where_it_is(&mut self, core: usize, line: Line) {
        if let Some(slot) = self.cores[core].l1d.touch(line) {
            return self.changed_in_first(core, line, slot.shared);
        }
        let l2 = self.cores[core].l2.as_mut().unwrap();
        let slot = l2.touch(line).unwrap();
        l2.with(line, |slot| slot.dirty = true);
        self.after_store(core, line, slot.shared);
    }

    fn store_through(&mut self, core: usize, line: Line) {
        if let Some(l2) = self.cores[core].l2.as_mut().filter(|l2| l2.has(line)) {
            return l2.with(line, |slot| slot.dirty = true);
        }
        for at in self.way_of(core) {
            if let Some(cache) = self.nodes[at].cache.as_mut().filter(|cache| cache.lines.has(line)) {
                return cache.lines.with(line, |slot| slot.dirty = true);
            }
        }
        self.writes.push((line, self.cores[core].label));
    }

    // Requests -----------------------------------------------------------------------------------------------------

    /// Nodes of a way whose filters track a line that goes there.
    fn tracking(&self, core: usize, to: To) -> Vec<usize> {
        let way = self.way_of(core);
        match to {
            To::Stop(at) => way[at + 1..].to_vec(),
            To::Memory => Vec::new(),
            _ => way,
        }
    }

    fn request(&mut self, core: usize, line: Line, want: Want, to: To) -> Answer {
        let way = self.way_of(core);
        let first = match to {
            To::Stop(at) if !want.is_store() => at,
            To::Memory if !want.is_store() => way.len(),
            _ => 0,
        };
        let tracking = self.tracking(core, to);
        let passed = way.iter().take(first).filter(|_| to != To::Memory);
        let busy = |at: &usize| self.nodes[*at].filter.as_ref().and_then(|(f, _)| f.get(line)).is_some_and(|e| e.busy);
        if passed.into_iter().any(busy) {
            return Answer::InFlight;
        }
        let stops_at_once = want == Want::Stream || (want == Want::Write && matches!(to, To::Stop(_)));
        for (at, node) in way.iter().copied().enumerate().skip(first) {
            // All that know of lines in flight speak up where they are asked, the innermost first.
            let entry = self.nodes[node].filter.as_ref().and_then(|(filter, _)| filter.get(line));
            let by_filter = !self.none_knows_for_all();
            let known = |to_cache: bool| entry.is_some_and(|e| e.busy) || !by_filter || to_cache;
            if self.in_flight.iter().any(|(held, to_cache)| *held == line && known(*to_cache)) {
                return Answer::InFlight;
            }
            let full = |s: &Node| s.filter.as_ref().is_some_and(|(f, _)| !f.has(line) && !f.has_room(line, ALL));
            if self.nodes[node].at_request() && tracking.contains(&node) && full(&self.nodes[node]) {
                return self.busy(node);
            }
            let own = self.own_unit(node, core);
            let holders = self.holders(node, line);
            let others: Vec<_> = holders.iter().copied().filter(|unit| *unit != own).collect();
            if !others.is_empty() {
                if stops_at_once {
                    self.take_away_elsewhere(core, line);
                    return self.request(core, line, want, to);
                }
                return self.take_from_others(core, line, want, to, at, &others);
            }
            if !holders.is_empty() && at == first && matches!(to, To::Stop(_)) && want != Want::Stream {
                return Answer::OtherCore;
            }
            if self.cached_at(node, line) {
                if stops_at_once {
                    return self.store_at(core, line, want, at);
                }
                return self.take_from_cache(core, line, want, to, at);
            }
        }
        if want == Want::Stream {
            if to == To::Memory {
                self.writes.push((line, self.cores[core].label));
                return Answer::Sent;
            }
            for node in tracking {
                if !self.take_entry(node, line, false) {
                    return self.busy(node);
                }
            }
            self.enter(core, Slot { line, ..Slot::default() }, want, to, way.len());
            return Answer::Sent;
        }
        for node in tracking {
            if self.nodes[node].at_request() {
                assert!(self.take_entry(node, line, true));
            }
        }
        self.in_flight.push((line, matches!(to, To::Stop(_))));
        Answer::Memory
    }

    /// Whether no filter that all cores ask knows of lines in flight: then it is known exactly, from the start.
    fn none_knows_for_all(&self) -> bool {
        !self.nodes.iter().any(|node| node.cores == (1 << CORES) - 1 && node.at_request())
    }

    fn busy(&self, node: usize) -> Answer {
        Answer::Busy(if self.nodes[node].cache.is_some() { 0 } else { 1 })
    }

    fn take_from_others(&mut self, core: usize, line: Line, want: Want, to: To, at: usize, others: &[Unit]) -> Answer {
        let way = self.way_of(core);
        let tracking = self.tracking(core, to);
        for inner in way[..at].iter().filter(|inner| tracking.contains(inner)) {
            assert!(self.take_entry(*inner, line, false));
        }
        let node = way[at];
        let copy = self.nodes[node].cache.as_ref().and_then(|c| Some((c.level, c.lines.get(line)?)));
        let answer = match copy {
            Some((level, slot)) if slot.shared => Answer::Shared(level),
            _ => Answer::OtherCore,
        };
        let mut dirty = false;
        for unit in others {
            dirty |= self.clean(*unit, line);
        }
        let slot = Slot { line, dirty, shared: true, label: self.cores[core].label, ..Slot::default() };
        match self.nodes[node].cache.as_mut() {
            Some(cache) if cache.lines.has(line) => cache.lines.with(line, |slot| {
                slot.dirty |= dirty;
                slot.shared = true;
            }),
            Some(cache) if cache.allocation != Allocation::Victim => self.allocate(node, core, slot),
            _ => self.write_back(self.outer(node), core, slot),
        }
        self.enter(core, Slot { dirty: false, ..slot }, want, to, at);
        answer
    }

    /// Marks all copies in a unit as shared and clean; true if one was changed.
    fn clean(&mut self, unit: Unit, line: Line) -> bool {
        let mut dirty = false;
        let mut clean = |array: &mut Array| {
            array.with(line, |slot| {
                dirty |= slot.dirty;
                slot.dirty = false;
                slot.shared = true;
            });
        };
        match unit {
            Unit::Core(core) => {
                clean(&mut self.cores[core].l1d);
                self.cores[core].l2.iter_mut().for_each(clean);
            }
            Unit::Node(node) => {
                self.nodes[node].cache.iter_mut().for_each(|cache| clean(&mut cache.lines));
                for unit in self.units(node) {
                    dirty |= self.clean(unit, line);
                }
            }
        }
        dirty
    }

    fn take_from_cache(&mut self, core: usize, line: Line, want: Want, to: To, at: usize) -> Answer {
        let way = self.way_of(core);
        let tracking = self.tracking(core, to);
        self.giving = Some((way[at], line));
        for node in way[..=at].iter().filter(|node| tracking.contains(node)) {
            assert!(self.take_entry(*node, line, false));
        }
        self.giving = None;
        let node = way[at];
        let (alone, inward) = (!self.others_outside(node), self.nodes[node].inward());
        let cache = self.nodes[node].cache.as_mut().unwrap();
        let level = cache.level;
        if !cache.lines.has(line) {
            // Room for an entry was made at the cost of this very line.
            for node in way[..=at].iter().filter(|node| tracking.contains(node)) {
                self.drop_entry_unless_held(*node, line);
            }
            return self.request(core, line, want, to);
        }
        cache.lines.with(line, |slot| slot.shared &= !alone);
        let slot = if inward || to == To::Stop(at) {
            Slot { dirty: false, ..cache.lines.touch(line).unwrap() }
        } else {
            cache.lines.take(line).unwrap()
        };
        let slot = Slot { line, dirty: slot.dirty, shared: slot.shared, ..Slot::default() };
        self.enter(core, slot, want, to, at);
        Answer::Shared(level)
    }

    fn store_at(&mut self, core: usize, line: Line, want: Want, at: usize) -> Answer {
        let node = self.way_of(core)[at];
        let cache = self.nodes[node].cache.as_mut().unwrap();
        let level = cache.level;
        let shared = cache.lines.touch(line).unwrap().shared;
        cache.lines.with(line, |slot| {
            slot.dirty = true;
            slot.shared = false;
        });
        if shared {
            self.make_own_outside(core, line, at + 1, &[]);
        }
        if want == Want::Stream { Answer::Sent } else { Answer::Shared(level) }
    }

    pub fn fill(&mut self, core: usize, line: Line, want: Want) {
        let mut to = self.to(core, want);
        if to == To::Memory {
            return;
        }
        self.in_flight.retain(|(held, _)| *held != line);
        let way = self.way_of(core);
        for node in self.tracking(core, to).into_iter().rev() {
            let Some((filter, taken)) = &mut self.nodes[node].filter else { continue };
            if *taken == EntryTaken::AtRequest && filter.has(line) {
                filter.with(line, |slot| slot.busy = false);
            } else if !self.take_entry(node, line, false) {
                to = To::Stop(way.iter().position(|at| *at == node).unwrap());
                break;
            }
        }
        self.enter(core, Slot { line, ..Slot::default() }, want, to, way.len());
    }

    // In and out ---------------------------------------------------------------------------------------------------

    /// A line comes from outside of the first `from` nodes of a core's way.
    fn enter(&mut self, core: usize, mut slot: Slot, want: Want, to: To, from: usize) {
        let way = self.way_of(core);
        slot.label = self.cores[core].label;
        if want.is_store() && slot.shared {
            let awaited = self.tracking(core, to);
            self.make_own_outside(core, slot.line, 0, &awaited);
            slot.shared = false;
        }
        let last = match to {
            To::Stop(at) => Some(at),
            _ => None,
        };
        for at in (last.unwrap_or(0)..from).rev() {
            let node = way[at];
            let (ends, inward) = (last == Some(at), self.nodes[node].inward());
            let Some(cache) = self.nodes[node].cache.as_mut() else { continue };
            let stored = ends && want.is_store();
            let code = want == Want::Fetch;
            let here = Slot { dirty: slot.dirty || stored, ..slot };
            if !inward {
                if ends {
                    self.arrive(node, core, here);
                }
                continue;
            }
            let mask = cache.ways.of(slot.label, code);
            let inclusive = cache.allocation == Allocation::Inclusive;
            match cache.lines.put(here, mask) {
                Ok(Some(out)) => self.evicted(node, core, out),
                Ok(None) => {}
                Err(here) if ends || inclusive => {
                    let tracking = self.tracking(core, to);
                    way[..=at].iter().filter(|at| tracking.contains(at)).for_each(|at| {
                        self.drop_entry_unless_held(*at, slot.line);
                    });
                    return self.left_node(node, core, Slot { dirty: here.dirty || want.is_store(), ..here });
                }
                Err(_) => continue,
            }
            slot.dirty = false;
        }
        let through = self.cores[core].setup.written_through;
        match to {
            To::First => {
                // A change from outside stays in the outermost cache that takes the line; a store changes the innermost.
                let stores = want.is_store() && !through;
                let inclusion = self.cores[core].inclusion;
                let second = match inclusion {
                    None | Some(Inclusion::ExclusiveOfL1d) => false,
                    Some(_) => self.put_second(core, slot, false),
                };
                let first = Slot { dirty: (slot.dirty && !second) || stores, ..slot };
                match (inclusion, second) {
                    (Some(Inclusion::InclusiveOfL1d), false) => self.leaves(core, first),
                    _ => self.put_first(core, first),
                }
            }
            To::Instructions => {
                self.cores[core].l1i.put(Slot { line: slot.line, ..Slot::default() }, ALL).unwrap();
                if self.cores[core].l2.is_none() || !self.put_second(core, slot, true) {
                    self.leaves(core, slot);
                }
            }
            To::Second => {
                let slot = Slot { dirty: slot.dirty || want.is_store(), ..slot };
                if !self.put_second(core, slot, false) {
                    self.leaves(core, slot);
                }
            }
            To::Stop(_) | To::Memory => {}
        }
        self.send_off(core);
        // The change is further out than a first level that is written through, where it did not go there.
        if want.is_store() && to == To::First {
            self.after_store(core, slot.line, false);
        }
    }

    fn put_first(&mut self, core: usize, slot: Slot) {
        let private = &mut self.cores[core];
        let Some(out) = private.l1d.put(slot, ALL).unwrap() else { return };
        let has = private.l2.as_ref().is_some_and(|l2| l2.has(out.line));
        match (private.l2.as_mut(), private.inclusion) {
            (Some(l2), Some(Inclusion::InclusiveOfL1d)) => l2.with(out.line, |held| held.dirty |= out.dirty),
            (Some(l2), Some(Inclusion::NonInclusive)) if has => l2.with(out.line, |held| held.dirty |= out.dirty),
            (Some(l2), Some(inclusion)) if inclusion == Inclusion::ExclusiveOfL1d || out.dirty => {
                match l2.put(out, private.ways.of(private.label, false)) {
                    Ok(None) => {}
                    Ok(Some(lost)) => self.second_lost(core, lost),
                    Err(out) => self.leaves(core, out),
                }
            }
            _ => self.leaves(core, out),
        }
    }

    /// False if every way is locked.
    fn put_second(&mut self, core: usize, slot: Slot, code: bool) -> bool {
        let mask = self.cores[core].ways.of(self.cores[core].label, code);
        let put = self.cores[core].l2.as_mut().unwrap().put(slot, mask);
        if let Ok(Some(lost)) = put {
            self.second_lost(core, lost);
        }
        put.is_ok()
    }

    fn second_lost(&mut self, core: usize, lost: Slot) {
        let private = &mut self.cores[core];
        match private.inclusion.unwrap() {
            Inclusion::InclusiveOfL1d => {
                let first = private.l1d.take(lost.line).is_some_and(|slot| slot.dirty);
                self.leaves(core, Slot { dirty: lost.dirty || first, ..lost });
            }
            Inclusion::NonInclusive if private.l1d.has(lost.line) => private.leaving.push((lost, true)),
            _ => self.leaves(core, lost),
        }
    }

    fn leaves(&mut self, core: usize, out: Slot) {
        self.cores[core].leaving.push((out, false));
    }

    fn send_off(&mut self, core: usize) {
        for (out, kept) in std::mem::take(&mut self.cores[core].leaving) {
            let node = self.way_of(core)[0];
            let out = Slot { label: self.cores[core].label, ..out };
            if kept {
                self.write_back(Some(node), core, out);
            } else {
                self.drop_entry_unless_held(node, out.line);
                self.arrive(node, core, Slot { locked: false, ..out });
            }
        }
    }

    fn left_node(&mut self, node: usize, core: usize, out: Slot) {
        match self.outer(node) {
            Some(outer) => {
                self.drop_entry_unless_held(outer, out.line);
                self.arrive(outer, core, out);
            }
            None => self.write_back(None, core, out),
        }
    }

    fn drop_entry_unless_held(&mut self, node: usize, line: Line) {
        if self.holders(node, line).is_empty()
            && let Some((filter, _)) = &mut self.nodes[node].filter
        {
            filter.take(line);
        }
    }

    /// A line comes to a node from inside.
    fn arrive(&mut self, node: usize, core: usize, out: Slot) {
        let last = !self.inside(node, out.line);
        let alone = last && !self.others_outside(node);
        let inward = self.nodes[node].inward();
        let outer = self.outer(node);
        let Some(cache) = self.nodes[node].cache.as_mut() else {
            return if last { self.left_node(node, core, out) } else { self.write_back(outer, core, out) };
        };
        if cache.lines.has(out.line) {
            if last || inward {
                cache.lines.with(out.line, |slot| {
                    slot.dirty |= out.dirty;
                    slot.shared &= !alone;
                });
            }
            return;
        }
        let out = Slot { busy: false, ..out };
        match cache.allocation {
            Allocation::ExclusiveUntilShared | Allocation::Victim if last => {
                self.allocate(node, core, Slot { shared: out.shared && !alone, ..out });
            }
            Allocation::NonInclusive if out.dirty => self.allocate(node, core, out),
            _ if last => self.left_node(node, core, out),
            _ => self.write_back(outer, core, out),
        }
    }

    fn allocate(&mut self, node: usize, core: usize, slot: Slot) {
        let cache = self.nodes[node].cache.as_mut().unwrap();
        let mask = cache.ways.of(slot.label, false);
        match cache.lines.put(Slot { locked: false, ..slot }, mask) {
            Ok(None) => {}
            Ok(Some(out)) | Err(out) => self.evicted(node, core, out),
        }
    }

    fn evicted(&mut self, node: usize, core: usize, mut out: Slot) {
        let allocation = self.nodes[node].cache.as_ref().unwrap().allocation;
        if allocation == Allocation::Inclusive {
            for unit in self.units(node) {
                let (dirty, label) = self.take_out(unit, out.line, true);
                (out.dirty, out.label) = (out.dirty | dirty, higher(out.label, label));
            }
            self.drop_entry_unless_held(node, out.line);
        }
        let out = Slot { locked: false, ..out };
        if self.inside(node, out.line) {
            self.write_back(self.outer(node), core, out);
        } else {
            self.left_node(node, core, out);
        }
    }

    fn write_back(&mut self, mut outer: Option<usize>, core: usize, out: Slot) {
        if !out.dirty {
            return;
        }
        while let Some(at) = outer {
            let inward = self.nodes[at].inward();
            if let Some(cache) = self.nodes[at].cache.as_mut() {
                if cache.lines.has(out.line) {
                    return cache.lines.with(out.line, |slot| slot.dirty = true);
                }
                if inward {
                    return self.allocate(at, core, out);
                }
            }
            outer = self.outer(at);
        }
        self.writes.push((out.line, out.label));
    }

    // Lines that are taken away ------------------------------------------------------------------------------------

    /// False if every entry of the set waits for a fill.
    fn take_entry(&mut self, node: usize, line: Line, busy: bool) -> bool {
        let Some((filter, _)) = &mut self.nodes[node].filter else { return true };
        match filter.put(Slot { line, busy, ..Slot::default() }, ALL) {
            Err(_) => return false,
            Ok(None) => {}
            Ok(Some(out)) => {
                let owners = self.holders(node, out.line);
                let first = match owners[0] {
                    Unit::Core(core) => core,
                    Unit::Node(inner) => self.nodes[inner].cores.trailing_zeros() as usize,
                };
                let out = self.take_out_of_all(&owners, out.line);
                self.arrive(node, first, out);
            }
        }
        true
    }

    fn is_shared_in(&self, unit: Unit, line: Line) -> bool {
        let shared = |array: &Array| array.get(line).is_some_and(|slot| slot.shared);
        match unit {
            Unit::Core(core) => shared(&self.cores[core].l1d) || self.cores[core].l2.as_ref().is_some_and(shared),
            Unit::Node(at) => {
                self.nodes[at].cache.as_ref().is_some_and(|cache| shared(&cache.lines))
                    || self.units(at).into_iter().any(|unit| self.is_shared_in(unit, line))
            }
        }
    }

    /// Takes a line out of units; gives what was known of it.
    fn take_out_of_all(&mut self, units: &[Unit], line: Line) -> Slot {
        let mut out = Slot { line, ..Slot::default() };
        for unit in units {
            out.shared |= self.is_shared_in(*unit, line);
            let (dirty, label) = self.take_out(*unit, line, false);
            (out.dirty, out.label) = (out.dirty | dirty, higher(out.label, label));
        }
        out
    }

    /// Takes a line out of a unit, and its instruction copies too if `code`; gives whether it was changed there, and its
    /// label.
    fn take_out(&mut self, unit: Unit, line: Line, code: bool) -> (bool, Label) {
        let dirty = |slot: Option<Slot>| slot.is_some_and(|slot| slot.dirty);
        match unit {
            Unit::Core(core) => {
                let core = &mut self.cores[core];
                if code {
                    core.l1i.take(line);
                }
                let second = core.l2.as_mut().and_then(|l2| l2.take(line));
                let first = core.l1d.take(line);
                let was_there = first.is_some() || second.is_some();
                (dirty(first) | dirty(second), if was_there { core.label } else { Label::default() })
            }
            Unit::Node(at) => {
                let cache = self.nodes[at].cache.as_mut();
                let inclusive = cache.as_ref().is_some_and(|cache| cache.allocation == Allocation::Inclusive);
                let had = cache.and_then(|cache| cache.lines.take(line));
                let (mut changed, mut label) = (dirty(had), had.map_or(Label::default(), |slot| slot.label));
                for unit in self.units(at) {
                    let (dirty, inside) = self.take_out(unit, line, code || (inclusive && had.is_some()));
                    (changed, label) = (changed | dirty, higher(label, inside));
                }
                self.drop_entry_unless_held(at, line);
                (changed, label)
            }
        }
    }

    /// A core changes a line: copies in other units of its nodes go, and its own are its alone.
    fn make_own(&mut self, core: usize, line: Line) {
        self.make_own_outside(core, line, 0, &[]);
        let core = &mut self.cores[core];
        core.l1d.with(line, |slot| slot.shared = false);
        core.l2.iter_mut().for_each(|l2| l2.with(line, |slot| slot.shared = false));
    }

    /// Filters of the nodes `awaited` have an entry for the line on its way in.
    fn make_own_outside(&mut self, core: usize, line: Line, from: usize, awaited: &[usize]) {
        for node in self.way_of(core).into_iter().skip(from) {
            let own = self.own_unit(node, core);
            for unit in self.units(node).into_iter().filter(|unit| *unit != own) {
                self.take_out(unit, line, false);
            }
            if !awaited.contains(&node) {
                self.drop_entry_unless_held(node, line);
            }
            let inward = self.nodes[node].inward();
            if let Some(cache) = self.nodes[node].cache.as_mut() {
                match inward {
                    true => cache.lines.with(line, |slot| slot.shared = false),
                    false => drop(cache.lines.take(line)),
                }
            }
        }
    }

    fn take_away_elsewhere(&mut self, core: usize, line: Line) {
        for node in self.way_of(core) {
            let own = self.own_unit(node, core);
            let others: Vec<_> = self.holders(node, line).into_iter().filter(|unit| *unit != own).collect();
            if others.is_empty() {
                continue;
            }
            let out = self.take_out_of_all(&others, line);
            self.drop_entry_unless_held(node, line);
            self.arrive(node, core, out);
        }
    }

    // Locks --------------------------------------------------------------------------------------------------------

    fn lockable(&mut self, core: usize, level: u8) -> Option<(To, &mut Array)> {
        if level == 2 && self.cores[core].l2.is_some() {
            let exclusive = self.cores[core].inclusion == Some(Inclusion::ExclusiveOfL1d);
            return self.cores[core].l2.as_mut().filter(|_| !exclusive).map(|l2| (To::Second, l2));
        }
        let way = self.way_of(core);
        let at = way.iter().position(|at| self.nodes[*at].cache.as_ref().is_some_and(|c| c.level == level))?;
        if !self.nodes[way[at]].inward() {
            return None;
        }
        Some((To::Stop(at), &mut self.nodes[way[at]].cache.as_mut().unwrap().lines))
    }

    pub fn lock(&mut self, core: usize, line: Line, level: u8, ways: u32) -> bool {
        let in_flight = self.in_flight.iter().any(|(held, _)| *held == line);
        let Some((to, array)) = self.lockable(core, level) else { return false };
        if array.way_of(line).is_some_and(|way| ways >> way & 1 == 1) {
            array.with(line, |slot| slot.locked = true);
            return true;
        }
        if !array.has_room(line, ways) || in_flight {
            return false;
        }
        let root = self.nodes.len() - 1;
        if let (true, label) = self.take_out(Unit::Node(root), line, false) {
            self.writes.push((line, label));
        }
        for node in self.tracking(core, to) {
            if !self.take_entry(node, line, false) {
                for node in self.tracking(core, to) {
                    self.drop_entry_unless_held(node, line);
                }
                return false;
            }
        }
        self.ways_at(core, to).for_lock = Some(ways);
        self.enter(core, Slot { line, ..Slot::default() }, Want::Walk, to, self.way_of(core).len());
        self.ways_at(core, to).for_lock = None;
        let (_, array) = self.lockable(core, level).unwrap();
        array.with(line, |slot| slot.locked = true);
        array.has(line)
    }

    fn ways_at(&mut self, core: usize, to: To) -> &mut Ways {
        match to {
            To::Stop(at) => {
                let node = self.way_of(core)[at];
                &mut self.nodes[node].cache.as_mut().unwrap().ways
            }
            _ => &mut self.cores[core].ways,
        }
    }

    pub fn unlock(&mut self, level: u8) {
        for core in &mut self.cores {
            if let Some(l2) = core.l2.as_mut().filter(|_| level == 2) {
                l2.unlock(ALL);
            }
        }
        for cache in self.nodes.iter_mut().filter_map(|at| at.cache.as_mut()).filter(|at| at.level == level) {
            cache.lines.unlock(ALL);
        }
    }

    // Classes ------------------------------------------------------------------------------------------------------

    fn level(&mut self, core: usize, level: u8) -> Option<(&mut Array, &mut Ways)> {
        if level == 2 && self.cores[core].l2.is_some() {
            let private = &mut self.cores[core];
            return private.l2.as_mut().map(|l2| (l2, &mut private.ways));
        }
        let is_it = |cache: &&mut Cache| cache.level == level;
        let way = self.way_of(core);
        let nodes = self.nodes.iter_mut().enumerate().filter(|(at, _)| way.contains(at));
        let mut caches = nodes.filter_map(|(_, node)| node.cache.as_mut()).filter(is_it);
        caches.next().map(|cache| (&mut cache.lines, &mut cache.ways))
    }

    pub fn set_ways(&mut self, core: usize, level: u8, class: usize, masks: [u32; 2]) -> bool {
        self.level(core, level).map(|(_, ways)| ways.masks[class] = masks).is_some()
    }

    pub fn reserve(&mut self, core: usize, level: u8, taken: u32, back: bool) {
        let Some((lines, ways)) = self.level(core, level) else { return };
        if back {
            ways.reserved &= !taken;
            lines.unlock(taken);
        } else {
            ways.reserved |= taken;
        }
    }
}
