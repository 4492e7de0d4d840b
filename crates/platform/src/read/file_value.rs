//! A value of a file, whichever language the file is in.

use serde::de::Unexpected;

/// A value of a TOML or JSON file.
#[derive(Debug, Clone, Copy)]
pub enum FileValue<'v> {
    /// Of a TOML file.
    Toml(&'v toml::Value),
    /// Of a JSON file.
    Json(&'v serde_json::Value),
}

/// What a value is.
pub(super) enum Shape<'v> {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(&'v str),
    Date,
    List(Entries<'v>),
    Table(Keys<'v>),
}

/// The entries of a list.
pub(super) enum Entries<'v> {
    Toml(std::slice::Iter<'v, toml::Value>),
    Json(std::slice::Iter<'v, serde_json::Value>),
}

/// The keys of a table with their values.
pub(super) enum Keys<'v> {
    Toml(toml::map::Iter<'v, String, toml::Value>),
    Json(serde_json::map::Iter<'v>),
}

impl<'v> FileValue<'v> {
    pub(super) fn shape(self) -> Shape<'v> {
        match self {
            Self::Toml(value) => match value {
                toml::Value::Boolean(value) => Shape::Bool(*value),
                toml::Value::Integer(value) => Shape::Signed(*value),
                toml::Value::Float(value) => Shape::Float(*value),
                toml::Value::String(value) => Shape::Text(value),
                toml::Value::Datetime(_) => Shape::Date,
                toml::Value::Array(list) => Shape::List(Entries::Toml(list.iter())),
                toml::Value::Table(table) => Shape::Table(Keys::Toml(table.iter())),
            },
            Self::Json(value) => match value {
                serde_json::Value::Null => Shape::Null,
                serde_json::Value::Bool(value) => Shape::Bool(*value),
                serde_json::Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                    (Some(value), _) => Shape::Unsigned(value),
                    (None, Some(value)) => Shape::Signed(value),
                    (None, None) => Shape::Float(number.as_f64().unwrap_or(f64::NAN)),
                },
                serde_json::Value::String(value) => Shape::Text(value),
                serde_json::Value::Array(list) => Shape::List(Entries::Json(list.iter())),
                serde_json::Value::Object(table) => Shape::Table(Keys::Json(table.iter())),
            },
        }
    }

    /// What was found, as serde says it.
    pub(super) fn unexpected(self) -> Unexpected<'v> {
        match self.shape() {
            Shape::Null => Unexpected::Unit,
            Shape::Bool(value) => Unexpected::Bool(value),
            Shape::Unsigned(value) => Unexpected::Unsigned(value),
            Shape::Signed(value) => Unexpected::Signed(value),
            Shape::Float(value) => Unexpected::Float(value),
            Shape::Text(value) => Unexpected::Str(value),
            Shape::Date => Unexpected::Other("a date"),
            Shape::List(_) => Unexpected::Seq,
            Shape::Table(_) => Unexpected::Map,
        }
    }

    /// The value at the end of a path of keys and of numbers in lists.
    pub fn at(self, path: &[String]) -> Option<Self> {
        path.iter().try_fold(self, |value, part| match value.shape() {
            Shape::List(mut entries) => entries.nth(part.parse().ok()?),
            Shape::Table(mut keys) => keys.find(|(key, _)| key == part).map(|(_, value)| value),
            _ => None,
        })
    }

    /// The value as an error shows it.
    pub fn shown(self) -> String {
        match self.shape() {
            Shape::Null => "null".into(),
            Shape::Bool(value) => format!("`{value}`"),
            // Debug escapes line breaks: an error is one paragraph.
            Shape::Text(text) => format!("{text:?}"),
            Shape::List(_) => "a list".into(),
            Shape::Table(_) => "a table".into(),
            Shape::Unsigned(_) | Shape::Signed(_) | Shape::Float(_) | Shape::Date => match self {
                Self::Toml(value) => format!("`{value}`"),
                Self::Json(value) => format!("`{value}`"),
            },
        }
    }
}

impl<'v> Iterator for Entries<'v> {
    type Item = FileValue<'v>;

    fn next(&mut self) -> Option<FileValue<'v>> {
        match self {
            Self::Toml(entries) => entries.next().map(FileValue::Toml),
            Self::Json(entries) => entries.next().map(FileValue::Json),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Toml(entries) => entries.size_hint(),
            Self::Json(entries) => entries.size_hint(),
        }
    }
}

impl ExactSizeIterator for Entries<'_> {}

impl<'v> Iterator for Keys<'v> {
    type Item = (&'v str, FileValue<'v>);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Toml(keys) => keys.next().map(|(key, value)| (key.as_str(), FileValue::Toml(value))),
            Self::Json(keys) => keys.next().map(|(key, value)| (key.as_str(), FileValue::Json(value))),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Toml(keys) => keys.size_hint(),
            Self::Json(keys) => keys.size_hint(),
        }
    }
}

impl ExactSizeIterator for Keys<'_> {}
