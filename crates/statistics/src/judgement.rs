//! Judges a budget by what a case showed: broken, not seen broken, or too thin to say.
//!
//! Every limit is one-sided at 95 %. Shares of samples rest on samples that are independent, which they are not quite:
//! the sentence says so, and the documentation what follows.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};
use waykeeper_workload::format_ns;

use super::CONFIDENCE;
use super::budget::{Budget, Metric};
use super::proportion::{clopper_pearson, samples_to_exclude};
use super::rate::rate_excluded_by_none;
use super::wording::{digits, per_second, range_ns};

/// The share of samples under which exceeding a `max` or `jitter` is to be shown, unless the budget says otherwise.
const WANTED_SHARE: f64 = 1e-3;
/// A two-sided interval at this confidence has one-sided limits at [`CONFIDENCE`].
const TWO_SIDED: f64 = 2.0 * CONFIDENCE - 1.0;

/// How a budget ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgementKind {
    /// The limit was exceeded.
    Broken,
    /// The limit was not exceeded in this run, which is long enough to say something.
    NotSeenBroken,
    /// There is too little data to say either.
    TooThin,
}

impl fmt::Display for JudgementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Broken => "broken",
            Self::NotSeenBroken => "not seen broken",
            Self::TooThin => "too thin to say",
        })
    }
}

/// The judgement on a budget for one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// How it ended.
    pub kind: JudgementKind,
    /// The same as a sentence with the figures, beginning with the kind.
    pub text: String,
}

/// What a case showed, over all its repeats.
#[derive(Clone, Copy)]
pub struct Figures<'a> {
    /// The number of samples.
    pub samples: u64,
    /// The time in which they were taken, in seconds.
    pub exposure_s: f64,
    /// The smallest sample, in nanoseconds.
    pub min_ns: Option<f64>,
    /// The largest sample, exactly, in nanoseconds.
    pub max_ns: Option<f64>,
    /// When the largest sample was taken, in seconds from the start of its repeat, if recorded.
    pub max_at_s: Option<f64>,
    /// The mean of each repeat, in nanoseconds.
    pub repeat_means_ns: &'a [f64],
    /// The number of samples above a limit in nanoseconds, as fine as the histogram is.
    pub samples_above: &'a dyn Fn(f64) -> u64,
    /// The number of separate excursions above a limit in nanoseconds, where that is known.
    pub clusters_above: &'a dyn Fn(f64) -> Option<u64>,
}

/// Judges a budget.
pub fn judge(budget: &Budget, figures: &Figures<'_>) -> Judgement {
    let limit_ns = budget.limit_ns;
    let (Some(min_ns), Some(max_ns), 1..) = (figures.min_ns, figures.max_ns, figures.samples) else {
        return Judgement::too_thin("there are no samples");
    };
    let wanted = budget.rate.unwrap_or(WANTED_SHARE);
    match budget.metric {
        Metric::Max => judge_largest(limit_ns, &format_ns(limit_ns), wanted, max_ns, figures),
        Metric::Jitter => {
            let in_words = format!("{} above the minimum", format_ns(limit_ns));
            judge_largest(limit_ns + min_ns, &in_words, wanted, max_ns, figures)
        }
        Metric::Mean => judge_mean(limit_ns, figures.repeat_means_ns),
        Metric::Min => judge_minimum(limit_ns, min_ns, figures.samples),
        Metric::P50 => judge_share(budget, 0.5, figures),
        Metric::P99 => judge_share(budget, 1e-2, figures),
        Metric::P99_9 => judge_share(budget, 1e-3, figures),
        Metric::P99_99 => judge_share(budget, 1e-4, figures),
    }
}

fn judge_largest(limit_ns: f64, limit: &str, wanted: f64, max_ns: f64, figures: &Figures<'_>) -> Judgement {
    let samples = figures.samples;
    if max_ns > limit_ns {
        // The histogram may be too coarse to tell the largest sample from the limit; the exact maximum is not.
        let above = (figures.samples_above)(limit_ns).clamp(1, samples);
        let excursions = (figures.clusters_above)(limit_ns)
            .map_or(String::new(), |clusters| format!(", in {} separate excursions", clusters.clamp(1, above)));
        let when = figures.max_at_s.map_or(String::new(), |s| format!(", {} into its repeat", format_ns(s * 1e9)));
        return Judgement::broken(&format!(
            "{above} of {samples} samples over {limit}{excursions}; the largest was {}{when}",
            format_ns(max_ns)
        ));
    }
    let share = clopper_pearson(0, samples, TWO_SIDED).upper;
    let fewest = samples_to_exclude(wanted, CONFIDENCE);
    if samples < fewest {
        return Judgement::too_thin(&format!(
            "none of {samples} samples over {limit}, which shows only a rate below {} a sample at 95 %; {} a sample takes \
             {fewest} samples",
            digits(share, 2),
            digits(wanted, 2),
        ));
    }
    let a_second = rate_excluded_by_none(figures.exposure_s, CONFIDENCE);
    let a_second = if a_second.is_finite() { format!(" and {}", per_second(a_second)) } else { String::new() };
    Judgement::not_seen_broken(&format!(
        "in {samples} samples (rate below {} a sample{a_second} at 95 %, if samples are independent); the largest was {}",
        digits(share, 2),
        format_ns(max_ns),
    ))
}

