//! Memories that platforms share: `platforms/memory/*.toml`.
//!
//! A `memory` that names a `part` takes from it what it does not give itself; so does each of `alternative_memories`. An
//! alternative further takes `size_mib`, `placement` and `scheduler` from `memory`, key by key: it stands behind the same
//! controller. A part file has a `[memory]` table and the `[sources]` that its parameters cite, which become the
//! platform's.
//!
//! All this happens between the parser and the platform's types, and what comes from a part gets the place of its `part`
//! key: so errors about it point there.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use waykeeper_shelf::{Bundled, Folder, files};

/// All bundled memories, by name.
pub fn memory_parts() -> &'static [Bundled] {
    files(Folder::Memories)
}

/// What an alternative memory takes from the platform's `memory`.
const OF_THE_CONTROLLER: [&str; 3] = ["size_mib", "placement", "scheduler"];

/// A key, its place in the platform's text, and what is wrong with it.
pub(crate) type Fault = (String, Range<usize>, String);

/// Fills in what the memories of a platform take from parts and from each other.
pub(crate) fn fill_in(root: &mut DeTable<'_>) -> Result<(), Fault> {
    let mut sources = Vec::new();
    if let Some(memory) = table_mut(root, "memory") {
        sources.extend(take_part(memory, "memory")?);
    }
    let shared = table_mut(root, "memory").map(|memory| {
        let of_the_controller = memory.iter().filter(|(key, _)| OF_THE_CONTROLLER.contains(&key.get_ref().as_ref()));
        of_the_controller.map(|(key, value)| (key.clone(), value.clone())).collect::<DeTable<'_>>()
    });
    if let Some(alternatives) = table_mut(root, "alternative_memories") {
        for (name, value) in alternatives.iter_mut() {
            let path = format!("alternative_memories.{}", name.get_ref());
            let DeValue::Table(memory) = value.get_mut() else { continue };
            sources.extend(take_part(memory, &path)?);
            if let Some(shared) = &shared {
                merge(memory, shared.clone(), None);
            }
        }
    }
    sources.into_iter().try_for_each(|(at, of_part)| cite(root, &at, of_part))
}

/// Merges the part that a memory names into it; returns its place and its sources.
fn take_part(memory: &mut DeTable<'_>, path: &str) -> Result<Option<(Range<usize>, DeTable<'static>)>, Fault> {
    let Some(part) = memory.get("part") else { return Ok(None) };
    let span = part.span();
    let fault = |message: String| (format!("{path}.part"), span.clone(), message);
    let DeValue::String(name) = part.get_ref() else { return Err(fault("the name of a memory is a string".into())) };
    let Some(file) = memory_parts().iter().find(|file| file.name == name.as_ref()) else {
        let known: Vec<_> = memory_parts().iter().map(|file| file.name).collect();
        return Err(fault(format!("there is no memory `{name}`; there are {}", known.join(", "))));
    };
    let refuse = |why: String| fault(format!("platforms/memory/{}.toml cannot be used: {why}", file.name));
    let mut text = DeTable::parse(file.text).map_err(|error| refuse(error.message().to_owned()))?.into_inner();
    let mut take = |key: &str| match text.remove(key).map(Spanned::into_inner) {
        Some(DeValue::Table(table)) => Some(table),
        _ => None,
    };
    let given = take("memory").ok_or_else(|| refuse("it has no table `memory`".into()))?;
    let sources = take("sources").unwrap_or_default();
    merge(memory, given, Some(&span));
    Ok(Some((span, sources)))
}

/// Adds to `own` what it lacks of `given`, all at one place if there is one. Tables are merged key by key, parameters only
/// as a whole.
fn merge<'a>(own: &mut DeTable<'a>, given: DeTable<'a>, at: Option<&Range<usize>>) {
    for (key, value) in given {
        match own.get_mut(key.get_ref().as_ref()).map(Spanned::get_mut) {
            Some(DeValue::Table(own)) => match value.into_inner() {
                DeValue::Table(given) if !given.contains_key("value") => merge(own, given, at),
                _ => {}
            },
            Some(_) => {}
            None => {
                let (key, value) = match at {
                    Some(at) => (Spanned::new(at.clone(), key.into_inner()), placed(value.into_inner(), at)),
                    None => (key, value),
                };
                own.insert(key, value);
            }
        }
    }
}

/// A value, all of it at one place.
fn placed<'a>(value: DeValue<'a>, span: &Range<usize>) -> Spanned<DeValue<'a>> {
    let value = match value {
        DeValue::Table(table) => {
            let entries = table
                .into_iter()
                .map(|(key, value)| (Spanned::new(span.clone(), key.into_inner()), placed(value.into_inner(), span)));
            DeValue::Table(entries.collect())
        }
        DeValue::Array(list) => {
            DeValue::Array(list.into_iter().map(|value| placed(value.into_inner(), span)).collect())
        }
        other => other,
    };
    Spanned::new(span.clone(), value)
}

/// Adds a part's sources to the platform's.
fn cite<'a>(root: &mut DeTable<'a>, at: &Range<usize>, of_part: DeTable<'a>) -> Result<(), Fault> {
    if !root.contains_key("sources") {
        let key = Spanned::new(at.clone(), "sources".into());
        root.insert(key, Spanned::new(at.clone(), DeValue::Table(DeTable::new())));
    }
    let Some(own) = table_mut(root, "sources") else { return Ok(()) };
    for (key, text) in &of_part {
        if let Some(other) = own.get(key.get_ref().as_ref())
            && string(other) != string(text)
        {
            let message = format!(
                "the memory cites this as `{}`, which is something else; another name would do",
                string(text).unwrap_or_default()
            );
            return Err((format!("sources.{}", key.get_ref()), other.span(), message));
        }
    }
    merge(own, of_part, Some(at));
    Ok(())
}

fn string<'t>(value: &'t Spanned<DeValue<'_>>) -> Option<&'t str> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.as_ref()),
        _ => None,
    }
}

fn table_mut<'t, 'a>(root: &'t mut DeTable<'a>, key: &str) -> Option<&'t mut DeTable<'a>> {
    match root.get_mut(key)?.get_mut() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}
