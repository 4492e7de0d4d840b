//! From repeats to figures, effects, verdicts and judged budgets.

use waykeeper_experiment::cases::{Case, Plan, Purpose};
use waykeeper_experiment::describe::Experiment;
use waykeeper_experiment::mitigation::NONE;
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_statistics::{
    Arms, Budget, Effect, Figures, Judgement, JudgementKind, LimitUnit, Metric, Observed, Repeat, SoloAndLoaded,
    Verdict, VerdictKind, effect, judge, supports, verdict,
};
use waykeeper_workload::{Pattern, format_ns};

use crate::exposure::{Exposure, least_exposure, work_of};
use crate::measurement::{Measured, Measurement};
use crate::met::judge_expectations;
use crate::record::{BudgetRecord, CaseRecord, ExpectationRecord, Run};
use crate::samples::ticks_at_quantile;
use crate::shape;
use crate::summary::summarize;
use crate::work::{WorkArm, given_the_work, names};

/// What follows from the repeats of all cases.
#[derive(Debug, Clone, Default)]
pub struct Conclusion {
    /// Records of the experiment's cases.
    pub cases: Vec<CaseRecord>,
    /// Records of the sentinel's cases.
    pub sentinels: Vec<CaseRecord>,
    /// Judged budgets.
    pub budgets: Vec<BudgetRecord>,
    /// Statements of the experiment, met or not.
    pub expectations: Vec<ExpectationRecord>,
}

/// The tag of a case's histograms.
pub fn case_tag(index: usize) -> String {
    format!("c{:02}", index + 1)
}

/// Draws the conclusions. `measured` has one entry for each case of the plan, in its order.
pub fn conclude(
    experiment: &Experiment,
    on: ExecutorKind,
    plan: &Plan,
    measured: &[Measured],
    budgets: &[Budget],
) -> Conclusion {
    let least_exposure = least_exposure(on, experiment.least_neighbour_work);
    let all = All { cases: &plan.cases, measured, least_exposure };
    let mut records: Vec<CaseRecord> = plan
        .cases
        .iter()
        .zip(measured)
        .enumerate()
        .map(|(index, (case, measured))| summarize(case, measured, &case_tag(index)))
        .collect();
    // What a piece of work takes: the mean of the samples, or of a byte where there are none.
    let of_byte = |record: &CaseRecord| record.bandwidth_bytes_per_s.map(|bandwidth| 1e9 / bandwidth);
    let means: Vec<Option<f64>> = records.iter().map(|record| record.mean_ns.or_else(|| of_byte(record))).collect();
    for (index, case) in plan.cases.iter().enumerate().filter(|(_, case)| case.purpose == Purpose::Case) {
        let record = &mut records[index];
        let ratio = |to: Option<usize>| Some(means[index]? / means[to?]?);
        if case.solo() {
            record.cost = if case.mitigation == NONE { None } else { ratio(all.find(case, NONE, true)) };
            continue;
        }
        record.slowdown = ratio(all.find(case, &case.mitigation, true));
        if record.sampled.is_some() {
            record.slowdown_standard_error = all.slowdown_standard_error(index);
        }
        if case.throughput {
            // Effects and verdicts are about samples.
            continue;
        }
        let judged = all.effect_of_group(case);
        for neighbour in &mut record.neighbours {
            neighbour.effective = judged.is_effective();
            neighbour.effect = Some(judged.text().to_owned());
        }
        if case.mitigation != NONE {
            record.verdict = all.verdict(index, &judged, experiment.least_neighbour_work);
        }
    }
    if experiment.table.as_ref().is_some_and(|table| table.shape) {
        let count = plan.cases.iter().take_while(|case| case.purpose == Purpose::Case).count();
        shape::draw(&mut records[..count], measured);
    }
    // One that the file and an option have both is one.
    let repeated = |at: usize| budgets[..at].iter().any(|earlier| earlier.is_the_same(&budgets[at]));
    let judged =
        (0..budgets.len()).filter(|at| !repeated(*at)).flat_map(|at| judge_budget(&budgets[at], &all)).collect();
    let (sentinels, cases): (Vec<_>, Vec<_>) =
        records.into_iter().zip(&plan.cases).partition(|(_, case)| case.purpose == Purpose::Sentinel);
    let only =
        |list: Vec<(CaseRecord, &Case)>| -> Vec<CaseRecord> { list.into_iter().map(|(record, _)| record).collect() };
    let cases = only(cases);
    let expectations = judge_expectations(experiment, &cases);
    Conclusion { cases, sentinels: only(sentinels), budgets: judged, expectations }
}

