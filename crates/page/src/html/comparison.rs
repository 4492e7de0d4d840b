//! Several runs side by side: each beside the first one, as `waykeeper compare` puts them.

use std::borrow::Cow;

use waykeeper_report::{ComparedRun, RunComparison};

use super::escape;
use super::tables::{Cell, table};
use crate::data::letter;
use crate::source::ReportedRun;

/// The figures that a table of two runs shows, by their names in run.json, and their headings.
const SHOWN: [(&str, &str); 5] =
    [("mean_ns", "mean"), ("p99_ns", "p99"), ("p99_9_ns", "p99.9"), ("max_ns", "max"), ("slowdown", "slowdown")];

/// A table for each run after the first; nothing for one run.
pub fn comparison(sources: &[ReportedRun]) -> String {
    let Some((first, others)) = sources.split_first() else { return String::new() };
    if others.is_empty() {
        return String::new();
    }
    let each = others.iter().enumerate().map(|(at, other)| beside(first, other, &letter(at + 1)));
    format!("<section id=\"comparison\"><h2>Compared</h2>{}</section>", each.collect::<String>())
}

fn side(source: &ReportedRun) -> ComparedRun<'_> {
    ComparedRun {
        name: source.name.clone(),
        run: &source.run,
        definitions: source.definitions.clone(),
        least_neighbour_work: source.least_neighbour_work,
        samples: Cow::Borrowed(&source.samples),
    }
}

fn beside(first: &ReportedRun, other: &ReportedRun, name: &str) -> String {
    let compared = RunComparison::new([&side(first), &side(other)]);
    let list =
        |items: &[String]| items.iter().map(|item| format!("<li>{}</li>", escape::text(item))).collect::<String>();
    let mut html = format!("<h3>{name} beside A</h3>");
    if !compared.differences.is_empty() {
        html += &format!("<ul class=\"plain\">{}</ul>", list(&compared.differences));
    }
    let used: Vec<_> =
        SHOWN.into_iter().filter(|(key, _)| compared.cases.iter().any(|case| case.figures.contains_key(key))).collect();
    let mut head = vec![("case".to_owned(), false), (format!("{name} beside A"), false)];
    for (_, heading) in &used {
        head.extend([(format!("{heading} A"), true), (format!("{heading} {name}"), true), ("ratio".to_owned(), true)]);
    }
    head.extend([("seen in A".to_owned(), true), (format!("seen in {name}"), true)]);
    let length = |source: &ReportedRun, case: &str| {
        Cell::seconds(source.run.cases.iter().find(|of| of.name == case).map(|case| case.run_length_s))
    };
    let rows: Vec<Vec<Cell>> = compared
        .cases
        .iter()
        .map(|case| {
            let mut row = vec![Cell::text(&case.case), Cell::text(&case.b_beside_a)];
            for (key, _) in &used {
                let both = case.figures.get(key).copied().unwrap_or_default();
                let cell = |value| if *key == "slowdown" { Cell::ratio(value) } else { Cell::time(value) };
                row.extend([cell(both.a), cell(both.b), Cell::ratio(both.ratio)]);
            }
            row.extend([length(first, &case.case), length(other, &case.case_in_b)]);
            row
        })
        .collect();
    html += &table("compared", &head, &rows);
    for (what, names) in [("A", &compared.only_in_a), (name, &compared.only_in_b)] {
        if !names.is_empty() {
            html += &format!("<p class=\"note\">Only in {what}: {}</p>", escape::text(&names.join("; ")));
        }
    }
    html
}
