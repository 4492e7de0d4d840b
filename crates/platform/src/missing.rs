//! Keys that a table of a platform file lacks, all at once and with what each is.

use schemars::schema_for;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::describe::Platform;

/// What is said where the table at `path` (`memory.scheduler`, or empty) lacks keys; nothing where the schema requires none of those
/// that are absent.
pub(crate) fn missing_keys(root: &DeTable<'_>, path: &str) -> Option<String> {
    let schema = schema_for!(Platform).to_value();
    let parts: Vec<&str> = path.split('.').filter(|part| !part.is_empty()).collect();
    let (mut described, mut table) = (resolved(&schema, &schema), root);
    let mut list: Option<&DeValue<'_>> = None;
    for part in parts {
        let value = match list.take() {
            Some(DeValue::Array(entries)) => entries.get(part.parse::<usize>().ok()?)?.get_ref(),
            _ => table.get(part)?.get_ref(),
        };
        described = resolved(&schema, below(described, part)?);
        match value {
            DeValue::Table(inner) => table = inner,
            other => list = Some(other),
        }
    }
    let absent: Vec<String> = required(described)
        .into_iter()
        .filter(|(key, _)| table.get(*key).is_none())
        .map(|(key, description)| match description {
            Some(text) => format!("`{key}` ({})", text.trim_end_matches('.')),
            None => format!("`{key}`"),
        })
        .collect();
    let (noun, verb) = if absent.len() == 1 { ("key", "is") } else { ("keys", "are") };
    let said = format!("{noun} {} {verb} missing; `waykeeper schema platform` has what each may be", absent.join(", "));
    (!absent.is_empty()).then_some(said)
}

/// The description of a key of a table, or of an entry of a list.
fn below<'s>(described: &'s Value, part: &str) -> Option<&'s Value> {
    let property = described.get("properties").and_then(|properties| properties.get(part));
    property
        .or_else(|| described.get("additionalProperties").filter(|it| it.is_object()))
        .or_else(|| described.get("items"))
}

/// What a reference, or the one alternative that is not null, stands for.
fn resolved<'s>(schema: &'s Value, described: &'s Value) -> &'s Value {
    if let Some(reference) = described.get("$ref").and_then(Value::as_str) {
        return schema.pointer(reference.trim_start_matches('#')).map_or(described, |it| resolved(schema, it));
    }
    let alternatives = described.get("anyOf").and_then(Value::as_array);
    let only = alternatives.and_then(|all| all.iter().find(|it| it.get("type") != Some(&Value::from("null"))));
    only.map_or(described, |it| resolved(schema, it))
}

/// The keys that must be there, each with the first sentence about it: those that neither have a default nor may be null, where the
/// schema says nothing (`memory`, whose keys may come from a part).
fn required(described: &Value) -> Vec<(&str, Option<&str>)> {
    let named = described.get("required").and_then(Value::as_array);
    let properties = described.get("properties").and_then(Value::as_object).into_iter().flatten();
    let is_required = |key: &str, property: &Value| match named {
        Some(named) => named.iter().any(|name| name == key),
        None => !has_default(property),
    };
    let of = properties.filter(|(key, property)| is_required(key, property));
    of.map(|(key, property)| (key.as_str(), property.get("description").and_then(Value::as_str).map(first_sentence)))
        .collect()
}

fn has_default(property: &Value) -> bool {
    let null = Value::from("null");
    let may_be_null = |it: &Value| match it.get("type") {
        Some(Value::Array(types)) => types.contains(&null),
        kind => kind == Some(&null),
    };
    let alternatives = property.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    property.get("default").is_some() || may_be_null(property) || alternatives.into_iter().any(may_be_null)
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first)
}
