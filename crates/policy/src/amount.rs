//! How much of a cache: "half", "25 %", "4 ways", "at least 1 MiB", "0x3f".

use std::fmt;
use std::str::FromStr;

use crate::mask::Mask;

/// How much of a cache, before it is known which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Amount {
    /// What to do where it is no whole number of mask bits.
    pub bound: Option<Bound>,
    /// How much.
    pub quantity: CacheQuantity,
}

/// Which way an amount may be rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bound {
    /// Up.
    AtLeast,
    /// Down.
    AtMost,
}

/// How much of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheQuantity {
    /// A fraction: `half`, `1/3`.
    Fraction {
        /// Above the line.
        part: u32,
        /// Below the line.
        of: u32,
    },
    /// Thousandths of a percent: `25 %`.
    Percent(u32),
    /// Ways of the cache: `4 ways`.
    Ways(u32),
    /// Bits of its masks, whatever the makers call them: `1 segment`, `2 portions`.
    Bits(u32),
    /// Bytes: `1 MiB`.
    Bytes(u64),
    /// Exactly these bits: `0x3f`.
    Mask(Mask),
}

/// What an amount comes to in a cache with these masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaskGeometry {
    /// Bits in a mask.
    pub bits: u32,
    /// Ways of the cache.
    pub ways: u32,
    /// Size of the cache in bytes.
    pub size_bytes: u64,
}

/// An amount in mask bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bits {
    /// How many.
    pub bits: u32,
    /// Whether the amount was no whole number of them.
    pub rounded: bool,
}

impl Amount {
    /// How many bits it comes to: sizes and ways are rounded up, fractions and percentages down, unless the amount says
    /// otherwise. Shares that add up to the whole cache thus fit into it.
    pub fn bits(&self, shape: &MaskGeometry) -> Bits {
        let bits = u128::from(shape.bits);
        let (part, of) = match self.quantity {
            CacheQuantity::Fraction { part, of } => (u128::from(part) * bits, u128::from(of)),
            CacheQuantity::Percent(milli) => (u128::from(milli) * bits, 100_000),
            CacheQuantity::Ways(ways) => (u128::from(ways) * bits, u128::from(shape.ways)),
            CacheQuantity::Bits(count) => (u128::from(count), 1),
            CacheQuantity::Bytes(bytes) => (u128::from(bytes) * bits, u128::from(shape.size_bytes)),
            CacheQuantity::Mask(mask) => (u128::from(mask.count()), 1),
        };
        let of = of.max(1);
        let up = match (self.bound, self.quantity) {
            (Some(Bound::AtLeast), _) => true,
            (Some(Bound::AtMost), _) => false,
            (None, CacheQuantity::Ways(_) | CacheQuantity::Bytes(_)) => true,
            (None, _) => false,
        };
        let whole = if up { part.div_ceil(of) } else { part / of };
        Bits { bits: u32::try_from(whole).unwrap_or(u32::MAX), rounded: part % of != 0 }
    }

    /// The mask, where the amount is one.
    pub fn mask(&self) -> Option<Mask> {
        match self.quantity {
            CacheQuantity::Mask(mask) => Some(mask),
            _ => None,
        }
    }
}

/// What an amount can look like.
pub const EXPECTED: &str = "expected a share such as \"half\", \"1/3\", \"25 %\", \"4 ways\", \"2 segments\", \"at least 1 MiB\" or a mask, \"0x3f\"";

const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];

