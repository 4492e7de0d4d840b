//! Who a line or a request counts for: the class whose share it is, and the monitor that counts it.
//!
//! A core has one label at a time, as IA32_PQR_ASSOC or MPAM0_EL1 set it; what it brings into shared caches carries it.

use crate::cache::Flags;

/// The most classes that can be told apart (CLOS, DSU scheme ID, MPAM PARTID).
pub const MOST_CLASSES: usize = 1 << CLASS_BITS;
/// The most monitors that can be told apart (RMID, MPAM PMG).
pub const MOST_MONITORS: usize = 1 << MONITOR_BITS;

const CLASS_BITS: u32 = 5;
const MONITOR_BITS: u32 = 7;
/// Where the class is among a line's flags, and the monitor.
const CLASS_AT: u32 = 4;
const MONITOR_AT: u32 = CLASS_AT + CLASS_BITS;

/// The flags that are a label.
pub const LABEL: Flags = Flags::MAX << CLASS_AT;

/// A class and a monitor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Label {
    /// Below [`MOST_CLASSES`].
    pub class: u8,
    /// Below [`MOST_MONITORS`].
    pub monitor: u8,
}

impl Label {
    /// As part of a line's flags.
    #[inline]
    pub fn flags(self) -> Flags {
        debug_assert!(usize::from(self.class) < MOST_CLASSES && usize::from(self.monitor) < MOST_MONITORS);
        Flags::from(self.class) << CLASS_AT | Flags::from(self.monitor) << MONITOR_AT
    }

    /// The label that flags name.
    #[inline]
    pub fn of(flags: Flags) -> Self {
        Self { class: class_of(flags) as u8, monitor: monitor_of(flags) as u8 }
    }
}

/// The class that flags name.
#[inline]
pub fn class_of(flags: Flags) -> usize {
    usize::from(flags >> CLASS_AT) % MOST_CLASSES
}

/// The monitor that flags name.
#[inline]
pub fn monitor_of(flags: Flags) -> usize {
    usize::from(flags >> MONITOR_AT)
}

/// The flags of two copies that become one. Which label such a line has is nowhere documented: here it is the one with
/// the higher number.
#[inline]
pub fn merged(one: Flags, other: Flags) -> Flags {
    (one | other) & !LABEL | (one & LABEL).max(other & LABEL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{DIRTY, SHARED, WATCHED};

    #[test]
    fn a_label_and_the_other_flags_do_not_disturb_each_other() {
        for (class, monitor) in [(0, 0), (31, 0), (0, 127), (31, 127), (17, 90)] {
            let label = Label { class, monitor };
            let flags = label.flags() | DIRTY | SHARED | WATCHED;
            assert_eq!((Label::of(flags), flags & !LABEL), (label, DIRTY | SHARED | WATCHED));
        }
    }

    #[test]
    fn copies_of_two_classes_keep_a_label_that_one_of_them_had() {
        let [one, other] = [1, 2].map(|number| Label { class: number, monitor: number + 4 });
        let both = merged(one.flags() | DIRTY, other.flags() | SHARED);
        // Classes 1 and 2 are not class 3.
        assert_eq!((Label::of(both), both & !LABEL), (other, DIRTY | SHARED));
    }
}
