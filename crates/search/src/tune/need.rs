//! What a target needs of a cache by computation: its misses by the number of ways that it may fill, without time and without
//! neighbours. The answer only says where a search begins; it decides nothing.

use waykeeper_functional::{Addresses, CoreCaches, Level};
use waykeeper_platform::Replacement;
use waykeeper_workload::{CacheShapes, Pattern};

/// A target that makes more accesses in a pass is not followed.
const MOST_ACCESSES: u64 = 20_000_000;

/// More misses a pass than with all ways, as a share of its accesses, that still count as none.
const NEGLIGIBLE: f64 = 1e-3;

/// The smallest number of `bits` of a mask on the cache of `level` with which the target misses as rarely as with all of it,
/// and none where that cannot be computed.
pub fn least_bits(pattern: &Pattern, caches: &CacheShapes, level: u8, bits: u32) -> Option<u32> {
    let accesses = pattern.accesses_per_pass().filter(|accesses| (1..=MOST_ACCESSES).contains(accesses))?;
    let misses = |bits_of_mask: u32| misses_of_a_pass(pattern, caches, level, (bits_of_mask, bits), accesses);
    let all = misses(bits)?;
    let allowed = all + (NEGLIGIBLE * accesses as f64) as u64;
    // Misses fall with the ways, but for replacement's own oddities, which do not matter to a beginning.
    let (mut short, mut enough) = (0, bits);
    while enough - short > 1 {
        let middle = (short + enough) / 2;
        *if misses(middle)? <= allowed { &mut enough } else { &mut short } = middle;
    }
    Some(enough)
}

/// Misses of the second pass at a level of which `share.0` bits of `share.1` can be filled.
fn misses_of_a_pass(
    pattern: &Pattern,
    caches: &CacheShapes,
    level: u8,
    share: (u32, u32),
    accesses: u64,
) -> Option<u64> {
    let line_bytes = caches.line_bytes();
    let inner = caches.0.iter().filter(|shape| shape.level <= level);
    let levels: Vec<Level> = inner
        .map(|shape| {
            let ways = u32::try_from(shape.ways).unwrap_or(u32::MAX).min(32);
            let level_of = Level::of_bytes(shape.size_bytes, ways, line_bytes, Replacement::Lru);
            let filled = (ways * share.0 / share.1).max(1);
            let mask = if filled >= 32 { u32::MAX } else { (1 << filled) - 1 };
            if shape.level == level { level_of.filling(mask) } else { level_of }
        })
        .collect();
    let mut hierarchy = CoreCaches::new(line_bytes, &levels).ok()?;
    let mut addresses = Addresses::new(pattern, 1).ok()?;
    hierarchy.follow(&mut addresses, accesses).ok()?;
    hierarchy.reset_counts();
    hierarchy.follow(&mut addresses, accesses).ok()?;
    hierarchy.counts().last().map(|counts| counts.misses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use waykeeper_workload::{CacheShape, Operation};

    #[test]
    fn a_buffer_needs_the_ways_that_it_fills() {
        let shape = |level, size_bytes, ways| CacheShape { level, size_bytes, ways, line_bytes: 64 };
        // 1 MiB in 16 ways and 8 bits of a mask: 128 KiB a bit.
        let caches = CacheShapes(vec![shape(1, 24 << 10, 6), shape(2, 1 << 20, 16)]);
        let buffer =
            |bytes| Pattern::Buffer { bytes, stride: 32, operation: Operation::Read, period_ns: 1e7, offset_ns: None };
        assert_eq!(least_bits(&buffer(128 << 10), &caches, 2, 8), Some(1));
        assert_eq!(least_bits(&buffer(129 << 10), &caches, 2, 8), Some(2));
        assert_eq!(least_bits(&buffer(512 << 10), &caches, 2, 8), Some(4));
        // What the first level holds needs nothing.
        assert_eq!(least_bits(&buffer(16 << 10), &caches, 2, 8), Some(1));
        assert_eq!(least_bits(&Pattern::Tick { body: waykeeper_workload::TickBody::Nothing }, &caches, 2, 8), None);
    }
}