impl Run {
    /// The record of a run, completed by what follows from its repeats.
    #[must_use]
    pub fn concluded(self, experiment: &Experiment, plan: &Plan, measured: &[Measured], budgets: &[Budget]) -> Self {
        let Conclusion { cases, sentinels, budgets, expectations } =
            conclude(experiment, self.executor, plan, measured, budgets);
        let mut privileges = Vec::new();
        for privilege in measured.iter().flat_map(|m| &m.repeats).flat_map(|r| &r.privileges) {
            if !privileges.contains(privilege) {
                privileges.push(privilege.clone());
            }
        }
        let mut notes = self.notes;
        notes.extend(not_counted(plan, measured));
        notes.extend(remarks(plan, measured));
        notes.extend(without_sample(plan, measured));
        if experiment.excursions.over_min.is_none() {
            notes.extend(ordinary_excursions(plan, measured));
        }
        Self { privileges, cases, sentinels, budgets, expectations, notes, ..self }
    }
}

/// A sentence for each repeat that does not count.
fn not_counted(plan: &Plan, measured: &[Measured]) -> Vec<String> {
    let repeats = plan.cases.iter().zip(measured).flat_map(|(case, measured)| {
        let numbered = measured.repeats.iter().zip(1..);
        numbered.filter_map(move |(repeat, number)| Some((case, number, repeat.not_counted.as_ref()?)))
    });
    let say = |(case, number, why): (&Case, usize, &String)| {
        let kind = if case.purpose == Purpose::Sentinel { "sentinel" } else { "case" };
        format!("Repeat {number} of the {kind} `{}` does not count: {why}.", case.name)
    };
    repeats.map(say).collect()
}

/// A sentence for each case with repeats that have remarks: those of the first one, and how many more there are.
fn remarks(plan: &Plan, measured: &[Measured]) -> Vec<String> {
    let of = |(case, measured): (&Case, &Measured)| {
        let mut remarked = measured.repeats.iter().zip(1..).filter(|(repeat, _)| !repeat.remarks.is_empty());
        let (first, number) = remarked.next()?;
        let more = match remarked.count() {
            0 => String::new(),
            1 => " Another repeat of this case has remarks too.".into(),
            more => format!(" {more} more repeats of this case have remarks."),
        };
        Some(format!("Repeat {number} of the case `{}`: {}.{more}", case.name, first.remarks.join("; ")))
    };
    plan.cases.iter().zip(measured).filter_map(of).collect()
}

/// A sentence for each case of which some repeats ended no sample: their samples were longer than the repeat, and the figures of
/// the others are too good.
fn without_sample(plan: &Plan, measured: &[Measured]) -> Vec<String> {
    let of = |(case, measured): (&Case, &Measured)| {
        if case.purpose == Purpose::Sentinel || case.throughput {
            return None;
        }
        let (all, without) = complete(measured)
            .fold((0, 0), |(all, without), repeat| (all + 1, without + usize::from(repeat.samples.count == 0)));
        (0 < without && without < all).then(|| {
            let (name, length) = (&case.name, complete(measured).map(|repeat| repeat.observed_s).fold(0.0, f64::max));
            let length = format_ns(length * 1e9);
            if matches!(case.target.pattern, Pattern::Packets { .. }) {
                return format!(
                    "In {without} of {all} repeats of the case `{name}` no packet was answered within {length}: look at the \
                     generator and the link (`waykeeper doctor --if`)."
                );
            }
            format!(
                "In {without} of {all} repeats of the case `{name}` no sample ended within {length}: its samples are longer than \
                 the others show; a longer --duration would do."
            )
        })
    };
    plan.cases.iter().zip(measured).filter_map(of).collect()
}

/// More excursions than this share of the samples alone are no exceptions: the pilot found one in a hundred at most.
const ORDINARY_SHARE: f64 = 0.1;

