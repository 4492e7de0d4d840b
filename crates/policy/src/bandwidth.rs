//! Limits of memory bandwidth: "20 %", "2 GB/s".

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::amount::{decimal, thousandths};

/// The most that a class may take of the memory bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BandwidthLimit {
    /// Thousandths of a percent of what there is, as the machine's throttle counts.
    Percent(u32),
    /// Millions of bytes a second.
    Rate(u64),
}

const EXPECTED: &str = "a limit such as \"20 %\", \"500 MB/s\" or \"2 GB/s\"";

impl FromStr for BandwidthLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || format!("found {text:?}, expected {EXPECTED}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let rest = words.strip_prefix("at most ").unwrap_or(&words);
        let number = |text: &str| thousandths(text.trim()).filter(|milli| *milli > 0).ok_or_else(refuse);
        if let Some(percent) = rest.strip_suffix('%') {
            let milli = number(percent)?;
            return if milli > 100_000 {
                Err(format!("found {text:?}, which is more than there is"))
            } else {
                Ok(Self::Percent(milli))
            };
        }
        if let Some(gigabytes) = rest.strip_suffix("GB/s") {
            return Ok(Self::Rate(u64::from(number(gigabytes)?)));
        }
        let megabytes = number(rest.strip_suffix("MB/s").ok_or_else(refuse)?)?;
        if megabytes % 1000 != 0 {
            return Err(format!("found {text:?}; whole MB/s would do"));
        }
        Ok(Self::Rate(u64::from(megabytes / 1000)))
    }
}

impl fmt::Display for BandwidthLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(milli) => write!(f, "{} %", decimal(*milli)),
            Self::Rate(megabytes) if megabytes % 1000 == 0 => write!(f, "{} GB/s", megabytes / 1000),
            Self::Rate(megabytes) => write!(f, "{megabytes} MB/s"),
        }
    }
}

impl<'de> Deserialize<'de> for BandwidthLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = BandwidthLimit;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<BandwidthLimit, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl Serialize for BandwidthLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for BandwidthLimit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BandwidthLimit".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_written() {
        for (text, limit, written) in [
            ("20 %", BandwidthLimit::Percent(20_000), "20 %"),
            ("at most 12.5%", BandwidthLimit::Percent(12_500), "12.5 %"),
            ("2 GB/s", BandwidthLimit::Rate(2000), "2 GB/s"),
            ("1.5 GB/s", BandwidthLimit::Rate(1500), "1500 MB/s"),
            ("500 MB/s", BandwidthLimit::Rate(500), "500 MB/s"),
        ] {
            assert_eq!(text.parse(), Ok(limit));
            assert_eq!(limit.to_string(), written);
        }
        for text in ["", "20", "0 %", "101 %", "half", "-1 GB/s", "0.5 MB/s", "1 GiB/s", "at least 20 %"] {
            assert!(text.parse::<BandwidthLimit>().is_err(), "{text}");
        }
    }
}
