//! The caches of one core.

mod leaving;
mod second_level;

pub use leaving::Leaving;
pub use second_level::SecondLevel;

use waykeeper_platform::Inclusion;
use waykeeper_workload::Xorshift;

use crate::caches::cache::{Cache, Evicted};
use crate::caches::flags::{DIRTY, Flags, HELD, SHARED};
use crate::line::Line;

/// The caches of one core. Instruction copies are not snooped: they stay when the second level loses their line.
#[derive(Debug, Clone)]
pub struct Private {
    /// First level, data.
    pub l1d: Cache,
    /// First level, instructions.
    pub l1i: Cache,
    /// Second level, where there is one.
    pub l2: Option<SecondLevel>,
    /// What a store adds to the flags of a line of the first level: nothing if it goes on outward at once.
    store: Flags,
}

/// Where a private lookup ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// In the first level, with these flags.
    L1(Flags),
    /// In the second level, with these flags; the line is now in the first too. These lines leave the core for it.
    L2(Flags, Leaving),
    /// Nowhere.
    Nowhere,
}

impl Private {
    /// Caches that are written back.
    pub fn new(l1d: Cache, l1i: Cache, l2: Option<SecondLevel>) -> Self {
        Self { l1d, l1i, l2, store: DIRTY }
    }

    /// The same with a first level that is written through: its lines never differ from those further out.
    pub fn written_through(self) -> Self {
        Self { store: 0, ..self }
    }

    /// Whether stores go on outward at once.
    #[inline]
    pub fn is_written_through(&self) -> bool {
        self.store == 0
    }

    /// What an access adds to the flags of its line in the first level.
    #[inline(always)]
    pub fn adds(&self, store: bool) -> Flags {
        if store { self.store } else { 0 }
    }

    /// Looks up a data line and moves it to the first level; `add` marks it there.
    #[inline(always)]
    pub fn data(&mut self, line: Line, add: Flags, random: &mut Xorshift) -> Found {
        if let Some(place) = self.l1d.find(line) {
            return Found::L1(self.l1d.touch(place, add));
        }
        let Some(l2) = &mut self.l2 else { return Found::Nowhere };
        let Some(place) = l2.cache.find(line) else { return Found::Nowhere };
        let mut leaving = Leaving::NONE;
        match l2.inclusion {
            Inclusion::InclusiveOfL1d | Inclusion::NonInclusive => {
                let flags = l2.cache.touch(place, 0);
                // The first level's copy starts clean; what it changes is merged when it leaves.
                self.fill_l1d(line, add | flags & !DIRTY, &mut leaving, random);
                Found::L2(flags | add, leaving)
            }
            Inclusion::ExclusiveOfL1d => {
                let flags = l2.cache.remove(line).expect("it was found") | add;
                self.fill_l1d(line, flags, &mut leaving, random);
                Found::L2(flags, leaving)
            }
        }
    }

    /// Looks up an instruction line and copies it to the first level.
    pub fn instructions(&mut self, line: Line, random: &mut Xorshift) -> Found {
        if let Some(place) = self.l1i.find(line) {
            return Found::L1(self.l1i.touch(place, 0));
        }
        if let Some(flags) = self.second(line) {
            self.fill_l1i(line, random);
            return Found::L2(flags, Leaving::NONE);
        }
        // A line that is data too.
        let Some(place) = self.l1d.find(line) else { return Found::Nowhere };
        let flags = self.l1d.flags(place);
        self.fill_l1i(line, random);
        Found::L1(flags)
    }

    /// A use of a line of the second level that leaves the first alone; returns its flags.
    pub fn second(&mut self, line: Line) -> Option<Flags> {
        let l2 = self.l2.as_mut()?;
        let place = l2.cache.find(line)?;
        Some(l2.cache.touch(place, 0))
    }

    /// A data line arrives from outside with these flags; `add` marks it in the first level. A second level that takes
    /// it keeps the change that it comes with, and the first level the one that is made there. Returns the lines that leave
    /// the core for it.
    #[inline(always)]
    pub fn fill_data(&mut self, line: Line, flags: Flags, add: Flags, random: &mut Xorshift) -> Leaving {
        let mut leaving = Leaving::NONE;
        let inclusion = self.l2.as_ref().map(|l2| l2.inclusion);
        let takes = matches!(inclusion, Some(Inclusion::InclusiveOfL1d | Inclusion::NonInclusive));
        let taken = takes && self.put_second(line, flags, false, &mut leaving, random);
        if !taken && inclusion == Some(Inclusion::InclusiveOfL1d) {
            leaving.push(Evicted { line, flags: flags | add });
            return leaving;
        }
        let flags = if taken { flags & !DIRTY } else { flags };
        self.fill_l1d(line, flags | add, &mut leaving, random);
        leaving
    }

