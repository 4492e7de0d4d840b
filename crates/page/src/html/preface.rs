//! What stands before the runs on a page that belongs to more than one of them: a title, tables and lists of its maker.

use super::escape;
use super::tables::{Cell, table};

/// The first part of a page.
#[derive(Debug, Clone, Default)]
pub struct Preface {
    /// Its heading, and the title of the page.
    pub title: String,
    /// Lines below the heading.
    pub lines: Vec<String>,
    /// What must not be overlooked.
    pub banners: Vec<String>,
    /// Tables with headings.
    pub tables: Vec<PrefaceTable>,
    /// Lists with headings, folded; empty ones are left out.
    pub lists: Vec<(String, Vec<String>)>,
}

/// A table of the first part.
#[derive(Debug, Clone, Default)]
pub struct PrefaceTable {
    /// Its heading.
    pub heading: String,
    /// Headings of the columns, and whether they hold numbers.
    pub columns: Vec<(String, bool)>,
    /// Cells: what is shown, and the number behind it.
    pub rows: Vec<Vec<(String, Option<f64>)>>,
}

/// The heading of the page.
pub(super) fn head(preface: &Preface) -> String {
    let line = |text: &String| format!("<p>{}</p>", escape::prose(text));
    let banner = |text: &String| format!("<p class=\"banner\">{}</p>", escape::prose(text));
    format!(
        "<div class=\"run-head\"><h1>{}</h1>{}{}</div>",
        escape::text(&preface.title),
        preface.lines.iter().map(line).collect::<String>(),
        preface.banners.iter().map(banner).collect::<String>()
    )
}

/// Its tables and lists.
pub(super) fn body(preface: &Preface) -> String {
    let tables = preface.tables.iter().filter(|table| !table.rows.is_empty()).map(|of| {
        let cell = |(shown, value): &(String, Option<f64>)| Cell::shown(shown, *value);
        let rows: Vec<Vec<Cell>> = of.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        format!("<h2>{}</h2>{}", escape::text(&of.heading), table("preface", &of.columns, &rows))
    });
    let lists = preface.lists.iter().filter(|(_, items)| !items.is_empty()).map(|(heading, items)| {
        let items = items.iter().map(|item| format!("<li>{}</li>", escape::prose(item))).collect::<String>();
        format!("<details open><summary>{}</summary><ul class=\"plain\">{items}</ul></details>", escape::text(heading))
    });
    format!("<section id=\"preface\">{}{}</section>", tables.collect::<String>(), lists.collect::<String>())
}
