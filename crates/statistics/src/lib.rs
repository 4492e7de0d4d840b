//! The statistics of rare, large samples: what a run of finite length shows about a mitigation, a neighbour or a budget.
//!
//! Pure functions over plain numbers. Two rules run through all of them. The unit of evidence is the repeat, because a
//! repeat is a fresh process with fresh pages and samples within it resemble each other. And a maximum that was seen
//! bounds nothing: it is compared with other maxima of equally long repeats, by rank, never alone and never resampled.
//!
//! `docs/statistics.md` describes the method, its sources and worked examples.

mod budget;
mod comparison;
mod effect;
mod excess;
mod judgement;
mod mean;
mod peaks;
mod proportion;
mod rank;
mod rate;
mod support;
mod tails;
#[cfg(test)]
mod tests;
mod verdict;
mod wording;

pub use budget::{BadBudget, Budget, LimitUnit, Metric};
pub use comparison::{Arms, Comparison, EffectDirection, Maxima, NotCompared, Rates, Repeat, compare};
pub use effect::{Effect, LEAST_SHIFT, Observed, SoloAndLoaded, effect};
pub use excess::excess_ratio;
pub use judgement::{Figures, Judgement, JudgementKind, judge, judge_at};
pub use mean::half_width;
pub use peaks::{Forecast, Heights, LEAST_PEAKS, Outlook, Pareto, Unsettled, outlook};
pub use proportion::{clopper_pearson, samples_to_exclude};
pub use rank::{LARGEST_EXACT_ARM, least_p_of_ranks, rank_sum};
pub use rate::{
    Counted, Interval, Tails, compare_rates, garwood, is_overdispersed, least_p_of_rates, rate_excluded_by_none,
    rate_interval,
};
pub use support::{EXPECTED_ABOVE, samples_to_support, supports};
pub use verdict::{Lacking, Verdict, VerdictKind, hidden_by_empty_repeats, verdict, what_was_lacking};
pub use wording::{at_most, digits, limits};

/// The confidence of every interval that is printed: 95 %.
pub const CONFIDENCE: f64 = 0.95;

/// The probability of a "better" or a "worse" where nothing differs, over both questions of a verdict: at most 5 %.
pub const ERROR: f64 = 0.05;
