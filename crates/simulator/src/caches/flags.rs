//! What a cache knows of a line besides its number: a word of bits, which ends in the label of the core that brought it.

use crate::observe::label::{CLASS_BITS, Label, MOST_CLASSES, MOST_MONITORS};

/// What is known of a cached line, as bits.
pub type Flags = u16;
/// It differs from the copy further out.
pub const DIRTY: Flags = 1;
/// More than one core, or a core and the shared cache, may hold it.
pub const SHARED: Flags = 2;
/// Of a line that leaves a cache: one further in still holds it.
pub const HELD: Flags = 4;
/// In a shared cache: a core that is watched brought it. The bits from [`CLASS_AT`] on are the [`Label`] of the core that
/// brought it.
pub const WATCHED: Flags = 8;

/// Where the class is among a line's flags, and the monitor.
const CLASS_AT: u32 = 4;
const MONITOR_AT: u32 = CLASS_AT + CLASS_BITS;

/// The flags that are a label.
pub const LABEL: Flags = Flags::MAX << CLASS_AT;

/// A label as part of a line's flags.
#[inline]
pub fn flags_of(label: Label) -> Flags {
    debug_assert!(usize::from(label.class) < MOST_CLASSES && usize::from(label.monitor) < MOST_MONITORS);
    Flags::from(label.class) << CLASS_AT | Flags::from(label.monitor) << MONITOR_AT
}

/// The label that flags name.
#[inline]
pub fn label_of(flags: Flags) -> Label {
    Label { class: class_of(flags) as u8, monitor: monitor_of(flags) as u8 }
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
    use crate::caches::flags::DIRTY;
    use crate::caches::flags::SHARED;
    use crate::caches::flags::WATCHED;

    #[test]
    fn a_label_and_the_other_flags_do_not_disturb_each_other() {
        for (class, monitor) in [(0, 0), (31, 0), (0, 127), (31, 127), (17, 90)] {
            let label = Label { class, monitor };
            let flags = flags_of(label) | DIRTY | SHARED | WATCHED;
            assert_eq!((label_of(flags), flags & !LABEL), (label, DIRTY | SHARED | WATCHED));
        }
    }

    #[test]
    fn copies_of_two_classes_keep_a_label_that_one_of_them_had() {
        let [one, other] = [1, 2].map(|number| Label { class: number, monitor: number + 4 });
        let both = merged(flags_of(one) | DIRTY, flags_of(other) | SHARED);
        // Classes 1 and 2 are not class 3.
        assert_eq!((label_of(both), both & !LABEL), (other, DIRTY | SHARED));
    }
}
