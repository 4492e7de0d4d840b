//! The caches of one core.

use waykeeper_platform::Inclusion;
use waykeeper_workload::Xorshift;

use crate::cache::{Cache, DIRTY, Evicted, Flags, SHARED};
use crate::tags::Line;

/// A second level and its relation to the first-level data cache.
#[derive(Debug, Clone)]
pub struct SecondLevel {
    /// The cache.
    pub cache: Cache,
    /// The relation.
    pub inclusion: Inclusion,
}

/// The caches of one core. Instruction copies are not snooped: they stay when the second level loses their line.
#[derive(Debug, Clone)]
pub struct Private {
    /// First level, data.
    pub l1d: Cache,
    /// First level, instructions.
    pub l1i: Cache,
    /// Second level, where there is one.
    pub l2: Option<SecondLevel>,
}

/// Where a private lookup ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// In the first level, with these flags.
    L1(Flags),
    /// In the second level; the line is now in the first too. A line may have left the core for it.
    L2(Flags, Option<Evicted>),
    /// Nowhere.
    Nowhere,
}

impl Private {
    /// Looks up a data line and moves it to the first level; `add` marks it there.
    #[inline]
    pub fn data(&mut self, line: Line, add: Flags, random: &mut Xorshift) -> Found {
        if let Some(place) = self.l1d.find(line) {
            return Found::L1(self.l1d.touch(place, add));
        }
        let Some(l2) = &mut self.l2 else { return Found::Nowhere };
        let Some(place) = l2.cache.find(line) else { return Found::Nowhere };
        match l2.inclusion {
            Inclusion::InclusiveOfL1d | Inclusion::NonInclusive => {
                let flags = l2.cache.touch(place, 0);
                // The first level's copy starts clean; what it changes is merged when it leaves.
                self.fill_l1d(line, add | flags & !DIRTY, random);
                Found::L2(flags | add, None)
            }
            Inclusion::ExclusiveOfL1d => {
                let flags = l2.cache.remove(line).expect("it was found") | add;
                let out = self.fill_l1d(line, flags, random);
                Found::L2(flags, out)
            }
        }
    }

    /// Looks up an instruction line and copies it to the first level.
    pub fn instructions(&mut self, line: Line, random: &mut Xorshift) -> Found {
        if let Some(place) = self.l1i.find(line) {
            return Found::L1(self.l1i.touch(place, 0));
        }
        let Some(l2) = &mut self.l2 else { return Found::Nowhere };
        let Some(place) = l2.cache.find(line) else { return Found::Nowhere };
        let flags = l2.cache.touch(place, 0);
        self.fill_l1i(line, random);
        Found::L2(flags, None)
    }

    /// A data line arrives from outside; gives the line that leaves the core for it.
    #[inline]
    pub fn fill_data(&mut self, line: Line, flags: Flags, random: &mut Xorshift) -> Option<Evicted> {
        let mut out = None;
        if let Some(l2) = &mut self.l2
            && l2.inclusion == Inclusion::InclusiveOfL1d
        {
            let ways = l2.cache.all_ways();
            out = l2.cache.insert(line, flags, ways, random);
            if let Some(evicted) = &mut out {
                evicted.flags |= self.l1d.remove(evicted.line).unwrap_or(0);
            }
        }
        self.fill_l1d(line, flags, random).or(out)
    }

    /// An instruction line arrives from outside; gives the line that leaves the core for it.
    pub fn fill_instructions(&mut self, line: Line, random: &mut Xorshift) -> Option<Evicted> {
        self.fill_l1i(line, random);
        let l2 = self.l2.as_mut()?;
        let ways = l2.cache.all_ways();
        let mut evicted = l2.cache.insert(line, 0, ways, random)?;
        if l2.inclusion == Inclusion::InclusiveOfL1d {
            evicted.flags |= self.l1d.remove(evicted.line).unwrap_or(0);
        }
        Some(evicted)
    }

    fn fill_l1i(&mut self, line: Line, random: &mut Xorshift) {
        let ways = self.l1i.all_ways();
        // Instruction lines are never dirty and nobody tracks them: what makes room is gone.
        self.l1i.insert(line, 0, ways, random);
    }

