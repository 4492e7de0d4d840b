//! One bit a way: used since the bits were last cleared.

/// A use of a way. The last one that makes all bits of the mask set clears its others.
#[inline(always)]
pub fn touch(used: &mut u32, way: usize, mask: u32) {
    *used |= 1 << way;
    if mask & !*used == 0 {
        *used = *used & !mask | 1 << way;
    }
}

/// The lowest way of the mask that was not used. Hits, which know no mask, may have used all of a smaller one's ways: then
/// their bits are cleared, as if the set had no others.
#[inline(always)]
pub fn victim(used: &mut u32, mask: u32) -> usize {
    if mask & !*used == 0 {
        *used &= !mask;
    }
    (mask & !*used).trailing_zeros() as usize
}
