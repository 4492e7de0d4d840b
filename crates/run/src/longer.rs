//! What a kept run says about the maxima of a longer one: its events, through the statistics of peaks.

use std::path::Path;

use serde::Serialize;
use serde_with::skip_serializing_none;
use waykeeper_experiment::InputError;
use waykeeper_statistics::{Heights, LEAST_PEAKS, Outlook, Unsettled, outlook};
use waykeeper_workload::format_ns;

use crate::folder::{self, Histograms};
use crate::record::{CaseRecord, Run};

/// The run length that is asked about where neither the user nor a published figure names one: an hour.
pub const AN_HOUR_S: f64 = 3600.0;

/// Why a case without an excursion has no forecast.
pub const NO_EXCURSIONS: &str = "no excursions";

/// Why a case has no forecast of which no sample was taken.
const NO_SAMPLES: &str = "no sample was taken";

/// Why a case has no forecast whose samples nobody divided into ordinary ones and excursions.
const NO_THRESHOLD: &str = "it was not decided what an excursion is: the pilot gave too few samples";

/// Why a case has no forecast whose fit goes further than any sample can.
const BEYOND_THE_RUN: &str =
    "the tail is too heavy to say anything: half of such runs would show a sample that is longer than the run itself";

/// Why an imported run has no forecast.
const NO_ORDER: &str = "an imported histogram has no order in time: which of its samples are one event is not known";

/// What one case says. What does not apply is absent.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Longer {
    /// Name of the case.
    pub case: String,
    /// The largest sample seen.
    pub seen_max_ns: Option<f64>,
    /// The time in which it was seen.
    pub run_length_s: f64,
    /// The length of the run that is asked about.
    pub over_s: f64,
    /// A published maximum of a run of that length.
    pub published_max_ns: Option<f64>,
    /// The maximum of such runs.
    pub forecast: Option<LongRunForecast>,
    /// Why there is no forecast.
    pub unsettled: Option<String>,
}

/// The maximum that runs of some length would show, with what that rests on; as in [`waykeeper_statistics::Forecast`].
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LongRunForecast {
    /// Half of the runs would show less.
    pub median_ns: f64,
    /// The 95 % interval for the median; without an upper end where the peaks set none.
    pub median_low_ns: f64,
    /// Its upper end.
    pub median_high_ns: Option<f64>,
    /// Between this and the next figure 95 of 100 runs would lie, if the fit were right.
    pub runs_low_ns: f64,
    /// See above.
    pub runs_high_ns: f64,
    /// Peaks above it were used.
    pub threshold_ns: f64,
    /// How many.
    pub peaks: usize,
    /// Of the generalised Pareto distribution fitted to them.
    pub shape: f64,
    /// Likewise.
    pub scale_ns: f64,
    /// The probability of a fit as bad or worse if it is right.
    pub goodness: f64,
    /// Repeats differ in the rate of such peaks by more than chance: they may have tails of their own.
    pub repeats_differ: bool,
}

impl LongRunForecast {
    /// Of a run of `run_ns`: none of its samples is longer than the run itself.
    fn within(of: waykeeper_statistics::Forecast, run_ns: f64) -> Self {
        Self {
            median_ns: of.median,
            median_low_ns: of.interval.lower,
            median_high_ns: Some(of.interval.upper).filter(|upper| upper.is_finite()).map(|upper| upper.min(run_ns)),
            runs_low_ns: of.runs.lower,
            runs_high_ns: of.runs.upper.min(run_ns),
            threshold_ns: of.threshold,
            peaks: of.peaks,
            shape: of.fit.shape,
            scale_ns: of.fit.scale,
            goodness: of.goodness,
            repeats_differ: of.repeats_differ,
        }
    }
}

/// What each case of a kept run says about runs of `over_s` seconds; where that is none, of the length of the published run (or
/// of as many samples as that had), or of [`AN_HOUR_S`].
///
/// # Errors
/// A folder that is not a run's, or whose histograms are missing or do not read; an imported run.
pub fn longer(path: &Path, over_s: Option<f64>) -> Result<Vec<Longer>, InputError> {
    let run = folder::read(path)?;
    if run.imported.is_some() {
        let why = format!("{NO_ORDER}; expected a run that Waykeeper measured");
        return Err(InputError::in_file(&path.display().to_string(), why));
    }
    let events = folder::read_events(path, &run)?;
    Ok(longer_of(&run, &events, over_s))
}

