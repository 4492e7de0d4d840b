//! From what was measured to the record of a search.

use std::path::Path;
use std::time::Duration;

use waykeeper_experiment::cases::{Case, Purpose};
use waykeeper_experiment::mitigation::NONE;
use waykeeper_experiment::site::Site;
use waykeeper_statistics::{Budget, CONFIDENCE, JudgementKind, clopper_pearson};

use super::evidence::{CandidateEvidence, worst};
use super::families::Family;
use super::ladder::LadderEnd;
use super::measured::policy_file;
use super::record::{Candidate, FamilyOutcome, FamilyRecord, SCHEMA, SeenRecord, Tuned};
use super::search::{Judged, Rungs, SearchFound};

/// What a record says besides what was found.
pub struct Concluding<'a> {
    /// The experiment's name.
    pub experiment: &'a str,
    /// Where it was searched.
    pub site: &'a Site,
    /// The cases.
    pub cases: &'a [Case],
    /// The budgets.
    pub budgets: &'a [Budget],
    /// The candidates.
    pub families: &'a [Family],
    /// The ladders, that of no measure first.
    pub rungs: &'a [Rungs],
    /// The share of its median that a neighbour has to do in a repeat.
    pub least_work: f64,
    /// Why candidates of a family were refused before anything was measured.
    pub refused: &'a [Option<String>],
    /// The folder of the search.
    pub folder: &'a Path,
    /// How long it took.
    pub took: Duration,
}

/// The record.
pub fn conclude(about: &Concluding<'_>, found: &SearchFound) -> Tuned {
    let none = candidate("none", "no measure", 0.0, found.judged.get(&0), found, about.least_work);
    let already_met = matches!(found.ends[0], Some(LadderEnd::Holds { .. }));
    let families: Vec<FamilyRecord> =
        (0..about.families.len()).map(|at| family(about, at, found, already_met)).collect();
    let holding = families.iter().filter(|family| family.outcome == FamilyOutcome::Holds);
    let holding = holding.filter_map(|family| Some((family.dimensions.len(), family.answered()?)));
    let cost = |(measures, candidate): &(usize, &Candidate)| (candidate.taken, *measures);
    let answer = holding.min_by(|a, b| cost(a).partial_cmp(&cost(b)).unwrap_or(std::cmp::Ordering::Equal));
    let answer = answer.map(|(_, candidate)| candidate.name.clone());
    let policy = answer.as_ref().map(|name| policy_file(about.folder, name).display().to_string());
    let settings = settings(about.cases);
    Tuned {
        schema: SCHEMA,
        experiment: about.experiment.to_owned(),
        platform: about.site.platform.clone(),
        executor: about.site.executor,
        target: about
            .cases
            .first()
            .map_or_else(String::new, |case| format!("{} on core {}", case.target.called(), case.target.core)),
        settings,
        budgets: about.budgets.iter().map(ToString::to_string).collect(),
        took_s: about.took.as_secs_f64(),
        cut_short: found.cut_short,
        already_met,
        front: front(&families),
        answer,
        policy,
        none,
        alone_broken: found.judged.get(&0).and_then(|judged| alone_broken(judged, about.budgets)),
        families,
    }
}

/// What breaks a budget where the target runs alone and without any measure: what shields it from neighbours cannot help there.
fn alone_broken(none: &Judged, budgets: &[Budget]) -> Option<String> {
    none.confirmed.iter().filter(|evidence| !evidence.alone.is_empty()).find_map(|evidence| {
        let alone = CandidateEvidence { beside: evidence.alone.clone(), ..CandidateEvidence::default() };
        let judged = (0..budgets.len()).map(|index| alone.judge(budgets, index, CONFIDENCE, &evidence.alone, 0.0));
        worst(judged).filter(|judgement| judgement.kind == JudgementKind::Broken).map(|judgement| judgement.text)
    })
}

/// What ran beside the target, a text for each setting.
fn settings(cases: &[Case]) -> Vec<String> {
    let unmitigated = cases.iter().filter(|case| case.purpose == Purpose::Case && case.mitigation == NONE);
    let unmitigated: Vec<&Case> = unmitigated.collect();
    let any = unmitigated.iter().any(|case| !case.solo());
    let text = |case: &&&Case| {
        let neighbours: Vec<String> = case
            .neighbours
            .iter()
            .map(|neighbour| format!("{} on core {}", neighbour.called(), neighbour.core))
            .collect();
        let beside = if neighbours.is_empty() { "alone".into() } else { neighbours.join(", ") };
        if case.point.is_empty() { beside } else { format!("{beside} [{}]", case.point) }
    };
    unmitigated.iter().filter(|case| case.solo() != any).map(|case| text(&case)).collect()
}

