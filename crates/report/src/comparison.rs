//! What stands side by side when two runs are compared.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use waykeeper_run::folder::{Definitions, Histograms};
use waykeeper_run::{
    CaseRecord, LEAST_NEIGHBOUR_WORK, LessWork, RepeatRecord, Run, WorkArm, WorkDoubt, stands_given_work,
};
use waykeeper_statistics::{
    Arms, EffectDirection, Repeat, VerdictKind, compare as compare_repeats, hidden_by_empty_repeats, what_was_lacking,
};
use waykeeper_workload::format_ns;

use crate::differences::{another_target, differences, same_neighbours};
use crate::length::Length;
use crate::pairs::{Pair, pairs};

/// One of the two runs.
#[derive(Debug, Clone)]
pub struct ComparedRun<'r> {
    /// What the user called it.
    pub name: String,
    /// The run.
    pub run: &'r Run,
    /// The workloads, and the mitigations, that its experiment defines itself; none where that is not known.
    pub definitions: Option<[Definitions; 2]>,
    /// The least share of its work that its experiment wants of a neighbour; none where that is not known.
    pub least_neighbour_work: Option<f64>,
    /// The samples of its repeats, by tag; empty where they are missing.
    pub samples: Cow<'r, Histograms>,
}

/// Two runs, case by case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunComparison {
    /// The first run.
    pub a: Compared,
    /// The second run.
    pub b: Compared,
    /// Other differences, a sentence or two each.
    pub differences: Vec<String>,
    /// The cases that both have, in the order of the first.
    pub cases: Vec<ComparedCase>,
    /// Names of the cases that only the first run has.
    pub only_in_a: Vec<String>,
    /// Names of the cases that only the second run has.
    pub only_in_b: Vec<String>,
}

/// Which run it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// What the user called it.
    pub name: String,
    /// Its experiment.
    pub experiment: String,
    /// Its platform.
    pub platform: String,
    /// What carried it out.
    pub executor: String,
    /// The length of its cases, as people write it.
    pub length: String,
    /// When it began.
    pub started: String,
}

/// A case of both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedCase {
    /// Its name in the first run.
    pub case: String,
    /// Its name in the second run.
    pub case_in_b: String,
    /// The second run beside the first, in words.
    pub b_beside_a: String,
    /// The same as one of four answers.
    pub outcome: BesideA,
    /// Figures that one of the two has, by their names in run.json.
    pub figures: BTreeMap<&'static str, Both>,
}

/// What can be said of a case of the second run beside that of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BesideA {
    /// Excursions are more frequent or the maxima higher, whatever the other of the two says.
    Worse,
    /// Excursions are rarer or the maxima lower, and neither is the other way round.
    Better,
    /// The repeats could have shown a difference, and showed none. Not a statement that there is none.
    NoDifferenceShown,
    /// The runs cannot answer.
    CannotTell,
}

/// A figure in both runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Both {
    /// In the first.
    pub a: Option<f64>,
    /// In the second.
    pub b: Option<f64>,
    /// The second over the first; none where one is missing or the first is 0.
    pub ratio: Option<f64>,
}