/// Words for a bit of a mask: Intel's, Arm's for MPAM, Arm's for the DSU.
const BIT_WORDS: [&str; 4] = ["segment", "portion", "group", "bit"];

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || format!("found {text:?}, {EXPECTED}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (bound, rest) = if let Some(rest) = words.strip_prefix("at least ") {
            (Some(Bound::AtLeast), rest)
        } else if let Some(rest) = words.strip_prefix("at most ") {
            (Some(Bound::AtMost), rest)
        } else {
            (None, words.as_str())
        };
        let quantity = quantity(rest).ok_or_else(|| match has_too_large_number(rest) {
            true => format!("found {text:?}, whose number is too large"),
            false => refuse(),
        })?;
        match quantity {
            CacheQuantity::Mask(_) if bound.is_some() => {
                Err(format!("found {text:?}; a mask is exact, expected it alone"))
            }
            CacheQuantity::Fraction { of: 0, .. } => Err(refuse()),
            CacheQuantity::Fraction { part, of } if part > of => {
                Err(format!("found {text:?}, which is more than the whole"))
            }
            CacheQuantity::Percent(milli) if milli > 100_000 => {
                Err(format!("found {text:?}, which is more than the whole"))
            }
            CacheQuantity::Fraction { part: 0, .. }
            | CacheQuantity::Percent(0)
            | CacheQuantity::Ways(0)
            | CacheQuantity::Bits(0)
            | CacheQuantity::Bytes(0) => Err(format!("found {text:?}; expected a share above 0")),
            CacheQuantity::Mask(Mask(0)) => Err(format!("found {text:?}; expected a mask with at least one bit set")),
            _ => Ok(Self { bound, quantity }),
        }
    }
}

fn quantity(text: &str) -> Option<CacheQuantity> {
    match text {
        "half" => return Some(CacheQuantity::Fraction { part: 1, of: 2 }),
        "a third" | "third" => return Some(CacheQuantity::Fraction { part: 1, of: 3 }),
        "a quarter" | "quarter" => return Some(CacheQuantity::Fraction { part: 1, of: 4 }),
        _ => {}
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16)
            .ok()
            .filter(|_| !digits.starts_with('+'))
            .map(|bits| CacheQuantity::Mask(Mask(bits)));
    }
    if let Some((part, of)) = text.split_once('/') {
        return Some(CacheQuantity::Fraction { part: whole(part.trim())?, of: whole(of.trim())? });
    }
    if let Some(percent) = text.strip_suffix('%') {
        return Some(CacheQuantity::Percent(thousandths(percent.trim())?));
    }
    if let Some((_, unit)) = UNITS.iter().find(|(name, _)| text.ends_with(name)).map(|(name, unit)| (name, *unit)) {
        let number = UNITS.iter().find_map(|(name, _)| text.strip_suffix(name))?;
        return Some(CacheQuantity::Bytes(whole::<u64>(number.trim())?.checked_mul(unit)?));
    }
    let (number, word) = text.split_once(' ')?;
    let word = word.strip_suffix('s').unwrap_or(word);
    match word {
        "way" => Some(CacheQuantity::Ways(whole(number)?)),
        word if BIT_WORDS.contains(&word) => Some(CacheQuantity::Bits(whole(number)?)),
        _ => None,
    }
}

/// Whether digits in a text that is an amount otherwise are more than any amount can hold.
fn has_too_large_number(text: &str) -> bool {
    // As many digits as a number of 32 bits has, or more.
    const LONG: usize = 7;
    if text.contains('.') {
        return false;
    }
    let mut without = text.to_owned();
    for digits in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        let digits = digits.strip_prefix("0x").unwrap_or(digits).trim_end_matches(|c: char| "KMGiB".contains(c));
        if digits.len() >= LONG && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            without = without.replacen(digits, "1", 1);
        }
    }
    without != text && quantity(&without).is_some()
}

