//! A page walk in flight.

use crate::core::front::tlb::Page;
use crate::core::front::translation::Side;
use crate::time::Ps;

/// A page walk: it reads one descriptor after the other.
#[derive(Debug, Clone)]
pub struct PageWalk {
    /// The side that misses the translation.
    pub side: Side,
    /// The page.
    pub page: Page,
    /// Descriptors that it has asked for.
    pub array: usize,
    /// When it goes on.
    pub at: Ps,
    /// What it waits for.
    pub awaits: Awaits,
}

/// What a walk waits for that does not come at a known time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaits {
    /// Nothing.
    Nothing,
    /// The line of this MSHR.
    Mshr(usize),
    /// An MSHR.
    AnyMshr,
}
