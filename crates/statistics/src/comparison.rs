//! The two questions behind a verdict: did the rate of excursions change, and did the maxima of the repeats?
//!
//! Each is asked at half of [`ERROR`] (Bonferroni), two-sided. Excursions are counted as clusters, because the samples
//! above a threshold come in bursts (Coles, An Introduction to Statistical Modeling of Extreme Values, 2001, section
//! 5.3.2). A change of their rate must pass two tests: by ranks of the repeats' own rates, since repeats differ by more
//! than Poisson counts do; and by the exact comparison of the pooled counts, since ranks of one or two events mean little.
//! The ranks of excursions per sample must say the same: longer samples are fewer, and so are the excursions among them.

use super::ERROR;
use super::rank::{least_p_of_ranks, rank_sum};
use super::rate::{Counted, Tails, compare_rates, is_overdispersed, least_p_of_rates};

/// The level of each of the two questions.
pub(super) const LEVEL: f64 = ERROR / 2.0;
/// Maxima are compared only if no repeat is longer than another by more than this factor: a maximum grows with the time
/// in which it was looked for.
pub(super) const COMPARABLE_EXPOSURES: f64 = 1.2;

/// One repeat of a case: a fresh process with fresh pages, or a fresh seed in the simulator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeat {
    /// The number of samples; a repeat without any is not compared.
    pub samples: u64,
    /// The time in which samples were taken, in seconds.
    pub exposure_s: f64,
    /// The part of it in which the scheduler had given the core to others, in seconds; 0 where it is not known. Rates
    /// are per time on the core: a target that ran half of the time could have excursions in that half only.
    pub off_core_s: f64,
    /// Declustered excursions: separate clusters of samples above the threshold.
    pub clusters: u64,
    /// The largest sample, in nanoseconds.
    pub max_ns: f64,
    /// What the clock or the counter resolves, in nanoseconds; maxima that are equal at this step are ties. 0 if exact.
    pub resolution_ns: f64,
    /// Whether it ended early, or the conditions of its case did not hold all the time, for a reason that has nothing to do
    /// with what it measured (Ctrl-C, a stopped process). Such a repeat is not compared. One that ended early *because* of what it measured, as by a watchdog, must not be marked.
    pub cut_short: bool,
}

/// The repeats of one target and its neighbours, without and with a mitigation.
#[derive(Debug, Clone, Copy)]
pub struct Arms<'a> {
    /// Repeats without the mitigation.
    pub unmitigated: &'a [Repeat],
    /// Repeats with it.
    pub mitigated: &'a [Repeat],
    /// A sample of more than this many nanoseconds is an excursion; the same duration for both arms.
    pub threshold_ns: f64,
}

/// What one question says of the mitigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectDirection {
    /// Lower with the mitigation, at half of [`ERROR`].
    Better,
    /// Neither.
    NotShown,
    /// Higher with the mitigation, at half of [`ERROR`].
    Worse,
}

/// The rates of declustered excursions.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    /// All excursions and all time without the mitigation.
    pub unmitigated: Counted,
    /// The same with it.
    pub mitigated: Counted,
    /// Two-sided p-value of the rank test on the rates of the repeats.
    pub p_rank: f64,
    /// Two-sided p-value of the exact comparison of the pooled counts.
    pub p_count: f64,
    /// The answer by time, of both tests.
    pub by_time: EffectDirection,
    /// Two-sided p-value of the rank test on the excursions of each repeat per sample.
    pub p_per_sample: f64,
    /// The answer, where time and samples give the same one.
    pub answer: EffectDirection,
    /// Whether the repeats of an arm differ by more than Poisson counts do, so that an interval from their sum is too
    /// narrow. The rank test does not mind.
    pub overdispersed: bool,
    /// Whether this many events in all could have shown a difference, had they all been in one arm.
    pub could_show: bool,
}

/// The maxima of the repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Maxima {
    /// The smallest and the largest maximum of a repeat without the mitigation, in nanoseconds.
    pub unmitigated_ns: (f64, f64),
    /// The same with it.
    pub mitigated_ns: (f64, f64),
    /// Two-sided p-value of the rank test; absent if repeats differ too much in length for maxima to be compared.
    pub p: Option<f64>,
    /// The answer; [`EffectDirection::NotShown`] if not compared.
    pub answer: EffectDirection,
}

/// Both questions, answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Repeats compared without the mitigation and with it.
    pub repeats: (usize, usize),
    /// Repeats left out because they were cut short or hold no measurement.
    pub left_out: usize,
    /// Those of them that ran to their end and in which no sample ended, without the mitigation and with it: their samples were longer
    /// than they, so that leaving them out makes their arm look better.
    pub without_sample: (usize, usize),
    /// The shortest and the longest compared repeat, in seconds.
    pub exposure_s: (f64, f64),
    /// The smallest p-value that a rank test on so many repeats can give.
    pub least_p: f64,
    /// The first question.
    pub rates: Rates,
    /// The second question.
    pub maxima: Maxima,
}

/// Why two arms cannot be compared at all: an arm has no complete repeat with a measurement in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no complete repeat {} the mitigation", if *.with_mitigation { "with" } else { "without" })]
pub struct NotCompared {
    /// Whether it is the arm with the mitigation that is empty.
    pub with_mitigation: bool,
}

