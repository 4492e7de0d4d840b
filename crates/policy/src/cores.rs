//! Which cores a policy means.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use waykeeper_platform::{CoreId, format_cpulist, parse_cpulist};

/// Some cores, ascending and at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreList(Vec<CoreId>);

impl CoreList {
    /// Reads `0-3,8`.
    ///
    /// # Errors
    /// A text that is no list, is empty, or names a core twice.
    pub fn parse(text: &str) -> Result<Self, String> {
        let refuse = || format!("found {text:?}, expected a list of cores such as \"4,5\" or \"0-3,8\"");
        Self::new(parse_cpulist(text).ok_or_else(refuse)?)
    }

    fn new(cores: Vec<CoreId>) -> Result<Self, String> {
        let mut seen = BTreeSet::new();
        if let Some(twice) = cores.iter().find(|core| !seen.insert(**core)) {
            return Err(format!("core {twice} is named twice"));
        }
        if seen.is_empty() {
            return Err("it names no core; expected at least one".into());
        }
        Ok(Self(seen.into_iter().collect()))
    }

    /// The cores, ascending.
    pub fn as_slice(&self) -> &[CoreId] {
        &self.0
    }
}

/// Cores, everywhere the same or by platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cores {
    /// The same numbers on every machine.
    Everywhere(CoreList),
    /// Other numbers on every platform; `host` is the machine that Waykeeper runs on.
    ByPlatform(BTreeMap<String, CoreList>),
}

impl Cores {
    /// The cores on a platform.
    ///
    /// # Errors
    /// Lists for other platforms only.
    pub fn on(&self, platform: &str) -> Result<&[CoreId], String> {
        match self {
            Self::Everywhere(list) => Ok(list.as_slice()),
            Self::ByPlatform(lists) => lists.get(platform).map(CoreList::as_slice).ok_or_else(|| {
                let known: Vec<_> = lists.keys().map(String::as_str).collect();
                format!(
                    "there are cores for {} and none for `{platform}`; `--cores CLASS=LIST` names them",
                    known.join(", ")
                )
            }),
        }
    }
}

const EXPECTED: &str = "cores such as \"4,5\", [4, 5] or { PLATFORM = \"4,5\" }";

impl<'de> Deserialize<'de> for CoreList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Cores::deserialize(deserializer)? {
            Cores::Everywhere(list) => Ok(list),
            Cores::ByPlatform(_) => Err(de::Error::custom("found a table within a table, expected a list of cores")),
        }
    }
}

impl<'de> Deserialize<'de> for Cores {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Cores;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Cores, E> {
                CoreList::parse(text).map(Cores::Everywhere).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, core: i64) -> Result<Cores, E> {
                let core = u32::try_from(core).map_err(|_| E::custom(format!("found {core}, which is no core")))?;
                Ok(Cores::Everywhere(CoreList(vec![core])))
            }

            fn visit_u64<E: de::Error>(self, core: u64) -> Result<Cores, E> {
                let core = u32::try_from(core).map_err(|_| E::custom(format!("found {core}, which is no core")))?;
                Ok(Cores::Everywhere(CoreList(vec![core])))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Cores, A::Error> {
                let mut cores = Vec::new();
                while let Some(core) = list.next_element::<u32>()? {
                    cores.push(core);
                }
                CoreList::new(cores).map(Cores::Everywhere).map_err(de::Error::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cores, A::Error> {
                let mut lists = BTreeMap::new();
                while let Some((platform, list)) = map.next_entry()? {
                    lists.insert(platform, list);
                }
                if lists.is_empty() {
                    Err(de::Error::custom("it names no platform"))
                } else {
                    Ok(Cores::ByPlatform(lists))
                }
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl Serialize for CoreList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_cpulist(&self.0))
    }
}

impl Serialize for Cores {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Everywhere(list) => list.serialize(serializer),
            Self::ByPlatform(lists) => lists.serialize(serializer),
        }
    }
}

/// A list of cores as it is written.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum WrittenList {
    Text(String),
    Core(u32),
    Numbers(Vec<u32>),
}

/// Cores as they are written: "4,5", [4, 5], or a list for each platform.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Written {
    List(WrittenList),
    ByPlatform(BTreeMap<String, WrittenList>),
}

impl JsonSchema for Cores {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Cores".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Written::json_schema(generator)
    }
}
