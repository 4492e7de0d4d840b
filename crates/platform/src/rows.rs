//! A platform's parameters as a flat list.

use toml::Value;

use crate::describe::Platform;
use crate::explain::read;
use crate::param::{Basis, ParameterRow};

impl Platform {
    /// Every parameter, in the order of the file's keys. What an alternative memory has from the platform's own is not
    /// given twice.
    pub fn parameters(&self) -> Vec<ParameterRow> {
        let mut rows = Vec::new();
        // A platform consists of tables, arrays, numbers and strings, all of which TOML can write.
        let value = Value::try_from(self).expect("a platform is representable as TOML");
        collect(&value, "", &mut rows);
        let inherited = |row: &ParameterRow| {
            let key = row.path.strip_prefix("alternative_memories.")?.split_once('.')?.1;
            let of_platform = key.starts_with("scheduler.") || key == "size_mib" || key == "placement";
            of_platform.then_some(())?;
            rows.iter().find(|own| own.path.strip_prefix("memory.") == Some(key))
        };
        let same = |row: &&ParameterRow| {
            inherited(row).is_some_and(|own| (&own.value, own.is, &own.note) == (&row.value, row.is, &row.note))
        };
        let kept: Vec<_> = rows.iter().filter(|row| !same(row)).cloned().collect();
        kept
    }
}

fn collect(value: &Value, path: &str, rows: &mut Vec<ParameterRow>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Table(table) => match parameter(value, path) {
            Some(row) => rows.push(row),
            None => table.iter().for_each(|(key, inner)| collect(inner, &below(key), rows)),
        },
        Value::Array(array) => {
            array.iter().enumerate().for_each(|(i, inner)| collect(inner, &below(&i.to_string()), rows))
        }
        _ => {}
    }
}

/// The row of a table that is a parameter: it has a `value` and says what it `is`.
fn parameter(table: &Value, path: &str) -> Option<ParameterRow> {
    let value = table.get("value")?;
    let is: Basis = read(table.get("is")?).ok()?;
    let text = |key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
    let range = table.get("range").map(|range| format!("range {range}"));
    let fitted_on = table.get("fitted_on").map(|rows| format!("fitted on {rows}"));
    let note: Vec<_> = [text("source"), range, fitted_on, text("reason")].into_iter().flatten().collect();
    Some(ParameterRow { path: path.into(), value: value.to_string(), is, note: note.join("; ") })
}