/// A sentence for each target whose samples alone are above the threshold too often, so that a pilot did not see its
/// ordinary spread.
fn ordinary_excursions(plan: &Plan, measured: &[Measured]) -> Vec<String> {
    let of = |(case, measured): (&Case, &Measured)| {
        let is_alone = case.purpose == Purpose::Case && case.solo() && case.mitigation == NONE;
        let above_ns = measured.excursion_above_ns.filter(|_| is_alone)?;
        let sum = |of: fn(&Measurement) -> u64| measured.counted().map(of).sum::<u64>() as f64;
        let share = sum(|repeat| repeat.samples.excursions) / sum(|repeat| repeat.samples.count);
        (share > ORDINARY_SHARE).then(|| {
            format!(
                "{:.0} % of the samples of the case `{}` are excursions, above {}: the pilot did not see how far this target \
                 spreads alone, so that rates of excursions say little here. `excursions.over_min` sets the threshold.",
                100.0 * share,
                case.name,
                format_ns(above_ns),
            )
        })
    };
    plan.cases.iter().zip(measured).filter_map(of).collect()
}

struct All<'a> {
    cases: &'a [Case],
    measured: &'a [Measured],
    /// Repeats in which a neighbour did less than this share of its median are no exposure to it.
    least_exposure: f64,
}

impl All<'_> {
    /// The case of the same target and group under another mitigation, solo or not.
    fn find(&self, like: &Case, mitigation: &str, solo: bool) -> Option<usize> {
        self.cases.iter().position(|case| {
            case.purpose == Purpose::Case
                && case.target == like.target
                && case.mitigation == mitigation
                && like.point.contains(&case.point)
                && case.solo() == solo
                && (solo || case.group == like.group)
        })
    }

    /// Standard error of the ratio of the windows' times with and without neighbours, all repeats together. The windows are
    /// the same in both cases, so that only how their slowdowns differ counts, and not that some are longer.
    fn slowdown_standard_error(&self, loaded: usize) -> Option<f64> {
        let case = &self.cases[loaded];
        let windows = |index: usize| -> Vec<f64> {
            let sampled = self.measured[index].counted().filter_map(|repeat| repeat.sampled.as_ref());
            sampled.flat_map(|sampled| sampled.window_ns.iter().copied()).collect()
        };
        ratio_standard_error(&windows(loaded), &windows(self.find(case, &case.mitigation, true)?))
    }

    /// The slowdown by its neighbours in each of these repeats, by their numbers from 0, that counts without them too; none for a case
    /// alone.
    fn slowdowns(&self, loaded: usize, repeats: &[(usize, &Measurement)]) -> Option<Vec<f64>> {
        let case = &self.cases[loaded];
        let solo = self.find(case, &case.mitigation, true).filter(|_| !case.solo())?;
        let alone = &self.measured[solo].repeats;
        let pairs = repeats.iter().filter_map(|(number, with)| Some((with, alone.get(*number)?)));
        let counted = pairs.filter(|(_, without)| without.not_counted.is_none());
        counted.map(|(with, without)| Some(with.samples.mean_ns()? / without.samples.mean_ns()?)).collect()
    }

    fn effect_of_group(&self, case: &Case) -> Effect {
        let target = |solo| {
            let found = self.find(case, NONE, solo);
            found.map_or_else(Vec::new, |index| complete(&self.measured[index]).filter_map(observed).collect())
        };
        let sentinel_case = |solo: bool| {
            self.cases.iter().position(|other| {
                other.purpose == Purpose::Sentinel
                    && other.target.core == case.target.core
                    && if solo { other.solo() } else { other.neighbours == case.neighbours }
            })
        };
        let sentinel = |solo: bool| -> Vec<f64> {
            sentinel_case(solo).map_or_else(Vec::new, |index| {
                let loads = loads_per_sample(&self.cases[index]);
                complete(&self.measured[index]).filter_map(|r| Some(r.on_core_mean_ns()? / loads)).collect()
            })
        };
        let was_off_core = |of: &dyn Fn(bool) -> Option<usize>| {
            let mut measured = [true, false].into_iter().filter_map(of).map(|index| &self.measured[index]);
            measured.any(|measured| complete(measured).any(|repeat| repeat.off_core_s() > 0.0))
        };
        let (solo, loaded) = (target(true), target(false));
        let (sentinel_solo, sentinel_loaded) = (sentinel(true), sentinel(false));
        effect(&SoloAndLoaded {
            target_solo: &solo,
            target_loaded: &loaded,
            sentinel_solo_ns: &sentinel_solo,
            sentinel_loaded_ns: &sentinel_loaded,
            off_core_left_out: was_off_core(&|solo| self.find(case, NONE, solo)),
            sentinel_off_core_left_out: was_off_core(&sentinel_case),
        })
    }

    fn verdict(&self, mitigated: usize, neighbours: &Effect, least_work: f64) -> Option<Verdict> {
        let unmitigated = self.find(&self.cases[mitigated], NONE, false)?;
        let Some(threshold_ns) = self.measured[unmitigated].excursion_above_ns else {
            let why = "the pilot gave too few samples to decide what an excursion is; a longer --duration, or \
                       excursions.over_min, would do";
            return Some(Verdict { kind: VerdictKind::CannotTell, text: format!("cannot tell, because {why}") });
        };
        let repeats = |index: usize| -> Vec<Repeat> { self.measured[index].repeats.iter().map(as_repeat).collect() };
        let arms = Arms { unmitigated: &repeats(unmitigated), mitigated: &repeats(mitigated), threshold_ns };
        let placed = &self.cases[mitigated].neighbours;
        let [without, with] = [unmitigated, mitigated].map(|index| WorkArm::of(&self.measured[index]));
        Some(given_the_work(verdict(&arms, neighbours), placed, &without, &with, least_work))
    }
}