fn family(about: &Concluding<'_>, at: usize, found: &SearchFound, already_met: bool) -> FamilyRecord {
    let (family, rungs) = (&about.families[at], &about.rungs[at + 1]);
    let name = |rung: usize| family.rungs.get(rung).map(|rung| rung.name.clone());
    let refused = found.refused[at + 1].clone().or_else(|| about.refused[at].clone());
    let (outcome, answer) = match found.ends[at + 1] {
        _ if family.rungs.is_empty() => (FamilyOutcome::Refused, None),
        _ if already_met => (FamilyOutcome::NotTried, None),
        Some(LadderEnd::Holds { rung }) => (FamilyOutcome::Holds, name(rung)),
        Some(LadderEnd::TooThin { rung }) => (FamilyOutcome::TooThin, name(rung)),
        Some(LadderEnd::NoneHolds) => (FamilyOutcome::NoneHolds, None),
        Some(LadderEnd::Refused) => (FamilyOutcome::Refused, None),
        None => (FamilyOutcome::NotTried, None),
    };
    let candidates = family.rungs.iter().zip(&rungs.candidates);
    FamilyRecord {
        what: family.what.clone(),
        dimensions: family.dimensions.clone(),
        why: refused,
        outcome,
        answer,
        computed: rungs.hint.and_then(name),
        candidates: candidates
            .map(|(rung, number)| {
                candidate(&rung.name, &rung.called, rung.taken, found.judged.get(number), found, about.least_work)
            })
            .collect(),
    }
}

fn candidate(
    name: &str,
    called: &str,
    taken: f64,
    judged: Option<&Judged>,
    found: &SearchFound,
    least_work: f64,
) -> Candidate {
    // One rung above a confirmation that failed is confirmed without having been screened.
    let was_measured = |judged: &&Judged| judged.screened.iter().chain(&judged.confirmed).any(|it| it.placements() > 0);
    let judged = judged.filter(was_measured);
    Candidate {
        name: name.to_owned(),
        called: called.to_owned(),
        taken,
        judged: judged.map(|judged| judged.judgement.kind),
        judgement: judged.map(|judged| judged.judgement.text.clone()),
        seen: judged.map(|judged| seen(judged, found, least_work)),
    }
}

fn seen(judged: &Judged, found: &SearchFound, least_work: f64) -> SeenRecord {
    let has_fresh = judged.confirmed.iter().any(|evidence| evidence.placements() > 0);
    let of = |judged: &Judged| -> Vec<CandidateEvidence> {
        if has_fresh { judged.confirmed.clone() } else { judged.screened.clone() }
    };
    let evidence = of(judged);
    let none = found.judged.get(&0).map(of).unwrap_or_default();
    // Repeats of the same number have the same placement in every setting.
    let placements: u64 = evidence.iter().map(CandidateEvidence::placements).max().unwrap_or(0);
    let samples: u64 = evidence.iter().map(CandidateEvidence::samples).sum();
    let misses: Option<u64> = evidence.iter().flat_map(|it| &it.beside).map(|seen| seen.misses).sum::<Option<u64>>();
    let exposed: u64 = evidence.iter().map(|it| it.exposed_placements(least_work)).max().unwrap_or(0);
    let held = judged.judgement.kind != JudgementKind::Broken;
    SeenRecord {
        fresh: has_fresh,
        placements,
        placements_below: (held && exposed > 0).then(|| clopper_pearson(0, exposed, 2.0 * CONFIDENCE - 1.0).upper),
        not_counted: evidence
            .iter()
            .filter_map(|it| it.not_counted().map(|(count, why)| format!("{count} more do not count: {why}")))
            .collect(),
        samples,
        exposure_s: evidence.iter().map(CandidateEvidence::exposure_s).sum(),
        max_ns: evidence.iter().filter_map(CandidateEvidence::max_ns).reduce(f64::max),
        mean_ns: mean(&evidence, |it| it.beside.iter().filter_map(|seen| seen.mean_ns).collect()),
        misses_per_sample: misses.filter(|_| samples > 0).map(|misses| misses as f64 / samples as f64),
        slowdown: over_none(&evidence, &none, |a, b| ratios(&a.beside, &b.alone, |seen| seen.mean_ns)),
        cost_alone: over_none(&evidence, &none, |a, b| ratios(&a.alone, &b.alone, |seen| seen.mean_ns)),
        neighbours: over_none(&evidence, &none, |a, b| ratios(&a.beside, &b.beside, |seen| seen.neighbours_per_s)),
    }
}

/// Ratios of the same repeats.
fn ratios(
    over: &[super::RepeatSeen],
    under: &[super::RepeatSeen],
    of: impl Fn(&super::RepeatSeen) -> Option<f64>,
) -> Vec<f64> {
    over.iter().zip(under).filter_map(|(a, b)| Some(of(a)? / of(b)?)).filter(|ratio| ratio.is_finite()).collect()
}

