//! A figure of all cases, published or not: a line for each point of the sweeps, a column for each mitigation.

use std::fmt::Write;

use serde_json::Value as Json;

use super::document::short;

/// The table as Markdown; nothing if no case has the figure.
pub fn listed(run: &Json, metric: &str) -> String {
    let (mut mitigations, mut points, mut cells): (Vec<&str>, Vec<String>, Vec<_>) = Default::default();
    for case in run.get("cases").and_then(Json::as_array).into_iter().flatten() {
        let Some(value) = case.get(metric).and_then(Json::as_f64) else { continue };
        let mitigation = case.get("mitigation").and_then(Json::as_str).unwrap_or_default();
        let point = point(case);
        let mut column = mitigations.iter().position(|known| *known == mitigation);
        let column = *column.get_or_insert_with(|| {
            mitigations.push(mitigation);
            mitigations.len() - 1
        });
        let mut row = points.iter().position(|known| *known == point);
        let row = *row.get_or_insert_with(|| {
            points.push(point);
            points.len() - 1
        });
        cells.push(((row, column), value));
    }
    if cells.is_empty() {
        return String::new();
    }
    let mut text = format!("| {metric} | {} |\n|---|{}\n", mitigations.join(" | "), "---|".repeat(mitigations.len()));
    for (row, point) in points.iter().enumerate() {
        let cell = |column| cells.iter().find(|(at, _)| *at == (row, column)).map(|(_, value)| short(*value));
        let cells: Vec<_> = (0..mitigations.len()).map(|column| cell(column).unwrap_or_default()).collect();
        let _ = writeln!(text, "| {point} | {} |", cells.join(" | "));
    }
    text + "\n"
}

/// Where a case lies in the sweeps: what its name has in brackets.
fn point(case: &Json) -> String {
    let name = case.get("name").and_then(Json::as_str).unwrap_or_default();
    let bracketed = name.split_once(" [").and_then(|(_, rest)| rest.strip_suffix(']'));
    bracketed.unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_lines_and_mitigations_columns() {
        let case = |mitigation: &str, size: u32, slowdown: f64| {
            let name = format!("{mitigation} [core A, size {size}]");
            serde_json::json!({ "name": name, "mitigation": mitigation, "slowdown": slowdown })
        };
        let idle = serde_json::json!({ "name": "idle [core A]", "mitigation": "none", "max_ns": 3.0 });
        let run = serde_json::json!({ "cases":
            [idle, case("none", 8, 1.0), case("none", 16, 2.5), case("split", 16, 1.25)] });
        assert_eq!(
            listed(&run, "slowdown"),
            "| slowdown | none | split |\n|---|---|---|\n| core A, size 8 | 1 |  |\n| core A, size 16 | 2.5 | 1.25 |\n\n"
        );
        assert_eq!(listed(&run, "mean_ns"), "");
    }
}
