//! Whole numbers in as few bytes as they need: seven bits a byte, lowest first (LEB128).

/// Appends a number.
#[inline]
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number off the front. None where it ends early or does not fit into 64 bits.
#[inline]
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    if *first < 0x80 {
        return Some(u64::from(*first));
    }
    let mut value = u64::from(first & 0x7f);
    for shift in (7..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        value |= bits << shift;
        if *byte < 0x80 {
            return (bits << shift >> shift == bits).then_some(value);
        }
    }
    None
}

/// A difference as a number that is small where the difference is (zigzag).
#[inline]
pub fn from_difference(difference: u64) -> u64 {
    difference << 1 ^ ((difference as i64) >> 63) as u64
}

/// The inverse of [`from_difference`].
#[inline]
pub fn to_difference(value: u64) -> u64 {
    value >> 1 ^ (value & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 300, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            let mut rest = &bytes[..];
            assert_eq!((take(&mut rest), rest), (Some(value), &[][..]));
            assert_eq!(to_difference(from_difference(value)), value);
            assert_eq!(take(&mut &bytes[..bytes.len() - 1]), None);
        }
        // LEB128 of 624485 is e5 8e 26 (DWARF 5, figure 46).
        let mut bytes = Vec::new();
        put(&mut bytes, 624_485);
        assert_eq!(bytes, [0xe5, 0x8e, 0x26]);
        // -2, -1, 0, 1, 2.
        assert_eq!([-2i64, -1, 0, 1, 2].map(|d| from_difference(d as u64)), [3, 1, 0, 2, 4]);
    }

    #[test]
    fn numbers_of_more_than_64_bits_are_refused() {
        let ten = |last| [&[0xff; 9][..], &[last]].concat();
        assert_eq!(take(&mut &ten(0x01)[..]), Some(u64::MAX));
        assert_eq!(take(&mut &ten(0x02)[..]), None);
        assert_eq!(take(&mut &ten(0x80)[..]), None);
    }
}
