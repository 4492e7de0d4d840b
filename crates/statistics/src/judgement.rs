//! Judges a budget by what a case showed: broken, not seen broken, or too thin to say.
//!
//! Every limit is one-sided, at 95 % unless the caller looks more than once and says at how much. Shares of samples rest on samples that are independent, which they are not quite:
//! the sentence says so, and the documentation what follows.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waykeeper_workload::format_ns;

use super::CONFIDENCE;
use super::budget::{Budget, LimitUnit, Metric};
use super::mean::half_width;
use super::proportion::{clopper_pearson, samples_to_exclude};
use super::rate::rate_excluded_by_none;
use super::wording::{at_least, at_most, at_most_per_second, digits, limits, limits_ns};

/// The share of samples under which exceeding a `max` or `jitter` is to be shown, unless the budget says otherwise.
const WANTED_SHARE: f64 = 1e-3;
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
    /// Repeats that ran to their end and in which no sample ended.
    pub repeats_without_sample: u64,
    /// The time in which they were taken, in seconds.
    pub exposure_s: f64,
    /// The smallest sample, in nanoseconds.
    pub min_ns: Option<f64>,
    /// The largest sample, exactly, in nanoseconds.
    pub max_ns: Option<f64>,
    /// Each sample may have been longer by up to so much, in nanoseconds: the tool that measured rounds down. 0 where none was.
    pub rounded_down_ns: f64,
    /// The step of the counter in nanoseconds. A sample is the difference of two readings: it may have been longer or shorter by a step.
    pub tick_ns: f64,
    /// When the largest sample was taken, in seconds from the start of its repeat, if recorded.
    pub max_at_s: Option<f64>,
    /// The mean of each repeat, in nanoseconds.
    pub repeat_means_ns: &'a [f64],
    /// The lines that the target read from memory in each repeat, where they were counted in all of them, and the samples of
    /// that repeat.
    pub repeat_misses: Option<&'a [(u64, u64)]>,
    /// The slowdown by neighbours of each repeat: none where nothing ran beside the target.
    pub repeat_slowdowns: Option<&'a [f64]>,
    /// The number of samples above a limit in nanoseconds, as fine as the histogram is.
    pub samples_above: &'a dyn Fn(f64) -> u64,
    /// Those of them that are known to be above it: of a sample beyond a histogram it may not be known. None where all are.
    pub samples_surely_above: Option<&'a dyn Fn(f64) -> u64>,
    /// The number of separate excursions above a limit in nanoseconds, where that is known.
    pub clusters_above: &'a dyn Fn(f64) -> Option<u64>,
}

/// Judges a budget at 95 %.
pub fn judge(budget: &Budget, figures: &Figures<'_>) -> Judgement {
    judge_at(budget, figures, CONFIDENCE)
}

/// Judges a budget at a confidence, between 0.5 and 1: what looks again and again spends the error that it may make.
pub fn judge_at(budget: &Budget, figures: &Figures<'_>, confidence: f64) -> Judgement {
    let judgement = judge_samples(budget, figures, confidence);
    let judgement = match judgement.kind {
        JudgementKind::NotSeenBroken => if_longer(judgement, budget, figures, confidence),
        _ => judgement,
    };
    let judgement = if_a_step_apart(judgement, budget, figures, confidence);
    let judgement = if_the_smallest_was_longer(judgement, budget, figures, confidence);
    match (judgement.kind, figures.repeats_without_sample) {
        (JudgementKind::NotSeenBroken, without @ 1..) => {
            let repeats = if without == 1 { "repeat" } else { "repeats" };
            Judgement::too_thin(&format!("no sample ended in {without} {repeats}, so that the longest are not known"))
        }
        _ => judgement,
    }
}

/// What holds for samples that were rounded down has to hold for samples that were longer by all of that.
fn if_longer(judgement: Judgement, budget: &Budget, figures: &Figures<'_>, confidence: f64) -> Judgement {
    let by_ns = match budget.metric {
        Metric::Max | Metric::Min | Metric::Jitter => rounded_extremes_ns(figures),
        _ => figures.rounded_down_ns,
    };
    if by_ns <= 0.0 || budget.metric.unit() != LimitUnit::Nanoseconds {
        return judgement;
    }
    let stricter = budget.lowered_by(by_ns);
    match judge_samples(&stricter, figures, confidence).kind {
        JudgementKind::NotSeenBroken => judgement,
        _ => Judgement::too_thin(&format!(
            "the samples are rounded down to whole steps of {}, and with one more step the limit is not kept",
            format_ns(by_ns)
        )),
    }
}

