//! Tables that the reader can sort. Each number is also there as run.json has it, for sorting and for other programs.

use waykeeper_experiment::layout::CaseMetric;
use waykeeper_report::figure::{count, ratio, sample, seconds, three_digits, time};
use waykeeper_report::figure_of_metric;
use waykeeper_run::{CaseRecord, Longer, Run};

use super::escape;
use crate::data::{Agreement, PUBLISHED_FIGURES, letter};
use crate::source::ReportedRun;

/// A cell: what is shown, and the number behind it.
pub struct Cell {
    shown: String,
    value: Option<f64>,
}

impl Cell {
    /// A text.
    pub fn text(text: &str) -> Self {
        Self { shown: text.to_owned(), value: None }
    }

    /// What is shown, and the number behind it.
    pub fn shown(shown: &str, value: Option<f64>) -> Self {
        Self { shown: shown.to_owned(), value }
    }

    /// A duration in nanoseconds.
    pub fn time(ns: Option<f64>) -> Self {
        Self { shown: time(ns), value: ns }
    }

    /// A sample in nanoseconds, of a counter whose smallest step is that long.
    pub fn sample(ns: Option<f64>, step_ns: f64) -> Self {
        Self { shown: sample(ns, step_ns), value: ns }
    }

    /// A duration in seconds.
    pub fn seconds(s: Option<f64>) -> Self {
        Self { shown: s.map(seconds).unwrap_or_default(), value: s }
    }

    /// A ratio.
    pub fn ratio(value: Option<f64>) -> Self {
        Self { shown: ratio(value), value }
    }

    fn count(n: u64) -> Self {
        Self { shown: count(n), value: Some(n as f64) }
    }

    fn of(metric: CaseMetric, value: Option<f64>) -> Self {
        Self { shown: figure_of_metric(metric, value), value }
    }
}

/// A table with headings, each with whether its column holds numbers. Columns without anything in them are left out.
pub fn table(class: &str, head: &[(String, bool)], rows: &[Vec<Cell>]) -> String {
    let used: Vec<usize> = (0..head.len()).filter(|at| rows.iter().any(|row| !row[*at].shown.is_empty())).collect();
    let mut html = format!("<div class=\"scroll\"><table class=\"sortable {class}\"><thead><tr>");
    for at in &used {
        let (heading, numbers) = &head[*at];
        let class = if *numbers { " class=\"n\"" } else { "" };
        html += &format!("<th{class} scope=\"col\">{}</th>", escape::text(heading));
    }
    html += "</tr></thead><tbody>";
    for row in rows {
        html += "<tr>";
        for at in &used {
            html += &cell(&head[*at], &row[*at]);
        }
        html += "</tr>";
    }
    html + "</tbody></table></div>"
}

fn cell((heading, numbers): &(String, bool), cell: &Cell) -> String {
    let class = if *numbers { " class=\"n\"" } else { "" };
    // JSON's form of a number reads back to the same bits.
    let value = cell.value.and_then(|value| serde_json::to_string(&value).ok());
    let value = value.map(|value| format!(" data-value=\"{value}\"")).unwrap_or_default();
    format!("<td{class}{value} data-label=\"{}\">{}</td>", escape::text(heading), escape::text(&cell.shown))
}

/// The tables of all runs.
pub fn tables(sources: &[ReportedRun]) -> String {
    let each = sources.iter().enumerate().map(|(number, source)| {
        let heading = if sources.len() > 1 { format!("<h3>{}</h3>", letter(number)) } else { String::new() };
        heading + &of_run(source)
    });
    each.collect()
}

fn of_run(source: &ReportedRun) -> String {
    let run = &source.run;
    let mut html = cases(run);
    html += &folded("Published figures", published(run));
    html += &folded("What a longer run would show", longer(&source.longer));
    html += &folded("Repeats", repeats(run));
    html
}

fn folded(heading: &str, table: Option<String>) -> String {
    table.map(|table| format!("<details><summary>{heading}</summary>{table}</details>")).unwrap_or_default()
}

fn heads(list: &[(&str, bool)]) -> Vec<(String, bool)> {
    list.iter().map(|(heading, numbers)| ((*heading).to_owned(), *numbers)).collect()
}

fn cases(run: &Run) -> String {
    let head = heads(&[
        ("case", false),
        ("samples", true),
        ("min", true),
        ("mean", true),
        ("p50", true),
        ("p99", true),
        ("p99.9", true),
        ("p99.99", true),
        ("max", true),
        ("seen in", true),
        ("slowdown", true),
        ("cost", true),
        ("misses", true),
        ("bandwidth", true),
        ("all cores", true),
        ("overflow", true),
        ("verdict", false),
    ]);
    let step_ns = run.clock.step_ns();
    let row = |case: &CaseRecord| {
        vec![
            Cell::text(&case.name),
            if case.samples > 0 { Cell::count(case.samples) } else { Cell::text("") },
            Cell::sample(case.min_ns, step_ns),
            Cell::time(case.mean_ns),
            Cell::sample(case.p50_ns, step_ns),
            Cell::sample(case.p99_ns, step_ns),
            Cell::sample(case.p99_9_ns, step_ns),
            Cell::sample(case.p99_99_ns, step_ns),
            Cell::sample(case.max_ns, step_ns),
            Cell::seconds(measured_s(case)),
            Cell::ratio(case.slowdown),
            Cell::ratio(case.cost),
            Cell::of(CaseMetric::Misses, case.misses_per_sample),
            Cell::of(CaseMetric::Bandwidth, case.bandwidth_bytes_per_s),
            Cell::of(CaseMetric::TotalBandwidth, case.total_bandwidth_bytes_per_s),
            if case.overflow > 0 { Cell::count(case.overflow) } else { Cell::text("") },
            Cell::text(&case.verdict.as_ref().map(|verdict| verdict.kind.to_string()).unwrap_or_default()),
        ]
    };
    table("cases", &head, &run.cases.iter().map(row).collect::<Vec<_>>())
}

