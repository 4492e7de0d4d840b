//! Whether a run meets the statements of its experiment.

use std::collections::BTreeMap;

use waykeeper_experiment::describe::Experiment;
use waykeeper_experiment::expectation::{CaseName, Expectation, Statement, Term};
use waykeeper_experiment::layout::{CaseMetric, CaseUnit};
use waykeeper_experiment::mitigation::{self, NONE};
use waykeeper_workload::format_ns;

use crate::record::{CaseRecord, ExpectationRecord, Met, RepeatRecord};

/// Judges every statement of an experiment by the records of its cases.
pub fn judge_expectations(experiment: &Experiment, cases: &[CaseRecord]) -> Vec<ExpectationRecord> {
    let metric = experiment.table.as_ref().map_or(CaseMetric::Mean, |table| table.metric);
    let published = experiment.published.as_ref().map(|published| &published.source);
    let judge_all = |expectation: &Expectation| -> Vec<ExpectationRecord> {
        let metric = expectation.metric.unwrap_or(metric);
        let judged = expectation.order.as_slice().iter().filter_map(|text| {
            // What does not parse was refused when the file was read.
            let statement: Statement = text.parse().ok()?;
            let (kind, text_seen) = Judge { expectation, metric, cases }.judge(&statement);
            Some(ExpectationRecord {
                says: expectation.says.clone(),
                source: expectation.source.as_ref().or(published).cloned(),
                statement: text.clone(),
                metric,
                kind,
                text: text_seen,
            })
        });
        judged.collect()
    };
    experiment.expectations.iter().flat_map(judge_all).collect()
}

struct Judge<'a> {
    expectation: &'a Expectation,
    metric: CaseMetric,
    cases: &'a [CaseRecord],
}

/// Where a statement is looked at: a target, and a point of every sweep that the statement leaves open.
#[derive(Debug, Clone, PartialEq)]
struct Place<'a> {
    target: &'a str,
    core: u32,
    point: BTreeMap<&'a str, &'a str>,
}

/// One look at a statement.
struct Look {
    kind: Met,
    text: String,
}

