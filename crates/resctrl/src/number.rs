//! Numbers as the kernel parses them (lib/kstrtox.c).

use crate::Errno;

/// Digits at the start of a text.
pub(crate) struct Digits {
    /// Their value; absent when it does not fit 64 bits.
    pub value: Option<u64>,
    /// How many there are.
    pub length: usize,
}

/// Reads as many digits as there are.
pub(crate) fn digits(text: &[u8], base: u32) -> Digits {
    let length = text.iter().take_while(|&&byte| (byte as char).is_digit(base)).count();
    let value = text[..length].iter().try_fold(0_u64, |value, &byte| {
        let digit = (byte as char).to_digit(base)?;
        value.checked_mul(base.into())?.checked_add(digit.into())
    });
    Digits { value, length }
}

/// kstrtoull(): a number alone, perhaps with a plus sign before it and one newline after it. Base 0 finds the base.
pub(crate) fn unsigned(text: &[u8], base: u32) -> Result<u64, Errno> {
    magnitude(text.strip_prefix(b"+").unwrap_or(text), base)
}

/// kstrtouint(): the same in 32 bits.
pub(crate) fn unsigned_32(text: &[u8], base: u32) -> Result<u32, Errno> {
    u32::try_from(unsigned(text, base)?).map_err(|_| Errno::ERANGE)
}

/// kstrtoint(): the same with a sign, in 32 bits.
pub(crate) fn signed_32(text: &[u8], base: u32) -> Result<i32, Errno> {
    let value = match text.strip_prefix(b"-") {
        Some(rest) => -i128::from(magnitude(rest, base)?),
        None => i128::from(unsigned(text, base)?),
    };
    i32::try_from(value).map_err(|_| Errno::ERANGE)
}

fn magnitude(text: &[u8], base: u32) -> Result<u64, Errno> {
    let base = match (base, text) {
        (0, [b'0', b'x' | b'X', digit, ..]) if digit.is_ascii_hexdigit() => 16,
        (0, [b'0', ..]) => 8,
        (0, _) => 10,
        (base, _) => base,
    };
    let text = match text {
        [b'0', b'x' | b'X', rest @ ..] if base == 16 => rest,
        _ => text,
    };
    let Digits { value, length } = digits(text, base);
    let value = value.ok_or(Errno::ERANGE)?;
    let after = &text[length..];
    let after = after.strip_prefix(b"\n").unwrap_or(after);
    if length == 0 || !after.is_empty() { Err(Errno::EINVAL) } else { Ok(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_found() {
        assert_eq!(unsigned(b"0x1F\n", 0), Ok(31));
        assert_eq!(unsigned(b"010", 0), Ok(8));
        assert_eq!(unsigned(b"08", 0), Err(Errno::EINVAL));
        assert_eq!(unsigned(b"0x", 16), Err(Errno::EINVAL));
        assert_eq!(unsigned(b"+f", 16), Ok(15));
    }

    #[test]
    fn too_much_is_out_of_range() {
        assert_eq!(unsigned(b"10000000000000000", 16), Err(Errno::ERANGE));
        assert_eq!(unsigned_32(b"4294967296", 10), Err(Errno::ERANGE));
        assert_eq!(signed_32(b"-2147483648", 0), Ok(i32::MIN));
        assert_eq!(signed_32(b"2147483648", 0), Err(Errno::ERANGE));
    }

    #[test]
    fn anything_around_a_number_is_refused() {
        for text in [&b""[..], b" 1", b"1 ", b"1\n\n", b"-1", b"++1"] {
            assert_eq!(unsigned(text, 10), Err(Errno::EINVAL));
        }
    }
}
