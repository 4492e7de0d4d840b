//! What repeats of a candidate showed, and what that says of the budgets.

use serde::{Deserialize, Serialize};
use waykeeper_run::measurement::Measurement;
use waykeeper_statistics::{Budget, Figures, Judgement, JudgementKind, Metric, judge_at};

/// What a search keeps of one repeat.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RepeatSeen {
    /// Samples.
    pub samples: u64,
    /// The time in which they were taken, seconds.
    pub exposure_s: f64,
    /// The step of its counter, nanoseconds.
    pub tick_ns: f64,
    /// The smallest sample, nanoseconds.
    pub min_ns: Option<f64>,
    /// The largest sample, nanoseconds.
    pub max_ns: Option<f64>,
    /// The mean, nanoseconds, without time off the core.
    pub mean_ns: Option<f64>,
    /// Samples above the limit of each budget; 0 for budgets that are not about times.
    pub above: Vec<u64>,
    /// Lines that the target read from memory, where that was counted.
    pub misses: Option<u64>,
    /// Accesses of all neighbours a second, where that was counted for each.
    pub neighbours_per_s: Option<f64>,
    /// Why it does not count.
    pub not_counted: Option<String>,
}

impl RepeatSeen {
    /// What is kept of a measurement.
    pub fn of(measurement: &Measurement, budgets: &[Budget]) -> Self {
        let samples = &measurement.samples;
        let above = |budget: &Budget| match budget.metric {
            Metric::Misses | Metric::Slowdown | Metric::Mean | Metric::Min => 0,
            Metric::Jitter => samples.count_above_ns(budget.limit + measurement.min_ns().unwrap_or_default()),
            _ => samples.count_above_ns(budget.limit),
        };
        let rates = measurement.neighbours.iter().map(|neighbour| neighbour.accesses_per_s);
        let rate: Option<f64> = rates.sum();
        Self {
            samples: samples.count,
            exposure_s: measurement.observed_s,
            tick_ns: samples.tick_ns,
            min_ns: measurement.min_ns(),
            max_ns: measurement.max_ns(),
            mean_ns: measurement.samples.mean_ns(),
            above: budgets.iter().map(above).collect(),
            misses: measurement.misses,
            neighbours_per_s: rate.filter(|_| !measurement.neighbours.is_empty()),
            not_counted: measurement.not_counted.clone(),
        }
    }
}

/// Repeats of one candidate in one setting.
#[derive(Debug, Clone, Default)]
pub struct CandidateEvidence {
    /// Beside the neighbours, or alone where the experiment has none.
    pub beside: Vec<RepeatSeen>,
    /// The first of the same repeats alone, for what the candidate costs.
    pub alone: Vec<RepeatSeen>,
}

impl CandidateEvidence {
    fn counted(&self) -> impl Iterator<Item = &RepeatSeen> {
        self.beside.iter().filter(|seen| seen.not_counted.is_none())
    }

    /// The largest sample.
    pub fn max_ns(&self) -> Option<f64> {
        self.counted().filter_map(|seen| seen.max_ns).reduce(f64::max)
    }

    /// The time in which samples were taken, seconds.
    pub fn exposure_s(&self) -> f64 {
        self.counted().map(|seen| seen.exposure_s).sum()
    }

    /// Samples.
    pub fn samples(&self) -> u64 {
        self.counted().map(|seen| seen.samples).sum()
    }

    /// Repeats, each of which places its memory anew.
    pub fn placements(&self) -> u64 {
        self.counted().count() as u64
    }

    /// Repeats that do not count, and why the first of them does not.
    pub fn not_counted(&self) -> Option<(u64, &str)> {
        let mut reasons = self.beside.iter().filter_map(|seen| seen.not_counted.as_deref());
        let first = reasons.next()?;
        Some((1 + reasons.count() as u64, first))
    }

    /// Judges a budget, the one at `index` of those that the repeats were kept for. `bare` are the same repeats alone without any
    /// measure: a slowdown counts from there. A share that is too small for the target itself would hold otherwise, as its
    /// neighbours could not make it worse.
    pub fn judge(&self, budgets: &[Budget], index: usize, confidence: f64, bare: &[RepeatSeen]) -> Judgement {
        let seen: Vec<&RepeatSeen> = self.counted().collect();
        let means: Vec<f64> = seen.iter().filter_map(|seen| seen.mean_ns).collect();
        let misses: Option<Vec<(u64, u64)>> = seen.iter().map(|seen| Some((seen.misses?, seen.samples))).collect();
        let pairs = self.beside.iter().zip(bare);
        let counted = pairs.filter(|(with, without)| with.not_counted.is_none() && without.not_counted.is_none());
        let slowdowns: Option<Vec<f64>> =
            counted.map(|(with, without)| Some(with.mean_ns? / without.mean_ns?)).collect();
        let slowdowns = slowdowns.filter(|list| !list.is_empty());
        judge_at(
            &budgets[index],
            &Figures {
                samples: self.samples(),
                repeats_without_sample: seen.iter().filter(|seen| seen.samples == 0).count() as u64,
                exposure_s: self.exposure_s(),
                min_ns: seen.iter().filter_map(|seen| seen.min_ns).reduce(f64::min),
                max_ns: self.max_ns(),
                rounded_down_ns: 0.0,
                tick_ns: seen.iter().map(|seen| seen.tick_ns).fold(0.0, f64::max),
                max_at_s: None,
                repeat_means_ns: &means,
                repeat_misses: misses.as_deref(),
                repeat_slowdowns: slowdowns.as_deref(),
                samples_above: &|_| seen.iter().filter_map(|seen| seen.above.get(index)).sum(),
                samples_surely_above: None,
                clusters_above: &|_| None,
            },
            confidence,
        )
    }
}

/// The worst of some judgements: broken before too thin before not seen broken; of equals the first.
pub fn worst(judgements: impl Iterator<Item = Judgement>) -> Option<Judgement> {
    let badness = |judgement: &Judgement| match judgement.kind {
        JudgementKind::NotSeenBroken => 0,
        JudgementKind::TooThin => 1,
        JudgementKind::Broken => 2,
    };
    judgements.reduce(|worst, next| if badness(&next) > badness(&worst) { next } else { worst })
}
