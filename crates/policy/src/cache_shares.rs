//! What a class has of the caches of one level: the same of each, or of every cache something else.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::amount::EXPECTED;
use crate::share::{CacheShare, Table, Written};

/// Shares of the caches of one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheShares {
    /// The same of every cache that the class uses.
    Everywhere(CacheShare),
    /// Of the caches with these ids; of the others what is left.
    ByCache(Vec<ShareOfCache>),
}

/// A share of the cache with one id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareOfCache {
    /// The cache's id, as `schemata` and `/sys/devices/system/cpu/cpu*/cache/index*/id` have it.
    pub cache: u32,
    /// The share.
    pub share: CacheShare,
}

impl CacheShares {
    /// The share of one cache, with what has to be added to the key of all to name it.
    pub fn of(&self, cache: u32) -> Option<(String, &CacheShare)> {
        match self {
            Self::Everywhere(share) => Some((String::new(), share)),
            Self::ByCache(shares) => {
                let place = shares.iter().position(|it| it.cache == cache)?;
                Some((format!(".{place}"), &shares[place].share))
            }
        }
    }

    /// All shares, with what has to be added to the key of all to name each.
    pub fn all(&self) -> Vec<(String, &CacheShare)> {
        match self {
            Self::Everywhere(share) => vec![(String::new(), share)],
            Self::ByCache(shares) => {
                shares.iter().enumerate().map(|(place, it)| (format!(".{place}"), &it.share)).collect()
            }
        }
    }

    /// The caches that it names.
    pub fn named(&self) -> &[ShareOfCache] {
        match self {
            Self::Everywhere(_) => &[],
            Self::ByCache(shares) => shares,
        }
    }
}

impl From<CacheShare> for CacheShares {
    fn from(share: CacheShare) -> Self {
        Self::Everywhere(share)
    }
}

/// Shares as they are written.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(
    description = "A share of every cache of the level, or a list of tables with `cache` (an id) for shares that differ."
)]
#[expect(dead_code, reason = "only its schema is used")]
enum WrittenShares {
    Everywhere(Written),
    ByCache(Vec<Table>),
}

impl TryFrom<Table> for ShareOfCache {
    type Error = String;

    fn try_from(mut table: Table) -> Result<Self, String> {
        let expected = "a share in a list needs `cache`, the id of the cache that it is of";
        let cache = table.cache.take().ok_or(expected)?;
        Ok(Self { cache, share: table.try_into()? })
    }
}

/// The list without two shares of one cache.
fn distinct(shares: Vec<ShareOfCache>) -> Result<CacheShares, String> {
    let mut seen = BTreeSet::new();
    if let Some(twice) = shares.iter().find(|it| !seen.insert(it.cache)) {
        return Err(format!("cache {} is named twice", twice.cache));
    }
    if shares.is_empty() {
        return Err("the list is empty; expected shares such as { cache = 0, share = \"half\" }".into());
    }
    Ok(CacheShares::ByCache(shares))
}

impl<'de> Deserialize<'de> for CacheShares {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = CacheShares;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let one = EXPECTED.trim_start_matches("expected ");
                write!(f, "{one}, or a list such as [{{ cache = 0, share = \"half\" }}]")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<CacheShares, E> {
                text.parse().map(|amount| CacheShare::of(amount).into()).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CacheShares, A::Error> {
                CacheShare::deserialize(MapAccessDeserializer::new(map)).map(CacheShares::from)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<CacheShares, A::Error> {
                let written = Vec::<Table>::deserialize(SeqAccessDeserializer::new(list))?;
                let shares = written.into_iter().map(ShareOfCache::try_from).collect::<Result<_, _>>();
                shares.and_then(distinct).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl Serialize for CacheShares {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Everywhere(share) => share.serialize(serializer),
            Self::ByCache(shares) => {
                serializer.collect_seq(shares.iter().map(|it| Table::of_cache(it.cache, &it.share)))
            }
        }
    }
}

impl JsonSchema for CacheShares {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CacheShares".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        WrittenShares::json_schema(generator)
    }
}
