//! The allocation rule of a shared cache: which lines it takes.
//!
//! | kind | on their way in | on their way out |
//! |---|---|---|
//! | exclusive until shared (Arm DSU) | no line, until a second core reads it | lines that no core inside holds any more, unless the [no-allocate mode](super::no_allocate_mode) is on |
//! | victim | no line | the same |
//! | inclusive | all lines | no line: it has them |
//! | non-inclusive | all lines | changed lines that it has no more |

use waykeeper_platform::Allocation;

use crate::caches::allocation::no_allocate_mode::NoAllocateMode;
use crate::time::Ps;

/// What becomes of a line that comes to a shared cache from inside, and that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outward {
    /// The cache takes it.
    Allocated,
    /// It goes on outward.
    PassedOn,
    /// The same, because the no-allocate mode is on.
    Bypassed,
    /// Others inside hold it still: only its change goes outward.
    WrittenBack,
}

/// Whether lines pass through a cache on their way in. Other kinds take lines on their way out.
#[inline(always)]
pub fn takes_inward(allocation: Allocation) -> bool {
    matches!(allocation, Allocation::Inclusive | Allocation::NonInclusive)
}

/// The rule for a line on its way out, changed or not, which others inside still hold or not.
#[inline(always)]
pub fn on_way_out(
    allocation: Allocation,
    (dirty, held_inside): (bool, bool),
    mode: Option<&mut NoAllocateMode>,
    now: Ps,
) -> Outward {
    if takes_inward(allocation) {
        return match (allocation, held_inside) {
            (Allocation::NonInclusive, _) if dirty => Outward::Allocated,
            (_, false) => Outward::PassedOn,
            (_, true) => Outward::WrittenBack,
        };
    }
    if held_inside {
        return Outward::WrittenBack;
    }
    match mode.is_some_and(|mode| mode.is_on(now)) {
        true => Outward::Bypassed,
        false => Outward::Allocated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_takes_what_the_table_says() {
        let rule = |allocation, dirty, held| on_way_out(allocation, (dirty, held), None, Ps::ZERO);
        for exclusive in [Allocation::ExclusiveUntilShared, Allocation::Victim] {
            assert!(!takes_inward(exclusive));
            for dirty in [false, true] {
                assert_eq!(rule(exclusive, dirty, false), Outward::Allocated);
                assert_eq!(rule(exclusive, dirty, true), Outward::WrittenBack);
            }
        }
        for inward in [Allocation::Inclusive, Allocation::NonInclusive] {
            assert!(takes_inward(inward));
            assert_eq!(rule(inward, false, false), Outward::PassedOn);
            assert_eq!(rule(inward, false, true), Outward::WrittenBack);
        }
        assert_eq!(rule(Allocation::NonInclusive, true, true), Outward::Allocated);
        assert_eq!(rule(Allocation::Inclusive, true, false), Outward::PassedOn);
    }

    #[test]
    fn in_its_no_allocate_mode_the_dsu_takes_nothing() {
        let mut mode = NoAllocateMode::new(1, Ps::new(100), Ps::new(500));
        mode.evicted(Ps::new(10));
        let mut at = |ps| on_way_out(Allocation::ExclusiveUntilShared, (true, false), Some(&mut mode), Ps::new(ps));
        // On from 10 to 510.
        assert_eq!([at(20), at(511)], [Outward::Bypassed, Outward::Allocated]);
    }
}
