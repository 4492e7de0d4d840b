//! A platform as the text of a file that people read: parameters on one line each.

use toml::{Table, Value};
use waykeeper_platform::Platform;

use super::shared::left_out;
use crate::machine::Machine;

/// Most cores that the simulator takes.
const MOST_CORES: usize = 31;

/// The head of the file: what it is, and what is left out.
pub fn comments(machine: &Machine, platform: &Platform) -> String {
    let mut lines = vec![
        "Found on the machine; what nothing on it shows is assumed, with a range: look at those before you believe a simulation."
            .to_owned(),
    ];
    let mut left = left_out(machine);
    let cores = platform.core_ids().len();
    if cores > MOST_CORES {
        lines.push(format!("It can be planned for; the simulator takes {MOST_CORES} cores, and it has {cores}."));
    }
    left.push("TLBs, prefetchers, snoop filters and write streaming, which nothing shows".into());
    lines.push(format!("Left out: {}.", left.join("; ")));
    lines.iter().map(|line| format!("# {line}\n")).collect()
}

/// Everything that is set, with parameters as inline tables.
pub fn toml(platform: &Platform) -> String {
    let table = Table::try_from(platform).expect("a platform is representable as TOML");
    let mut text = String::new();
    write(&mut text, &table, "");
    text.trim_start().to_owned()
}

/// The order in which people read a file: what names a thing comes first.
fn rank(key: &str) -> (usize, &str) {
    const FIRST: [&str; 22] = [
        "name",
        "title",
        "kind",
        "level",
        "ids",
        "architecture",
        "line_bytes",
        "sources",
        "counter",
        "cores",
        "copies",
        "clock_ghz",
        "execution",
        "size_kib",
        "ways",
        "hit_cycles",
        "hit_ns",
        "replacement",
        "l1d",
        "l1i",
        "l2",
        "shared_caches",
    ];
    (FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len()), key)
}

fn is_parameter(value: &Value) -> bool {
    value.as_table().is_some_and(|table| table.contains_key("value") && table.contains_key("is"))
}

fn is_list_of_tables(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_table))
}

fn write(text: &mut String, table: &Table, path: &str) {
    let mut keys: Vec<&String> = table.keys().collect();
    keys.sort_by_key(|key| rank(key));
    let (inner, tables): (Vec<&String>, Vec<&String>) = keys.into_iter().partition(|key| {
        let value = &table[*key];
        is_parameter(value) || !(value.is_table() || is_list_of_tables(value))
    });
    for key in inner {
        text.push_str(&format!("{key} = {}\n", inline(&table[key])));
    }
    for key in tables {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match &table[key] {
            Value::Table(inner) if inner.is_empty() => {}
            Value::Table(inner) => {
                text.push_str(&format!("\n[{path}]\n"));
                write(text, inner, &path);
            }
            Value::Array(list) => {
                for inner in list.iter().filter_map(Value::as_table) {
                    text.push_str(&format!("\n[[{path}]]\n"));
                    write(text, inner, &path);
                }
            }
            _ => {}
        }
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::Table(table) => {
            let order = ["value", "is", "source", "range", "reason", "fitted_on"];
            let known = order.iter().filter_map(|key| Some((*key, table.get(*key)?)));
            let parts: Vec<_> = known.map(|(key, value)| format!("{key} = {}", inline(value))).collect();
            format!("{{ {} }}", parts.join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}
