//! What serde refuses, reported in the words of a TOML file: the path of the key, what was found, what would do.

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// The path of the offending key, and what is wrong with it.
pub type Mistake = (Vec<String>, String);

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
    let read_value: T = read(value.clone())?;
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

/// Reads a value.
///
/// # Errors
/// The first mistake.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, Mistake> {
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(value.clone(), &mut track);
    T::deserialize(tracked).map_err(|error: toml::de::Error| {
        let mut path: Vec<String> = track.path().iter().filter_map(segment).collect();
        let message = one_line(error.message());
        // Where a table is read as a whole serde reports the table; the key is in the message.
        let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
        path.extend(unknown.filter(|key| path.last().is_none_or(|last| last != key)).map(str::to_owned));
        let message = plain(&message, at(&value, &path));
        (path, message)
    })
}

fn segment(segment: &serde_path_to_error::Segment) -> Option<String> {
    match segment {
        serde_path_to_error::Segment::Map { key } => Some(key.clone()),
        serde_path_to_error::Segment::Seq { index } => Some(index.to_string()),
        serde_path_to_error::Segment::Enum { .. } | serde_path_to_error::Segment::Unknown => None,
    }
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, part| match value {
        Value::Array(list) => list.get(part.parse::<usize>().ok()?),
        other => other.get(part),
    })
}

/// What serde says of a file, in the words of people who write TOML or JSON. Messages of Waykeeper's own types pass as they are.
pub fn in_plain_words(message: &str) -> String {
    // serde_json appends the place.
    match message.rsplit_once(" at line ") {
        Some((said, place)) => format!("{} at line {place}", plain(said, None)),
        None => plain(message, None),
    }
}

/// serde's phrases in plain words, with the value that was found where it is known.
fn plain(message: &str, found: Option<&Value>) -> String {
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return format!("unknown key {rest}");
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        return format!("found {rest}");
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("the key {key} is missing");
    }
    if message.starts_with("invalid length ") {
        return LIST_FOR_TABLE.into();
    }
    if message.starts_with("wanted exactly 1 element") {
        return "found a table with several keys, expected one key".into();
    }
    let refused = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    match refused.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((what, expected)) => {
            format!("found {}, expected {}", found.map_or_else(|| what.to_owned(), name), expectation(expected))
        }
        None => message.to_owned(),
    }
}

/// A value as an error shows it.
fn name(value: &Value) -> String {
    match value {
        // Debug escapes line breaks: an error is one paragraph.
        Value::String(text) => format!("{text:?}"),
        Value::Array(_) => "a list".into(),
        Value::Table(_) => "a table".into(),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => format!("`{value}`"),
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