/// Standard error of the ratio of two sums of corresponding figures (the usual ratio estimator's); none for less than two
/// pairs, or where they do not correspond.
fn ratio_standard_error(over: &[f64], under: &[f64]) -> Option<f64> {
    let n = under.len() as f64;
    if over.len() != under.len() || over.len() < 2 {
        return None;
    }
    let mean = under.iter().sum::<f64>() / n;
    let ratio = over.iter().sum::<f64>() / under.iter().sum::<f64>();
    let squares: f64 = over.iter().zip(under).map(|(over, under)| (over - ratio * under).powi(2)).sum();
    Some((squares / (n - 1.0) / n).sqrt() / mean).filter(|error| error.is_finite())
}

fn complete(measured: &Measured) -> impl Iterator<Item = &Measurement> {
    measured.counted().filter(|repeat| !repeat.cut_short)
}

fn loads_per_sample(case: &Case) -> f64 {
    match case.target.pattern {
        Pattern::Chase { batch, .. } => batch as f64,
        _ => 1.0,
    }
}

fn observed(measurement: &Measurement) -> Option<Observed> {
    let samples = &measurement.samples;
    let at_99 = || ticks_at_quantile(&samples.counts.to_histogram(), samples.count, 0.99);
    let p99 = supports(samples.count, 0.99).then(at_99).flatten().map(|ticks| ticks as f64 * samples.tick_ns);
    // Time that the scheduler gave to others is no interference through caches and memory.
    let on_core_s = measurement.observed_s - measurement.off_core_s();
    Some(Observed {
        mean_ns: measurement.on_core_mean_ns()?,
        p99_ns: p99,
        max_ns: measurement.max_ns()?,
        clusters_per_s: samples.excursion_events as f64 / on_core_s,
        exposure_s: measurement.observed_s,
    })
}

fn as_repeat(measurement: &Measurement) -> Repeat {
    Repeat {
        samples: measurement.samples.count,
        exposure_s: measurement.observed_s,
        off_core_s: measurement.off_core_s(),
        clusters: measurement.samples.excursion_events,
        max_ns: measurement.max_ns().unwrap_or_default(),
        resolution_ns: measurement.samples.tick_ns,
        cut_short: measurement.cut_short || measurement.not_counted.is_some(),
    }
}

fn judge_budget(budget: &Budget, all: &All<'_>) -> Vec<BudgetRecord> {
    let is_covered = |case: &Case| case.purpose == Purpose::Case && budget.applies_to(&case.mitigation);
    // A case alone has no slowdown. Where all are, each says so: a budget that nothing was judged by would pass unseen.
    let any_beside = all.cases.iter().any(|case| is_covered(case) && !case.solo());
    let has_it = |case: &Case| budget.metric != Metric::Slowdown || !case.solo() || !any_beside;
    let covered = all.cases.iter().enumerate().filter(|(_, case)| is_covered(case) && has_it(case));
    covered.map(|(index, _)| judge_case(budget, index, all)).collect()
}

