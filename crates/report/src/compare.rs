//! Two runs side by side, case by case.

use waykeeper_experiment::layout::CaseMetric;

use crate::comparison::{Both, Compared, ComparedCase, RunComparison};
use crate::figure::{ratio, time};
use crate::metric::figure;
use crate::shown::one_line;
use crate::table::{columns, table};
use crate::text::paragraph;

/// A figure of a table: its name in run.json, its title, and how it is shown.
type Shown = (&'static str, &'static str, fn(Option<f64>) -> String);

/// What is in the first table.
const LATENCY: [Shown; 3] = [("mean_ns", "mean", time), ("p99_9_ns", "p99.9", time), ("max_ns", "max", time)];

const SLOWDOWN: [Shown; 2] = [("slowdown", "slowdown", ratio), ("cost", "cost", ratio)];

/// Where the target's throughput counts, that of all cores is known, too.
const BANDWIDTH: [Shown; 2] =
    [("total_bandwidth_bytes_per_s", "all cores", bandwidth), ("bandwidth_bytes_per_s", "the target", bandwidth)];

fn bandwidth(value: Option<f64>) -> String {
    figure(CaseMetric::Bandwidth, value)
}

/// The comparison as text.
pub fn compare(comparison: &RunComparison) -> String {
    let RunComparison { a, b, differences, cases, only_in_a, only_in_b } = comparison;
    let mut lines = vec![format!("A: {}", describe(a)), format!("B: {}", describe(b))];
    lines.extend(differences.iter().map(|text| paragraph(text, "  ")));
    if cases.is_empty() {
        lines.push("The two runs have no case in common.".into());
        return lines.join("\n") + "\n";
    }
    let mut text = lines.join("\n") + "\n\n";
    // Without a figure there is still a judgement.
    text += &(rows(&LATENCY, &cases.iter().collect::<Vec<_>>(), true) + "\n");
    for (title, of) in [("slowdowns", SLOWDOWN), ("bandwidths", BANDWIDTH)] {
        let with: Vec<_> = cases.iter().filter(|case| case.figures.contains_key(of[0].0)).collect();
        if !with.is_empty() {
            text += &format!("\n{title}\n{}\n", rows(&of, &with, false));
        }
    }
    text += "\n";
    for (name, only) in [("A", only_in_a), ("B", only_in_b)] {
        if !only.is_empty() {
            text += &format!("only in {name}: {}\n", one_line(&only.join("; ")));
        }
    }
    text + "lower/higher: by exact rank tests on the repeats (rate of excursions, maxima), 5 % in all for each case.\n"
}

fn describe(of: &Compared) -> String {
    let text =
        format!("{}: {} on {} ({}), {}, {}", of.name, of.experiment, of.platform, of.executor, of.length, of.started);
    one_line(&text).into_owned()
}

/// A table of some figures, with what was said of each case at the end if that is wanted.
fn rows(of: &[Shown], cases: &[&ComparedCase], judged: bool) -> String {
    let titles = of.iter().flat_map(|(_, title, _)| [format!("{title} A"), format!("{title} B"), "B/A".into()]);
    let titles: Vec<String> = titles.collect();
    let mut heads = vec![("case", false)];
    heads.extend(titles.iter().map(|title| (title.as_str(), true)));
    heads.extend(judged.then_some(("B beside A", false)));
    let row = |case: &&ComparedCase| {
        let mut cells = vec![name(case)];
        for (key, _, show) in of {
            let Both { a, b, ratio: over } = case.figures.get(key).copied().unwrap_or_default();
            cells.extend([show(a), show(b), ratio(over)]);
        }
        cells.extend(judged.then(|| case.b_beside_a.clone()));
        cells
    };
    table(&columns(&heads), &cases.iter().map(row).collect::<Vec<_>>())
}

fn name(case: &ComparedCase) -> String {
    if case.case == case.case_in_b { case.case.clone() } else { format!("{} (B: {})", case.case, case.case_in_b) }
}
