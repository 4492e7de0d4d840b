//! What serde refuses, reported in the words of the file: the path of the key, what was found, what would do.

use toml::{Table, Value};
pub use waykeeper_platform::explain::{Mistake, one_line};
use waykeeper_platform::explain::{no_list_for_table, read};
use waykeeper_workload::{
    Buffer, Chase, Command, Interrupt, Packets, Random, Streaming, Tick, Trace, Wakeup, Walk, Workload,
};

use crate::describe::Experiment;

/// Reads an experiment from a document.
///
/// # Errors
/// The first mistake.
pub fn experiment(document: &Table) -> Result<Experiment, Mistake> {
    let document_value = Value::Table(document.clone());
    let experiment: Experiment =
        read(&document_value).map_err(|mistake| inside_workload(document, &mistake.0).unwrap_or(mistake))?;
    no_list_for_table(&document_value, &experiment)?;
    all_finite(&document_value)?;
    Ok(experiment)
}

/// TOML can write `nan` and `inf`; no key of an experiment has a use for them, and a `nan` is not even equal to itself
/// when the experiment is read again.
fn all_finite(value: &Value) -> Result<(), Mistake> {
    let inside = |key: String, value: &Value| {
        all_finite(value).map_err(|(path, message)| ([key].into_iter().chain(path).collect(), message))
    };
    match value {
        Value::Float(number) if !number.is_finite() => {
            Err((Vec::new(), format!("found {number}; expected a finite number")))
        }
        Value::Array(list) => list.iter().enumerate().try_for_each(|(at, entry)| inside(at.to_string(), entry)),
        Value::Table(table) => table.iter().try_for_each(|(key, entry)| inside(key.clone(), entry)),
        _ => Ok(()),
    }
}

/// Reads a workload from a table.
///
/// # Errors
/// The first mistake.
pub fn workload(table: &Table) -> Result<Workload, Mistake> {
    read(&Value::Table(table.clone())).map_err(|mistake| inside_kind(table.clone()).unwrap_or(mistake))
}

fn inside_workload(document: &Table, path: &[String]) -> Option<Mistake> {
    let [first, name, ..] = path else { return None };
    let table = document.get("workloads").filter(|_| first == "workloads")?.get(name)?.as_table()?.clone();
    let (inner, message) = inside_kind(table)?;
    Some(([first.clone(), name.clone()].into_iter().chain(inner).collect(), message))
}

/// serde reads a table that `kind` decides on as a whole and forgets the keys in it: this reads it again as that kind.
fn inside_kind(mut table: Table) -> Option<Mistake> {
    let kind = table.remove("kind")?;
    let value = Value::Table(table);
    match kind.as_str()? {
        "walk" => read::<Walk>(&value).err(),
        "stream" => read::<Streaming>(&value).err(),
        "chase" => read::<Chase>(&value).err(),
        "buffer" => read::<Buffer>(&value).err(),
        "random" => read::<Random>(&value).err(),
        "tick" => read::<Tick>(&value).err(),
        "trace" => read::<Trace>(&value).err(),
        "command" => read::<Command>(&value).err(),
        "wakeup" => inside_body(value.as_table()).or_else(|| read::<Wakeup>(&value).err()),
        "interrupt" => read::<Interrupt>(&value).err(),
        "packets" => inside_body(value.as_table()).or_else(|| read::<Packets>(&value).err()),
        _ => None,
    }
}

/// The body of a wake-up or of a packet loop is a workload too.
fn inside_body(wakeup: Option<&Table>) -> Option<Mistake> {
    let (inner, message) = inside_kind(wakeup?.get("body")?.as_table()?.clone())?;
    Some((std::iter::once("body".to_owned()).chain(inner).collect(), message))
}
