//! What serde refuses, reported in the words of a TOML file: the path of the key, what was found, what would do.

use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed};
use toml::{Table, Value};

use crate::read::{FileValue, ReadError, UniqueKeys};

/// The path of the offending key, and what is wrong with it.
pub type Mistake = (Vec<String>, String);

/// How the message about a key that is not there begins.
pub(crate) const KEY_IS_MISSING: &str = "the key ";

const LIST_FOR_TABLE: &str = "found a list, expected a table";

/// Reads a whole document.
///
/// # Errors
/// The first mistake.
///
/// # Panics
/// If what was read cannot be written as TOML.
pub fn document<T: DeserializeOwned + Serialize>(document: &Table) -> Result<T, Mistake> {
    let value = Value::Table(document.clone());
    let read_value: T = read(&value)?;
    no_list_for_table(&value, &read_value)?;
    Ok(read_value)
}

/// Refuses a document that has a list in place of a table: serde would take its values for those of the keys, in their
/// order.
///
/// # Errors
/// The place of the list.
///
/// # Panics
/// If what was read cannot be written as TOML.
pub fn no_list_for_table(document: &Value, as_read: &impl Serialize) -> Result<(), Mistake> {
    let as_read = Value::try_from(as_read).expect("everything that was read can be written");
    match list_for_table(document, &as_read) {
        Some(path) => Err((path, LIST_FOR_TABLE.into())),
        None => Ok(()),
    }
}

fn list_for_table(document: &Value, as_read: &Value) -> Option<Vec<String>> {
    let below = |key: String, inner: &Value, read: Option<&Value>| {
        list_for_table(inner, read?).map(|path| std::iter::once(key).chain(path).collect())
    };
    match (document, as_read) {
        (Value::Array(_), Value::Table(_)) => Some(Vec::new()),
        (Value::Array(list), Value::Array(read)) => {
            list.iter().enumerate().find_map(|(index, inner)| below(index.to_string(), inner, read.get(index)))
        }
        (Value::Table(table), Value::Table(read)) => {
            table.iter().find_map(|(key, inner)| below(key.clone(), inner, read.get(key)))
        }
        _ => None,
    }
}

/// Reads a value of a TOML file.
///
/// # Errors
/// The first mistake.
pub fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Mistake> {
    T::deserialize(FileValue::Toml(value)).map_err(|error| mistake(FileValue::Toml(value), error))
}

/// Reads a value of a JSON file.
///
/// # Errors
/// The first mistake.
pub fn read_json<T: DeserializeOwned>(value: &serde_json::Value) -> Result<T, Mistake> {
    T::deserialize(FileValue::Json(value)).map_err(|error| mistake(FileValue::Json(value), error))
}

/// Reads a JSON text, in which no key stands twice.
///
/// # Errors
/// The first mistake, with its key.
pub fn read_json_text<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let mut text = serde_json::Deserializer::from_slice(text);
    let value = UniqueKeys { of_key: |key| key }.deserialize(&mut text);
    let value = value.and_then(|value| text.end().map(|()| value)).map_err(|error| error.to_string())?;
    read_json(&value).map_err(said)
}

/// Reads a TOML text.
///
/// # Errors
/// The first mistake, with its key.
pub fn read_toml_text<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| one_line(error.message()))?;
    read(&Value::Table(table)).map_err(said)
}

/// A mistake in one text.
pub fn said((path, message): Mistake) -> String {
    if path.is_empty() { message } else { format!("{}: {message}", path.join(".")) }
}

fn mistake(value: FileValue<'_>, error: ReadError) -> Mistake {
    let (mut path, message) = error.into_parts();
    let message = one_line(&message);
    // Where a table is read as a whole serde reports the table; the key is in the message.
    let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
    path.extend(unknown.filter(|key| path.last().is_none_or(|last| last != key)).map(str::to_owned));
    let message = plain(&message, value.at(&path));
    (path, message)
}

/// serde's phrases in plain words, with the value that was found where it is known.
fn plain(message: &str, found: Option<FileValue<'_>>) -> String {
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return format!("unknown key {rest}");
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        return format!("found {rest}");
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("{KEY_IS_MISSING}{key} is missing");
    }
    if let Some((found, expected)) =
        message.strip_prefix("invalid length ").and_then(|rest| rest.split_once(", expected "))
    {
        let length = |before: &str| expected.strip_prefix(before).map(|length| format!("one of {length}"));
        let length = length("an array of length ").or_else(|| length("a tuple of size "));
        return match length {
            Some(length) => format!("found a list of {found}, expected {length}"),
            None if expected.starts_with("one of ") => format!("found a list of {found}, expected {expected}"),
            None => LIST_FOR_TABLE.into(),
        };
    }
    if message.starts_with("wanted exactly 1 element") {
        return "found a table with several keys, expected one key".into();
    }
    let refused = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    match refused.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((what, expected)) => {
            format!(
                "found {}, expected {}",
                found.map_or_else(|| what.to_owned(), FileValue::shown),
                expectation(expected)
            )
        }
        None => message.to_owned(),
    }
}

fn expectation(serde: &str) -> &str {
    match serde {
        "u64" | "u32" => "a whole number of 0 or more",
        "i64" => "a whole number",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "string only" => "a text",
        "a sequence" => "a list",
        "a map" => "a table",
        "internally tagged enum Workload" => "a table with the key `kind`",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

/// A message without line breaks.
pub fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}
