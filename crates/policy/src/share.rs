//! A class's share of a cache.

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_with::skip_serializing_none;

use crate::amount::{Amount, EXPECTED};
use crate::mask::End;

/// A share of a cache: an amount alone, or a table that says more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheShare {
    /// How much.
    pub extent: Extent,
    /// The end of the cache that it is taken from; of no meaning for a mask.
    pub at: End,
    /// Whether nobody else fills these ways.
    pub exclusive: bool,
}

/// How much of a cache, together or for code and data apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// For all accesses.
    Together(Amount),
    /// Apart (CDP).
    Apart {
        /// For instruction fetches.
        code: Amount,
        /// For everything else.
        data: Amount,
    },
}

impl CacheShare {
    /// An exclusive share from the low end.
    pub fn of(amount: Amount) -> Self {
        Self { extent: Extent::Together(amount), at: End::Low, exclusive: true }
    }

    /// Whether code and data are apart.
    pub fn is_apart(&self) -> bool {
        matches!(self.extent, Extent::Apart { .. })
    }
}

/// A share as it is written.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(description = "A share of a cache: an amount such as \"half\", or a table that says more.")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum Written {
    Amount(String),
    Table(Table),
}

/// A share that says more than how much.
#[skip_serializing_none]
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// The cache's id, as `schemata` has it: in a list of shares, and only there.
    pub(crate) cache: Option<u32>,
    /// How much: "half", "1/3", "25 %", "4 ways", "2 segments" (bits of a mask), "at least 1 MiB", or a mask, "0x3f".
    share: Option<String>,
    /// How much for instruction fetches; `data` says how much for the rest (CDP).
    code: Option<String>,
    /// How much for everything but instruction fetches.
    data: Option<String>,
    /// The end of the cache that it is taken from; `low` where absent.
    at: Option<At>,
    /// Whether nobody else fills these ways; true where absent.
    exclusive: Option<bool>,
}

/// An end of a cache.
#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum At {
    /// The lowest ways.
    Low,
    /// The highest ways.
    High,
}

impl TryFrom<Table> for CacheShare {
    type Error = String;

    fn try_from(table: Table) -> Result<Self, String> {
        if table.cache.is_some() {
            return Err("`cache` is for lists of shares; expected [{ cache = 0, share = \"half\" }]".into());
        }
        let amount = |text: &str| text.parse::<Amount>();
        let extent = match (&table.share, &table.code, &table.data) {
            (Some(share), None, None) => Extent::Together(amount(share)?),
            (None, Some(code), Some(data)) => Extent::Apart { code: amount(code)?, data: amount(data)? },
            (None, None, None) => return Err("it has no amount; expected `share`, or `code` and `data`".into()),
            (None, _, _) => return Err("code and data go together; expected both `code` and `data`".into()),
            (Some(_), _, _) => return Err("found `share` beside `code` or `data`; expected the one or the two".into()),
        };
        let at = match table.at {
            Some(At::High) => End::High,
            Some(At::Low) | None => End::Low,
        };
        Ok(Self { extent, at, exclusive: table.exclusive.unwrap_or(true) })
    }
}

impl<'de> Deserialize<'de> for CacheShare {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = CacheShare;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED.trim_start_matches("expected "))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<CacheShare, E> {
                text.parse().map(CacheShare::of).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CacheShare, A::Error> {
                let table = Table::deserialize(MapAccessDeserializer::new(map))?;
                CacheShare::try_from(table).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl Table {
    /// A share in a list.
    pub(crate) fn of_cache(cache: u32, share: &CacheShare) -> Self {
        Self { cache: Some(cache), ..Self::from(share) }
    }
}

impl From<&CacheShare> for Table {
    fn from(of: &CacheShare) -> Self {
        let (share, code, data) = match of.extent {
            Extent::Together(share) => (Some(share.to_string()), None, None),
            Extent::Apart { code, data } => (None, Some(code.to_string()), Some(data.to_string())),
        };
        let at = (of.at == End::High).then_some(At::High);
        Self { cache: None, share, code, data, at, exclusive: (!of.exclusive).then_some(false) }
    }
}

impl Serialize for CacheShare {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.extent {
            Extent::Together(share) if self.at == End::Low && self.exclusive => serializer.collect_str(&share),
            _ => Table::from(self).serialize(serializer),
        }
    }
}

impl JsonSchema for CacheShare {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CacheShare".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Written::json_schema(generator)
    }
}
