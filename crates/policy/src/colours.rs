//! Shares of a cache by page colour: "half", "8 colours".

use std::fmt;
use std::str::FromStr;

use crate::amount::{Amount, Bits, CacheQuantity, MaskGeometry};
use crate::text_value::as_text;

/// A share of the colours of the last shared cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Colours {
    /// So many.
    Count(u32),
    /// A part of the cache.
    Part(Amount),
}

const EXPECTED: &str = "a share of the page colours such as \"half\", \"25 %\", \"8 colours\" or \"256 KiB\"";

as_text!(Colours, EXPECTED);

impl FromStr for Colours {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || format!("found {text:?}, expected {EXPECTED}");
        let words = text.trim();
        if let Some(number) = words.strip_suffix("colours").or_else(|| words.strip_suffix("colour")) {
            let number = number.trim();
            let digits = number.bytes().all(|byte| byte.is_ascii_digit());
            let count = number.parse().ok().filter(|count| digits && *count > 0);
            return count.map(Self::Count).ok_or_else(refuse);
        }
        let amount: Amount = words.parse().map_err(|_| refuse())?;
        match amount.quantity {
            CacheQuantity::Fraction { .. } | CacheQuantity::Percent(_) | CacheQuantity::Bytes(_) => {
                Ok(Self::Part(amount))
            }
            CacheQuantity::Ways(_) | CacheQuantity::Bits(_) | CacheQuantity::Mask(_) => Err(refuse()),
        }
    }
}

impl fmt::Display for Colours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(1) => f.write_str("1 colour"),
            Self::Count(count) => write!(f, "{count} colours"),
            Self::Part(amount) => amount.fmt(f),
        }
    }
}

impl Colours {
    /// How many of `colours` it comes to, in a cache of a size.
    pub fn of(self, colours: u32, size_bytes: u64) -> Bits {
        match self {
            Self::Count(bits) => Bits { bits, rounded: false },
            Self::Part(amount) => amount.bits(&MaskGeometry { bits: colours, ways: colours, size_bytes }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 MiB in 32 colours: 64 KiB each.
    #[test]
    fn shares_come_to_colours() {
        let of = |text: &str| text.parse::<Colours>().map(|colours| colours.of(32, 2 << 20).bits);
        for (text, count) in [("half", 16), ("25 %", 8), ("8 colours", 8), ("1 colour", 1), ("65 KiB", 2), ("1/3", 10)]
        {
            assert_eq!(of(text), Ok(count), "{text}");
        }
        for text in ["", "0 colours", "-1 colours", "4 ways", "0x3", "colours", "2 segments"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
