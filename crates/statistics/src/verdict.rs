//! The verdict on a mitigation, with the figures it rests on.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use waykeeper_workload::format_ns;

use super::CONFIDENCE;
use super::comparison::{Arms, COMPARABLE_EXPOSURES, Comparison, EffectDirection, LEVEL, Maxima, Rates, compare};
use super::effect::Effect;
use super::rank::least_p_of_ranks;
use super::rate::{Counted, rate_interval};
use super::wording::{at_least, at_most, at_most_per_second, digits, p_value, per_second, range_ns};

/// What can be said of a mitigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// Excursions are rarer or the maxima lower with the mitigation, and neither is the other way round.
    Better,
    /// The design could have shown a difference, and showed none. Not a statement that there is none.
    NoDifferenceShown,
    /// Excursions are more frequent or the maxima higher with the mitigation, and neither is the other way round.
    Worse,
    /// The run cannot answer.
    CannotTell,
}

impl fmt::Display for VerdictKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Better => "better",
            Self::NoDifferenceShown => "no difference shown",
            Self::Worse => "worse",
            Self::CannotTell => "cannot tell",
        })
    }
}

/// The verdict on a mitigation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// What can be said.
    pub kind: VerdictKind,
    /// The same as a sentence with the figures, beginning with the kind.
    pub text: String,
}

/// Judges a mitigation by the rate of excursions and the maxima of the repeats (see [`compare`]). A neighbour that has no
/// effect, or none that is known, leaves nothing to mitigate: no verdict.
pub fn verdict(arms: &Arms<'_>, neighbours: &Effect) -> Verdict {
    match neighbours {
        Effect::Effective(_) => {}
        Effect::Ineffective(why) => return cannot_tell(&format!("the neighbours had no effect to mitigate: {why}")),
        Effect::Unknown(why) => {
            return cannot_tell(&format!("it is not known whether the neighbours had an effect: {why}"));
        }
    }
    match compare(arms) {
        Ok(comparison) => conclude(&comparison, arms.threshold_ns),
        Err(why) => cannot_tell(&why.to_string()),
    }
}

fn conclude(comparison: &Comparison, threshold_ns: f64) -> Verdict {
    let Comparison { rates, maxima, .. } = comparison;
    let figures = figures(comparison, threshold_ns);
    let because = |why: &str| cannot_tell(&format!("{why}: {figures}"));
    let conclusion = |kind, in_what: &str| Verdict { kind, text: format!("{kind}{in_what}: {figures}") };
    let verdict = match (rates.answer, maxima.answer) {
        (EffectDirection::Better, EffectDirection::Worse) => because("excursions became rarer but the maxima rose"),
        (EffectDirection::Worse, EffectDirection::Better) => {
            because("excursions became more frequent but the maxima fell")
        }
        (EffectDirection::Better, EffectDirection::Better) => conclusion(VerdictKind::Better, " in rate and maxima"),
        (EffectDirection::Better, _) => conclusion(VerdictKind::Better, " in the rate of excursions"),
        (_, EffectDirection::Better) => conclusion(VerdictKind::Better, " in the maxima"),
        (EffectDirection::Worse, EffectDirection::Worse) => conclusion(VerdictKind::Worse, " in rate and maxima"),
        (EffectDirection::Worse, _) => conclusion(VerdictKind::Worse, " in the rate of excursions"),
        (_, EffectDirection::Worse) => conclusion(VerdictKind::Worse, " in the maxima"),
        (EffectDirection::NotShown, EffectDirection::NotShown) => match what_was_lacking(comparison) {
            Some(lacking) => because(&lacking.to_string()),
            None => conclusion(VerdictKind::NoDifferenceShown, ""),
        },
    };
    match hidden_by_empty_repeats(comparison, verdict.kind) {
        Some(why) => because(&why),
        None => verdict,
    }
}

/// Why an answer cannot stand: the arm that looks better has repeats in which no sample ended.
pub fn hidden_by_empty_repeats(comparison: &Comparison, kind: VerdictKind) -> Option<String> {
    let (without, with) = comparison.without_sample;
    let (count, arm) = match kind {
        VerdictKind::Better => (with, "with it"),
        VerdictKind::Worse => (without, "without it"),
        VerdictKind::NoDifferenceShown if with != without => (with + without, "of one arm more than of the other"),
        VerdictKind::NoDifferenceShown | VerdictKind::CannotTell => return None,
    };
    let repeats = if count == 1 { "repeat" } else { "repeats" };
    (count > 0).then(|| {
        format!("no sample ended in {count} {repeats} {arm}, so that the longest are not known; a longer --duration would do")
    })
}

