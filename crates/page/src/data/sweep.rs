//! A figure against what was swept: sizes, strides, numbers of cores.

use serde::Serialize;
use serde_with::skip_serializing_none;
use waykeeper_experiment::layout::CaseMetric;
use waykeeper_report::figure::seconds;
use waykeeper_report::is_shown;
use waykeeper_run::Run;
use waykeeper_run::spread::{FigureSpread, spread};

use super::published::{Agreement, of_metric};
use super::{Numbered, letter};
use crate::source::ReportedRun;

/// What `table.columns` calls the mitigations.
const MITIGATION: &str = "mitigation";

/// The figure that an experiment is about, against one of its sweeps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepPicture {
    /// The run.
    pub run: usize,
    /// The figure.
    pub metric: CaseMetric,
    /// The sweep.
    pub sweep: String,
    /// The names of its points.
    pub points: Vec<String>,
    /// Whether they are amounts, so that a line from one to the next means something.
    pub is_ordered: bool,
    /// Everything else that varies is a line.
    pub lines: Vec<SweepLine>,
}

/// One line of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepLine {
    /// What it is of.
    pub name: String,
    /// Its points, in the order of the sweep; none where no case has the figure.
    pub points: Vec<Option<SweptFigure>>,
}

/// One case.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweptFigure {
    /// The case.
    pub case: usize,
    /// The figure.
    pub value: f64,
    /// Its interval, where it is a mean over repeats.
    pub spread: Option<FigureSpread>,
    /// The published one.
    pub published: Option<f64>,
    /// What agreement means.
    pub how: Option<Agreement>,
}

