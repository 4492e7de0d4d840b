//! The columns of the guide's table, for the terminal and for the page.

use waykeeper_report::figure::{count, seconds, time};

use crate::rows::KpiRow;

/// A cell: what is shown, and the number behind it.
pub(crate) type Figure = (String, Option<f64>);

/// Headings, and whether the column holds numbers.
pub(crate) const COLUMNS: [(&str, bool); 13] = [
    ("boot", true),
    ("setting", false),
    ("measured", false),
    ("core", true),
    ("average", true),
    ("max", true),
    // Beside it, so that no narrow page shows the one without the other.
    ("seen in", true),
    ("jitter", true),
    ("iterations", true),
    ("missed", true),
    ("outliers", true),
    ("above", true),
    ("blocks", true),
];

/// A cell without a number.
pub(crate) fn text(text: impl Into<String>) -> Figure {
    (text.into(), None)
}

fn duration(ns: Option<f64>) -> Figure {
    (time(ns), ns)
}

/// The cells of a row. The boot is shown where there are several.
pub(crate) fn figures(row: &KpiRow, several: bool) -> [Figure; 13] {
    let seen = |number: Option<u64>| number.map_or(text("not seen"), |n| (n.to_string(), Some(n as f64)));
    [
        if several { (row.boot.to_string(), Some(row.boot.into())) } else { text("") },
        text(row.setting.clone()),
        text(row.measured.clone()),
        (row.core.to_string(), Some(row.core.into())),
        duration(row.average_ns),
        duration(row.maximum_ns),
        (seconds(row.run_length_s), Some(row.run_length_s)),
        duration(row.jitter_ns),
        (count(row.iterations), Some(row.iterations as f64)),
        seen(row.missed_cycles),
        seen(row.outlier_above_ns.map(|_| row.outliers)),
        duration(row.outlier_above_ns),
        text(format!("{}/{}", row.blocks, row.blocks_asked)),
    ]
}