/// Why the design could not have shown a difference, however large; `None` if it could.
pub fn what_was_lacking(comparison: &Comparison) -> Option<Lacking> {
    if comparison.least_p > LEVEL {
        return Some(Lacking::Repeats { of: comparison.repeats, least_p: comparison.least_p });
    }
    let nothing_left = comparison.maxima.p.is_none() && !comparison.rates.could_show;
    nothing_left.then_some(Lacking::Excursions)
}

/// What a design had too little of to show any difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lacking {
    /// Repeats: with so many of each arm, this is the least p-value that they reach.
    Repeats {
        /// Without it, and with it.
        of: (usize, usize),
        /// The p-value of arms that are fully apart.
        least_p: f64,
    },
    /// Excursions, where repeats of unequal length leave the maxima out of it.
    Excursions,
}

impl Lacking {
    /// In a few words, for a cell of a table.
    pub fn in_short(self) -> String {
        match self {
            Self::Repeats { of: (without, with), .. } => format!("{without} v {with} repeats are too few"),
            Self::Excursions => "too few excursions, and repeats of unequal length".into(),
        }
    }
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeats { of: (without, with), least_p } => write!(
                f,
                "{without} v {with} repeats cannot reach p = {LEVEL} whatever they show (at best p = {}); use --repeats {} or \
                 more",
                digits(*least_p, 2),
                fewest_repeats(),
            ),
            Self::Excursions => {
                f.write_str("there are too few excursions to compare, and repeats of unequal length to compare maxima")
            }
        }
    }
}

/// The fewest repeats in each arm with which a rank test can reach [`LEVEL`].
fn fewest_repeats() -> usize {
    (1..).find(|repeats| least_p_of_ranks(*repeats, *repeats) <= LEVEL).unwrap_or(usize::MAX)
}

fn figures(comparison: &Comparison, threshold_ns: f64) -> String {
    let (without, with) = comparison.repeats;
    let left_out = match comparison.left_out {
        0 => String::new(),
        repeats => format!(", {repeats} cut short or empty left out"),
    };
    format!(
        "{}; {}; {without} v {with} repeats of {}{left_out}",
        rates_in_words(&comparison.rates, threshold_ns),
        maxima_in_words(&comparison.maxima),
        range_ns(comparison.exposure_s.0 * 1e9, comparison.exposure_s.1 * 1e9),
    )
}

fn rates_in_words(rates: &Rates, threshold_ns: f64) -> String {
    let longer_samples = if rates.by_time == rates.answer {
        String::new()
    } else {
        format!(
            " (not so per sample, {}: where samples are longer, fewer fit into a second)",
            p_value(rates.p_per_sample)
        )
    };
    format!(
        "excursions over {} {} without it, {} with it, {} between repeats and {} by count{}{longer_samples}",
        format_ns(threshold_ns),
        rate_in_words(rates.unmitigated),
        rate_in_words(rates.mitigated),
        p_value(rates.p_rank),
        p_value(rates.p_count),
        if rates.overdispersed { " (repeats differ by more than chance: the intervals are too narrow)" } else { "" },
    )
}

fn rate_in_words(counted: Counted) -> String {
    let Counted { events, exposure_s } = counted;
    let interval = rate_interval(events, exposure_s, CONFIDENCE);
    if events == 0 {
        return format!(
            "none in {} (below {} at 95 %)",
            format_ns(exposure_s * 1e9),
            at_most_per_second(interval.upper)
        );
    }
    format!(
        "{} (95 % interval {} to {})",
        per_second(events as f64 / exposure_s),
        at_least(interval.lower, 3),
        at_most(interval.upper, 3)
    )
}

fn maxima_in_words(maxima: &Maxima) -> String {
    let tested = match maxima.p {
        Some(p) => p_value(p),
        None => format!(
            "not compared because repeats differ in length by more than {:.0} %",
            (COMPARABLE_EXPOSURES - 1.0) * 100.0
        ),
    };
    format!(
        "largest of each repeat {} without it, {} with it, {tested}",
        range_ns(maxima.unmitigated_ns.0, maxima.unmitigated_ns.1),
        range_ns(maxima.mitigated_ns.0, maxima.mitigated_ns.1),
    )
}

fn cannot_tell(why: &str) -> Verdict {
    Verdict { kind: VerdictKind::CannotTell, text: format!("cannot tell, because {why}") }
}