    /// An instruction line arrives from outside; returns the lines that leave the core for it.
    pub fn fill_instructions(&mut self, line: Line, flags: Flags, random: &mut Xorshift) -> Leaving {
        let mut leaving = Leaving::NONE;
        self.fill_l1i(line, random);
        if self.l2.is_none() || !self.put_second(line, flags, true, &mut leaving, random) {
            // Only the unsnooped first level has it: nothing is left to track.
            leaving.push(Evicted { line, flags });
        }
        leaving
    }

    /// A line arrives from outside for the second level, which there is; returns the lines that leave the core for it.
    pub fn fill_second(&mut self, line: Line, flags: Flags, random: &mut Xorshift) -> Leaving {
        let mut leaving = Leaving::NONE;
        if !self.put_second(line, flags, false, &mut leaving, random) {
            leaving.push(Evicted { line, flags });
        }
        leaving
    }

    /// Puts a line into the second level; false if every way that it may fill is locked.
    #[inline(always)]
    fn put_second(
        &mut self,
        line: Line,
        flags: Flags,
        code: bool,
        leaving: &mut Leaving,
        random: &mut Xorshift,
    ) -> bool {
        let l2 = self.l2.as_mut().expect("there is a second level");
        let ways = if code { l2.code_ways } else { l2.data_ways };
        let Some(mut out) = l2.cache.insert(line, flags, ways, random) else { return true };
        if out.line == line {
            return false;
        }
        match l2.inclusion {
            Inclusion::ExclusiveOfL1d => leaving.push(out),
            Inclusion::InclusiveOfL1d => {
                out.flags |= self.l1d.remove(out.line).unwrap_or(0);
                leaving.push(out);
            }
            Inclusion::NonInclusive => self.second_loses(out, leaving),
        }
        true
    }

    /// The first level takes an instruction line.
    pub fn fill_l1i(&mut self, line: Line, random: &mut Xorshift) {
        let ways = self.l1i.all_ways();
        // Instruction lines are never dirty and nobody tracks them: what makes room is gone.
        self.l1i.insert(line, 0, ways, random);
    }

    /// Fills the first level.
    #[inline(always)]
    fn fill_l1d(&mut self, line: Line, flags: Flags, leaving: &mut Leaving, random: &mut Xorshift) {
        let ways = self.l1d.all_ways();
        let Some(out) = self.l1d.insert(line, flags, ways, random) else { return };
        let Some(l2) = &mut self.l2 else { return leaving.push(out) };
        match l2.inclusion {
            Inclusion::InclusiveOfL1d => {
                if out.flags & DIRTY != 0 {
                    let place = l2.cache.find(out.line).expect("the second level includes the first");
                    l2.cache.mark(place, DIRTY);
                }
            }
            Inclusion::ExclusiveOfL1d => {
                if let Some(out) = l2.cache.insert(out.line, out.flags, l2.data_ways, random) {
                    leaving.push(out);
                }
            }
            Inclusion::NonInclusive => self.first_loses(out, leaving, random),
        }
    }

    /// The first level lost a line that a non-inclusive second level may have. A change goes there.
    #[inline(never)]
    fn first_loses(&mut self, out: Evicted, leaving: &mut Leaving, random: &mut Xorshift) {
        let l2 = self.l2.as_mut().expect("there is a second level");
        match l2.cache.find(out.line) {
            Some(place) => l2.cache.mark(place, out.flags & DIRTY),
            None if out.flags & DIRTY == 0 => leaving.push(out),
            None => {
                if let Some(out) = l2.cache.insert(out.line, out.flags, l2.data_ways, random) {
                    self.second_loses(out, leaving);
                }
            }
        }
    }

    /// A non-inclusive second level lost a line, or did not take it. The first level keeps its copy; a change goes out.
    #[inline(never)]
    fn second_loses(&mut self, out: Evicted, leaving: &mut Leaving) {
        if self.l1d.find(out.line).is_none() {
            leaving.push(out);
        } else if out.flags & DIRTY != 0 {
            leaving.push(Evicted { flags: out.flags | HELD, ..out });
        }
    }