fn mean(evidence: &[CandidateEvidence], of: impl Fn(&CandidateEvidence) -> Vec<f64>) -> Option<f64> {
    let values: Vec<f64> = evidence.iter().flat_map(of).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn over_none(
    evidence: &[CandidateEvidence],
    none: &[CandidateEvidence],
    of: impl Fn(&CandidateEvidence, &CandidateEvidence) -> Vec<f64>,
) -> Option<f64> {
    let values: Vec<f64> = evidence.iter().zip(none).flat_map(|(a, b)| of(a, b)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Confirmed candidates that no other one beats in both what it takes and its largest sample, the cheapest first.
fn front(families: &[FamilyRecord]) -> Vec<String> {
    let confirmed = families.iter().flat_map(|family| &family.candidates).filter_map(|candidate| {
        let seen = candidate.seen.as_ref().filter(|seen| seen.fresh)?;
        let held = candidate.judged == Some(JudgementKind::NotSeenBroken);
        held.then_some((candidate.taken, seen.max_ns?, candidate.name.clone()))
    });
    let mut confirmed: Vec<(f64, f64, String)> = confirmed.collect();
    confirmed.sort_by(|a, b| (a.0, a.1).partial_cmp(&(b.0, b.1)).unwrap_or(std::cmp::Ordering::Equal));
    let mut front: Vec<String> = Vec::new();
    let mut best = f64::INFINITY;
    for (_, max_ns, name) in confirmed {
        if max_ns < best {
            best = max_ns;
            front.push(name);
        }
    }
    front
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use waykeeper_statistics::Judgement;

    use super::super::RepeatSeen;
    use super::*;

    #[test]
    fn a_candidate_that_was_only_confirmed_was_tried() {
        let judgement = Judgement { kind: JudgementKind::Broken, text: "broken: 1 miss".into() };
        let repeat = RepeatSeen { samples: 10, misses: Some(1), ..RepeatSeen::default() };
        let fresh = CandidateEvidence { beside: vec![repeat], ..CandidateEvidence::default() };
        let judged = Judged {
            screened: vec![CandidateEvidence::default()],
            confirmed: vec![fresh],
            judgement: judgement.clone(),
        };
        let found = SearchFound { ends: Vec::new(), refused: Vec::new(), judged: BTreeMap::new(), cut_short: false };
        let told = candidate("l2-14", "14 of 16 ways of the L2", 0.875, Some(&judged), &found, 0.9);
        assert_eq!((told.judged, told.judgement), (Some(judgement.kind), Some(judgement.text)));
        let seen = told.seen.unwrap();
        assert_eq!((seen.fresh, seen.placements, seen.misses_per_sample), (true, 1, Some(0.1)));
        // One that broke bounds no share of placements.
        assert_eq!(seen.placements_below, None);
        assert_eq!(candidate("l2-13", "", 0.8, None, &found, 0.9).judged, None);
    }

    #[test]
    fn the_same_placements_in_another_setting_are_not_counted_again() {
        let repeat = || RepeatSeen { samples: 10, ..RepeatSeen::default() };
        let of = |repeats: usize| CandidateEvidence {
            beside: std::iter::repeat_with(repeat).take(repeats).collect(),
            ..CandidateEvidence::default()
        };
        let judgement = Judgement { kind: JudgementKind::NotSeenBroken, text: "not seen broken".into() };
        let judged = Judged { screened: Vec::new(), confirmed: vec![of(5), of(5)], judgement };
        let found = SearchFound { ends: Vec::new(), refused: Vec::new(), judged: BTreeMap::new(), cut_short: false };
        let seen = seen(&judged, &found, 0.9);
        assert_eq!((seen.placements, seen.samples), (5, 100));
        // 1 - 0.05^(1/5).
        assert!((seen.placements_below.unwrap() - 0.4507).abs() < 1e-4, "{:?}", seen.placements_below);
    }

    #[test]
    fn a_budget_that_the_target_breaks_alone_is_told_from_one_that_its_neighbours_break() {
        let of_mean = |mean_ns: f64| RepeatSeen {
            samples: 10_000,
            exposure_s: 1.0,
            min_ns: Some(mean_ns),
            max_ns: Some(mean_ns),
            mean_ns: Some(mean_ns),
            above: vec![0],
            ..RepeatSeen::default()
        };
        let alone_with = |mean_ns: f64| {
            let evidence = CandidateEvidence { beside: vec![of_mean(9000.0); 5], alone: vec![of_mean(mean_ns); 5] };
            let judgement = Judgement { kind: JudgementKind::Broken, text: "broken: beside the neighbours".into() };
            let none = Judged { screened: Vec::new(), confirmed: vec![evidence], judgement };
            alone_broken(&none, &["mean<=1us".parse().unwrap(), "slowdown<=1.05".parse().unwrap()])
        };
        assert!(alone_with(1740.0).unwrap().contains("mean 1.74 us"), "{:?}", alone_with(1740.0));
        assert_eq!(alone_with(900.0), None);
        let not_measured = Judged {
            screened: Vec::new(),
            confirmed: vec![CandidateEvidence::default()],
            judgement: Judgement { kind: JudgementKind::Broken, text: String::new() },
        };
        assert_eq!(alone_broken(&not_measured, &["mean<=1us".parse().unwrap()]), None);
    }
}
