//! What a run says about the maxima of a longer one.

use waykeeper_run::{LongRunForecast, Longer, NO_EXCURSIONS};

use crate::figure::{ratio, seconds, three_digits, time};
use crate::table::{columns, table};
use crate::text::paragraph;

/// The cases, each with the maximum that it would show in a longer run, or why that is not known.
pub fn longer(cases: &[Longer]) -> String {
    let columns = columns(&[
        ("case", false),
        ("max seen", true),
        ("in", true),
        ("peaks above", false),
        ("shape", true),
        ("fit", true),
        ("run of", true),
        ("max, median", true),
        ("95 %", false),
        ("95 of 100 runs", false),
        ("published", true),
        ("ratio", true),
    ]);
    // A case without an excursion has nothing to show.
    let (with, without): (Vec<&Longer>, Vec<&Longer>) =
        cases.iter().partition(|case| case.unsettled.as_deref() != Some(NO_EXCURSIONS));
    let rows: Vec<Vec<String>> = with.iter().map(|case| row(case)).collect();
    let mut text = if rows.is_empty() { String::new() } else { table(&columns, &rows) + "\n" };
    if !without.is_empty() {
        let names: Vec<_> = without.iter().map(|case| case.case.as_str()).collect();
        if !text.is_empty() {
            text += "\n";
        }
        text += &paragraph(&format!("{NO_EXCURSIONS}: {}", names.join("; ")), "  ");
    }
    if with.is_empty() {
        return text + "\n\nA tail is fitted to excursions: of longer runs nothing is said here.\n";
    }
    for case in with {
        if let Some(why) = &case.unsettled {
            text += &format!("\n{}", paragraph(&format!("{}: {why}", case.case), "  "));
        }
        if case.forecast.as_ref().is_some_and(|forecast| forecast.repeats_differ) {
            let more =
                "repeats differ in the rate of such peaks by more than chance; more repeats tell more than longer ones";
            text += &format!("\n{}", paragraph(&format!("{}: {more}", case.case), "  "));
        }
    }
    text + "\n\nPeaks over a threshold (generalised Pareto): what runs of that length would show if what made the highest peaks goes on as it\n\
        did. `fit` is the probability of a worse fit, were this one right. `95 of 100 runs` is where their maxima\n\
        would lie if this fit were exact: its own error comes on top, so that fewer do. None of this bounds anything.\n"
}

fn row(case: &Longer) -> Vec<String> {
    let of = |cell: fn(&LongRunForecast) -> String| case.forecast.as_ref().map(cell).unwrap_or_default();
    let range = |low: f64, high: Option<f64>| match high {
        Some(high) => format!("{} to {}", time(Some(low)), time(Some(high))),
        None => format!("{} or more", time(Some(low))),
    };
    let median = case.forecast.as_ref().map(|forecast| forecast.median_ns);
    vec![
        case.case.clone(),
        time(case.seen_max_ns),
        seconds(case.run_length_s),
        of(|forecast| format!("{} above {}", forecast.peaks, time(Some(forecast.threshold_ns)))),
        of(|forecast| three_digits(forecast.shape)),
        of(|forecast| three_digits(forecast.goodness)),
        seconds(case.over_s),
        time(median),
        case.forecast.as_ref().map(|of| range(of.median_low_ns, of.median_high_ns)).unwrap_or_default(),
        case.forecast.as_ref().map(|of| range(of.runs_low_ns, Some(of.runs_high_ns))).unwrap_or_default(),
        time(case.published_max_ns),
        ratio(median.zip(case.published_max_ns).map(|(median, published)| median / published)),
    ]
}
