//! Whether the neighbours did their work: a mitigation looks good beside a neighbour that stood still, and so does a run.

use std::fmt;

use waykeeper_experiment::cases::Placed;
use waykeeper_platform::CoreId;
use waykeeper_statistics::{Verdict, VerdictKind, digits};

use crate::measurement::{Measured, NeighbourProgress};
use crate::record::{CaseRecord, NeighbourWork};

/// The share of its work that a neighbour must do, where no experiment says otherwise.
pub const LEAST_NEIGHBOUR_WORK: f64 = 0.9;

/// By what the work of a neighbour is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Accesses a second.
    Accesses,
    /// Processor time of all its processes for each second.
    ProcessorTime,
}

impl Measure {
    /// Both, the more telling one first.
    pub const ALL: [Self; 2] = [Self::Accesses, Self::ProcessorTime];

    /// The first of them by which some work is known, and how much.
    pub fn seen(work: &NeighbourWork) -> Option<(Self, f64)> {
        Self::ALL.into_iter().find_map(|measure| Some((measure, measure.of(work)?)))
    }

    pub fn of(self, work: &NeighbourWork) -> Option<f64> {
        match self {
            Self::Accesses => work.accesses_per_s,
            Self::ProcessorTime => work.cpu_s_per_s,
        }
    }

    pub fn figure(self, value: f64) -> String {
        match self {
            Self::Accesses => format!("{} accesses a second", digits(value, 3)),
            Self::ProcessorTime => format!("{value:.3} s of processor time a second"),
        }
    }
}

/// Why an answer about two arms does not stand: what is known of the neighbours' work in them.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkDoubt {
    /// It was not seen how much this neighbour worked.
    NotSeen(String),
    /// A neighbour did less of its work in one arm.
    Less(LessWork),
}

/// A neighbour that did less of its work in one arm.
#[derive(Debug, Clone, PartialEq)]
pub struct LessWork {
    /// The neighbour, with its core.
    pub neighbour: String,
    /// Whether it worked less in the second arm.
    pub in_second: bool,
    /// The least share of the work that is enough.
    pub least_share: f64,
    measure: Measure,
    repeat: u32,
    rate: f64,
    there: Partner,
}

impl LessWork {
    /// What it did in the arm where it worked less: `0 accesses a second in repeat 2`.
    pub fn here(&self) -> String {
        format!("{} in repeat {}", self.measure.figure(self.rate), self.repeat)
    }

    /// What it did in the other arm: `5.10e6 accesses a second in the same repeat`.
    pub fn there(&self) -> String {
        let repeat = match self.there {
            Partner::Same(_) => "the same repeat",
            Partner::Median(_) => "the median repeat",
        };
        format!("{} in {repeat}", self.measure.figure(self.there.rate()))
    }
}

/// What a repeat is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Partner {
    /// The same repeat of the other arm: it has the same seed, and in one run it ran next to it.
    Same(f64),
    /// The median of the other arm, where that repeat does not count.
    Median(f64),
}

impl Partner {
    fn of(others: &[Rate], repeat: u32) -> Self {
        let same = others.iter().find(|other| other.repeat == repeat);
        same.map_or_else(|| Self::Median(median(others)), |other| Self::Same(other.rate))
    }

    fn rate(self) -> f64 {
        match self {
            Self::Same(rate) | Self::Median(rate) => rate,
        }
    }
}

impl fmt::Display for LessWork {
    /// As a verdict says it, of the arms without and with a mitigation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (here, there) = if self.in_second { ("with", "without") } else { ("without", "with") };
        write!(
            f,
            "the neighbour worked less {here} it than {there} it: {} did {} {here} it, and {} {there} it; less than {:.0} % \
             of the work is too little (`least_neighbour_work`). A mitigation that slows its neighbours down by itself does \
             this too",
            self.neighbour,
            self.here(),
            self.there(),
            self.least_share * 100.0
        )?;
        match self.measure {
            Measure::Accesses => Ok(()),
            Measure::ProcessorTime => write!(f, "; {CPU_TIME}"),
        }
    }
}

const CPU_TIME: &str =
    "the work of an external program is known by its processor time only, which is not memory pressure";

/// What the neighbours did in the complete repeats of a case.
#[derive(Debug)]
pub struct WorkArm {
    repeats: Vec<RepeatWork>,
}

/// What each neighbour did in a repeat.
#[derive(Debug)]
struct RepeatWork {
    number: u32,
    seed: u64,
    neighbours: Vec<NeighbourWork>,
}

/// A neighbour's rate in a repeat.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rate {
    repeat: u32,
    rate: f64,
}