fn judge_share(budget: &Budget, allowed: f64, figures: &Figures<'_>) -> Judgement {
    let samples = figures.samples;
    let above = (figures.samples_above)(budget.limit_ns).min(samples);
    let limits = clopper_pearson(above, samples, TWO_SIDED);
    let seen = format!("{above} of {samples} samples over {}", format_ns(budget.limit_ns));
    let allows = format!("{} allows {} of them", budget.metric, digits(allowed, 1));
    if limits.lower > allowed {
        return Judgement::broken(&format!(
            "{seen}, at least {} of all at 95 % if samples are independent; {allows}",
            digits(limits.lower, 2)
        ));
    }
    if limits.upper <= allowed {
        let share = digits(limits.upper, 2);
        return Judgement::not_seen_broken(&format!(
            "in {samples} samples (rate below {share} a sample at 95 %, if samples are independent): {seen}; {allows}"
        ));
    }
    Judgement::too_thin(&format!(
        "{seen}, between {} and {} of all, each at 95 %; {allows}",
        digits(limits.lower, 2),
        digits(limits.upper, 2)
    ))
}

fn judge_minimum(limit_ns: f64, min_ns: f64, samples: u64) -> Judgement {
    let (seen, limit) = (format_ns(min_ns), format_ns(limit_ns));
    if min_ns <= limit_ns {
        return Judgement::not_seen_broken(&format!("in {samples} samples: the smallest was {seen}, at most {limit}"));
    }
    let fewest = samples_to_exclude(WANTED_SHARE, CONFIDENCE);
    if samples < fewest {
        return Judgement::too_thin(&format!(
            "the smallest of only {samples} samples was {seen}, over {limit}; to say that smaller ones are rare takes \
             {fewest}"
        ));
    }
    Judgement::broken(&format!("the smallest of {samples} samples was {seen}, over {limit}"))
}

fn judge_mean(limit_ns: f64, means_ns: &[f64]) -> Judgement {
    let repeats = means_ns.len();
    let limit = format_ns(limit_ns);
    if repeats == 0 || means_ns.iter().any(|mean| !mean.is_finite()) {
        return Judgement::too_thin("there is no mean of any repeat");
    }
    let mean = means_ns.iter().sum::<f64>() / repeats as f64;
    if repeats == 1 {
        let plainly = format!("mean {}, limit {limit}, from one repeat, whose spread is not known", format_ns(mean));
        return if mean > limit_ns { Judgement::broken(&plainly) } else { Judgement::not_seen_broken(&plainly) };
    }
    let half = half_width(means_ns, mean);
    let interval = range_ns(mean - half, mean + half);
    let seen = format!("mean {} ({interval} from {repeats} repeats, each at 95 %), limit {limit}", format_ns(mean));
    if mean - half > limit_ns {
        Judgement::broken(&seen)
    } else if mean + half <= limit_ns {
        Judgement::not_seen_broken(&seen)
    } else {
        Judgement::too_thin(&seen)
    }
}

/// Half the width of the t-interval (Student, Biometrika 6, 1908) for the mean of at least two values, with one-sided
/// limits at [`CONFIDENCE`].
fn half_width(values: &[f64], mean: f64) -> f64 {
    let freedom = values.len() as f64 - 1.0;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom;
    let quantile = StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf(CONFIDENCE));
    quantile * (variance / values.len() as f64).sqrt()
}

impl Judgement {
    fn broken(seen: &str) -> Self {
        let kind = JudgementKind::Broken;
        Self { kind, text: format!("{kind}: {seen}") }
    }

    fn not_seen_broken(seen: &str) -> Self {
        let kind = JudgementKind::NotSeenBroken;
        let colon = if seen.starts_with("in ") { "" } else { ":" };
        Self { kind, text: format!("{kind}{colon} {seen}") }
    }

    fn too_thin(seen: &str) -> Self {
        let kind = JudgementKind::TooThin;
        Self { kind, text: format!("{kind}: {seen}") }
    }
}