fn repeats(run: &Run) -> Option<String> {
    let head = heads(&[
        ("case", false),
        ("repeat", true),
        ("samples", true),
        ("min", true),
        ("mean", true),
        ("max", true),
        ("at", true),
        ("seen in", true),
        ("excursions", true),
        ("events", true),
        ("seed", true),
        ("not counted", false),
    ]);
    let step_ns = run.clock.step_ns();
    let rows: Vec<Vec<Cell>> = run
        .cases
        .iter()
        .flat_map(|case| {
            case.repeats.iter().map(|repeat| {
                vec![
                    Cell::text(&case.name),
                    Cell::count(repeat.repeat.into()),
                    Cell::count(repeat.samples),
                    Cell::sample(repeat.min_ns, step_ns),
                    Cell::time(repeat.mean_ns),
                    Cell::sample(repeat.max_ns, step_ns),
                    Cell::seconds(repeat.max_at_s),
                    Cell::seconds(Some(repeat.run_length_s)),
                    Cell::count(repeat.excursions),
                    Cell::count(repeat.excursion_events),
                    Cell::text(&repeat.seed.to_string()),
                    Cell::text(repeat.not_counted.as_deref().unwrap_or_default()),
                ]
            })
        })
        .collect();
    (!rows.is_empty()).then(|| table("repeats", &head, &rows))
}

fn longer(cases: &[Longer]) -> Option<String> {
    let head = heads(&[
        ("case", false),
        ("max seen", true),
        ("in", true),
        ("peaks", true),
        ("above", true),
        ("shape", true),
        ("fit", true),
        ("run of", true),
        ("max, median", true),
        ("95 %, from", true),
        ("to", true),
        ("published", true),
        ("no forecast because", false),
    ]);
    let row = |case: &Longer| {
        let forecast = case.forecast.as_ref();
        let number = |value: Option<f64>| Cell { shown: value.map(three_digits).unwrap_or_default(), value };
        vec![
            Cell::text(&case.case),
            Cell::time(case.seen_max_ns),
            Cell::seconds(Some(case.run_length_s)),
            forecast.map_or(Cell::text(""), |of| Cell::count(of.peaks as u64)),
            Cell::time(forecast.map(|of| of.threshold_ns)),
            number(forecast.map(|of| of.shape)),
            number(forecast.map(|of| of.goodness)),
            Cell::seconds(forecast.map(|_| case.over_s)),
            Cell::time(forecast.map(|of| of.median_ns)),
            Cell::time(forecast.map(|of| of.median_low_ns)),
            match forecast {
                Some(of) if of.median_high_ns.is_none() => Cell::text("no end"),
                of => Cell::time(of.and_then(|of| of.median_high_ns)),
            },
            Cell::time(case.published_max_ns),
            Cell::text(case.unsettled.as_deref().unwrap_or_default()),
        ]
    };
    (!cases.is_empty()).then(|| {
        table("longer", &head, &cases.iter().map(row).collect::<Vec<_>>())
            + "<p class=\"note\">Peaks over a threshold (generalised Pareto): what runs of that length would show if what made \
               the highest peaks goes on as it did. <em>fit</em> is the probability of a worse fit, were this one right. None \
               of this bounds anything.</p>"
    })
}

fn published(run: &Run) -> Option<String> {
    let head = heads(&[
        ("case", false),
        ("figure", false),
        ("here", true),
        ("seen in", true),
        ("published", true),
        ("over", true),
        ("ratio", true),
        ("agreement", false),
    ]);
    let mut rows = Vec::new();
    for case in &run.cases {
        let Some(reference) = &case.reference else { continue };
        for (figure, metric) in PUBLISHED_FIGURES {
            let Some(theirs) = crate::data::published_value(reference, figure) else { continue };
            let own = case.figure(metric);
            let how = match Agreement::of(reference, figure) {
                Agreement::Imposed => "imposed",
                Agreement::Fitted => "fitted",
                Agreement::Predicted => "predicted",
            };
            let over = reference.run_samples.map(|n| Cell { shown: format!("{} samples", count(n)), value: None });
            rows.push(vec![
                Cell::text(&case.name),
                Cell::text(&metric.to_string()),
                Cell::of(metric, own),
                Cell::seconds(measured_s(case)),
                Cell::of(metric, Some(theirs)),
                match (reference.run_length_s, over) {
                    (None, Some(samples)) => samples,
                    (length, _) => Cell::seconds(length),
                },
                Cell::ratio(own.filter(|_| theirs != 0.0).map(|own| own / theirs)),
                Cell::text(how),
            ]);
        }
    }
    let source = run.cases.iter().find_map(|case| Some(case.reference.as_ref()?.source.clone()))?;
    Some(
        table("published", &head, &rows)
            + &format!(
                "<p class=\"note\">Published: {}. <em>imposed</em>: the figure was put into the model and agrees by \
                 construction; <em>fitted</em>: a parameter was chosen for it. Neither is evidence.</p>",
                escape::text(&source)
            ),
    )
}

/// How long a case was measured; none where it was not, as in a run that was interrupted before.
fn measured_s(case: &CaseRecord) -> Option<f64> {
    Some(case.run_length_s).filter(|s| *s > 0.0)
}