/// The smallest sample was rounded down too: the jitter may be less by a step.
fn if_the_smallest_was_longer(
    judgement: Judgement,
    budget: &Budget,
    figures: &Figures<'_>,
    confidence: f64,
) -> Judgement {
    let by_ns = rounded_extremes_ns(figures);
    if budget.metric != Metric::Jitter || judgement.kind != JudgementKind::Broken || by_ns <= 0.0 {
        return judgement;
    }
    let why = || {
        let step = format_ns(by_ns);
        format!("the samples are rounded down to whole steps of {step}, and with one step less the limit is kept")
    };
    unless_it_differs(judgement, &budget.lowered_by(-by_ns), figures, confidence, why)
}

/// By how much the extremes of samples that were rounded down may be longer: a step, also where the buckets of their histogram are wider.
fn rounded_extremes_ns(figures: &Figures<'_>) -> f64 {
    figures.rounded_down_ns.min(figures.tick_ns)
}

/// What is said of the exact extremes has to hold for samples that were a step of the counter longer, or shorter. Means are right without it,
/// since the steps of many samples cancel, and histograms are coarser than any counter.
fn if_a_step_apart(judgement: Judgement, budget: &Budget, figures: &Figures<'_>, confidence: f64) -> Judgement {
    let steps = match budget.metric {
        _ if figures.rounded_down_ns > 0.0 => return judgement,
        Metric::Max | Metric::Min => 1.0,
        // Both the longest sample and the shortest one.
        Metric::Jitter => 2.0,
        _ => return judgement,
    };
    let by_ns = steps * figures.tick_ns;
    let other = match judgement.kind {
        JudgementKind::NotSeenBroken => budget.lowered_by(by_ns),
        JudgementKind::Broken => budget.lowered_by(-by_ns),
        JudgementKind::TooThin => return judgement,
    };
    let why = || {
        let step = format_ns(figures.tick_ns);
        format!(
            "the limit is nearer to what was seen than a step of the counter, {step}, which each sample may be off by"
        )
    };
    unless_it_differs(judgement, &other, figures, confidence, why)
}

/// A judgement, unless a budget with a limit beside its own is broken where it is not, or the other way round.
fn unless_it_differs(
    judgement: Judgement,
    other: &Budget,
    figures: &Figures<'_>,
    confidence: f64,
    why: impl Fn() -> String,
) -> Judgement {
    let is_broken = |judgement: &Judgement| judgement.kind == JudgementKind::Broken;
    match is_broken(&judge_samples(other, figures, confidence)) == is_broken(&judgement) {
        true => judgement,
        false => Judgement::too_thin(&why()),
    }
}

fn judge_samples(budget: &Budget, figures: &Figures<'_>, confidence: f64) -> Judgement {
    let limit = budget.limit;
    let (Some(min_ns), Some(max_ns), 1..) = (figures.min_ns, figures.max_ns, figures.samples) else {
        return Judgement::too_thin("there are no samples");
    };
    let at = At { budget, figures, confidence };
    match budget.metric {
        Metric::Max => at.largest(limit, &format_ns(limit), max_ns, &format_ns(max_ns)),
        Metric::Jitter => {
            let in_words = format!("{} above the minimum", format_ns(limit));
            let largest = format!("{}, {} above the minimum", format_ns(max_ns), format_ns(max_ns - min_ns));
            at.largest(limit + min_ns, &in_words, max_ns, &largest)
        }
        Metric::Mean => at.means("mean", figures.repeat_means_ns, format_ns, limits_ns),
        Metric::Min => at.minimum(min_ns),
        Metric::P50 => at.share(0.5),
        Metric::P99 => at.share(1e-2),
        Metric::P99_9 => at.share(1e-3),
        Metric::P99_99 => at.share(1e-4),
        Metric::Misses => at.misses(),
        Metric::Slowdown => match figures.repeat_slowdowns {
            Some(slowdowns) => at.means("slowdown", slowdowns, |ratio| digits(ratio, 4), range),
            None => Judgement::too_thin("nothing ran beside the target, or it was not measured alone"),
        },
    }
}

/// A budget, what a case showed, and the confidence at which it is judged.
struct At<'a> {
    budget: &'a Budget,
    figures: &'a Figures<'a>,
    confidence: f64,
}

