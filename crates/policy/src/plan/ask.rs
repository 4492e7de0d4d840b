//! What is asked of one cache, and what came of it.

use crate::amount::Amount;
use crate::mask::Mask;
use crate::offer::{CacheOffer, DomainOffer};
use crate::share::{CacheShare, Extent};

use super::locks::PseudoLockedRegion;

/// What a class asks of a cache.
pub struct Claim<'p> {
    /// The class, by its number.
    pub who: usize,
    /// Its name.
    pub name: String,
    /// The key of the share.
    pub key: String,
    /// The share.
    pub share: &'p CacheShare,
}

/// All that is asked of one cache.
pub struct Ask<'p> {
    pub cache: &'p CacheOffer,
    pub domain: &'p DomainOffer,
    pub claims: &'p [Claim<'p>],
    pub locks: &'p [&'p PseudoLockedRegion],
    pub others: Option<(String, &'p CacheShare)>,
}

/// Masks of a class in one cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassMasks {
    pub code: Mask,
    pub data: Mask,
    pub exclusive: bool,
}

/// A divided cache.
pub struct Division {
    pub shares: Vec<(usize, ClassMasks)>,
    /// What is left.
    pub rest: ClassMasks,
    pub locks: Vec<Mask>,
}

impl Division {
    /// What a class fills: its share, or what is left.
    pub fn of(&self, class: usize) -> ClassMasks {
        self.shares.iter().find(|(who, _)| *who == class).map_or(self.rest, |(_, masks)| *masks)
    }
}

/// The amounts of a share, for code and data.
pub fn amounts(share: &CacheShare) -> [Amount; 2] {
    match share.extent {
        Extent::Together(amount) => [amount; 2],
        Extent::Apart { code, data } => [code, data],
    }
}

/// What a mask's bits are: `12 ways`, or `8 segments of 2 ways`.
pub fn parts(domain: &DomainOffer) -> String {
    if domain.ways == domain.bits || domain.bits == 0 {
        format!("{} ways", domain.bits)
    } else {
        format!("{} segments of {} ways", domain.bits, domain.ways / domain.bits)
    }
}
