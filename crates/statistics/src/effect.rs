//! Is a neighbour effective? Judged by what it does, not by how busy it is: it moved the unmitigated target, or a sentinel
//! that fills the shared cache, beyond the spread of their solo repeats.

use waykeeper_workload::format_ns;

use super::ERROR;
use super::comparison::{COMPARABLE_EXPOSURES, span};
use super::rank::{least_p_of_ranks, rank_sum};
use super::wording::{digits, per_second};

/// A shift of less than this share of the solo median is no effect, however regular: there is nothing to mitigate.
pub const LEAST_SHIFT: f64 = 0.01;
/// The fewest repeats, solo and loaded, that show a spread. From two, a third of neighbours without effect look effective.
const FEWEST_REPEATS: usize = 3;
/// With fewer repeats than this, solo or loaded, ranks say too little, and the solo range is the yardstick.
const FEWEST_FOR_RANKS: usize = 4;

/// One repeat of the unmitigated target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observed {
    /// The mean of all samples, in nanoseconds.
    pub mean_ns: f64,
    /// The 99th percentile in nanoseconds, if the samples support it.
    pub p99_ns: Option<f64>,
    /// The largest sample, in nanoseconds.
    pub max_ns: f64,
    /// Declustered excursions per second.
    pub clusters_per_s: f64,
    /// The time in which samples were taken, in seconds.
    pub exposure_s: f64,
}

/// What was seen without and with the neighbours. A part that was not run is empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct SoloAndLoaded<'a> {
    /// Repeats of the unmitigated target alone.
    pub target_solo: &'a [Observed],
    /// Repeats of the unmitigated target with the neighbours.
    pub target_loaded: &'a [Observed],
    /// Mean time of one load of the sentinel alone, per repeat, in nanoseconds.
    pub sentinel_solo_ns: &'a [f64],
    /// The same with the neighbours.
    pub sentinel_loaded_ns: &'a [f64],
    /// Whether the means of the target are without its time off the core, and so less than those of its samples.
    pub off_core_left_out: bool,
    /// The same of the sentinel.
    pub sentinel_off_core_left_out: bool,
}

/// Whether neighbours had an effect, and the figures that say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// They moved something beyond its solo spread.
    Effective(String),
    /// They moved nothing beyond its solo spread.
    Ineffective(String),
    /// There is nothing to judge by.
    Unknown(String),
}

impl Effect {
    /// Whether the neighbours were effective; `None` if that is not known.
    pub fn is_effective(&self) -> Option<bool> {
        match self {
            Self::Effective(_) => Some(true),
            Self::Ineffective(_) => Some(false),
            Self::Unknown(_) => None,
        }
    }

    /// The figures, as a clause without a subject: `moved the sentinel's mean from 12.1 ns to 48 ns (x4.0), ...`.
    pub fn text(&self) -> &str {
        match self {
            Self::Effective(text) | Self::Ineffective(text) | Self::Unknown(text) => text,
        }
    }
}

/// Judges the effect of neighbours on every figure that was seen solo and loaded at least three times.
///
/// A figure has moved if the loaded median is above every solo value and above the solo median by more than 1 %, and
/// chance is unlikely: with enough repeats (at least 4, and so many that the test can show anything), the exact one-sided
/// rank test at an equal share of 5 % for each figure; with fewer, every loaded value above the largest solo value by more
/// than the whole solo range.
pub fn effect(seen: &SoloAndLoaded<'_>) -> Effect {
    let figures: Vec<Figure> = figures(seen).into_iter().filter(Figure::shows_a_spread).collect();
    if figures.is_empty() {
        return Effect::Unknown(format!(
            "a solo spread needs the target or the sentinel at least {FEWEST_REPEATS} times alone and {FEWEST_REPEATS} \
             times loaded; the target was seen {} and {} times, the sentinel {} and {} times",
            seen.target_solo.len(),
            seen.target_loaded.len(),
            seen.sentinel_solo_ns.len(),
            seen.sentinel_loaded_ns.len(),
        ));
    }
    let level = ERROR / figures.len() as f64;
    let (moved, still): (Vec<&Figure>, Vec<&Figure>) = figures.iter().partition(|figure| figure.moved(level));
    let listed = |figures: &[&Figure], say: fn(&Figure) -> String| -> String {
        figures.iter().map(|figure| say(figure)).collect::<Vec<_>>().join(", ")
    };
    match moved.split_first() {
        None => Effect::Ineffective(format!(
            "nothing was shown to move beyond its solo spread: {}",
            listed(&still, Figure::stayed)
        )),
        Some((first, [])) => Effect::Effective(format!("moved {}", first.shift())),
        Some((first, others)) => {
            Effect::Effective(format!("moved {}; also {}", first.shift(), listed(others, Figure::short_shift)))
        }
    }
}

