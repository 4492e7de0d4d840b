//! Whether the neighbours did their work: a mitigation looks good beside a neighbour that stood still.

use std::fmt;

use waykeeper_experiment::cases::Placed;
use waykeeper_statistics::{Verdict, VerdictKind, digits};

use crate::measurement::{Measured, NeighbourProgress};

/// By what the work of a neighbour is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// Accesses a second.
    Accesses,
    /// Processor time of all its processes for each second.
    ProcessorTime,
}

impl Measure {
    fn of(self, progress: &NeighbourProgress) -> Option<f64> {
        match self {
            Self::Accesses => progress.accesses_per_s,
            Self::ProcessorTime => progress.cpu_s_per_s,
        }
    }

    fn figure(self, value: f64) -> String {
        match self {
            Self::Accesses => format!("{} accesses a second", digits(value, 3)),
            Self::ProcessorTime => format!("{value:.3} s of processor time a second"),
        }
    }
}

/// A neighbour that did less of its work in one arm.
#[derive(Debug, Clone, PartialEq)]
struct Less {
    neighbour: String,
    measure: Measure,
    with_mitigation: bool,
    repeat: usize,
    rate: f64,
    there: Partner,
    least_share: f64,
}

/// What a repeat is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Partner {
    /// The same repeat of the other arm: it has the same seed, and ran next to it.
    Same(f64),
    /// The median of the other arm, where that repeat does not count.
    Median(f64),
}

impl Partner {
    fn of(others: &[(usize, f64)], repeat: usize) -> Self {
        let same = others.iter().find(|(number, _)| *number == repeat);
        same.map_or_else(|| Self::Median(median(others)), |(_, rate)| Self::Same(*rate))
    }

    fn rate(self) -> f64 {
        match self {
            Self::Same(rate) | Self::Median(rate) => rate,
        }
    }
}

impl fmt::Display for Less {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (here, there) = if self.with_mitigation { ("with", "without") } else { ("without", "with") };
        let Self { neighbour, measure, repeat, .. } = self;
        let compared = match self.there {
            Partner::Same(_) => "the same repeat",
            Partner::Median(_) => "the median repeat",
        };
        write!(
            f,
            "the neighbour worked less {here} it than {there} it: {neighbour} did {} in repeat {repeat} {here} it, and {} \
             in {compared} {there} it; less than {:.0} % of the work is too little (`least_neighbour_work`). A \
             mitigation that slows its neighbours down by itself does this too",
            measure.figure(self.rate),
            measure.figure(self.there.rate()),
            self.least_share * 100.0
        )?;
        match measure {
            Measure::Accesses => Ok(()),
            Measure::ProcessorTime => write!(f, "; {CPU_TIME}"),
        }
    }
}

const CPU_TIME: &str =
    "the work of an external program is known by its processor time only, which is not memory pressure";

/// What the neighbours did in the complete repeats of a case.
pub(crate) struct Arm<'a> {
    /// The number of each repeat, and what each neighbour did in it.
    repeats: Vec<(usize, &'a [NeighbourProgress])>,
}

impl<'a> Arm<'a> {
    pub fn of(measured: &'a Measured) -> Self {
        let numbered =
            measured.repeats.iter().zip(1..).filter(|(repeat, _)| !repeat.cut_short && repeat.not_counted.is_none());
        Self { repeats: numbered.map(|(repeat, number)| (number, repeat.neighbours.as_slice())).collect() }
    }

    /// The number and the rate of each repeat; `None` where one of them is not known.
    fn rates(&self, neighbour: usize, measure: Measure) -> Option<Vec<(usize, f64)>> {
        let rates = self.repeats.iter().map(|(number, all)| Some((*number, measure.of(all.get(neighbour)?)?)));
        rates.collect()
    }
}

/// A verdict that holds only if all neighbours did at least `least_share` of the work per time of the same repeat of the other
/// arm, in each repeat. With less work in an arm, that arm is better than it would have been: only the opposite verdict still holds.
pub(crate) fn given_the_work(
    verdict: Verdict,
    neighbours: &[Placed],
    without: &Arm<'_>,
    with: &Arm<'_>,
    least_share: f64,
) -> Verdict {
    if verdict.kind == VerdictKind::CannotTell {
        return verdict;
    }
    let mut by_cpu_time = false;
    for (index, neighbour) in neighbours.iter().enumerate() {
        let name = format!("{} on core {}", neighbour.workload, neighbour.core);
        let both = |measure| Some((without.rates(index, measure)?, with.rates(index, measure)?, measure));
        let Some((rates_without, rates_with, measure)) =
            both(Measure::Accesses).or_else(|| both(Measure::ProcessorTime))
        else {
            return cannot_tell(&format!("it was not seen how much {name} worked"));
        };
        by_cpu_time |= measure == Measure::ProcessorTime;
        for (with_mitigation, rates, others, still_holds) in [
            (true, &rates_with, &rates_without, VerdictKind::Worse),
            (false, &rates_without, &rates_with, VerdictKind::Better),
        ] {
            let pairs = rates.iter().map(|(repeat, rate)| (*repeat, *rate, Partner::of(others, *repeat)));
            let short = pairs.filter(|(_, rate, there)| *rate < least_share * there.rate());
            let least = short.min_by(|a, b| (a.1 / a.2.rate()).total_cmp(&(b.1 / b.2.rate())));
            if let Some((repeat, rate, there)) = least.filter(|_| verdict.kind != still_holds) {
                let less = Less { neighbour: name, measure, with_mitigation, repeat, rate, there, least_share };
                return cannot_tell(&less.to_string());
            }
        }
    }
    match by_cpu_time {
        true => Verdict { text: format!("{}; {CPU_TIME}", verdict.text), ..verdict },
        false => verdict,
    }
}

fn cannot_tell(why: &str) -> Verdict {
    Verdict { kind: VerdictKind::CannotTell, text: format!("cannot tell, because {why}") }
}

/// The upper one of two in the middle; 0 of none.
fn median(rates: &[(usize, f64)]) -> f64 {
    let mut rates: Vec<f64> = rates.iter().map(|(_, rate)| *rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(0.0)
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
    fn arm(progress: &[NeighbourProgress]) -> Arm<'_> {
        Arm { repeats: (1..).zip(progress.chunks(1)).collect() }
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
}
