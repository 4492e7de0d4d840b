//! Sets of small numbers as the bits of a word.

/// The positions of the set bits, ascending.
#[inline]
pub fn bits(mask: impl Into<u64>) -> impl Iterator<Item = usize> {
    let mut left = mask.into();
    std::iter::from_fn(move || {
        let at = (left != 0).then(|| left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_given_from_the_lowest() {
        assert_eq!(bits(0b1001_0110u32).collect::<Vec<_>>(), [1, 2, 4, 7]);
        assert_eq!(bits(1u64 << 63 | 1).collect::<Vec<_>>(), [0, 63]);
        assert_eq!(bits(0u32).next(), None);
    }
}