    /// Fills the first level; gives the line that leaves the core for it.
    #[inline]
    fn fill_l1d(&mut self, line: Line, flags: Flags, random: &mut Xorshift) -> Option<Evicted> {
        let ways = self.l1d.all_ways();
        let out = self.l1d.insert(line, flags, ways, random)?;
        let Some(l2) = &mut self.l2 else { return Some(out) };
        match l2.inclusion {
            Inclusion::InclusiveOfL1d | Inclusion::NonInclusive => {
                if out.flags & DIRTY != 0 {
                    let place = l2.cache.find(out.line).expect("the second level includes the first");
                    l2.cache.mark(place, DIRTY);
                }
                None
            }
            Inclusion::ExclusiveOfL1d => {
                let ways = l2.cache.all_ways();
                l2.cache.insert(out.line, out.flags, ways, random)
            }
        }
    }

    /// Takes a line out of the snooped caches; gives the flags of its copies, or None where there was none.
    pub fn invalidate(&mut self, line: Line) -> Option<Flags> {
        let first = self.l1d.remove(line);
        let second = self.l2.as_mut().and_then(|l2| l2.cache.remove(line));
        match (first, second) {
            (None, None) => None,
            (first, second) => Some(first.unwrap_or(0) | second.unwrap_or(0)),
        }
    }

    /// Marks every copy of a line as shared, and clean: the shared cache takes over its changes.
    /// Gives the flags that the copies had.
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

    /// Whether a data or unified cache of the core holds a line.
    pub fn holds(&self, line: Line) -> bool {
        self.l1d.find(line).is_some() || self.l2.as_ref().is_some_and(|l2| l2.cache.find(line).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use waykeeper_platform::Replacement;

    fn private(inclusion: Inclusion) -> Private {
        let cache = |sets, ways| Cache::new(sets, ways, Replacement::Lru);
        Private { l1d: cache(1, 2), l1i: cache(1, 2), l2: Some(SecondLevel { cache: cache(1, 4), inclusion }) }
    }

    #[test]
    fn an_exclusive_second_level_holds_what_the_first_evicted() {
        let (mut core, mut random) = (private(Inclusion::ExclusiveOfL1d), Xorshift::new(0));
        for line in 1..=6 {
            assert_eq!(core.fill_data(line, 0, &mut random), None, "{line}");
        }
        // L1 has 5 and 6; L2 has 1 to 4 and is full. Line 7 pushes 5 to L2 and 1 out.
        assert_eq!(core.fill_data(7, 0, &mut random), Some(Evicted { line: 1, flags: 0 }));
        // A hit on 3 swaps it with 6, the older of L1.
        assert_eq!(core.data(3, DIRTY, &mut random), Found::L2(DIRTY, None));
        let l2 = &core.l2.as_ref().unwrap().cache;
        assert_eq!((l2.find(3), l2.find(6).is_some(), core.l1d.find(6)), (None, true, None));
    }

    #[test]
    fn an_inclusive_second_level_takes_the_first_levels_copy_along() {
        let (mut core, mut random) = (private(Inclusion::InclusiveOfL1d), Xorshift::new(0));
        for line in 1..=4 {
            assert_eq!(core.fill_data(line, 0, &mut random), None);
        }
        assert_eq!(core.data(1, DIRTY, &mut random), Found::L2(DIRTY, None));
        core.data(2, 0, &mut random);
        core.data(3, 0, &mut random);
        // 1 went from L1 to L2 again and left its change there; then 4 is the oldest of L2, and 1 the next.
        assert_eq!(core.fill_data(5, 0, &mut random), Some(Evicted { line: 4, flags: 0 }));
        assert_eq!(core.fill_data(6, 0, &mut random), Some(Evicted { line: 1, flags: DIRTY }));
        // 2 is still in both levels: its change in L1 leaves with the copy in L2.
        core.data(2, DIRTY, &mut random);
        assert_eq!(core.invalidate(2), Some(DIRTY));
        assert!(!core.holds(2));
    }

    #[test]
    fn instruction_copies_outlive_the_second_levels_line() {
        let (mut core, mut random) = (private(Inclusion::ExclusiveOfL1d), Xorshift::new(0));
        core.fill_instructions(1, &mut random);
        assert_eq!(core.invalidate(1), Some(0));
        assert_eq!(core.instructions(1, &mut random), Found::L1(0));
    }
}