/// Digits alone: no sign, no blanks.
fn whole<T: FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// `12.5` as 12500.
pub(crate) fn thousandths(text: &str) -> Option<u32> {
    let (whole_part, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if fraction.is_empty() || fraction.len() > 3 {
        return None;
    }
    let fraction = whole::<u32>(fraction)? * 10_u32.pow(3 - fraction.len() as u32);
    whole::<u32>(whole_part)?.checked_mul(1000)?.checked_add(fraction)
}

/// Thousandths as a decimal number without needless digits.
pub(crate) fn decimal(milli: u32) -> String {
    let text = format!("{}.{:03}", milli / 1000, milli % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A size with the largest unit that leaves it whole.
pub fn size(bytes: u64) -> String {
    let unit = [UNITS[2], UNITS[1], UNITS[0]].into_iter().find(|(_, unit)| bytes != 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{bytes} B"), |(name, unit)| format!("{} {name}", bytes / unit))
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bound {
            Some(Bound::AtLeast) => f.write_str("at least ")?,
            Some(Bound::AtMost) => f.write_str("at most ")?,
            None => {}
        }
        match self.quantity {
            CacheQuantity::Fraction { part: 1, of: 2 } => f.write_str("half"),
            CacheQuantity::Fraction { part, of } => write!(f, "{part}/{of}"),
            CacheQuantity::Percent(milli) => write!(f, "{} %", decimal(milli)),
            CacheQuantity::Ways(1) => f.write_str("1 way"),
            CacheQuantity::Ways(ways) => write!(f, "{ways} ways"),
            CacheQuantity::Bits(1) => f.write_str("1 segment"),
            CacheQuantity::Bits(bits) => write!(f, "{bits} segments"),
            CacheQuantity::Bytes(bytes) => f.write_str(&size(bytes)),
            CacheQuantity::Mask(mask) => write!(f, "{mask}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(text: &str, shape: MaskGeometry) -> (u32, bool) {
        let bits = text.parse::<Amount>().unwrap().bits(&shape);
        (bits.bits, bits.rounded)
    }

    /// 24 MiB in 12 ways: 2 MiB a way.
    const RAPTOR: MaskGeometry = MaskGeometry { bits: 12, ways: 12, size_bytes: 24 << 20 };
    /// 1 MiB in 16 ways and 8 bits: 128 KiB and two ways a bit.
    const APOLLO: MaskGeometry = MaskGeometry { bits: 8, ways: 16, size_bytes: 1 << 20 };
    const ELEVEN: MaskGeometry = MaskGeometry { bits: 11, ways: 11, size_bytes: 11 << 20 };

    #[test]
    fn numbers_that_are_too_large_and_shares_of_0_are_said_to_be() {
        let refused = |text: &str| text.parse::<Amount>().unwrap_err();
        for text in ["99999999999999999999 ways", "0xfffffffff", "99999999999999999999 GiB", "1/99999999999"] {
            assert!(refused(text).contains("whose number is too large"), "{}", refused(text));
        }
        assert!(refused("99999999999999999999 birds").contains(EXPECTED));
        assert!(refused("0.1234567 %").contains(EXPECTED));
        assert!(refused("0x0").ends_with("expected a mask with at least one bit set"));
        assert!(refused("0 ways").ends_with("expected a share above 0"));
    }

    #[test]
    fn amounts_come_to_bits() {
        for (text, shape, expected) in [
            ("half", RAPTOR, (6, false)),
            ("25 %", RAPTOR, (3, false)),
            ("4 ways", RAPTOR, (4, false)),
            ("at least 1 MiB", RAPTOR, (1, true)),
            ("3 MiB", RAPTOR, (2, true)),
            ("at most 3 MiB", RAPTOR, (1, true)),
            ("0x3f", RAPTOR, (6, false)),
            // 12.5 % of 8 bits is one; 4 ways are two bits; 3 ways are one and a half.
            ("12.5 %", APOLLO, (1, false)),
            ("4 ways", APOLLO, (2, false)),
            ("3 ways", APOLLO, (2, true)),
            ("1 segment", APOLLO, (1, false)),
            ("128 KiB", APOLLO, (1, false)),
            // Halves of 11 are 5.5.
            ("half", ELEVEN, (5, true)),
            ("at least half", ELEVEN, (6, true)),
            ("1/3", ELEVEN, (3, true)),
            ("at least 1%", ELEVEN, (1, true)),
            ("1 %", ELEVEN, (0, true)),
        ] {
            assert_eq!(bits(text, shape), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in [
            "",
            "x",
            "-1 ways",
            "+1 ways",
            "ways",
            "1 cow",
            "0 ways",
            "0x",
            "0x0",
            "0x100000000",
            "0x+1",
            "1/0",
            "3/2",
            "0/2",
            "101 %",
            "0 %",
            "1.2345 %",
            "1. %",
            "%",
            "1e3 %",
            "at least 0x3",
            "at least",
            "99999999999999999999 MiB",
            "18014398509481985 KiB",
            "0 MiB",
            "1 mib",
        ] {
            assert!(text.parse::<Amount>().is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_are_written_as_they_are_read() {
        for text in
            ["half", "1/3", "at least 12.5 %", "1 way", "7 ways", "3 segments", "at most 3 MiB", "1000 B", "0xfc0"]
        {
            assert_eq!(text.parse::<Amount>().unwrap().to_string(), text);
        }
    }
}
