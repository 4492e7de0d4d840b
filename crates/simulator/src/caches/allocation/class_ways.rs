//! Which ways of a cache each class fills.

use crate::observe::label::MOST_CLASSES;

/// Ways that a class fills with data, and with instructions.
pub type Ways = [u32; 2];

/// The ways of a cache by class.
#[derive(Debug, Clone)]
pub struct ClassWays {
    all: u32,
    /// Ways that nobody fills: they hold locked lines.
    reserved: u32,
    /// As they were set.
    set: [Ways; MOST_CLASSES],
    /// What of them is not reserved.
    fills: [Ways; MOST_CLASSES],
    /// Whether a class fills other ways with data than with instructions.
    tell_code: bool,
}

impl ClassWays {
    /// Every class fills all ways.
    pub fn new(all: u32) -> Self {
        Self { all, reserved: 0, set: [[all; 2]; MOST_CLASSES], fills: [[all; 2]; MOST_CLASSES], tell_code: false }
    }

    /// Sets the ways that a class fills.
    pub fn set(&mut self, class: usize, ways: Ways) {
        self.set[class] = ways.map(|ways| ways & self.all);
        self.plan();
    }

    /// The ways that a class fills.
    #[inline]
    pub fn of(&self, class: usize) -> Ways {
        self.fills[class % MOST_CLASSES]
    }

    /// Whether it matters which lines hold instructions.
    #[inline]
    pub fn tell_code(&self) -> bool {
        self.tell_code
    }

    /// Takes ways away from all classes.
    pub fn reserve(&mut self, ways: u32) {
        self.reserved |= ways & self.all;
        self.plan();
    }

    /// Returns reserved ways to the classes that had them.
    pub fn release(&mut self, ways: u32) {
        self.reserved &= !ways;
        self.plan();
    }

    /// The ways that are reserved.
    pub fn reserved(&self) -> u32 {
        self.reserved
    }

    /// Lets a class fill other ways with data for a moment, whatever is reserved; returns those before.
    pub fn swap_data(&mut self, class: usize, ways: u32) -> u32 {
        std::mem::replace(&mut self.fills[class][0], ways)
    }

    fn plan(&mut self) {
        self.fills = self.set.map(|ways| ways.map(|ways| ways & !self.reserved));
        self.tell_code = self.fills.iter().any(|[data, code]| data != code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_comes_back_to_who_had_it() {
        let mut ways = ClassWays::new(0b1111);
        ways.set(3, [0b0011, 0xff00]);
        ways.reserve(0b0110);
        assert_eq!((ways.of(0), ways.of(3)), ([0b1001; 2], [0b0001, 0]));
        // A mask that is set meanwhile holds once the ways are back.
        ways.set(3, [0b0110, 0b1000]);
        assert_eq!(ways.of(3), [0, 0b1000]);
        ways.release(0b0100);
        assert_eq!((ways.of(0), ways.of(3), ways.reserved()), ([0b1101; 2], [0b0100, 0b1000], 0b0010));
    }
}
