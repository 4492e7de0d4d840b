//! Plain tables: a rule under the heading, numbers to the right, no frame.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::shown::one_line;

/// One column: its heading, and whether it holds numbers.
pub struct Column {
    /// Its heading.
    pub heading: String,
    /// Whether it holds numbers, which stand to the right.
    pub numbers: bool,
}

/// Columns of a table, texts to the left and numbers to the right.
pub fn columns(spec: &[(&str, bool)]) -> Vec<Column> {
    spec.iter().map(|(heading, numbers)| Column { heading: (*heading).to_owned(), numbers: *numbers }).collect()
}

/// Sets a table. Columns whose cells are all empty are left out: what does not apply is not shown.
/// A cell is one line: line breaks in it are shown as escapes.
pub fn table(columns: &[Column], rows: &[Vec<String>]) -> String {
    let in_one_line = |row: &Vec<String>| row.iter().map(|cell| one_line(cell).into_owned()).collect();
    let (columns, rows): (Vec<_>, Vec<Vec<String>>) = (
        columns.iter().map(|it| Column { heading: one_line(&it.heading).into_owned(), numbers: it.numbers }).collect(),
        rows.iter().map(in_one_line).collect(),
    );
    let used: Vec<usize> =
        (0..columns.len()).filter(|column| rows.iter().any(|row| !row[*column].is_empty())).collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let rule = |column: &usize| {
        let width = rows.iter().map(|row| row[*column].chars().count()).max().unwrap_or(0);
        "-".repeat(width.max(columns[*column].heading.chars().count()))
    };
    table.set_header(used.iter().map(|column| columns[*column].heading.as_str()));
    table.add_row(used.iter().map(rule));
    for row in rows {
        table.add_row(used.iter().map(|column| row[*column].as_str()));
    }
    for (at, column) in used.iter().enumerate() {
        if let Some(set) = table.column_mut(at) {
            set.set_padding((0, 2));
            if columns[*column].numbers {
                set.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}
