//! The complementary distribution: the share of samples of at least some length, with limits of budgets and the tail.

use serde::Serialize;
use serde_with::skip_serializing_none;
use waykeeper_run::{LongRunForecast, Longer};
use waykeeper_statistics::{Budget, JudgementKind, Metric};

use super::Numbered;
use super::merged::Merged;

/// Points closer to each other than this part of the axes are one.
const FINEST: f64 = 1.0 / 250.0;

/// Points of the line of a tail.
const POINTS_OF_TAIL: usize = 40;

/// The share of samples of at least some length.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exceedance {
    /// The cases.
    pub lines: Vec<ExceedanceLine>,
    /// Limits of budgets on lengths that samples may have.
    pub limits: Vec<Limit>,
}

/// One case.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExceedanceLine {
    /// Its number.
    pub case: usize,
    /// Lengths in nanoseconds, and the share of samples that were at least so long. The share holds down to the length before.
    pub points: Vec<(f64, f64)>,
    /// The tail, where one fits.
    pub tail: Option<Tail>,
    /// Why there is none.
    pub no_tail: Option<String>,
}

/// The generalised Pareto distribution fitted to the highest events.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tail {
    /// Lengths, and events above them for each sample. An event may be of several samples: the line lies below theirs.
    pub points: Vec<(f64, f64)>,
    /// The run length that the line ends at.
    pub over_s: f64,
    /// Half of the runs of that length would show a smaller maximum.
    pub median_ns: f64,
    /// Events that it rests on.
    pub peaks: usize,
    /// They are above this.
    pub threshold_ns: f64,
}

/// A budget as a line.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    /// The case.
    pub case: usize,
    /// The budget as written.
    pub budget: String,
    /// The limit.
    pub limit_ns: f64,
    /// The share of samples that may lie above it.
    pub share: Option<f64>,
    /// How it ended.
    pub kind: JudgementKind,
    /// The same in words.
    pub text: String,
}

pub(crate) fn exceedance(cases: &[Numbered<'_>], merged: &[Option<Merged>]) -> Option<Exceedance> {
    let lines: Vec<_> = cases.iter().zip(merged).filter_map(|(case, merged)| line(case, merged.as_ref()?)).collect();
    let limits = cases.iter().flat_map(limits).collect();
    (!lines.is_empty()).then_some(Exceedance { lines, limits })
}

fn line(case: &Numbered<'_>, merged: &Merged) -> Option<ExceedanceLine> {
    let longer = case.source.longer.get(case.place);
    Some(ExceedanceLine {
        case: case.number,
        points: thinned(&points(merged, case.case.overflow, case.case.max_ns)),
        tail: longer.and_then(|longer| tail(longer, longer.forecast.as_ref()?, case.case.samples)),
        no_tail: longer.and_then(|longer| longer.unsettled.clone()),
    })
}

/// At each length that was seen, the share of samples at least as long. Between two lengths that were seen, the share is that of
/// the longer one: a line through the points falls at the shorter one. A length stands for its step of the histogram, so that
/// the share between two steps is exact.
fn points(merged: &Merged, beyond: u64, max_ns: Option<f64>) -> Vec<(f64, f64)> {
    let all = (merged.inside + beyond) as f64;
    let mut left = merged.inside + beyond;
    let mut points = Vec::with_capacity(merged.steps.len() + 1);
    for (ns, count) in &merged.steps {
        points.push((*ns, left as f64 / all));
        left -= count;
    }
    // Of samples beyond the histogram only the largest is known: the others count up to there.
    if let Some(max) = max_ns.filter(|_| beyond > 0) {
        points.extend((beyond > 1).then_some((max, beyond as f64 / all)));
        points.push((max, 1.0 / all));
    }
    points
}

/// Fewer points, none of which moves by more than a hair of the axes. The first and the last stay. A length of 0 is where the
/// logarithmic axis begins.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let least = points.iter().map(|(ns, _)| *ns).find(|ns| *ns > 0.0).unwrap_or(1.0);
    let span = |from: f64, to: f64| (to.max(least) / from.max(least)).ln().abs().max(f64::MIN_POSITIVE);
    let share = |from: f64, to: f64| (to / from).ln().abs().max(f64::MIN_POSITIVE);
    let (wide, high) = (span(first.0, last.0), share(first.1, last.1));
    let mut kept = vec![*first];
    for point in &points[1..] {
        let before = kept[kept.len() - 1];
        if span(before.0, point.0) > FINEST * wide || share(before.1, point.1) > FINEST * high {
            kept.push(*point);
        }
    }
    if kept.last() != Some(last) {
        kept.push(*last);
    }
    kept
}

