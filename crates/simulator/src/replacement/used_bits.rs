//! One bit a way: used since the bits were last cleared.

/// A use of a way. The last one that makes all bits set clears the others.
#[inline(always)]
pub fn touch(used: &mut u32, way: usize, ways: usize) {
    *used |= 1 << way;
    if *used == u32::MAX >> (32 - ways) {
        *used = 1 << way;
    }
}

/// The lowest way of the mask that was not used. All of a smaller mask's ways may have been: then its lowest.
#[inline(always)]
pub fn victim(used: u32, mask: u32) -> usize {
    let not_used = mask & !used;
    if not_used == 0 { mask } else { not_used }.trailing_zeros() as usize
}
