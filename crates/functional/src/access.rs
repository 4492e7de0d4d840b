//! Accesses, as callers give them and as caches pass them on.

/// A load or a store of one line, as a byte address in it. Addresses have 63 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct PackedAccess(u64);

impl PackedAccess {
    /// The bit that marks stores.
    const STORE: u64 = 1 << 63;

    /// A load. The address's highest bit is dropped.
    #[inline]
    pub const fn load(address: u64) -> Self {
        Self(address & !Self::STORE)
    }

    /// A store. The address's highest bit is dropped.
    #[inline]
    pub const fn store(address: u64) -> Self {
        Self(address | Self::STORE)
    }

    /// The byte address.
    #[inline]
    pub const fn address(self) -> u64 {
        self.0 & !Self::STORE
    }

    /// The same accesses as numbers.
    pub(crate) fn as_raw(accesses: &[Self]) -> &[u64] {
        // SAFETY: `Access` is a transparent `u64`, so the two slices have the same layout and any value is valid.
        unsafe { std::slice::from_raw_parts(accesses.as_ptr().cast(), accesses.len()) }
    }

    /// Whether it is a store.
    #[inline]
    pub const fn is_store(self) -> bool {
        self.0 & Self::STORE != 0
    }
}

/// An access as one word: the number of a line below [`EMPTY`], and [`STORE`] if it is one. In a table, the same bit says
/// that the line is dirty.
pub type Word = u32;

/// The bit of a word that marks stores and dirty lines.
pub const STORE: Word = 1 << 31;

/// What stands in an empty place, and the mask of a word's line.
pub const EMPTY: Word = STORE - 1;