/// The same of a run and its events that are read already.
pub fn longer_of(run: &Run, events: &Histograms, over_s: Option<f64>) -> Vec<Longer> {
    run.cases.iter().map(|case| of_case(run, case, events, over_s)).collect()
}

fn of_case(run: &Run, case: &CaseRecord, events: &Histograms, over_s: Option<f64>) -> Longer {
    let reference = case.reference.as_ref();
    // A run of so many samples takes as much longer as it has more of them.
    let in_samples = |samples: u64| samples as f64 / case.samples.max(1) as f64 * case.run_length_s;
    let published_s = reference.and_then(|reference| {
        reference.run_length_s.or_else(|| reference.run_samples.map(in_samples)).filter(|length| *length > 0.0)
    });
    let over_s = over_s.or(published_s).unwrap_or(AN_HOUR_S);
    let published_max_ns = reference.filter(|_| published_s == Some(over_s)).and_then(|reference| reference.max_ns);
    let repeats: Vec<Heights> = case
        .repeats
        .iter()
        .filter(|repeat| repeat.not_counted.is_none())
        .filter_map(|repeat| {
            let events = events.get(&repeat.histogram)?;
            let height = |ticks: u64| events.median_equivalent(ticks) as f64 * run.clock.tick_ns;
            let peaks =
                events.iter_recorded().map(|step| (height(step.value_iterated_to()), step.count_at_value())).collect();
            Some(Heights { peaks, exposure_s: repeat.run_length_s })
        })
        .collect();
    let told = match case.overflow {
        0 => match outlook(&repeats, over_s) {
            Outlook::Settled(forecast) if forecast.median > over_s * 1e9 => Err(BEYOND_THE_RUN.into()),
            Outlook::Settled(forecast) => Ok(LongRunForecast::within(*forecast, over_s * 1e9)),
            Outlook::Unsettled(_) if run.imported.is_some() => Err(NO_ORDER.into()),
            Outlook::Unsettled(_) if case.samples == 0 => Err(NO_SAMPLES.into()),
            Outlook::Unsettled(_) if case.excursion_above_ns.is_none() => Err(NO_THRESHOLD.into()),
            Outlook::Unsettled(why) => Err(reason(why)),
        },
        beyond => Err(format!("{beyond} samples lie beyond the histogram: the highest peaks are not known")),
    };
    let (forecast, unsettled) = told.map_or_else(|why| (None, Some(why)), |forecast| (Some(forecast), None));
    Longer {
        case: case.name.clone(),
        seen_max_ns: case.max_ns,
        run_length_s: case.run_length_s,
        over_s,
        published_max_ns,
        forecast,
        unsettled,
    }
}

fn reason(why: Unsettled) -> String {
    match why {
        Unsettled::Few(0) => NO_EXCURSIONS.into(),
        Unsettled::Short => "a run of that length is so short that hardly one of these peaks is expected in it".into(),
        Unsettled::Few(1) => format!("1 peak is too few: it takes more than {LEAST_PEAKS}"),
        Unsettled::Few(peaks) => format!("{peaks} peaks are too few: it takes more than {LEAST_PEAKS}"),
        Unsettled::One(peaks) => format!("{peaks} peaks are too few to compare thresholds"),
        Unsettled::Misfit => "the highest peaks are not of one kind: no tail fits them at any threshold".into(),
        Unsettled::Drifts([(many, low), (few, high)]) => format!(
            "the tail has not settled: the highest {many} peaks say {}, the highest {few} say {}",
            said(low),
            said(high)
        ),
    }
}

/// A maximum that a tail says; a heavy one names none for long runs.
fn said(ns: f64) -> String {
    const A_DAY_NS: f64 = 86_400e9;
    if ns < A_DAY_NS { format_ns(ns) } else { "that there is no end".into() }
}
