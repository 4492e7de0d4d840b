//! Clocks: "3.6 GHz", "0.4 GHz to base".

use std::fmt;
use std::str::FromStr;

use crate::amount::{decimal, thousandths};
use crate::text_value::as_text;

/// A clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CoreFrequency {
    /// So many MHz.
    Mhz(u32),
    /// The core's base clock: that of its platform file.
    Base,
}

/// The clocks that a core may run at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClockRange {
    /// This one only.
    Fixed(CoreFrequency),
    /// From one to another, as the hardware finds best.
    Between(CoreFrequency, CoreFrequency),
}

const EXPECTED: &str = "a clock such as \"3.6 GHz\" or \"base\", or a range, \"0.4 GHz to base\"";

as_text!(CoreFrequency, "a clock such as \"4 GHz\" or \"800 MHz\"");
as_text!(ClockRange, EXPECTED);

impl FromStr for CoreFrequency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || format!("found {text:?}, expected {EXPECTED}");
        let text = text.trim();
        if text == "base" {
            return Ok(Self::Base);
        }
        // A GHz has 1000 MHz, as a unit has thousandths.
        let mhz = match (text.strip_suffix("GHz"), text.strip_suffix("MHz")) {
            (Some(number), _) => thousandths(number.trim()),
            (_, Some(number)) => thousandths(number.trim()).filter(|milli| milli % 1000 == 0).map(|milli| milli / 1000),
            (None, None) => None,
        };
        mhz.filter(|mhz| (1..=100_000).contains(mhz)).map(Self::Mhz).ok_or_else(refuse)
    }
}

impl FromStr for ClockRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(" to ") {
            None => text.parse().map(Self::Fixed),
            Some((from, to)) => {
                let (from, to) = (from.parse()?, to.parse()?);
                match (from, to) {
                    (CoreFrequency::Mhz(from), CoreFrequency::Mhz(to)) if from > to => {
                        Err(format!("found {text:?}, which begins above its end"))
                    }
                    _ => Ok(Self::Between(from, to)),
                }
            }
        }
    }
}

impl fmt::Display for CoreFrequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mhz(mhz) => write!(f, "{} GHz", decimal(*mhz)),
            Self::Base => f.write_str("base"),
        }
    }
}

impl fmt::Display for ClockRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(clock) => clock.fmt(f),
            Self::Between(from, to) => write!(f, "{from} to {to}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_read_and_written() {
        for (text, range, written) in [
            ("3.6 GHz", ClockRange::Fixed(CoreFrequency::Mhz(3600)), "3.6 GHz"),
            ("0.4GHz to base", ClockRange::Between(CoreFrequency::Mhz(400), CoreFrequency::Base), "0.4 GHz to base"),
            (
                "800 MHz to 2.5 GHz",
                ClockRange::Between(CoreFrequency::Mhz(800), CoreFrequency::Mhz(2500)),
                "0.8 GHz to 2.5 GHz",
            ),
        ] {
            assert_eq!(text.parse(), Ok(range));
            assert_eq!(range.to_string(), written);
        }
        for text in ["", "3.6", "0 GHz", "2 GHz to 1 GHz", "1 GHz to", "1.5 MHz", "-1 GHz", "1e3 MHz"] {
            assert!(text.parse::<ClockRange>().is_err(), "{text}");
        }
    }
}
