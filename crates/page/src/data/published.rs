//! Published figures beside those of the runs: numbers that are printed in the source.

use serde::Serialize;
use serde_with::skip_serializing_none;
use waykeeper_experiment::layout::CaseMetric;
use waykeeper_experiment::published::{Figure, Reference};

use super::Numbered;

/// The figures that can be published, and what they are in a run.
pub(crate) const FIGURES: [(Figure, CaseMetric); 7] = [
    (Figure::MinNs, CaseMetric::Min),
    (Figure::MeanNs, CaseMetric::Mean),
    (Figure::MaxNs, CaseMetric::Max),
    (Figure::Slowdown, CaseMetric::Slowdown),
    (Figure::BandwidthBytesPerS, CaseMetric::Bandwidth),
    (Figure::TotalBandwidthBytesPerS, CaseMetric::TotalBandwidth),
    (Figure::MissesPerSample, CaseMetric::Misses),
];

/// One published figure, for all cases that have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedBeside {
    /// The figure.
    pub metric: CaseMetric,
    /// Where it stands.
    pub source: String,
    /// The cases.
    pub rows: Vec<PublishedRow>,
}

/// The figure of one case.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedRow {
    /// The case.
    pub case: usize,
    /// What the run saw.
    pub ours: Option<f64>,
    /// What was published.
    pub published: f64,
    /// What agreement means.
    pub how: Agreement,
    /// The time of the published measurement.
    pub published_s: Option<f64>,
    /// Its samples, where those were published in place of a time.
    pub published_samples: Option<u64>,
}

/// What it means if a figure of the model agrees with the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// The model predicts it.
    Predicted,
    /// A parameter was chosen for it.
    Fitted,
    /// It was put into the model.
    Imposed,
}

impl Agreement {
    /// Of a figure of a reference.
    pub fn of(reference: &Reference, figure: Figure) -> Self {
        let is_in = |list: &[String]| list.iter().any(|name| name == figure.key());
        match () {
            () if is_in(&reference.imposed) => Self::Imposed,
            () if is_in(&reference.fitted) => Self::Fitted,
            () => Self::Predicted,
        }
    }
}

pub(crate) fn published(cases: &[Numbered<'_>]) -> Vec<PublishedBeside> {
    let of_figure = |(figure, metric): (Figure, CaseMetric)| {
        let with = cases.iter().filter_map(|case| Some((case, case.case.reference.as_ref()?)));
        let rows: Vec<(PublishedRow, &str)> = with
            .filter_map(|(case, reference)| {
                let row = PublishedRow {
                    case: case.number,
                    ours: case.case.figure(metric),
                    published: value(reference, figure)?,
                    how: Agreement::of(reference, figure),
                    published_s: reference.run_length_s,
                    published_samples: reference.run_samples,
                };
                Some((row, reference.source.as_str()))
            })
            .collect();
        // What was put into every row agrees everywhere: the table has it.
        let source = rows.first().filter(|_| rows.iter().any(|(row, _)| row.how != Agreement::Imposed))?.1.to_owned();
        Some(PublishedBeside { metric, source, rows: rows.into_iter().map(|(row, _)| row).collect() })
    };
    FIGURES.into_iter().filter_map(of_figure).collect()
}

/// A published figure of a case, where there is one.
pub(crate) fn value(reference: &Reference, figure: Figure) -> Option<f64> {
    match figure {
        Figure::MinNs => reference.min_ns,
        Figure::MeanNs => reference.mean_ns,
        Figure::MaxNs => reference.max_ns,
        Figure::Slowdown => reference.slowdown,
        Figure::BandwidthBytesPerS => reference.bandwidth_bytes_per_s,
        Figure::TotalBandwidthBytesPerS => reference.total_bandwidth_bytes_per_s,
        Figure::MissesPerSample => reference.misses_per_sample,
    }
}

/// The published figure that belongs to a metric.
pub(crate) fn of_metric(reference: &Reference, metric: CaseMetric) -> Option<(f64, Agreement)> {
    let (figure, _) = FIGURES.into_iter().find(|(_, of)| *of == metric)?;
    Some((value(reference, figure)?, Agreement::of(reference, figure)))
}