impl At<'_> {
    /// `95 %`.
    fn percent(&self) -> String {
        format!("{} %", (self.confidence * 1e4).round() / 100.0)
    }

    /// Both one-sided limits of a share.
    fn limits(&self, above: u64) -> super::rate::Interval {
        clopper_pearson(above, self.figures.samples, 2.0 * self.confidence - 1.0)
    }

    /// `limit` and `largest` are in words.
    fn largest(&self, limit_ns: f64, limit: &str, max_ns: f64, largest: &str) -> Judgement {
        let Self { budget, figures, confidence } = self;
        let samples = figures.samples;
        if max_ns > limit_ns {
            // The histogram may be too coarse to tell the largest sample from the limit; the exact maximum is not.
            // The smallest sample is not above itself.
            let most = if budget.metric == Metric::Jitter { samples.saturating_sub(1).max(1) } else { samples };
            let above = (figures.samples_above)(limit_ns).clamp(1, most);
            let surely = figures.samples_surely_above.map_or(above, |surely| surely(limit_ns).clamp(1, above));
            let above_in_words = if surely < above { format!("{surely} to {above}") } else { above.to_string() };
            let excursions = (figures.clusters_above)(limit_ns)
                .map_or(String::new(), |clusters| format!(", in {} separate excursions", clusters.clamp(1, above)));
            let when = figures.max_at_s.map_or(String::new(), |s| format!(", {} into its repeat", format_ns(s * 1e9)));
            return Judgement::broken(&format!(
                "{above_in_words} of {samples} samples over {limit}{excursions}; the largest was {largest}{when}"
            ));
        }
        if let Some(over_s) = budget.over_s
            && figures.exposure_s < over_s
        {
            return Judgement::too_thin(&format!(
                "none of {samples} samples over {limit} in {}; the budget is over {}",
                format_ns(figures.exposure_s * 1e9),
                format_ns(over_s * 1e9)
            ));
        }
        // A time alone says for how long; a rate is asked for beside it, or where neither is.
        let wanted = budget.rate.or(budget.over_s.is_none().then_some(WANTED_SHARE));
        let over = || format!("over {limit}");
        if let Some(thin) = wanted.and_then(|wanted| self.too_few(wanted, &over())) {
            return thin;
        }
        let a_second = rate_excluded_by_none(figures.exposure_s, *confidence);
        let a_second =
            if a_second.is_finite() { format!(" and {}", at_most_per_second(a_second)) } else { String::new() };
        Judgement::not_seen_broken(&format!(
            "in {samples} samples (rate below {} a sample{a_second} at {}, if samples are independent); the largest was {largest}",
            at_most(self.limits(0).upper, 2),
            self.percent(),
        ))
    }

    /// Too few samples, none of which was bad, to show a rate.
    fn too_few(&self, wanted: f64, bad: &str) -> Option<Judgement> {
        let samples = self.figures.samples;
        let fewest = samples_to_exclude(wanted, self.confidence);
        let shown = self.limits(0).upper;
        // As many digits as it takes to see that the one is above the other.
        let figures = (2..7).find(|figures| at_most(shown, *figures) != digits(wanted, *figures)).unwrap_or(7);
        (samples < fewest).then(|| {
            Judgement::too_thin(&format!(
                "none of {samples} samples {bad}, which shows only a rate below {} a sample at {}; {} a sample takes \
                 {fewest} samples",
                at_most(shown, figures),
                self.percent(),
                digits(wanted, 2),
            ))
        })
    }

    fn share(&self, allowed: f64) -> Judgement {
        let Self { budget, figures, .. } = self;
        let samples = figures.samples;
        // As with the maximum: the largest sample is known, also where the histogram is too coarse or ends before it.
        let largest = u64::from(figures.max_ns.is_some_and(|max| max > budget.limit));
        let above = (figures.samples_above)(budget.limit).clamp(largest, samples.max(largest));
        let (limits, percent) = (self.limits(above), self.percent());
        let seen = format!("{above} of {samples} samples over {}", format_ns(budget.limit));
        let allows = format!("{} allows {} of them", budget.metric, digits(allowed, 1));
        let surely = figures.samples_surely_above.map_or(above, |surely| surely(budget.limit).clamp(largest, above));
        if limits.lower > allowed && self.limits(surely).lower <= allowed {
            return Judgement::too_thin(&format!(
                "{surely} of {samples} samples over {}, and {} more may be: they lie beyond the histogram, so that their length is not \
                 known; {allows}",
                format_ns(budget.limit),
                above - surely
            ));
        }
        if limits.lower > allowed {
            return Judgement::broken(&format!(
                "{seen}, at least {} of all at {percent} if samples are independent; {allows}",
                at_least(limits.lower, 2)
            ));
        }
        if limits.upper <= allowed {
            let share = at_most(limits.upper, 2);
            return Judgement::not_seen_broken(&format!(
                "in {samples} samples (rate below {share} a sample at {percent}, if samples are independent): {seen}; {allows}"
            ));
        }
        Judgement::too_thin(&format!(
            "{seen}, between {} and {} of all, each at {percent}; {allows}",
            at_least(limits.lower, 2),
            at_most(limits.upper, 2)
        ))
    }

    fn minimum(&self, min_ns: f64) -> Judgement {
        let (limit_ns, samples) = (self.budget.limit, self.figures.samples);
        let (seen, limit) = (format_ns(min_ns), format_ns(limit_ns));
        if min_ns <= limit_ns {
            return Judgement::not_seen_broken(&format!(
                "in {samples} samples: the smallest was {seen}, at most {limit}"
            ));
        }
        let fewest = samples_to_exclude(WANTED_SHARE, self.confidence);
        if samples < fewest {
            return Judgement::too_thin(&format!(
                "the smallest of only {samples} samples was {seen}, over {limit}; to say that smaller ones are rare takes \
                 {fewest}"
            ));
        }
        Judgement::broken(&format!("the smallest of {samples} samples was {seen}, over {limit}"))
    }

    fn misses(&self) -> Judgement {
        let Some(repeats) = self.figures.repeat_misses else {
            return Judgement::too_thin("misses were not counted here");
        };
        if self.budget.limit == 0.0 {
            return self.no_misses(repeats);
        }
        let means: Vec<f64> = repeats.iter().map(|(misses, samples)| *misses as f64 / *samples as f64).collect();
        self.means("misses a sample", &means, |misses| digits(misses, 4), range)
    }

    /// None at all. How many samples missed is not counted, so that a miss is as bad as many.
    fn no_misses(&self, repeats: &[(u64, u64)]) -> Judgement {
        let samples = self.figures.samples;
        let misses: u64 = repeats.iter().map(|(misses, _)| misses).sum();
        if misses > 0 {
            let with = repeats.iter().filter(|(misses, _)| *misses > 0).count();
            return Judgement::broken(&format!(
                "{misses} misses in {samples} samples, {} a sample, in {with} of {} repeats",
                digits(misses as f64 / samples as f64, 3),
                repeats.len()
            ));
        }
        if let Some(thin) = self.budget.rate.and_then(|wanted| self.too_few(wanted, "missed")) {
            return thin;
        }
        Judgement::not_seen_broken(&format!(
            "in {samples} samples: no miss (rate below {} a sample at {}, if samples are independent)",
            at_most(self.limits(0).upper, 2),
            self.percent()
        ))
    }

    /// A mean of the means of repeats.
    fn means(
        &self,
        what: &str,
        means: &[f64],
        one: impl Fn(f64) -> String,
        range: impl Fn(f64, f64) -> String,
    ) -> Judgement {
        let (limit, repeats) = (self.budget.limit, means.len());
        let allowed = one(limit);
        if repeats == 0 || means.iter().any(|mean| !mean.is_finite()) {
            return Judgement::too_thin(&format!("there is no {what} of any repeat"));
        }
        let mean = means.iter().sum::<f64>() / repeats as f64;
        if repeats == 1 {
            let plainly = format!("{what} {}, limit {allowed}, from one repeat, whose spread is not known", one(mean));
            return if mean > limit { Judgement::broken(&plainly) } else { Judgement::not_seen_broken(&plainly) };
        }
        let half = half_width(means, self.confidence);
        // No time and no ratio of times is below 0.
        let interval = range((mean - half).max(0.0), mean + half);
        let seen = format!(
            "{what} {} ({interval} from {repeats} repeats, each at {}), limit {allowed}",
            one(mean),
            self.percent()
        );
        if mean - half > limit {
            Judgement::broken(&seen)
        } else if mean + half <= limit {
            Judgement::not_seen_broken(&seen)
        } else {
            Judgement::too_thin(&seen)
        }
    }
}

fn range(from: f64, to: f64) -> String {
    limits(from, to, 4)
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
