//! Priority of requests on the bus: "highest", "lowest", or a level.

use std::fmt;
use std::str::FromStr;

use crate::text_value::as_text;

/// Priority of a class's requests on the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BusPriority {
    /// The highest level that the machine has.
    Highest,
    /// Level 0.
    Lowest,
    /// A level, 0 the lowest.
    Level(u32),
}

const EXPECTED: &str = "a priority on the bus: \"highest\", \"lowest\", or a level from 0, the lowest";

as_text!(BusPriority, EXPECTED, "string", "integer");

impl FromStr for BusPriority {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let level = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        match text.trim() {
            "highest" => Ok(Self::Highest),
            "lowest" => Ok(Self::Lowest),
            other => level(other).map(Self::Level).ok_or_else(|| format!("found {text:?}, expected {EXPECTED}")),
        }
    }
}

impl fmt::Display for BusPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Highest => f.write_str("highest"),
            Self::Lowest => f.write_str("lowest"),
            Self::Level(level) => write!(f, "{level}"),
        }
    }
}

impl BusPriority {
    /// The level among `levels`; `None` where there are fewer.
    pub fn level(self, levels: u32) -> Option<u32> {
        let level = match self {
            Self::Highest => levels.checked_sub(1)?,
            Self::Lowest => 0,
            Self::Level(level) => level,
        };
        (level < levels).then_some(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_count_from_the_lowest() {
        for (text, of_16) in [("highest", Some(15)), ("lowest", Some(0)), ("7", Some(7)), ("16", None)] {
            let priority: BusPriority = text.parse().unwrap();
            assert_eq!((priority.level(16), priority.to_string().as_str()), (of_16, text));
        }
        for text in ["", "high", "-1", "+1", "1.5", "99999999999"] {
            assert!(text.parse::<BusPriority>().is_err(), "{text}");
        }
    }
}
