//! Something for each bank of a channel.

use std::ops::{Index, IndexMut};

/// The most banks of a channel, over all ranks.
pub const MOST_BANKS: usize = 64;

/// Something for each bank. There is room for the most banks, so that nobody has to look how many there are.
#[derive(Debug, Clone)]
pub struct PerBank<T>(Box<[T; MOST_BANKS]>);

impl<T: Clone> PerBank<T> {
    /// The same for all.
    pub fn all(of: &T) -> Self {
        Self(Box::new(std::array::from_fn(|_| of.clone())))
    }
}

impl<T> Index<usize> for PerBank<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, bank: usize) -> &T {
        &self.0[bank % MOST_BANKS]
    }
}

impl<T> IndexMut<usize> for PerBank<T> {
    #[inline(always)]
    fn index_mut(&mut self, bank: usize) -> &mut T {
        &mut self.0[bank % MOST_BANKS]
    }
}