    /// Takes a line out of the snooped caches; returns the flags of its copies, or None where there was none.
    #[inline(always)]
    pub fn invalidate(&mut self, line: Line) -> Option<Flags> {
        let first = self.l1d.remove(line);
        let second = self.l2.as_mut().and_then(|l2| l2.cache.remove(line));
        match (first, second) {
            (None, None) => None,
            (first, second) => Some(first.unwrap_or(0) | second.unwrap_or(0)),
        }
    }

    /// Marks every copy of a line as shared, and clean: whoever asks takes over its changes.
    /// Returns the flags that the copies had.
    pub fn share(&mut self, line: Line) -> Flags {
        self.change(line, DIRTY, SHARED)
    }

    /// Marks every copy of a line as this core's alone.
    pub fn unshare(&mut self, line: Line) {
        self.change(line, SHARED, 0);
    }

    fn change(&mut self, line: Line, take: Flags, add: Flags) -> Flags {
        let mut had = 0;
        let l2 = self.l2.as_mut().map(|l2| &mut l2.cache);
        for cache in [Some(&mut self.l1d), l2].into_iter().flatten() {
            if let Some(place) = cache.find(line) {
                had |= cache.flags(place);
                cache.clear(place, take);
                cache.mark(place, add);
            }
        }
        had
    }

    /// The last of the core's data and unified caches.
    pub fn last(&self) -> &Cache {
        self.l2.as_ref().map_or(&self.l1d, |l2| &l2.cache)
    }

    /// Whether a data or unified cache of the core holds a line.
    pub fn holds(&self, line: Line) -> bool {
        self.l1d.find(line).is_some() || self.l2.as_ref().is_some_and(|l2| l2.cache.find(line).is_some())
    }

    /// Whether a data or unified cache of the core up to a level, the first or the last, holds a line.
    pub fn holds_up_to(&self, level: u8, line: Line) -> bool {
        self.l1d.find(line).is_some() || (level > 1 && self.holds(line))
    }

