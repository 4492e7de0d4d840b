//! serde's reader of a [`FileValue`]. What it has in common for all types is in functions without type parameters: each type that is read
//! through it costs the compiler its own fields and little else.

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::file_value::{Entries, FileValue, Keys, Shape};

/// Why a value cannot be read, and where.
#[derive(Debug)]
pub struct ReadError(Box<Inside>);

#[derive(Debug)]
struct Inside {
    /// Keys and numbers in lists, innermost first.
    path: Vec<String>,
    message: String,
}

impl ReadError {
    fn new(message: String) -> Self {
        Self(Box::new(Inside { path: Vec::new(), message }))
    }

    fn within(mut self, part: &dyn std::fmt::Display) -> Self {
        self.0.path.push(part.to_string());
        self
    }

    /// The path, outermost part first, and serde's message.
    pub fn into_parts(self) -> (Vec<String>, String) {
        let Inside { mut path, message } = *self.0;
        path.reverse();
        (path, message)
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("invalid type: {found}, expected {expected}"))
    }
}

/// The error for another kind of value than the type can be read from.
#[cold]
fn other_kind(value: FileValue<'_>, expected: &dyn Expected) -> ReadError {
    de::Error::invalid_type(value.unexpected(), expected)
}

impl<'de> FileValue<'de> {
    fn number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.shape() {
            Shape::Unsigned(value) => visitor.visit_u64(value),
            Shape::Signed(value) => visitor.visit_i64(value),
            Shape::Float(value) => visitor.visit_f64(value),
            _ => Err(other_kind(self, &visitor)),
        }
    }

    fn text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.shape() {
            Shape::Text(text) => visitor.visit_str(text),
            _ => Err(other_kind(self, &visitor)),
        }
    }
}

/// Methods that read the same.
macro_rules! the_same {
    ($way:ident: $($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            self.$way(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for FileValue<'de> {
    type Error = ReadError;

    the_same!(number: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64 deserialize_f32 deserialize_f64);
    the_same!(text: deserialize_str deserialize_string deserialize_char deserialize_identifier);

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.shape() {
            Shape::Bool(value) => visitor.visit_bool(value),
            _ => Err(other_kind(self, &visitor)),
        }
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.shape() {
            Shape::Null => visitor.visit_unit(),
            Shape::Bool(value) => visitor.visit_bool(value),
            Shape::Unsigned(value) => visitor.visit_u64(value),
            Shape::Signed(value) => visitor.visit_i64(value),
            Shape::Float(value) => visitor.visit_f64(value),
            Shape::Text(value) => visitor.visit_str(value),
            Shape::Date => Err(other_kind(self, &visitor)),
            Shape::List(entries) => list(entries, visitor),
            Shape::Table(keys) => visitor.visit_map(Table { keys, value: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self {
            Self::Json(serde_json::Value::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.shape() {
            Shape::List(entries) => list(entries, visitor),
            _ => Err(other_kind(self, &visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.shape() {
            Shape::Table(keys) => visitor.visit_map(Table { keys, value: None }),
            _ => Err(other_kind(self, &visitor)),
        }
    }

    // A list whose values would be those of the keys, in their order, is no table.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_enum(variant(self)?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf unit unit_struct }
}

fn list<'de, V: Visitor<'de>>(entries: Entries<'de>, visitor: V) -> Result<V::Value, ReadError> {
    let mut list = List { entries, next: 0 };
    let read = visitor.visit_seq(&mut list)?;
    match list.entries.len() {
        0 => Ok(read),
        left => Err(de::Error::invalid_length(list.next + left, &format!("one of {}", list.next).as_str())),
    }
}

struct List<'de> {
    entries: Entries<'de>,
    next: usize,
}

impl<'de> SeqAccess<'de> for &mut List<'de> {
    type Error = ReadError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ReadError> {
        let Some(value) = self.entries.next() else { return Ok(None) };
        self.next += 1;
        seed.deserialize(value).map(Some).map_err(|error| error.within(&(self.next - 1)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

struct Table<'de> {
    keys: Keys<'de>,
    /// The value of the key that was read last.
    value: Option<(&'de str, FileValue<'de>)>,
}

impl<'de> MapAccess<'de> for Table<'de> {
    type Error = ReadError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, ReadError> {
        self.value = self.keys.next();
        self.value.map(|(key, _)| seed.deserialize(Key(key)).map_err(|error| error.within(&key))).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, ReadError> {
        let Some((key, value)) = self.value.take() else { return Err(de::Error::custom("a value without a key")) };
        seed.deserialize(value).map_err(|error| error.within(&key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.keys.len())
    }
}

/// A key: a text, or a number that is written as one.
struct Key<'de>(&'de str);

/// Numbers in keys.
macro_rules! numbers {
    ($($method:ident $visit:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            match self.0.parse() {
                Ok(number) => visitor.$visit(number),
                Err(_) => Err(de::Error::invalid_type(Unexpected::Str(self.0), &visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = ReadError;

    numbers!(deserialize_u8 visit_u8 deserialize_u16 visit_u16 deserialize_u32 visit_u32 deserialize_u64 visit_u64
        deserialize_i8 visit_i8 deserialize_i16 visit_i16 deserialize_i32 visit_i32 deserialize_i64 visit_i64);

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_enum(Variant { name: self.0, content: None })
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The variant that a value names: a text, or a table with one key.
fn variant(value: FileValue<'_>) -> Result<Variant<'_>, ReadError> {
    match value.shape() {
        Shape::Text(name) => Ok(Variant { name, content: None }),
        Shape::Table(mut keys) => match (keys.len(), keys.next()) {
            (1, Some((name, content))) => Ok(Variant { name, content: Some(content) }),
            (found, _) => Err(de::Error::custom(format_args!("wanted exactly 1 element, found {found}"))),
        },
        // Nearly all such types are names alone.
        _ => Err(other_kind(value, &"a text")),
    }
}

struct Variant<'de> {
    name: &'de str,
    content: Option<FileValue<'de>>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = ReadError;
    type Variant = Content<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Content<'de>), ReadError> {
        Ok((seed.deserialize(StrDeserializer::new(self.name))?, Content(self.content)))
    }
}

/// What belongs to a variant.
struct Content<'de>(Option<FileValue<'de>>);

impl<'de> Content<'de> {
    fn value(&self, expected: &str) -> Result<FileValue<'de>, ReadError> {
        self.0.ok_or_else(|| de::Error::invalid_type(Unexpected::UnitVariant, &expected))
    }
}

impl<'de> VariantAccess<'de> for Content<'de> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        match self.0 {
            None | Some(FileValue::Json(serde_json::Value::Null)) => Ok(()),
            Some(value) => Err(other_kind(value, &"nothing")),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, ReadError> {
        seed.deserialize(self.value("a value")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.value("a list")?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, ReadError> {
        self.value("a table")?.deserialize_map(visitor)
    }
}