impl Repeat {
    fn on_core_s(&self) -> f64 {
        self.exposure_s - self.off_core_s
    }

    fn is_measured(&self) -> bool {
        let exposed = self.on_core_s() > 0.0 && self.exposure_s.is_finite();
        !self.cut_short && self.samples > 0 && exposed && self.max_ns.is_finite()
    }
}

/// Answers both questions.
///
/// # Errors
/// An arm without a complete repeat that holds a measurement.
pub fn compare(arms: &Arms<'_>) -> Result<Comparison, NotCompared> {
    let unmitigated = measured(arms.unmitigated, false)?;
    let mitigated = measured(arms.mitigated, true)?;
    let all = || unmitigated.iter().chain(&mitigated);
    let exposure_s = span(all().map(|repeat| repeat.exposure_s));
    let compared = unmitigated.len() + mitigated.len();
    Ok(Comparison {
        repeats: (unmitigated.len(), mitigated.len()),
        left_out: arms.unmitigated.len() + arms.mitigated.len() - compared,
        without_sample: (without_sample(arms.unmitigated), without_sample(arms.mitigated)),
        exposure_s,
        least_p: least_p_of_ranks(unmitigated.len(), mitigated.len()),
        rates: compare_rates_of(&unmitigated, &mitigated),
        maxima: compare_maxima_of(&unmitigated, &mitigated, exposure_s.1 <= exposure_s.0 * COMPARABLE_EXPOSURES),
    })
}

fn without_sample(repeats: &[Repeat]) -> usize {
    repeats.iter().filter(|repeat| !repeat.cut_short && repeat.samples == 0 && repeat.on_core_s() > 0.0).count()
}

fn measured(repeats: &[Repeat], with_mitigation: bool) -> Result<Vec<Repeat>, NotCompared> {
    let measured: Vec<Repeat> = repeats.iter().filter(|repeat| repeat.is_measured()).copied().collect();
    if measured.is_empty() { Err(NotCompared { with_mitigation }) } else { Ok(measured) }
}

fn compare_rates_of(unmitigated: &[Repeat], mitigated: &[Repeat]) -> Rates {
    let ranks = |of: fn(&Repeat) -> f64| {
        let rates = |arm: &[Repeat]| -> Vec<f64> { arm.iter().map(of).collect() };
        rank_sum(&rates(mitigated), &rates(unmitigated))
    };
    let by_rank = ranks(|repeat| repeat.clusters as f64 / repeat.on_core_s());
    let per_sample = ranks(|repeat| repeat.clusters as f64 / repeat.samples as f64);
    let (without, with) = (pooled(unmitigated), pooled(mitigated));
    let by_count = compare_rates(with, without);
    let agreed =
        |one: EffectDirection, other: EffectDirection| if one == other { one } else { EffectDirection::NotShown };
    let by_time = agreed(answer(by_rank), answer(by_count));
    Rates {
        unmitigated: without,
        mitigated: with,
        p_rank: by_rank.two_sided(),
        p_count: by_count.two_sided(),
        by_time,
        p_per_sample: per_sample.two_sided(),
        answer: agreed(by_time, answer(per_sample)),
        overdispersed: is_overdispersed(&counts(unmitigated)) || is_overdispersed(&counts(mitigated)),
        could_show: least_p_of_rates(with, without) <= LEVEL,
    }
}

fn compare_maxima_of(unmitigated: &[Repeat], mitigated: &[Repeat], comparable: bool) -> Maxima {
    let coarsest = unmitigated.iter().chain(mitigated).map(|r| r.resolution_ns).fold(0.0, f64::max);
    let maxima = |arm: &[Repeat]| -> Vec<f64> { arm.iter().map(|r| in_steps(r.max_ns, coarsest)).collect() };
    let tails = comparable.then(|| rank_sum(&maxima(mitigated), &maxima(unmitigated)));
    Maxima {
        unmitigated_ns: span(unmitigated.iter().map(|r| r.max_ns)),
        mitigated_ns: span(mitigated.iter().map(|r| r.max_ns)),
        p: tails.map(Tails::two_sided),
        answer: tails.map_or(EffectDirection::NotShown, answer),
    }
}

fn answer(mitigated: Tails) -> EffectDirection {
    match mitigated {
        tails if tails.two_sided() > LEVEL => EffectDirection::NotShown,
        tails if tails.first_is_lower() => EffectDirection::Better,
        _ => EffectDirection::Worse,
    }
}

fn pooled(arm: &[Repeat]) -> Counted {
    counts(arm).iter().fold(Counted::default(), |sum, count| Counted {
        events: sum.events.saturating_add(count.events),
        exposure_s: sum.exposure_s + count.exposure_s,
    })
}

fn counts(arm: &[Repeat]) -> Vec<Counted> {
    arm.iter().map(|repeat| Counted { events: repeat.clusters, exposure_s: repeat.on_core_s() }).collect()
}

fn in_steps(ns: f64, step_ns: f64) -> f64 {
    if step_ns > 0.0 && step_ns.is_finite() { (ns / step_ns).round() } else { ns }
}

/// The smallest and the largest of some values.
pub(super) fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}