/// A figure of a case, by its name in run.json.
type Figure = (&'static str, fn(&CaseRecord) -> Option<f64>);

const FIGURES: [Figure; 12] = [
    ("min_ns", |case| case.min_ns),
    ("mean_ns", |case| case.mean_ns),
    ("p50_ns", |case| case.p50_ns),
    ("p99_ns", |case| case.p99_ns),
    ("p99_9_ns", |case| case.p99_9_ns),
    ("p99_99_ns", |case| case.p99_99_ns),
    ("max_ns", |case| case.max_ns),
    ("slowdown", |case| case.slowdown),
    ("cost", |case| case.cost),
    ("bandwidth_bytes_per_s", |case| case.bandwidth_bytes_per_s),
    ("total_bandwidth_bytes_per_s", |case| case.total_bandwidth_bytes_per_s),
    ("misses_per_sample", |case| case.misses_per_sample),
];

impl RunComparison {
    /// Compares two runs.
    pub fn new(sides: [&ComparedRun<'_>; 2]) -> Self {
        let [a, b] = sides.map(|side| side.run);
        let pairs = pairs(&a.cases, &b.cases);
        let left = |run: &Run, is_paired: &dyn Fn(&str) -> bool| -> Vec<String> {
            run.cases.iter().map(|case| case.name.clone()).filter(|name| !is_paired(name)).collect()
        };
        Self {
            a: compared(sides[0]),
            b: compared(sides[1]),
            differences: differences(sides, &pairs),
            cases: pairs.iter().map(|pair| compared_case(sides, *pair)).collect(),
            only_in_a: left(a, &|name| pairs.iter().any(|(a, _)| a.name == name)),
            only_in_b: left(b, &|name| pairs.iter().any(|(_, b)| b.name == name)),
        }
    }
}

fn compared(ComparedRun { name, run, .. }: &ComparedRun<'_>) -> Compared {
    Compared {
        name: name.clone(),
        experiment: run.experiment.clone(),
        platform: run.platform.clone(),
        executor: run.executor.to_string(),
        length: Length::of(run).to_string(),
        started: run.started.clone(),
    }
}

fn compared_case(sides: [&ComparedRun<'_>; 2], (a, b): Pair<'_>) -> ComparedCase {
    let both = |of: fn(&CaseRecord) -> Option<f64>| {
        let (a, b) = (of(a), of(b));
        let ratio = a.zip(b).filter(|(a, _)| *a != 0.0).map(|(a, b)| b / a);
        (a.is_some() || b.is_some()).then_some(Both { a, b, ratio })
    };
    let (outcome, b_beside_a) = given_the_work(judge(sides, (a, b)), sides, (a, b));
    ComparedCase {
        case: a.name.clone(),
        case_in_b: b.name.clone(),
        b_beside_a,
        outcome,
        figures: FIGURES.into_iter().filter_map(|(name, of)| Some((name, both(of)?))).collect(),
    }
}

fn judge(sides: [&ComparedRun<'_>; 2], (a_case, b_case): Pair<'_>) -> (BesideA, String) {
    if another_target(a_case, b_case) {
        return (BesideA::CannotTell, "another target".into());
    }
    let threshold = Threshold::of(sides, (a_case, b_case));
    let repeats = |side: &ComparedRun<'_>, case: &CaseRecord| -> Vec<Repeat> {
        let repeats = case.repeats.iter().map(|repeat| Repeat {
            samples: repeat.samples,
            exposure_s: repeat.run_length_s,
            off_core_s: repeat.off_core_s(),
            clusters: threshold.excursions(side, repeat),
            max_ns: repeat.max_ns.unwrap_or_default(),
            resolution_ns: side.run.clock.tick_ns,
            cut_short: repeat.cut_short || repeat.not_counted.is_some(),
        });
        repeats.collect()
    };
    let (unmitigated, mitigated) = (repeats(sides[0], a_case), repeats(sides[1], b_case));
    let threshold_ns = a_case.excursion_above_ns.unwrap_or_default();
    let Ok(compared) = compare_repeats(&Arms { unmitigated: &unmitigated, mitigated: &mitigated, threshold_ns }) else {
        return (BesideA::CannotTell, "nothing to compare".into());
    };
    let rates = if threshold.is_common() { compared.rates.answer } else { EffectDirection::NotShown };
    let said = [word(&threshold.excursions_of_both(), rates), word("maxima", compared.maxima.answer)];
    let said: Vec<_> = said.into_iter().flatten().collect();
    let is_worse = [rates, compared.maxima.answer].contains(&EffectDirection::Worse);
    let kind = match (said.is_empty(), is_worse) {
        (true, _) => VerdictKind::NoDifferenceShown,
        (false, true) => VerdictKind::Worse,
        (false, false) => VerdictKind::Better,
    };
    if hidden_by_empty_repeats(&compared, kind).is_some() {
        return (BesideA::CannotTell, "cannot tell: no sample ended in some repeats".into());
    }
    if let (Threshold::Different(why), false) = (&threshold, kind == VerdictKind::Worse) {
        let said = if said.is_empty() { String::new() } else { format!("; {}", said.join(", ")) };
        return (BesideA::CannotTell, format!("cannot tell: {why}{said}"));
    }
    match (kind, what_was_lacking(&compared)) {
        (VerdictKind::Better, _) => (BesideA::Better, said.join(", ")),
        (VerdictKind::Worse, _) => (BesideA::Worse, said.join(", ")),
        (_, Some(lacking)) => (BesideA::CannotTell, format!("cannot tell: {}", lacking.in_short())),
        (_, None) => (BesideA::NoDifferenceShown, "no difference shown".into()),
    }
}

/// An answer that stands only where the neighbours did their work in both runs: less of it in one makes that one look good. Where
/// they are other neighbours, how much each works says nothing of the other.
fn given_the_work(
    (outcome, said): (BesideA, String),
    sides: [&ComparedRun<'_>; 2],
    (a, b): Pair<'_>,
) -> (BesideA, String) {
    let answer = match outcome {
        BesideA::CannotTell => return (outcome, said),
        BesideA::Worse => VerdictKind::Worse,
        BesideA::Better => VerdictKind::Better,
        BesideA::NoDifferenceShown => VerdictKind::NoDifferenceShown,
    };
    let Some(neighbours) = same_neighbours(a, b) else { return (outcome, said) };
    let (cores, names): (Vec<_>, Vec<_>) = neighbours.into_iter().unzip();
    let [first, second] = [a, b].map(|case| WorkArm::of_record(case, &cores));
    let shares = sides.into_iter().filter_map(|side| side.least_neighbour_work);
    let least_share = shares.reduce(f64::max).unwrap_or(LEAST_NEIGHBOUR_WORK);
    let why = match stands_given_work(answer, &names, &first, &second, least_share) {
        Ok(false) => return (outcome, said),
        Ok(true) => return (outcome, format!("{said}; neighbours' work by processor time only")),
        Err(WorkDoubt::NotSeen(name)) => format!("it was not seen how much {name} worked"),
        Err(WorkDoubt::Less(less)) => worked_less(&less),
    };
    let shown = if answer == VerdictKind::NoDifferenceShown { String::new() } else { format!("; {said}") };
    (BesideA::CannotTell, format!("cannot tell: {why}{shown}"))
}

/// Short enough for a table.
fn worked_less(less: &LessWork) -> String {
    let [here, there] = if less.in_second { ["B", "A"] } else { ["A", "B"] };
    format!("{} worked less in {here}: {}, {} of {there}", less.neighbour, less.here(), less.there())
}

/// What the excursions of both runs are.
enum Threshold {
    /// Events above the threshold that both have, or in neither run.
    Common,
    /// Samples above the higher of two thresholds, in nanoseconds.
    Higher(f64),
    /// They cannot be compared, for this reason.
    Different(String),
}

impl Threshold {
    fn of(sides: [&ComparedRun<'_>; 2], (a, b): Pair<'_>) -> Self {
        let has_samples = |side: &ComparedRun<'_>, case: &CaseRecord| {
            case.repeats.iter().all(|it| side.samples.contains_key(&it.histogram))
        };
        match (a.excursion_above_ns, b.excursion_above_ns) {
            (None, None) => Self::Common,
            // As a pilot finds it twice: a tick apart.
            (Some(a_ns), Some(b_ns)) if (a_ns - b_ns).abs() <= 0.05 * a_ns => Self::Common,
            (Some(a_ns), Some(b_ns)) if has_samples(sides[0], a) && has_samples(sides[1], b) => {
                Self::Higher(a_ns.max(b_ns))
            }
            (a_ns, b_ns) => {
                let above = |ns: Option<f64>| ns.map_or("not counted".into(), |ns| format!("above {}", format_ns(ns)));
                Self::Different(format!("excursions are {} in A and {} in B", above(a_ns), above(b_ns)))
            }
        }
    }

    fn is_common(&self) -> bool {
        !matches!(self, Self::Different(_))
    }

    /// How often a repeat was above it.
    fn excursions(&self, side: &ComparedRun<'_>, repeat: &RepeatRecord) -> u64 {
        let (Self::Higher(ns), Some(samples)) = (self, side.samples.get(&repeat.histogram)) else {
            return repeat.excursion_events;
        };
        let limit = ns / side.run.clock.tick_ns;
        let above = samples.iter_recorded().filter(|step| step.value_iterated_to() as f64 > limit);
        above.map(|step| step.count_at_value()).sum::<u64>() + repeat.overflow
    }

    fn excursions_of_both(&self) -> String {
        match self {
            Self::Higher(ns) => format!("samples above {}", format_ns(*ns)),
            Self::Common | Self::Different(_) => "excursions".into(),
        }
    }
}

fn word(what: &str, answer: EffectDirection) -> Option<String> {
    match answer {
        EffectDirection::Better => Some(format!("{what} lower")),
        EffectDirection::Worse => Some(format!("{what} higher")),
        EffectDirection::NotShown => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use hdrhistogram::Histogram;
    use waykeeper_run::{NeighbourWork, folder};

    use super::*;

    const TICK_NS: f64 = 2.5;

    /// A run of one case with six repeats, each with so many samples of 120 ns and of 200 ns, and events above a threshold.
    fn run(above_ns: f64, of_120_ns: u64, of_200_ns: u64, events: u64) -> (Run, Histograms) {
        let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/released/0.1.0/simulated");
        let mut run = folder::read(Path::new(kept)).unwrap();
        run.cases.retain(|case| case.name == "none");
        run.clock.tick_ns = TICK_NS;
        let case = &mut run.cases[0];
        case.excursion_above_ns = Some(above_ns);
        let repeat = |at: u32| RepeatRecord {
            repeat: at,
            excursion_events: events,
            max_ns: Some(200.0),
            histogram: format!("r{at}"),
            neighbours: [2, 3].map(|core| accesses(core, 5.0e6)).into(),
            ..case.repeats[0].clone()
        };
        case.repeats = (1..=6).map(repeat).collect();
        let mut samples = Histogram::new_with_bounds(1, 1 << 20, 2).unwrap();
        samples.record_n((120.0 / TICK_NS) as u64, of_120_ns).unwrap();
        samples.record_n((200.0 / TICK_NS) as u64, of_200_ns).unwrap();
        let samples = (1..=6).map(|at| (format!("r{at}"), samples.clone())).collect();
        (run, samples)
    }

    fn accesses(core: u32, rate: f64) -> NeighbourWork {
        NeighbourWork { core, accesses_per_s: Some(rate), cpu_s_per_s: None }
    }

    /// A run as good as another, but for so many times the work of the neighbour on core 3 in one repeat.
    fn working(mut run: (Run, Histograms), times: f64) -> (Run, Histograms) {
        run.0.cases[0].repeats[3].neighbours[1] = accesses(3, times * 5.0e6);
        run
    }

    fn side((run, samples): &(Run, Histograms), has_samples: bool) -> ComparedRun<'_> {
        let samples = if has_samples { samples.clone() } else { Histograms::new() };
        let (definitions, least_neighbour_work) = (None, None);
        ComparedRun { name: "x".into(), run, definitions, least_neighbour_work, samples: Cow::Owned(samples) }
    }

    fn compare([a, b]: [&(Run, Histograms); 2], has_samples: bool) -> (BesideA, String) {
        let case = RunComparison::new([&side(a, has_samples), &side(b, has_samples)]).cases.remove(0);
        (case.outcome, case.b_beside_a)
    }

    #[test]
    fn runs_with_two_thresholds_are_compared_above_the_higher_one() {
        // A counted everything above 100 ns, B what was above 150 ns: its fewer events are more of the long ones.
        let (a, b) = (run(100.0, 90, 2, 92), run(150.0, 90, 40, 40));
        let (outcome, text) = compare([&a, &b], true);
        assert_eq!((outcome, &*text), (BesideA::Worse, "samples above 150 ns higher"));
        let (outcome, text) = compare([&b, &a], true);
        assert_eq!((outcome, &*text), (BesideA::Better, "samples above 150 ns lower"));
        // Without the samples nobody knows how many of A's were above 150 ns.
        let (outcome, text) = compare([&a, &b], false);
        assert_eq!(outcome, BesideA::CannotTell);
        assert_eq!(text, "cannot tell: excursions are above 100 ns in A and above 150 ns in B");
        // A tick apart, the events themselves are compared.
        let (outcome, text) = compare([&run(100.0, 0, 40, 4), &run(102.5, 0, 40, 40)], false);
        assert_eq!((outcome, &*text), (BesideA::Worse, "excursions higher"));
    }

    #[test]
    fn a_run_whose_neighbour_stood_still_is_not_better() {
        let (low, high) = (run(100.0, 90, 2, 4), run(100.0, 90, 40, 40));
        let figures = "0 accesses a second in repeat 4, 5.00e6 accesses a second in the same repeat of";
        let (outcome, text) = compare([&high, &working(low.clone(), 0.0)], true);
        let expected = format!("cannot tell: way_hammer on core 3 worked less in B: {figures} A; excursions lower");
        assert_eq!((outcome, text), (BesideA::CannotTell, expected));
        // Nor is the other one worse for it.
        let (outcome, text) = compare([&working(low.clone(), 0.0), &high], true);
        let expected = format!("cannot tell: way_hammer on core 3 worked less in A: {figures} B; excursions higher");
        assert_eq!((outcome, text), (BesideA::CannotTell, expected));
        // What less work would have hidden stands.
        assert_eq!(compare([&working(high.clone(), 0.0), &low], true).0, BesideA::Better);
        assert_eq!(compare([&low, &working(high.clone(), 0.0)], true).0, BesideA::Worse);
        // No difference may be one that the missing work hides.
        for pair in [[&low, &working(low.clone(), 0.5)], [&working(low.clone(), 0.5), &low]] {
            assert_eq!(compare(pair, true).0, BesideA::CannotTell);
        }
        assert_eq!(compare([&low, &working(low.clone(), 0.95)], true).0, BesideA::NoDifferenceShown);
    }

    #[test]
    fn the_larger_share_of_two_experiments_holds() {
        let (a, b) = (run(100.0, 90, 40, 40), working(run(100.0, 90, 2, 4), 0.6));
        let judged = |shares: [Option<f64>; 2]| {
            let side = |run, least| ComparedRun { least_neighbour_work: least, ..side(run, true) };
            RunComparison::new([&side(&a, shares[0]), &side(&b, shares[1])]).cases[0].outcome
        };
        assert_eq!(judged([Some(0.5), Some(0.5)]), BesideA::Better);
        assert_eq!(judged([Some(0.5), Some(0.7)]), BesideA::CannotTell);
        assert_eq!(judged([Some(0.5), None]), BesideA::Better);
        assert_eq!(judged([None, None]), BesideA::CannotTell);
    }

    #[test]
    fn other_neighbours_and_unseen_work_are_told_apart() {
        let (a, mut b) = (run(100.0, 90, 40, 40), working(run(100.0, 90, 2, 4), 0.0));
        b.0.cases[0].neighbours[0].workload = "stream_read".into();
        // Another neighbour by design: how much it works says nothing of this one.
        assert_eq!(compare([&a, &b], true), (BesideA::Better, "excursions lower".into()));
        let mut unseen = run(100.0, 90, 2, 4);
        unseen.0.cases[0].repeats[0].neighbours.clear();
        let (outcome, text) = compare([&a, &unseen], true);
        let expected = "cannot tell: it was not seen how much way_hammer on core 2 worked; excursions lower";
        assert_eq!((outcome, &*text), (BesideA::CannotTell, expected));
        let by_time = |mut run: (Run, Histograms)| {
            for repeat in &mut run.0.cases[0].repeats {
                for work in &mut repeat.neighbours {
                    (work.accesses_per_s, work.cpu_s_per_s) = (None, Some(0.99));
                }
            }
            run
        };
        let (outcome, text) = compare([&by_time(a), &by_time(run(100.0, 90, 2, 4))], true);
        assert_eq!((outcome, &*text), (BesideA::Better, "excursions lower; neighbours' work by processor time only"));
    }
}