fn judge_case(budget: &Budget, index: usize, all: &All<'_>) -> BudgetRecord {
    let (case, measured) = (&all.cases[index], &all.measured[index]);
    let numbered = measured.repeats.iter().enumerate().filter(|(_, repeat)| repeat.not_counted.is_none());
    let counted: Vec<(usize, &Measurement)> = numbered.collect();
    let work = |(number, repeat): &(usize, &Measurement)| (number + 1, work_of(&case.neighbours, &repeat.neighbours));
    let work: Vec<_> = counted.iter().map(work).collect();
    let exposure = Exposure::new(&names(&case.neighbours), &work, all.least_exposure);
    let judgement = exposure.judge(|is_in| {
        let repeats = counted.iter().enumerate().filter(|(at, _)| is_in(*at));
        let repeats: Vec<_> = repeats.map(|(_, repeat)| *repeat).collect();
        judge_repeats(budget, index, all, &repeats)
    });
    BudgetRecord { budget: budget.to_string(), case: case.name.clone(), kind: judgement.kind, text: judgement.text }
}

/// Judges some of the repeats of a case, each with its number from 0.
fn judge_repeats(budget: &Budget, index: usize, all: &All<'_>, numbered: &[(usize, &Measurement)]) -> Judgement {
    let measured = &all.measured[index];
    let repeats: Vec<&Measurement> = numbered.iter().map(|(_, repeat)| *repeat).collect();
    let largest = repeats.iter().filter(|r| r.samples.max.is_some()).max_by_key(|r| r.samples.max.map(|(max, _)| max));
    let means: Vec<f64> = repeats.iter().filter_map(|r| r.samples.mean_ns()).collect();
    let longest_s = repeats.iter().map(|r| r.observed_s).fold(0.0, f64::max);
    let largest_ns = largest.and_then(|r| r.max_ns()).unwrap_or_default();
    let is_time = budget.metric.unit() == LimitUnit::Nanoseconds;
    if is_time && longest_s > 0.0 && budget.limit >= longest_s * 1e9 && largest_ns <= budget.limit {
        let text = format!(
            "too thin to say: the limit is as long as a repeat ({}), so nothing beyond it could have been seen",
            format_ns(longest_s * 1e9)
        );
        return Judgement { kind: JudgementKind::TooThin, text };
    }
    let misses: Option<Vec<(u64, u64)>> = repeats.iter().map(|r| Some((r.misses?, r.samples.count))).collect();
    let slowdowns = all.slowdowns(index, numbered);
    judge(
        budget,
        &Figures {
            samples: repeats.iter().map(|r| r.samples.count).sum(),
            repeats_without_sample: repeats.iter().filter(|r| !r.cut_short && r.samples.count == 0).count() as u64,
            exposure_s: repeats.iter().map(|r| r.observed_s).sum(),
            min_ns: repeats.iter().filter_map(|r| r.min_ns()).reduce(f64::min),
            max_ns: largest.and_then(|r| r.max_ns()),
            rounded_down_ns: repeats.iter().map(|r| r.samples.rounded_down_ns).fold(0.0, f64::max),
            tick_ns: repeats.iter().map(|r| r.samples.tick_ns).fold(0.0, f64::max),
            max_at_s: largest.and_then(|r| r.samples.max).and_then(|(_, at)| at),
            repeat_means_ns: &means,
            repeat_misses: misses.as_deref(),
            repeat_slowdowns: slowdowns.as_deref(),
            samples_above: &|limit| repeats.iter().map(|r| r.samples.count_above_ns(limit)).sum(),
            samples_surely_above: Some(&|limit| repeats.iter().map(|r| r.samples.count_surely_above_ns(limit)).sum()),
            // Events are distinguished only above the threshold that the loop was given.
            clusters_above: &|limit| {
                let threshold = measured.excursion_above_ns?;
                (limit >= threshold).then(|| repeats.iter().map(|r| r.samples.events_above_ns(limit)).sum())
            },
        },
    )
}

#[cfg(test)]
mod tests {
    use super::ratio_standard_error;

    #[test]
    fn windows_that_slow_down_alike_leave_no_error_however_long_they_are() {
        let under = [10.0, 1000.0, 300.0];
        let error = |over: &[f64]| ratio_standard_error(over, &under);
        assert!(error(&under.map(|ns| 3.0 * ns)).unwrap() < 1e-12);
        // Residuals of +10 and -10 to a ratio of 1: s = 10 (over two degrees of freedom), over the root of 3 and 436.7.
        let other = error(&[20.0, 990.0, 300.0]).unwrap();
        assert!((other - 10.0 / 3f64.sqrt() / (1310.0 / 3.0)).abs() < 1e-9, "{other}");
        assert_eq!((error(&[1.0, 2.0]), ratio_standard_error(&[1.0], &[1.0])), (None, None));
    }
}
