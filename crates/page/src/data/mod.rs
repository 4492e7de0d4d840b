//! The data of the pictures, as the page carries it: plain structs, one kind of picture a file.

mod exceedance;
mod latency;
mod longest;
mod merged;
mod occupancy;
mod peaks;
mod published;
mod sweep;

use serde::Serialize;
use serde_with::skip_serializing_none;
use waykeeper_run::CaseRecord;

pub use exceedance::{Exceedance, ExceedanceLine, Limit, Tail};
pub use latency::{LatencyLine, LatencyPlot, Scale, ScaleKind};
pub use longest::{Longest, PartOfSample};
pub use occupancy::OccupancyOverTime;
pub use peaks::{PeakPoint, Peaks, PeaksLine, Per};
pub use published::{Agreement, PublishedBeside, PublishedRow};
pub(crate) use published::{FIGURES as PUBLISHED_FIGURES, value as published_value};
pub use sweep::{SweepLine, SweepPicture, SweptFigure};

use crate::source::ReportedRun;

/// All that the pictures of a page draw. A picture whose data no run has is absent or empty.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Data {
    /// The names of the runs.
    pub runs: Vec<String>,
    /// The cases of all runs.
    pub cases: Vec<CaseFigures>,
    /// How many samples were how long.
    pub latency: Option<LatencyPlot>,
    /// The share of samples of at least some length.
    pub exceedance: Option<Exceedance>,
    /// The largest samples over time.
    pub peaks: Option<Peaks>,
    /// Figures against what was swept.
    pub sweeps: Vec<SweepPicture>,
    /// Who held how much of the last shared cache.
    pub occupancy: Vec<OccupancyOverTime>,
    /// The longest samples, part by part.
    pub longest: Vec<Longest>,
    /// Published figures beside those of the runs.
    pub published: Vec<PublishedBeside>,
}

/// Colours of cases before the first comes again.
pub(crate) const COLOURS: usize = 10;

/// A case, as pictures name it and as hovering shows it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseFigures {
    /// Which of the runs it belongs to.
    pub run: usize,
    /// Its name in the run.
    pub name: String,
    /// Its name on the page: with the run's where there are several.
    pub label: String,
    /// The colour that it shares with cases of the same name.
    pub colour: usize,
    /// How its line is dashed: what distinguishes it from cases of that colour in other runs, and in later rounds through the colours.
    pub dash: usize,
    /// Number of samples.
    pub samples: u64,
    /// The time in which they were seen.
    pub run_length_s: f64,
    /// Smallest sample.
    pub min_ns: Option<f64>,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Median.
    pub p50_ns: Option<f64>,
    /// 99th percentile.
    pub p99_ns: Option<f64>,
    /// 99.9th percentile.
    pub p99_9_ns: Option<f64>,
    /// 99.99th percentile.
    pub p99_99_ns: Option<f64>,
    /// Largest sample, seen in `run_length_s`.
    pub max_ns: Option<f64>,
    /// Mean over the mean of the solo case under the same mitigation.
    pub slowdown: Option<f64>,
}

/// A case of one of the runs, with its number among the cases of all.
#[derive(Clone, Copy)]
pub(crate) struct Numbered<'s> {
    pub number: usize,
    pub run: usize,
    pub source: &'s ReportedRun,
    /// Its place in its run.
    pub place: usize,
    pub case: &'s CaseRecord,
}

impl Data {
    /// Works the data of all pictures out.
    pub fn new(sources: &[ReportedRun]) -> Self {
        let cases = numbered(sources);
        let merged: Vec<_> = cases.iter().map(merged::merge).collect();
        Self {
            runs: sources.iter().map(|source| source.name.clone()).collect(),
            cases: figures(&cases, sources.len() > 1),
            latency: latency::latency(&cases, &merged),
            exceedance: exceedance::exceedance(&cases, &merged),
            peaks: peaks::peaks(&cases),
            sweeps: sources.iter().enumerate().flat_map(|(run, source)| sweep::sweep(run, source, &cases)).collect(),
            occupancy: cases.iter().filter_map(occupancy::occupancy).collect(),
            longest: cases.iter().flat_map(longest::longest).collect(),
            published: published::published(&cases),
        }
    }
}

fn numbered(sources: &[ReportedRun]) -> Vec<Numbered<'_>> {
    let of_run = |(run, source)| {
        let source: &ReportedRun = source;
        source.run.cases.iter().enumerate().map(move |(place, case)| (run, source, place, case))
    };
    let all = sources.iter().enumerate().flat_map(of_run).enumerate();
    all.map(|(number, (run, source, place, case))| Numbered { number, run, source, place, case }).collect()
}

fn figures(cases: &[Numbered<'_>], several_runs: bool) -> Vec<CaseFigures> {
    let mut names: Vec<&str> = Vec::new();
    let figures = cases.iter().map(|Numbered { run, case, .. }| {
        let colour = names.iter().position(|name| *name == case.name).unwrap_or_else(|| {
            names.push(&case.name);
            names.len() - 1
        });
        CaseFigures {
            run: *run,
            name: case.name.clone(),
            label: if several_runs { format!("{}: {}", letter(*run), case.name) } else { case.name.clone() },
            colour,
            dash: colour / COLOURS + if several_runs { *run } else { 0 },
            samples: case.samples,
            run_length_s: case.run_length_s,
            min_ns: case.min_ns,
            mean_ns: case.mean_ns,
            p50_ns: case.p50_ns,
            p99_ns: case.p99_ns,
            p99_9_ns: case.p99_9_ns,
            p99_99_ns: case.p99_99_ns,
            max_ns: case.max_ns,
            slowdown: case.slowdown,
        }
    });
    figures.collect()
}

/// What a page of several runs calls one of them: A, B, ...; after Z, their numbers.
pub fn letter(run: usize) -> String {
    match u8::try_from(run) {
        Ok(run @ 0..26) => char::from(b'A' + run).to_string(),
        _ => format!("run {}", run + 1),
    }
}
