//! Sets of ways in the plainest form: what a cache and a filter have in common.

use waykeeper_platform::Replacement;
use waykeeper_simulator::line::Line;
use waykeeper_simulator::observe::label::Label;

use crate::setups::Shape;

/// A line and what is known of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Slot {
    pub line: Line,
    pub dirty: bool,
    pub shared: bool,
    pub locked: bool,
    /// Of a filter's entry: the line is under way.
    pub busy: bool,
    /// In a shared cache: of the core that brought it.
    pub label: Label,
}

#[derive(Debug, Clone)]
struct Set {
    ways: Vec<Option<Slot>>,
    /// Ways, the most recently used first.
    order: Vec<usize>,
    /// Where the search for a victim in turn begins.
    next: usize,
}

#[derive(Debug, Clone)]
pub struct Array {
    sets: Vec<Set>,
    replacement: Replacement,
}

impl Array {
    pub fn new(shape: Shape) -> Self {
        let set = Set { ways: vec![None; shape.ways], order: (0..shape.ways).collect(), next: 0 };
        Self { sets: vec![set; shape.sets], replacement: shape.replacement }
    }

    fn set(&mut self, line: Line) -> &mut Set {
        let sets = self.sets.len();
        &mut self.sets[line.index(sets)]
    }

    pub fn get(&self, line: Line) -> Option<Slot> {
        let ways = &self.sets[line.index(self.sets.len())].ways;
        ways.iter().flatten().find(|slot| slot.line == line).copied()
    }

    pub fn has(&self, line: Line) -> bool {
        self.get(line).is_some()
    }

    /// Changes what is known of a line, if it is there.
    pub fn with(&mut self, line: Line, change: impl FnOnce(&mut Slot)) {
        if let Some(slot) = self.set(line).ways.iter_mut().flatten().find(|slot| slot.line == line) {
            change(slot);
        }
    }

    /// A use of a line; gives what is known of it.
    pub fn touch(&mut self, line: Line) -> Option<Slot> {
        let set = self.set(line);
        let way = set.ways.iter().position(|slot| slot.is_some_and(|slot| slot.line == line))?;
        set.touch(way);
        set.ways[way]
    }

    pub fn take(&mut self, line: Line) -> Option<Slot> {
        self.set(line).ways.iter_mut().find(|slot| slot.is_some_and(|slot| slot.line == line))?.take()
    }

    /// Whether one of these ways could be filled.
    pub fn has_room(&self, line: Line, mask: u32) -> bool {
        let ways = self.sets[line.index(self.sets.len())].ways.iter().enumerate();
        ways.filter(|(way, _)| mask >> way & 1 == 1).any(|(_, slot)| slot.is_none_or(|slot| !slot.locked && !slot.busy))
    }

    pub fn way_of(&self, line: Line) -> Option<usize> {
        let ways = &self.sets[line.index(self.sets.len())].ways;
        ways.iter().position(|slot| slot.is_some_and(|slot| slot.line == line))
    }

    /// Puts a line into one of these ways; gives what made room, or the line itself if nothing can.
    pub fn put(&mut self, slot: Slot, mask: u32) -> Result<Option<Slot>, Slot> {
        let replacement = self.replacement;
        let set = self.set(slot.line);
        let free = |way: &usize| mask >> way & 1 == 1 && set.ways[*way].is_none_or(|held| !held.locked && !held.busy);
        let all: Vec<usize> = (0..set.ways.len()).filter(free).collect();
        let empty = all.iter().copied().find(|way| set.ways[*way].is_none());
        let way = match (empty, replacement) {
            _ if all.is_empty() => return Err(slot),
            (Some(way), _) => way,
            (None, Replacement::Lru) => set.order.iter().copied().rfind(|way| all.contains(way)).unwrap(),
            (None, Replacement::Mru) => set.order.iter().copied().find(|way| all.contains(way)).unwrap(),
            (None, Replacement::RoundRobin) => {
                let way = all.iter().copied().find(|way| *way >= set.next).unwrap_or(all[0]);
                set.next = (way + 1) % set.ways.len();
                way
            }
            (None, other) => panic!("the reference does not know {other:?}"),
        };
        set.touch(way);
        Ok(set.ways[way].replace(slot))
    }

    /// Opens the locks of some ways.
    pub fn unlock(&mut self, ways: u32) {
        let slots = self.sets.iter_mut().flat_map(|set| set.ways.iter_mut().enumerate());
        slots.filter(|(way, _)| ways >> way & 1 == 1).for_each(|(_, slot)| {
            slot.iter_mut().for_each(|slot| slot.locked = false);
        });
    }

    /// What is held, by set and way.
    pub fn held(&self) -> impl Iterator<Item = (usize, usize, Slot)> + '_ {
        self.sets
            .iter()
            .enumerate()
            .flat_map(|(at, set)| set.ways.iter().enumerate().filter_map(move |(way, slot)| Some((at, way, (*slot)?))))
    }
}

impl Set {
    fn touch(&mut self, way: usize) {
        self.order.retain(|held| *held != way);
        self.order.insert(0, way);
    }
}