impl WorkArm {
    pub(crate) fn of(measured: &Measured) -> Self {
        let numbered =
            measured.repeats.iter().zip(1..).filter(|(repeat, _)| !repeat.cut_short && repeat.not_counted.is_none());
        let repeats = numbered.map(|(repeat, number)| RepeatWork {
            number,
            seed: repeat.seed,
            neighbours: repeat.neighbours.iter().map(NeighbourWork::of).collect(),
        });
        Self { repeats: repeats.collect() }
    }

    /// From the record of a case: the neighbours on these cores, in this order.
    pub fn of_record(case: &CaseRecord, cores: &[CoreId]) -> Self {
        let complete = case.repeats.iter().filter(|repeat| !repeat.cut_short && repeat.not_counted.is_none());
        let repeats = complete.map(|repeat| {
            let of = |core: &CoreId| {
                let seen = repeat.neighbours.iter().find(|work| work.core == *core);
                seen.cloned().unwrap_or_else(|| NeighbourWork::not_seen(*core))
            };
            RepeatWork { number: repeat.repeat, seed: repeat.seed, neighbours: cores.iter().map(of).collect() }
        });
        Self { repeats: repeats.collect() }
    }

    /// The rate in each repeat; `None` where one of them is not known.
    fn rates(&self, neighbour: usize, measure: Measure) -> Option<Vec<Rate>> {
        let rate = |it: &RepeatWork| Some(Rate { repeat: it.number, rate: measure.of(it.neighbours.get(neighbour)?)? });
        self.repeats.iter().map(rate).collect()
    }

    /// Whether repeats of one number have one seed, and with it one placement of memory in the simulator.
    fn corresponds_to(&self, other: &Self) -> bool {
        let differs = |one: &RepeatWork| other.repeats.iter().any(|it| it.number == one.number && it.seed != one.seed);
        !self.repeats.iter().any(differs)
    }
}

impl NeighbourWork {
    pub(crate) fn of(progress: &NeighbourProgress) -> Self {
        let NeighbourProgress { core, accesses_per_s, cpu_s_per_s, .. } = *progress;
        Self { core, accesses_per_s, cpu_s_per_s }
    }

    pub(crate) fn not_seen(core: CoreId) -> Self {
        Self { core, accesses_per_s: None, cpu_s_per_s: None }
    }
}

/// Whether an answer that compares two arms stands: only if all neighbours did at least `least_share` of the work per time of the
/// same repeat of the other arm, in each repeat. With less work in an arm, that arm is better than it would have been: only the
/// opposite answer still stands. `Better` and `Worse` are about the second arm. Returns whether some work is known by processor
/// time only.
///
/// # Errors
/// Why it does not stand.
pub fn stands_given_work(
    answer: VerdictKind,
    neighbours: &[String],
    first: &WorkArm,
    second: &WorkArm,
    least_share: f64,
) -> Result<bool, WorkDoubt> {
    let corresponds = first.corresponds_to(second);
    let mut by_cpu_time = false;
    for (index, name) in neighbours.iter().enumerate() {
        let both = |measure| Some((first.rates(index, measure)?, second.rates(index, measure)?, measure));
        let Some((rates_first, rates_second, measure)) = Measure::ALL.into_iter().find_map(both) else {
            return Err(WorkDoubt::NotSeen(name.clone()));
        };
        by_cpu_time |= measure == Measure::ProcessorTime;
        for (in_second, rates, others, still_stands) in [
            (true, &rates_second, &rates_first, VerdictKind::Worse),
            (false, &rates_first, &rates_second, VerdictKind::Better),
        ] {
            let least = least(&pairs(rates, others, corresponds), least_share);
            if let Some((Rate { repeat, rate }, there)) = least.filter(|_| answer != still_stands) {
                let neighbour = name.clone();
                return Err(WorkDoubt::Less(LessWork {
                    neighbour,
                    in_second,
                    least_share,
                    measure,
                    repeat,
                    rate,
                    there,
                }));
            }
        }
    }
    Ok(by_cpu_time)
}

/// What each rate is to be compared with. Where seeds differ, memory lies elsewhere in each repeat: then one median is compared
/// with the other, and beside it the repeats without any work.
fn pairs(rates: &[Rate], others: &[Rate], corresponds: bool) -> Vec<(Rate, Partner)> {
    if corresponds {
        return rates.iter().map(|rate| (*rate, Partner::of(others, rate.repeat))).collect();
    }
    let there = Partner::Median(median(others));
    let without_work = rates.iter().copied().filter(|it| it.rate == 0.0);
    median_of(rates).into_iter().chain(without_work).map(|rate| (rate, there)).collect()
}