    /// Bytes of memory that the caches take.
    pub fn bytes(&self) -> usize {
        self.l1d.bytes() + self.l1i.bytes() + self.l2.as_ref().map_or(0, |l2| l2.cache.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use waykeeper_platform::Replacement;

    struct Core {
        caches: Private,
        random: Xorshift,
    }

    impl Core {
        fn new(inclusion: Inclusion) -> Self {
            let cache = |sets, ways| Cache::new(sets, ways, Replacement::Lru);
            let caches = Private::new(cache(1, 2), cache(1, 2), Some(SecondLevel::new(cache(1, 4), inclusion)));
            Self { caches, random: Xorshift::new(0) }
        }

        fn l2(&self) -> &Cache {
            &self.caches.l2.as_ref().unwrap().cache
        }

        /// The numbers of the lines that leave, with their flags.
        fn fill(&mut self, line: u32, flags: Flags) -> Vec<(u32, Flags)> {
            let leaving = self.caches.fill_data(Line::new(line), flags, 0, &mut self.random);
            leaving.lines().iter().map(|out| (out.line.number(), out.flags)).collect()
        }

        fn data(&mut self, line: u32, add: Flags) -> Found {
            self.caches.data(Line::new(line), add, &mut self.random)
        }
    }

    #[test]
    fn an_exclusive_second_level_holds_what_the_first_evicted() {
        let mut core = Core::new(Inclusion::ExclusiveOfL1d);
        for line in 1..=6 {
            assert_eq!(core.fill(line, 0), [], "{line}");
        }
        // L1 has 5 and 6; L2 has 1 to 4 and is full. Line 7 pushes 5 to L2 and 1 out.
        assert_eq!(core.fill(7, 0), [(1, 0)]);
        // A hit on 3 swaps it with 6, the older of L1.
        assert_eq!(core.data(3, DIRTY), Found::L2(DIRTY, Leaving::NONE));
        assert_eq!(
            (core.l2().find(Line::new(3)), core.l2().find(Line::new(6)).is_some(), core.caches.l1d.find(Line::new(6))),
            (None, true, None)
        );
    }

    #[test]
    fn an_inclusive_second_level_takes_the_first_levels_copy_along() {
        let mut core = Core::new(Inclusion::InclusiveOfL1d);
        for line in 1..=4 {
            assert_eq!(core.fill(line, 0), []);
        }
        assert_eq!(core.data(1, DIRTY), Found::L2(DIRTY, Leaving::NONE));
        core.data(2, 0);
        core.data(3, 0);
        // 1 went from L1 to L2 again and left its change there; then 4 is the oldest of L2, and 1 the next.
        assert_eq!(core.fill(5, 0), [(4, 0)]);
        assert_eq!(core.fill(6, 0), [(1, DIRTY)]);
        // 2 is still in both levels: its change in L1 leaves with the copy in L2.
        core.data(2, DIRTY);
        assert_eq!(core.caches.invalidate(Line::new(2)), Some(DIRTY));
        assert!(!core.caches.holds(Line::new(2)));
    }

    #[test]
    fn a_non_inclusive_second_level_loses_lines_that_the_first_keeps() {
        let mut core = Core::new(Inclusion::NonInclusive);
        assert_eq!(core.fill(1, DIRTY), []);
        for line in 2..=4 {
            core.data(1, 0);
            assert_eq!(core.fill(line, 0), [], "{line}");
        }
        core.data(1, DIRTY);
        // L2 holds 1 to 4 and the change that 1 came with; L1 holds 4 and 1, changed anew. L2's oldest is 1: the change
        // that it has goes out, L1 keeps the line.
        // L1's older one is 4, which L2 has: nothing more leaves.
        assert_eq!(core.fill(5, 0), [(1, DIRTY | HELD)]);
        assert!(core.caches.l1d.find(Line::new(1)).is_some() && core.l2().find(Line::new(1)).is_none());
        // L2's oldest is 2; L1 evicts 1, changed, for which L2 then evicts its oldest, 3.
        core.data(5, 0);
        assert_eq!(core.fill(6, 0), [(2, 0), (3, 0)]);
        assert!(core.l2().find(Line::new(1)).is_some());
        // 4 leaves L2 with L1 long without it.
        assert_eq!(core.fill(7, 0), [(4, 0)]);
    }

    #[test]
    fn a_changed_line_that_both_levels_take_is_changed_in_one_of_them() {
        for inclusion in [Inclusion::NonInclusive, Inclusion::InclusiveOfL1d] {
            let mut core = Core::new(inclusion);
            core.fill(1, DIRTY);
            let flags = [&core.caches.l1d, core.l2()].map(|cache| cache.flags(cache.find(Line::new(1)).unwrap()));
            assert_eq!(flags, [0, DIRTY], "{inclusion:?}");
        }
        let mut core = Core::new(Inclusion::NonInclusive);
        assert_eq!(core.caches.fill_data(Line::new(1), 0, DIRTY, &mut core.random), Leaving::NONE);
        let flags = [&core.caches.l1d, core.l2()].map(|cache| cache.flags(cache.find(Line::new(1)).unwrap()));
        assert_eq!(flags, [DIRTY, 0], "a store");
    }

    #[test]
    fn a_clean_line_that_only_a_first_level_held_leaves_the_core() {
        let mut core = Core::new(Inclusion::NonInclusive);
        (1..=4).for_each(|line| drop(core.fill(line, 0)));
        core.data(3, 0);
        core.caches.l2.as_mut().unwrap().cache.remove(Line::new(3));
        // L1 holds 4 and 3, of which 4 is older; L2 has room.
        assert_eq!(core.fill(5, 0), []);
        assert_eq!(core.fill(6, 0), [(1, 0), (3, 0)]);
    }

    #[test]
    fn instruction_copies_outlive_the_second_levels_line() {
        let mut core = Core::new(Inclusion::ExclusiveOfL1d);
        assert_eq!(core.caches.fill_instructions(Line::new(1), 0, &mut core.random), Leaving::NONE);
        assert_eq!(core.caches.invalidate(Line::new(1)), Some(0));
        assert_eq!(core.caches.instructions(Line::new(1), &mut core.random), Found::L1(0));
    }

    #[test]
    fn what_finds_all_ways_locked_goes_past_the_second_level() {
        for (inclusion, in_first, left) in
            [(Inclusion::InclusiveOfL1d, false, vec![(9, DIRTY)]), (Inclusion::NonInclusive, true, vec![])]
        {
            let mut core = Core::new(inclusion);
            core.caches.l2.as_mut().unwrap().data_ways = 0b1;
            core.fill(1, 0);
            let l2 = &mut core.caches.l2.as_mut().unwrap().cache;
            l2.lock(l2.find(Line::new(1)).unwrap());
            assert_eq!(core.fill(9, DIRTY), left, "{inclusion:?}");
            assert_eq!(
                (core.caches.l1d.find(Line::new(9)).is_some(), core.l2().find(Line::new(9))),
                (in_first, None),
                "{inclusion:?}"
            );
        }
    }
}