impl Judge<'_> {
    fn judge(&self, statement: &Statement) -> (Met, String) {
        let looks: Vec<(Place, Look)> =
            self.places(statement).into_iter().map(|place| (place.clone(), self.look(statement, &place))).collect();
        let targets: Vec<&str> = looks.iter().map(|(place, _)| place.target).collect();
        let several_targets = targets.iter().any(|target| *target != targets[0]);
        let told = |(place, look): &(Place, Look)| {
            let mut at: Vec<String> = if several_targets { vec![place.target.to_owned()] } else { Vec::new() };
            at.extend(place.point.iter().map(|(sweep, label)| format!("{sweep} {label}")));
            if at.is_empty() { look.text.clone() } else { format!("{}: {}", at.join(", "), look.text) }
        };
        let count = |kind| looks.iter().filter(|(_, look)| look.kind == kind).count();
        let (not_met, met) = (count(Met::NotMet), count(Met::Met));
        let kind = match () {
            () if looks.is_empty() => return (Met::CannotTell, "these cases were not run".into()),
            () if not_met > 0 => Met::NotMet,
            () if met == looks.len() => Met::Met,
            () => Met::CannotTell,
        };
        if let [only] = looks.as_slice() {
            return (kind, told(only));
        }
        // Those that decided, or all if there are few.
        let deciding = looks.iter().filter(|(_, look)| look.kind == kind);
        let shown: Vec<String> = deciding.take(MOST_SHOWN).map(told).collect();
        (kind, format!("at {met} of {}; {}", looks.len(), shown.join("; ")))
    }

    fn places(&self, statement: &Statement) -> Vec<Place<'_>> {
        let mut places: Vec<Place> = Vec::new();
        let names: Vec<&CaseName> = statement.cases().collect();
        // A sweep whose point every case of the statement names is not open.
        let named = |sweep: &str| names.iter().all(|name| name.point.contains_key(sweep));
        for case in self.cases {
            let meant = names.iter().any(|name| {
                let solo_only = names.iter().all(|name| name.solo);
                mitigation::same(&name.mitigation, &case.mitigation)
                    && case.neighbours.is_empty() == solo_only
                    && name.point.iter().all(|(sweep, label)| case.point.get(sweep).is_none_or(|l| l == label))
            });
            let here = self.expectation.target.as_ref().is_none_or(|target| *target == case.target)
                && self
                    .expectation
                    .point
                    .iter()
                    .all(|(sweep, label)| case.point.get(sweep).is_none_or(|l| *l == label.0));
            if !meant || !here {
                continue;
            }
            let open = case
                .point
                .iter()
                .filter(|(sweep, _)| !named(sweep) && !self.expectation.point.contains_key(sweep.as_str()));
            let point = open.map(|(sweep, label)| (sweep.as_str(), label.as_str())).collect();
            let place = Place { target: &case.target, core: case.core, point };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        // A case that depends on fewer sweeps belongs to the places of the others.
        let inside = |a: &Place, b: &Place| {
            a != b
                && a.target == b.target
                && a.core == b.core
                && a.point.iter().all(|(sweep, label)| b.point.get(sweep) == Some(label))
        };
        places.iter().filter(|place| !places.iter().any(|other| inside(place, other))).cloned().collect()
    }

    fn look(&self, statement: &Statement, place: &Place) -> Look {
        let found: Vec<Option<&CaseRecord>> = statement
            .terms()
            .map(|term| match term {
                Term::Case(_, name) => self.find(name, place),
                Term::Number(_) => None,
            })
            .collect();
        let figures: Option<Vec<f64>> = statement
            .terms()
            .zip(&found)
            .map(|(term, case)| match term {
                Term::Number(number) => Some(*number),
                Term::Case(factor, _) => Some(factor * (*case)?.figure(self.metric)?),
            })
            .collect();
        let Some(figures) = figures else {
            let missing = statement.terms().zip(&found).find_map(|(term, case)| match term {
                Term::Case(_, name) if case.and_then(|case| case.figure(self.metric)).is_none() => Some(name),
                _ => None,
            });
            let name = missing.map_or("a case", |name| name.mitigation.as_str());
            return Look { kind: Met::CannotTell, text: format!("there is no figure of {name}") };
        };
        let holds = |figures: &[f64]| {
            statement.rest.iter().enumerate().all(|(at, (relation, _))| relation.holds(figures[at], figures[at + 1]))
        };
        let mut text = String::new();
        for (at, figure) in figures.iter().enumerate() {
            if at > 0 {
                text += &format!(" {} ", statement.rest[at - 1].0);
            }
            text += &show(self.metric, *figure);
        }
        let whole = holds(&figures);
        let each = self.each_repeat(statement, &found);
        let agree = each.iter().filter(|figures| holds(figures) == whole).count();
        let kind = match whole {
            _ if agree < each.len() => Met::CannotTell,
            true => Met::Met,
            false => Met::NotMet,
        };
        if kind == Met::CannotTell {
            let met = if whole { agree } else { each.len() - agree };
            text = format!("{text}, but in {met} of {} repeats it holds", each.len());
        } else if !whole {
            text = format!("it is not so that {text}");
        }
        Look { kind, text }
    }

    /// The figures of each repeat; none where the repeats do not have it.
    fn each_repeat(&self, statement: &Statement, found: &[Option<&CaseRecord>]) -> Vec<Vec<f64>> {
        let repeats = found.iter().flatten().map(|case| case.repeats.len()).min().unwrap_or(0);
        let of_repeat = |repeat: usize| -> Option<Vec<f64>> {
            let figures = statement.terms().zip(found).map(|(term, case)| match term {
                Term::Number(number) => Some(*number),
                Term::Case(factor, _) => Some(factor * self.figure_of_repeat((*case)?, repeat)?),
            });
            figures.collect()
        };
        (0..repeats).map_while(of_repeat).collect()
    }

    fn find(&self, name: &CaseName, place: &Place) -> Option<&CaseRecord> {
        let wanted = |sweep: &str| {
            let fixed = || self.expectation.point.get(sweep).map(|label| label.0.as_str());
            name.point.get(sweep).map(String::as_str).or_else(fixed).or_else(|| place.point.get(sweep).copied())
        };
        let fits = |case: &&CaseRecord| {
            case.target == place.target
                && mitigation::same(&case.mitigation, &name.mitigation)
                && case.neighbours.is_empty() == name.solo
                && case.point.iter().all(|(sweep, label)| wanted(sweep).is_none_or(|wanted| wanted == label))
        };
        // A sweep may have moved the target to another core.
        let here = self.cases.iter().filter(fits).find(|case| case.core == place.core);
        here.or_else(|| self.cases.iter().find(fits))
    }

    fn figure_of_repeat(&self, case: &CaseRecord, repeat: usize) -> Option<f64> {
        let record = case.repeats.get(repeat)?;
        let over = |other: Option<&CaseRecord>| {
            let other = other?.repeats.get(repeat)?;
            Some(pace(record)? / pace(other)?)
        };
        match self.metric {
            CaseMetric::Latency | CaseMetric::Mean => record.mean_ns,
            CaseMetric::Min => record.min_ns,
            CaseMetric::Max => record.max_ns,
            CaseMetric::Jitter => Some(record.max_ns? - record.min_ns?),
            CaseMetric::Slowdown => over(solo_of(self.cases, case, &case.mitigation)),
            CaseMetric::Cost => over(solo_of(self.cases, case, NONE)),
            CaseMetric::Bandwidth => record.bandwidth_bytes_per_s,
            CaseMetric::TotalBandwidth => record.total_bandwidth_bytes_per_s,
            CaseMetric::Misses => record.misses_per_sample,
            // Percentiles are those of all repeats together.
            CaseMetric::P50 | CaseMetric::P99 => None,
        }
    }
}

/// As many looks at a statement as are shown one by one.
const MOST_SHOWN: usize = 3;

/// The case of the same target without neighbours, under some mitigation, at the same point.
fn solo_of<'a>(cases: &'a [CaseRecord], like: &CaseRecord, mitigation: &str) -> Option<&'a CaseRecord> {
    cases.iter().find(|case| {
        case.neighbours.is_empty()
            && (&case.target, case.core, &case.target_with) == (&like.target, like.core, &like.target_with)
            && case.mitigation == mitigation
            && case.point.iter().all(|(sweep, label)| like.point.get(sweep) == Some(label))
    })
}

/// What a piece of work takes: the mean of the samples, or of a byte where there are none.
fn pace(repeat: &RepeatRecord) -> Option<f64> {
    repeat.mean_ns.or_else(|| repeat.bandwidth_bytes_per_s.map(|bandwidth| 1e9 / bandwidth))
}

fn show(metric: CaseMetric, figure: f64) -> String {
    match metric.unit() {
        CaseUnit::Time => format_ns(figure),
        CaseUnit::Bandwidth => format!("{:.0} MB/s", figure / 1e6),
        CaseUnit::Ratio => format!("x{figure:.2}"),
        CaseUnit::Count => format!("{figure:.1}"),
    }
}

#[cfg(test)]
mod tests;
