//! Memory that is locked into a cache and its pages into a TLB, by address or symbol.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::cores::Cores;
use crate::share::CacheShare;
use crate::text_value::as_text;

/// Code and data that are loaded into ways of a shared cache which nobody fills afterwards, and pages whose translations
/// stay in a TLB. Software without an operating system does it once, at its start.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lockdown {
    /// The core that loads it, and whose TLB keeps the pages.
    pub core: Cores,
    /// The share of the second level that holds the lines.
    pub l2: Option<CacheShare>,
    /// The memory that is loaded into that share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LockedLines>,
    /// A place in each page that the TLB keeps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<Location>,
}

/// Memory that is locked: from `start` to `end`, or `size` bytes of it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockedLines {
    /// Where it begins.
    pub start: Location,
    /// The first byte after it.
    pub end: Option<Location>,
    /// How long it is, in bytes.
    pub bytes: Option<u32>,
}

/// A place in memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Location {
    /// An address.
    Address(u32),
    /// A symbol of the program, such as one that its linker script defines.
    Symbol(String),
}

const EXPECTED: &str = "a place in memory: an address such as \"0x100000\", or a symbol such as \"__handler_start\"";

as_text!(Location, EXPECTED, "string", "integer");

impl FromStr for Location {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || format!("found {text:?}, expected {EXPECTED}");
        if let Some(digits) = text.strip_prefix("0x") {
            let hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            return u32::from_str_radix(digits, 16).ok().filter(|_| hex).map(Self::Address).ok_or_else(refuse);
        }
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().map(Self::Address).map_err(|_| refuse());
        }
        let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
        let symbol = text.starts_with(letter) && text.chars().all(|c| letter(c) || c.is_ascii_digit());
        if symbol && text.len() <= 64 { Ok(Self::Symbol(text.into())) } else { Err(refuse()) }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address:#x}"),
            Self::Symbol(name) => f.write_str(name),
        }
    }
}

impl Lockdown {
    /// The first thing that is wrong with it on any machine, with its key below `lockdown`.
    pub(crate) fn mistake(&self) -> Option<(String, String)> {
        if self.lines.is_empty() && self.pages.is_empty() {
            return Some((String::new(), "it locks nothing; expected `lines` or `pages`".into()));
        }
        let names_one = match &self.core {
            Cores::Everywhere(list) => list.as_slice().len() == 1,
            Cores::ByPlatform(lists) => lists.values().all(|list| list.as_slice().len() == 1),
        };
        if !names_one {
            return Some(("core".into(), "it names several cores, expected one".into()));
        }
        match (&self.l2, self.lines.is_empty()) {
            (None, false) => return Some(("lines".into(), "they need a share of a cache; expected `l2`".into())),
            (Some(_), true) => return Some(("l2".into(), "nothing is loaded into it; expected `lines`".into())),
            (Some(share), false) if share.is_apart() || !share.exclusive => {
                return Some((
                    "l2".into(),
                    "locked ways hold code and data, and nobody else's; expected an amount".into(),
                ));
            }
            _ => {}
        }
        self.lines.iter().enumerate().find_map(|(i, lines)| {
            let key = format!("lines.{i}");
            match (&lines.start, &lines.end, lines.bytes) {
                (_, None, None) | (_, Some(_), Some(_)) => {
                    Some((key, "expected `end` or `bytes`, one of the two".into()))
                }
                (_, _, Some(0)) => Some((format!("{key}.bytes"), "0 bytes; at least 1 is needed".into())),
                (Location::Address(start), Some(Location::Address(end)), _) if end <= start => {
                    Some((format!("{key}.end"), "it is not behind `start`".into()))
                }
                (Location::Address(start), None, Some(bytes)) if start.checked_add(bytes).is_none() => {
                    Some((format!("{key}.bytes"), "it reaches beyond 32 bits of address".into()))
                }
                _ => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_addresses_or_symbols() {
        assert_eq!("0xF8f00000".parse(), Ok(Location::Address(0xf8f0_0000)));
        // A number of TOML comes as its decimal digits: 0x100000 is 1048576.
        assert_eq!("1048576".parse(), Ok(Location::Address(0x10_0000)));
        assert_eq!("__vectors_2".parse(), Ok(Location::Symbol("__vectors_2".into())));
        for text in ["", "0x", "0x123456789", "2start", "4294967296", "a-b", "a b", "\"", "0x-1", "*/"] {
            assert!(text.parse::<Location>().is_err(), "{text}");
        }
    }
}
