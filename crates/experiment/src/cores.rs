//! Cores as an experiment names them.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use waykeeper_platform::CoreId;

const AUTO: &str = "auto";
const OTHERS: &str = "others";

/// The core of a target: a number, or `auto` (an isolated core where there is one, else the last).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TargetCore {
    /// This core.
    Number(CoreId),
    /// Chosen from the machine.
    #[default]
    Auto,
}

/// The cores of a neighbour: numbers, or `others` (every core but the target's and its SMT siblings).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum NeighbourCores {
    /// These cores.
    Numbers(Vec<CoreId>),
    /// All but the target's.
    #[default]
    Others,
}

impl Serialize for TargetCore {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(core) => core.serialize(serializer),
            Self::Auto => AUTO.serialize(serializer),
        }
    }
}

impl Serialize for NeighbourCores {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Numbers(cores) => cores.serialize(serializer),
            Self::Others => OTHERS.serialize(serializer),
        }
    }
}

fn core_number<E: de::Error>(number: i64) -> Result<CoreId, E> {
    CoreId::try_from(number).map_err(|_| E::custom(format!("found {number}; a core number is 0 or more")))
}

impl<'de> Deserialize<'de> for TargetCore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = TargetCore;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a core number or \"auto\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<TargetCore, E> {
                core_number(number).map(TargetCore::Number)
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<TargetCore, E> {
                if word == AUTO {
                    Ok(TargetCore::Auto)
                } else {
                    Err(E::invalid_value(de::Unexpected::Str(word), &self))
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl<'de> Deserialize<'de> for NeighbourCores {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = NeighbourCores;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("core numbers such as [2, 3], or \"others\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<NeighbourCores, E> {
                core_number(number).map(|core| NeighbourCores::Numbers(vec![core]))
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<NeighbourCores, E> {
                if word == OTHERS {
                    Ok(NeighbourCores::Others)
                } else {
                    Err(E::invalid_value(de::Unexpected::Str(word), &self))
                }
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<NeighbourCores, A::Error> {
                let mut cores = Vec::new();
                while let Some(number) = list.next_element::<i64>()? {
                    cores.push(core_number(number)?);
                }
                Ok(NeighbourCores::Numbers(cores))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for TargetCore {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TargetCore".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A core number, or \"auto\": an isolated core where there is one, else the last.",
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": AUTO }]
        })
    }
}

impl JsonSchema for NeighbourCores {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NeighbourCores".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Core numbers, or \"others\": every core but the target's and its SMT siblings.",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "array", "items": { "type": "integer", "minimum": 0 } },
                { "const": OTHERS }
            ]
        })
    }
}
