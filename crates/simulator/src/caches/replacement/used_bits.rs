//! One bit a way: used since the bits were last cleared.

/// A use of a way. The last one that makes all bits of the mask set clears its others.
#[inline(always)]
pub fn touched(used: u32, way: usize, mask: u32) -> u32 {
    let used = used | 1 << way;
    if mask & !used == 0 { used & !mask | 1 << way } else { used }
}

/// What is remembered once a way of the mask is to make room. Hits, which know no mask, may have used all of a smaller one's
/// ways: then their bits are cleared, as if the set had no others.
#[inline(always)]
pub fn asked(used: u32, mask: u32) -> u32 {
    if mask & !used == 0 { used & !mask } else { used }
}

/// The lowest way of the mask that was not used.
#[inline(always)]
pub fn victim(used: u32, mask: u32) -> usize {
    (mask & !used).trailing_zeros() as usize
}