/// The line of a tail from its threshold to the length of the run that is asked about.
fn tail(longer: &Longer, forecast: &LongRunForecast, samples: u64) -> Option<Tail> {
    let samples = samples as f64;
    let above_threshold = forecast.peaks as f64 / samples;
    // As many events as a run of that length has, so that one of them is the largest.
    let expected = forecast.peaks as f64 * longer.over_s / longer.run_length_s;
    let usable = samples > 0.0 && expected > 1.0 && forecast.scale_ns > 0.0;
    if !usable {
        return None;
    }
    let excess = |one_in: f64| match forecast.shape {
        shape if shape.abs() < 1e-9 => forecast.scale_ns * one_in.ln(),
        shape => forecast.scale_ns / shape * (one_in.powf(shape) - 1.0),
    };
    let point = |step: usize| {
        let one_in = expected.powf(step as f64 / POINTS_OF_TAIL as f64);
        (forecast.threshold_ns + excess(one_in), above_threshold / one_in)
    };
    let points: Vec<_> = (0..=POINTS_OF_TAIL).map(point).filter(|(ns, share)| ns.is_finite() && *share > 0.0).collect();
    Some(Tail {
        points,
        over_s: longer.over_s,
        median_ns: forecast.median_ns,
        peaks: forecast.peaks,
        threshold_ns: forecast.threshold_ns,
    })
}

/// The budgets of a case that limit the length of samples; a mean or a jitter is no place on this axis.
fn limits(case: &Numbered<'_>) -> Vec<Limit> {
    let run = &case.source.run;
    let of_case = run.budgets.iter().filter(|judged| judged.case == case.case.name);
    let limit = |judged: &waykeeper_run::BudgetRecord| {
        let budget: Budget = judged.budget.parse().ok()?;
        let share = match budget.metric {
            Metric::Max => budget.rate,
            Metric::P50 => Some(0.5),
            Metric::P99 => Some(0.01),
            Metric::P99_9 => Some(0.001),
            Metric::P99_99 => Some(0.0001),
            Metric::Mean | Metric::Min | Metric::Jitter | Metric::Misses | Metric::Slowdown => return None,
        };
        Some(Limit {
            case: case.number,
            budget: judged.budget.clone(),
            limit_ns: budget.limit,
            share,
            kind: judged.kind,
            text: judged.text.clone(),
        })
    };
    of_case.filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_at_least_as_long_begins_at_all_and_ends_at_one_sample() {
        let merged = Merged { steps: vec![(10.0, 6), (20.0, 3), (40.0, 1)], inside: 10 };
        assert_eq!(points(&merged, 0, Some(40.0)), [(10.0, 1.0), (20.0, 0.4), (40.0, 0.1)]);
        // Ten more beyond the histogram: 20 in all, and one of them is the largest.
        let points = points(&merged, 10, Some(9e9));
        assert_eq!(points, [(10.0, 1.0), (20.0, 0.7), (40.0, 0.55), (9e9, 0.5), (9e9, 0.05)]);
    }

    #[test]
    fn thinning_keeps_both_ends_and_big_steps() {
        let many: Vec<_> = (0..10_000).map(|i| (100.0 + f64::from(i) * 1e-3, 1.0 - f64::from(i) * 1e-5)).collect();
        let mut many = many;
        many.push((1e6, 1e-7));
        let few = thinned(&many);
        assert!(few.len() < 60, "{}", few.len());
        assert_eq!((few.first(), few.last()), (many.first(), many.last()));
    }

    #[test]
    fn a_least_length_of_nothing_takes_no_share_away() {
        // 1000 of 100,000 samples of 900 us and more.
        let merged =
            Merged { steps: vec![(0.0, 90_000), (1e3, 8970), (3e4, 30), (9e5, 999), (9.5e5, 1)], inside: 100_000 };
        let all = points(&merged, 0, Some(9.5e5));
        assert_eq!(all[3], (9e5, 0.01));
        assert_eq!(thinned(&all), all);
    }

    #[test]
    fn samples_that_all_lie_beyond_the_histogram_end_at_the_longest() {
        let none_inside = Merged::default();
        assert_eq!(points(&none_inside, 1984, Some(3.99e6)), [(3.99e6, 1.0), (3.99e6, 1.0 / 1984.0)]);
    }

    #[test]
    fn a_tail_without_shape_is_exponential() {
        let forecast = LongRunForecast {
            median_ns: 0.0,
            median_low_ns: 0.0,
            median_high_ns: None,
            runs_low_ns: 0.0,
            runs_high_ns: 0.0,
            threshold_ns: 1000.0,
            peaks: 100,
            shape: 0.0,
            scale_ns: 50.0,
            goodness: 0.5,
            repeats_differ: false,
        };
        let longer = Longer {
            case: String::new(),
            seen_max_ns: None,
            run_length_s: 10.0,
            over_s: 1000.0,
            published_max_ns: None,
            forecast: Some(forecast.clone()),
            unsettled: None,
        };
        let tail = tail(&longer, &forecast, 1_000_000).unwrap();
        // 100 of a million at the threshold; in a run 100 times as long, one in 10 000 of them: 50 ln 10 000 = 460.5.
        assert_eq!(tail.points[0], (1000.0, 1e-4));
        let (ns, share) = *tail.points.last().unwrap();
        assert!((ns - 1460.517).abs() < 1e-2 && (share - 1e-8).abs() < 1e-12, "{ns} {share}");
    }
}
