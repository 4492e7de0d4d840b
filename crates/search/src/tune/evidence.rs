//! What repeats of a candidate showed, and what that says of the budgets.

use serde::{Deserialize, Serialize};
use waykeeper_experiment::cases::Placed;
use waykeeper_run::measurement::Measurement;
use waykeeper_run::{Exposure, NeighbourWork, work_of};
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
    /// What each neighbour did, as far as it was seen; empty in the logs of earlier versions.
    #[serde(default)]
    pub work: Vec<NeighbourWork>,
    /// Why it does not count.
    pub not_counted: Option<String>,
}

impl RepeatSeen {
    /// What is kept of a measurement beside these neighbours.
    pub fn of(measurement: &Measurement, neighbours: &[Placed], budgets: &[Budget]) -> Self {
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
            work: work_of(neighbours, &measurement.neighbours),
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

    /// What the neighbours did in the repeats that count, by `least_work` as [`Exposure::new`] has it.
    fn exposure(&self, least_work: f64) -> Exposure {
        let first = self.counted().find(|seen| !seen.work.is_empty());
        let names: Vec<String> = first.map_or_else(Vec::new, |seen| {
            seen.work.iter().map(|work| format!("the neighbour on core {}", work.core)).collect()
        });
        let numbered = self.beside.iter().enumerate().filter(|(_, seen)| seen.not_counted.is_none());
        let work: Vec<_> = numbered.map(|(at, seen)| (at + 1, seen.work.clone())).collect();
        Exposure::new(&names, &work, least_work)
    }

    /// Repeats that say something of the target beside its neighbours.
    pub fn exposed_placements(&self, least_work: f64) -> u64 {
        self.exposure(least_work).exposed() as u64
    }

    /// Judges a budget, the one at `index` of those that the repeats were kept for. `bare` are the same repeats alone without any
    /// measure: a slowdown counts from there. A share that is too small for the target itself would hold otherwise, as its
    /// neighbours could not make it worse. Repeats without the neighbours' work are no exposure to them.
    pub fn judge(
        &self,
        budgets: &[Budget],
        index: usize,
        confidence: f64,
        bare: &[RepeatSeen],
        least_work: f64,
    ) -> Judgement {
        let numbered = self.beside.iter().enumerate().filter(|(_, seen)| seen.not_counted.is_none());
        let counted: Vec<(&RepeatSeen, Option<&RepeatSeen>)> =
            numbered.map(|(at, seen)| (seen, bare.get(at).filter(|bare| bare.not_counted.is_none()))).collect();
        self.exposure(least_work).judge(|is_in| {
            let repeats = counted.iter().enumerate().filter(|(at, _)| is_in(*at));
            let repeats: Vec<_> = repeats.map(|(_, repeat)| *repeat).collect();
            judge_repeats(budgets, index, confidence, &repeats)
        })
    }
}

/// Judges a budget on repeats, each with the same one alone and without any measure, where that counts.
fn judge_repeats(
    budgets: &[Budget],
    index: usize,
    confidence: f64,
    repeats: &[(&RepeatSeen, Option<&RepeatSeen>)],
) -> Judgement {
    let seen = || repeats.iter().map(|(seen, _)| *seen);
    let means: Vec<f64> = seen().filter_map(|seen| seen.mean_ns).collect();
    let misses: Option<Vec<(u64, u64)>> = seen().map(|seen| Some((seen.misses?, seen.samples))).collect();
    let pairs = repeats.iter().filter_map(|(with, without)| Some((with, (*without)?)));
    let slowdowns: Option<Vec<f64>> = pairs.map(|(with, without)| Some(with.mean_ns? / without.mean_ns?)).collect();
    let slowdowns = slowdowns.filter(|list| !list.is_empty());
    judge_at(
        &budgets[index],
        &Figures {
            samples: seen().map(|seen| seen.samples).sum(),
            repeats_without_sample: seen().filter(|seen| seen.samples == 0).count() as u64,
            exposure_s: seen().map(|seen| seen.exposure_s).sum(),
            min_ns: seen().filter_map(|seen| seen.min_ns).reduce(f64::min),
            max_ns: seen().filter_map(|seen| seen.max_ns).reduce(f64::max),
            rounded_down_ns: 0.0,
            tick_ns: seen().map(|seen| seen.tick_ns).fold(0.0, f64::max),
            max_at_s: None,
            repeat_means_ns: &means,
            repeat_misses: misses.as_deref(),
            repeat_slowdowns: slowdowns.as_deref(),
            samples_above: &|_| seen().filter_map(|seen| seen.above.get(index)).sum(),
            samples_surely_above: None,
            clusters_above: &|_| None,
        },
        confidence,
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(accesses_per_s: f64, max_ns: f64) -> RepeatSeen {
        RepeatSeen {
            samples: 10_000,
            exposure_s: 1.0,
            min_ns: Some(100.0),
            max_ns: Some(max_ns),
            mean_ns: Some(100.0),
            above: vec![u64::from(max_ns > 1000.0)],
            work: vec![NeighbourWork { core: 3, accesses_per_s: Some(accesses_per_s), cpu_s_per_s: None }],
            ..RepeatSeen::default()
        }
    }

    fn judged(repeats: &[RepeatSeen], least_work: f64) -> Judgement {
        let evidence = CandidateEvidence { beside: repeats.to_vec(), ..CandidateEvidence::default() };
        evidence.judge(&["max<=1us@1e-3".parse().unwrap()], 0, 0.95, &[], least_work)
    }

    #[test]
    fn a_candidate_whose_neighbour_did_nothing_holds_no_budget() {
        let (working, idle) = (seen(5e6, 500.0), seen(0.0, 500.0));
        let found = judged(&[idle.clone(), idle.clone()], 0.0);
        assert_eq!(found.kind, JudgementKind::TooThin);
        let why = "the neighbour did not work: the neighbour on core 3 did 0 accesses a second in repeat 1";
        assert!(found.text.ends_with(why), "{}", found.text);
        // The samples of the other repeat are enough, and they alone are counted.
        let found = judged(&[working.clone(), idle.clone()], 0.0);
        assert!(
            found.kind == JudgementKind::NotSeenBroken && found.text.contains("in 10000 samples"),
            "{}",
            found.text
        );
        assert_eq!(judged(&[seen(0.0, 2000.0), idle], 0.0).kind, JudgementKind::Broken);
        let slow = [working.clone(), working, seen(2e6, 500.0)];
        assert!(judged(&slow, 0.9).text.contains("in 20000 samples"));
        assert!(judged(&slow, 0.0).text.contains("in 30000 samples"));
    }

    #[test]
    fn repeats_of_logs_without_the_work_are_judged_as_they_were() {
        let old = RepeatSeen { work: Vec::new(), ..seen(0.0, 500.0) };
        let found = judged(&[old.clone(), old], 0.9);
        assert!(found.kind == JudgementKind::NotSeenBroken && !found.text.contains("not seen how"), "{}", found.text);
        let evidence =
            CandidateEvidence { beside: vec![seen(0.0, 1.0), seen(5e6, 1.0)], ..CandidateEvidence::default() };
        assert_eq!((evidence.placements(), evidence.exposed_placements(0.9)), (2, 1));
    }
}