/// Of those below the share, the one that is furthest below.
fn least(pairs: &[(Rate, Partner)], least_share: f64) -> Option<(Rate, Partner)> {
    let share = |pair: &(Rate, Partner)| pair.0.rate / pair.1.rate();
    let short = pairs.iter().copied().filter(|(it, there)| it.rate < least_share * there.rate());
    short.min_by(|a, b| share(a).total_cmp(&share(b)))
}

/// A verdict that holds only where the neighbours did their work, as [`stands_given_work`] says it.
pub(crate) fn given_the_work(
    verdict: Verdict,
    neighbours: &[Placed],
    without: &WorkArm,
    with: &WorkArm,
    least_share: f64,
) -> Verdict {
    if verdict.kind == VerdictKind::CannotTell {
        return verdict;
    }
    match stands_given_work(verdict.kind, &names(neighbours), without, with, least_share) {
        Ok(false) => verdict,
        Ok(true) => Verdict { text: format!("{}; {CPU_TIME}", verdict.text), ..verdict },
        Err(WorkDoubt::NotSeen(name)) => cannot_tell(&format!("it was not seen how much {name} worked")),
        Err(WorkDoubt::Less(less)) => cannot_tell(&less.to_string()),
    }
}

/// How the neighbours of a case are called: `hammer on core 2`.
pub(crate) fn names(neighbours: &[Placed]) -> Vec<String> {
    neighbours.iter().map(|neighbour| format!("{} on core {}", neighbour.workload, neighbour.core)).collect()
}

fn cannot_tell(why: &str) -> Verdict {
    Verdict { kind: VerdictKind::CannotTell, text: format!("cannot tell, because {why}") }
}

fn median(rates: &[Rate]) -> f64 {
    median_rate(rates.iter().map(|it| it.rate))
}

/// The upper one of two in the middle; 0 of none.
pub(crate) fn median_rate(rates: impl Iterator<Item = f64>) -> f64 {
    let mut rates: Vec<f64> = rates.collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(0.0)
}