pub(crate) fn sweep(run: usize, source: &ReportedRun, cases: &[Numbered<'_>]) -> Option<SweepPicture> {
    let of_run: Vec<_> = cases.iter().filter(|case| case.run == run).collect();
    let layout = source.run.table.clone().unwrap_or_default();
    let columns = layout.columns.as_deref().unwrap_or(MITIGATION);
    let sweeps = &source.run.sweeps;
    let by_layout = layout.rows.as_ref().and_then(|rows| sweeps.iter().find(|sweep| sweep.name == *rows));
    let along = by_layout
        .or_else(|| sweeps.iter().rev().find(|sweep| sweep.name != columns && sweep.points.len() > 1))
        .or_else(|| sweeps.last())
        .filter(|sweep| sweep.points.len() > 1)?;
    let metric = metric(&source.run, layout.metric);
    let shown: Vec<_> = of_run
        .into_iter()
        .filter(|case| is_shown(case.case, &source.run, metric) && case.case.figure(metric).is_some())
        .collect();
    let mut names: Vec<String> = Vec::new();
    for case in &shown {
        let name = line_name(case, &along.name, &source.run);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let point = |name: &String, label: &String| {
        let of_line = |case: &&&Numbered<'_>| line_name(case, &along.name, &source.run) == *name;
        let mut of_line = shown.iter().filter(of_line);
        // A case that is the same at all points of the sweep stands at each of them.
        let case = of_line.find(|case| case.case.point.get(&along.name).is_none_or(|own| own == label))?;
        let theirs = case.case.reference.as_ref().and_then(|reference| of_metric(reference, metric));
        Some(SweptFigure {
            case: case.number,
            value: case.case.figure(metric)?,
            spread: spread(&source.run, case.case, metric),
            published: theirs.map(|(value, _)| value),
            how: theirs.map(|(_, how)| how),
        })
    };
    let line = |name: &String| -> SweepLine {
        let points: Vec<Option<SweptFigure>> = along.points.iter().map(|label| point(name, label)).collect();
        let name = if matches!(metric, CaseMetric::Max | CaseMetric::Jitter) {
            format!("{name}, {}", seen_in(&points, cases))
        } else {
            name.clone()
        };
        SweepLine { name, points }
    };
    let lines: Vec<SweepLine> = names.iter().map(line).collect();
    (!lines.is_empty()).then(|| SweepPicture {
        run,
        metric,
        sweep: along.name.clone(),
        points: along.points.clone(),
        is_ordered: along.points.iter().all(|name| name.starts_with(|first: char| first.is_ascii_digit())),
        lines,
    })
}

/// The time in which the maxima of a line were seen: `in 20 ms`, or the shortest and the longest.
fn seen_in(points: &[Option<SweptFigure>], cases: &[Numbered<'_>]) -> String {
    let lengths = points.iter().flatten().filter_map(|point| {
        let case = cases.iter().find(|case| case.number == point.case)?;
        Some(case.case.run_length_s)
    });
    let (least, most) = lengths.fold((f64::INFINITY, 0.0_f64), |(least, most), s| (least.min(s), most.max(s)));
    match (seconds(least), seconds(most)) {
        (least, most) if least == most => format!("in {most}"),
        (least, most) => format!("in {least} to {most}"),
    }
}

/// The figure that an experiment is about; of latencies the slowdown, where cases have one.
fn metric(run: &Run, metric: CaseMetric) -> CaseMetric {
    match metric {
        CaseMetric::Latency if run.cases.iter().any(|case| case.slowdown.is_some()) => CaseMetric::Slowdown,
        CaseMetric::Latency => CaseMetric::Mean,
        other => other,
    }
}

/// What distinguishes a case from those at other points of the sweep.
fn line_name(case: &Numbered<'_>, along: &str, run: &Run) -> String {
    let several_targets = run.cases.iter().any(|other| other.target != case.case.target);
    let mut parts: Vec<String> = several_targets.then(|| case.case.target.clone()).into_iter().collect();
    parts.push(match case.case.neighbours.is_empty() {
        true => format!("{}, idle", case.case.mitigation),
        false => case.case.mitigation.clone(),
    });
    let others = case.case.point.iter().filter(|(sweep, _)| *sweep != along);
    parts.extend(others.map(|(sweep, label)| format!("{sweep} {label}")));
    parts.join(", ")
}

impl SweepPicture {
    /// What the picture is called on a page of so many runs.
    pub fn title(&self, runs: usize) -> String {
        let of = if runs > 1 { format!(" ({})", letter(self.run)) } else { String::new() };
        format!("{} against {}{of}", self.metric, self.sweep)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use waykeeper_experiment::layout::TableLayout;
    use waykeeper_experiment::sweep::SweepRecord;
    use waykeeper_run::CaseRecord;

    use super::*;
    use crate::data::Data;

    #[test]
    fn a_line_of_maxima_has_the_time_in_which_they_were_seen() {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/released/0.1.0/simulated");
        let mut run = ReportedRun::read(&kept).unwrap();
        let names = ["one", "other"];
        run.run.sweeps = vec![SweepRecord { name: "hammer".into(), points: names.map(str::to_owned).to_vec() }];
        run.run.cases.retain(|case| case.mitigation == "none" && !case.neighbours.is_empty());
        let case = run.run.cases[0].clone();
        let cases = names.map(|name| {
            let point = [("hammer".to_owned(), name.to_owned())].into();
            CaseRecord { name: format!("none [hammer {name}]"), point, run_length_s: 0.02, ..case.clone() }
        });
        run.run.cases = cases.into();
        let line = |run: &ReportedRun, metric| {
            let mut run = run.clone();
            run.run.table = Some(TableLayout { metric, ..TableLayout::default() });
            Data::new(&[run]).sweeps[0].lines[0].name.clone()
        };
        assert_eq!(line(&run, CaseMetric::Mean), "none");
        assert_eq!(line(&run, CaseMetric::Max), "none, in 20 ms");
        run.run.cases[1].run_length_s = 0.3;
        assert_eq!(line(&run, CaseMetric::Jitter), "none, in 20 ms to 300 ms");
    }
}