fn figures(seen: &SoloAndLoaded<'_>) -> Vec<Figure> {
    let of_target = |name, unit: fn(f64) -> String, value: fn(&Observed) -> Option<f64>| Figure {
        name,
        unit,
        solo: seen.target_solo.iter().filter_map(value).collect(),
        loaded: seen.target_loaded.iter().filter_map(value).collect(),
    };
    let mean_of_target =
        if seen.off_core_left_out { "the target's mean without the time off its core" } else { "the target's mean" };
    let mut figures = vec![
        Figure {
            name: match seen.sentinel_off_core_left_out {
                true => "the sentinel's mean without the time off its core",
                false => "the sentinel's mean",
            },
            unit: format_ns,
            solo: seen.sentinel_solo_ns.to_vec(),
            loaded: seen.sentinel_loaded_ns.to_vec(),
        },
        of_target(mean_of_target, format_ns, |repeat| Some(repeat.mean_ns)),
        of_target("the target's p99", format_ns, |repeat| repeat.p99_ns),
        of_target("the target's rate of excursions", per_second, |repeat| Some(repeat.clusters_per_s)),
    ];
    let (shortest, longest) = span(seen.target_solo.iter().chain(seen.target_loaded).map(|repeat| repeat.exposure_s));
    if longest <= shortest * COMPARABLE_EXPOSURES {
        figures.push(of_target("the target's maximum", format_ns, |repeat| Some(repeat.max_ns)));
    }
    figures
}

/// One figure, per repeat, without and with the neighbours.
struct Figure {
    name: &'static str,
    unit: fn(f64) -> String,
    solo: Vec<f64>,
    loaded: Vec<f64>,
}

impl Figure {
    fn shows_a_spread(&self) -> bool {
        self.solo.len() >= FEWEST_REPEATS
            && self.loaded.len() >= FEWEST_REPEATS
            && self.solo.iter().chain(&self.loaded).all(|value| value.is_finite())
    }

    fn moved(&self, level: f64) -> bool {
        let (solo, loaded) = (median(&self.solo), median(&self.loaded));
        let (lowest, highest) = span(self.solo.iter().copied());
        if loaded <= highest || loaded - solo <= LEAST_SHIFT * solo.abs() {
            return false;
        }
        // Half, because the test is one-sided and the least p-value is that of a two-sided one.
        let least_p = least_p_of_ranks(self.loaded.len(), self.solo.len()) / 2.0;
        if self.loaded.len().min(self.solo.len()) >= FEWEST_FOR_RANKS && least_p <= level {
            return rank_sum(&self.loaded, &self.solo).higher <= level;
        }
        self.loaded.iter().all(|value| *value - highest > highest - lowest)
    }

    fn shift(&self) -> String {
        let (lowest, highest) = span(self.solo.iter().copied());
        format!(
            "{} from {} to {}{}, outside the solo spread {}",
            self.name,
            (self.unit)(median(&self.solo)),
            (self.unit)(median(&self.loaded)),
            self.factor().map_or(String::new(), |factor| format!(" ({factor})")),
            self.range(lowest, highest),
        )
    }

    fn short_shift(&self) -> String {
        let factor = self.factor().unwrap_or_else(|| format!("to {}", (self.unit)(median(&self.loaded))));
        format!("{} {factor}", self.name)
    }

    fn stayed(&self) -> String {
        let (solo, loaded) = (span(self.solo.iter().copied()), span(self.loaded.iter().copied()));
        format!("{} {} loaded, {} solo", self.name, self.range(loaded.0, loaded.1), self.range(solo.0, solo.1))
    }

    fn factor(&self) -> Option<String> {
        let (solo, loaded) = (median(&self.solo), median(&self.loaded));
        (solo > 0.0).then(|| format!("x{}", digits(loaded / solo, 3)))
    }

    fn range(&self, low: f64, high: f64) -> String {
        let (low, high) = ((self.unit)(low), (self.unit)(high));
        if low == high { low } else { format!("{low} to {high}") }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { sorted[middle - 1].midpoint(sorted[middle]) }
}