fn median_of(rates: &[Rate]) -> Option<Rate> {
    let mut rates = rates.to_vec();
    rates.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    rates.get(rates.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use waykeeper_workload::{Pattern, TickBody};

    use super::*;

    const NINE_TENTHS: f64 = 0.9;

    fn placed() -> Vec<Placed> {
        let pattern = Pattern::Tick { body: TickBody::Nothing };
        vec![Placed {
            workload: "hammer".into(),
            with: Default::default(),
            core: 2,
            pattern,
            buffer: Default::default(),
        }]
    }

    fn by_accesses(rates: &[f64]) -> Vec<NeighbourProgress> {
        let progress = |rate: &f64| NeighbourProgress {
            core: 2,
            accesses_per_s: Some(*rate),
            per_second: None,
            cpu_s_per_s: None,
        };
        rates.iter().map(progress).collect()
    }

    fn by_time(shares: &[Option<f64>]) -> Vec<NeighbourProgress> {
        let progress = |share: &Option<f64>| NeighbourProgress {
            core: 2,
            accesses_per_s: None,
            per_second: None,
            cpu_s_per_s: *share,
        };
        shares.iter().map(progress).collect()
    }

    /// One neighbour; an entry for each repeat.
    fn arm(progress: &[NeighbourProgress]) -> WorkArm {
        seeded(progress, 0)
    }

    fn seeded(progress: &[NeighbourProgress], seed: u64) -> WorkArm {
        let of = |(number, progress): (u32, &NeighbourProgress)| RepeatWork {
            number,
            seed: seed + u64::from(number),
            neighbours: vec![NeighbourWork::of(progress)],
        };
        WorkArm { repeats: (1..).zip(progress).map(of).collect() }
    }

    fn given(kind: VerdictKind, without: &[NeighbourProgress], with: &[NeighbourProgress]) -> Verdict {
        let verdict = Verdict { kind, text: format!("{kind}: the figures") };
        given_the_work(verdict, &placed(), &arm(without), &arm(with), NINE_TENTHS)
    }

    #[test]
    fn a_neighbour_that_was_stopped_in_one_repeat_with_the_mitigation_leaves_no_verdict() {
        let without = by_accesses(&[5.0e6, 5.1e6, 4.9e6]);
        for stopped in [0.0, 2.5e6, 4.49e6] {
            let verdict = given(VerdictKind::Better, &without, &by_accesses(&[5.0e6, stopped, 5.0e6]));
            assert_eq!(verdict.kind, VerdictKind::CannotTell);
            let why = "cannot tell, because the neighbour worked less with it than without it: hammer on core 2 did ";
            assert!(verdict.text.starts_with(why) && verdict.text.contains(" in repeat 2 with it"), "{}", verdict.text);
            assert!(verdict.text.contains("5.10e6 accesses a second in the same repeat"), "{}", verdict.text);
        }
        let verdict = given(VerdictKind::Better, &without, &by_accesses(&[4.6e6; 3]));
        assert_eq!(verdict.text, "better: the figures");
    }

    #[test]
    fn repeats_that_differ_in_both_arms_are_no_difference_between_them() {
        // Another placement of memory: the neighbour is slower in the second repeat, whatever the arm.
        let rates = [5.0e6, 2.0e6, 4.9e6, 3.0e6, 5.1e6];
        let (same, slower) = (by_accesses(&rates), by_accesses(&rates.map(|rate| 0.8 * rate)));
        assert_eq!(given(VerdictKind::NoDifferenceShown, &same, &same).kind, VerdictKind::NoDifferenceShown);
        assert_eq!(given(VerdictKind::Better, &same, &slower).kind, VerdictKind::CannotTell);
    }

    #[test]
    fn a_repeat_whose_partner_does_not_count_is_compared_with_the_median() {
        let (without, with) = (by_accesses(&[5.0e6, 5.0e6]), by_accesses(&[5.0e6, 5.0e6, 1.0e6]));
        let verdict = given(VerdictKind::Better, &without, &with);
        assert!(
            verdict.text.contains("in repeat 3 with it, and 5.00e6 accesses a second in the median repeat"),
            "{}",
            verdict.text
        );
    }

    #[test]
    fn less_work_in_an_arm_leaves_only_the_opposite_verdict() {
        let (full, half) = (by_accesses(&[1e6; 3]), by_accesses(&[0.5e6; 3]));
        use VerdictKind::{Better, CannotTell, NoDifferenceShown, Worse};
        for (kind, less_with, less_without) in [
            (Better, CannotTell, Better),
            (Worse, Worse, CannotTell),
            (NoDifferenceShown, CannotTell, CannotTell),
            (CannotTell, CannotTell, CannotTell),
        ] {
            assert_eq!(given(kind, &full, &half).kind, less_with, "{kind}");
            assert_eq!(given(kind, &half, &full).kind, less_without, "{kind}");
        }
    }

    #[test]
    fn processor_time_is_not_memory_pressure() {
        let full = by_time(&[Some(1.0), Some(0.99)]);
        let same = given(VerdictKind::Better, &full, &by_time(&[Some(0.98), Some(1.0)]));
        assert_eq!(same.kind, VerdictKind::Better);
        assert!(same.text.ends_with("which is not memory pressure"), "{}", same.text);
        let stopped = given(VerdictKind::Better, &full, &by_time(&[Some(1.0), Some(0.5)]));
        assert_eq!(stopped.kind, VerdictKind::CannotTell);
        assert!(
            stopped.text.contains("did 0.500 s of processor time a second in repeat 2 with it"),
            "{}",
            stopped.text
        );
    }

    #[test]
    fn work_that_was_not_seen_is_not_taken_for_work() {
        let verdict = given(VerdictKind::Better, &by_time(&[Some(1.0)]), &by_time(&[None]));
        assert_eq!(verdict.text, "cannot tell, because it was not seen how much hammer on core 2 worked");
    }

    #[test]
    fn repeats_of_other_seeds_are_compared_as_a_whole() {
        let of = |first: &[f64], second: &[f64]| {
            let (first, second) = (seeded(&by_accesses(first), 10), seeded(&by_accesses(second), 20));
            let names = ["hammer on core 2".to_owned()];
            stands_given_work(VerdictKind::NoDifferenceShown, &names, &first, &second, NINE_TENTHS)
        };
        // The placement that slows it down came in another repeat.
        assert_eq!(of(&[5.0e6, 2.0e6, 4.9e6], &[3.0e6, 5.1e6, 5.0e6]), Ok(false));
        let Err(WorkDoubt::Less(less)) = of(&[5.0e6, 2.0e6, 4.9e6], &[5.0e6, 5.1e6, 0.0]) else { panic!() };
        let said = (less.in_second, less.here(), less.there());
        let expected = ("0 accesses a second in repeat 3", "4.90e6 accesses a second in the median repeat");
        assert_eq!(said, (true, expected.0.to_owned(), expected.1.to_owned()));
        let Err(WorkDoubt::Less(less)) = of(&[4.0e6, 2.0e6, 3.9e6], &[5.0e6, 5.1e6, 5.2e6]) else { panic!() };
        assert_eq!((less.in_second, less.here()), (false, "3.90e6 accesses a second in repeat 3".to_owned()));
    }
}
