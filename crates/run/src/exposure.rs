//! Which repeats of a case were exposed to its neighbours: a budget that held beside a neighbour that stood still was not tried.

use waykeeper_experiment::cases::Placed;
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_statistics::{Judgement, JudgementKind};

use crate::measurement::NeighbourProgress;
use crate::record::NeighbourWork;
use crate::work::{Measure, median_rate};

/// Less processor time a second than this is none: a program that sleeps wakes now and then.
const NO_CPU_S_PER_S: f64 = 1e-3;

/// A neighbour that did less than this share of its median was another one. Two arms are compared more closely: one repeat has no
/// partner, and on a machine with other tenants the rates of a loop differ by a tenth from one second to the next.
const HALF: f64 = 0.5;

/// The share of its median that a neighbour has to do in a repeat, at a place and in an experiment with this `least_neighbour_work`.
/// Nothing stops a simulated neighbour: it is slower where its memory lies badly, and that is one of the cases.
pub fn least_exposure(on: ExecutorKind, least_neighbour_work: f64) -> f64 {
    match on {
        ExecutorKind::Host => least_neighbour_work.min(HALF),
        ExecutorKind::Sim => 0.0,
    }
}

/// What the neighbours of a case say of its repeats.
#[derive(Debug)]
pub struct Exposure {
    /// Of each repeat, whether all neighbours did their work in it, or it was not seen how much they did.
    exposed: Vec<bool>,
    /// Neighbours that did not, the first one of each repeat.
    idle: Vec<IdleNeighbour>,
    /// Names of those of whose work nothing was seen in some repeat.
    not_seen: Vec<String>,
}

/// A neighbour that did not do its work in a repeat.
#[derive(Debug)]
struct IdleNeighbour {
    name: String,
    measure: Measure,
    repeat: usize,
    rate: f64,
    /// Its median and the share of it that is enough; none where it did nothing at all.
    below: Option<(f64, f64)>,
}

impl Exposure {
    /// Judges repeats by the work in them: the number of each, and what each neighbour did, in the order of `neighbours`. A
    /// neighbour that did nothing was none, and one that did less than `least_share` of its median over these repeats was
    /// another one: see [`least_exposure`].
    pub fn new(neighbours: &[String], repeats: &[(usize, Vec<NeighbourWork>)], least_share: f64) -> Self {
        let mut found = Self { exposed: vec![true; repeats.len()], idle: Vec::new(), not_seen: Vec::new() };
        for (index, name) in neighbours.iter().enumerate() {
            let rates: Vec<_> = repeats.iter().map(|(_, work)| Measure::seen(work.get(index)?)).collect();
            if rates.iter().any(Option::is_none) {
                found.not_seen.push(name.clone());
            }
            let median = median_rate(rates.iter().flatten().map(|(_, rate)| *rate));
            for (at, (measure, rate)) in rates.iter().enumerate().filter_map(|(at, seen)| Some((at, (*seen)?))) {
                let below = (!is_nothing(measure, rate)).then_some((median, least_share));
                if below.is_some_and(|(median, share)| rate >= share * median) {
                    continue;
                }
                if std::mem::replace(&mut found.exposed[at], false) {
                    let (name, repeat) = (name.clone(), repeats[at].0);
                    found.idle.push(IdleNeighbour { name, measure, repeat, rate, below });
                }
            }
        }
        found.idle.sort_by_key(|idle| idle.repeat);
        found
    }

    /// How many repeats were exposed.
    pub fn exposed(&self) -> usize {
        self.exposed.iter().filter(|exposed| **exposed).count()
    }

    /// Judges a budget on all repeats and on those that were exposed, by their places; the worse judgement holds. What was seen
    /// broken is broken, whatever the neighbours did; and a neighbour that is slowed down by what harms the target, too, must not
    /// take that repeat with it.
    pub fn judge(&self, judge: impl Fn(&dyn Fn(usize) -> bool) -> Judgement) -> Judgement {
        let all = judge(&|_| true);
        if all.kind == JudgementKind::Broken {
            return all;
        }
        let Some(first) = self.idle.first() else { return self.with_what_was_not_seen(all) };
        if self.exposed() == 0 {
            let kind = JudgementKind::TooThin;
            let why =
                if first.below.is_none() { "the neighbour did not work" } else { "no repeat had all its neighbours" };
            return Judgement { kind, text: format!("{kind}, because {why}: {}", first.said()) };
        }
        let exposed = judge(&|at| self.exposed.get(at).copied().unwrap_or(true));
        let worse = match (all.kind, exposed.kind) {
            (JudgementKind::TooThin, JudgementKind::NotSeenBroken) => all,
            _ => exposed,
        };
        let (count, of) = (self.idle.len(), self.exposed.len());
        let text =
            format!("{}; {count} of {of} repeats were not exposed to the neighbour: {}", worse.text, first.said());
        self.with_what_was_not_seen(Judgement { text, ..worse })
    }

    /// Work that was not seen is not taken for none.
    fn with_what_was_not_seen(&self, judgement: Judgement) -> Judgement {
        match (judgement.kind, self.not_seen.first()) {
            (JudgementKind::NotSeenBroken, Some(name)) => {
                Judgement { text: format!("{}; it was not seen how much {name} worked", judgement.text), ..judgement }
            }
            _ => judgement,
        }
    }
}

impl IdleNeighbour {
    /// The first repeat and its figure, such as `hammer on core 2 did 0 accesses a second in repeat 1`.
    fn said(&self) -> String {
        let Self { name, measure, repeat, rate, below } = self;
        let below = below.map_or(String::new(), |(median, share)| {
            let (median, share) = (measure.figure(median), share * 100.0);
            format!(", less than {share:.0} % of its median, {median}")
        });
        format!("{name} did {} in repeat {repeat}{below}", measure.figure(*rate))
    }
}

/// What the neighbours of a case did in a repeat. A pattern without accesses lacks none.
pub fn work_of(neighbours: &[Placed], progress: &[NeighbourProgress]) -> Vec<NeighbourWork> {
    let of = |(neighbour, progress): (&Placed, &NeighbourProgress)| {
        let work = NeighbourWork::of(progress);
        let has_accesses = neighbour.pattern.bytes_per_access(1) != Some(0);
        NeighbourWork { accesses_per_s: work.accesses_per_s.filter(|rate| has_accesses || *rate > 0.0), ..work }
    };
    neighbours.iter().zip(progress).map(of).collect()
}

fn is_nothing(measure: Measure, rate: f64) -> bool {
    match measure {
        Measure::Accesses => rate == 0.0,
        Measure::ProcessorTime => rate < NO_CPU_S_PER_S,
    }
}

#[cfg(test)]
mod tests {
    use waykeeper_workload::{Pattern, TickBody};

    use super::*;
    use JudgementKind::{Broken, NotSeenBroken, TooThin};

    fn accesses(rate: f64) -> NeighbourWork {
        NeighbourWork { core: 2, accesses_per_s: Some(rate), cpu_s_per_s: None }
    }

    fn cpu(share: f64) -> NeighbourWork {
        NeighbourWork { core: 2, accesses_per_s: None, cpu_s_per_s: Some(share) }
    }

    /// One neighbour; an entry for each repeat.
    fn exposure(work: &[NeighbourWork], least_share: f64) -> Exposure {
        let repeats: Vec<_> = (1..).zip(work).map(|(number, work)| (number, vec![work.clone()])).collect();
        Exposure::new(&["hammer on core 2".into()], &repeats, least_share)
    }

    /// The judgement where all `of` repeats end in one kind and fewer in another, and the figure is how many there were.
    fn judged(exposure: &Exposure, of: usize, all: JudgementKind, fewer: JudgementKind) -> (JudgementKind, String) {
        let judgement = exposure.judge(|is_in| {
            let count = (0..of).filter(|at| is_in(*at)).count();
            let kind = if count == of { all } else { fewer };
            Judgement { kind, text: format!("{kind} in {count} repeats") }
        });
        (judgement.kind, judgement.text)
    }

    #[test]
    fn a_budget_beside_neighbours_that_did_nothing_was_not_tried() {
        let idle = exposure(&[cpu(0.0), cpu(0.0004), cpu(0.0)], 0.9);
        let (kind, text) = judged(&idle, 3, NotSeenBroken, NotSeenBroken);
        let expected = "too thin to say, because the neighbour did not work: hammer on core 2 did 0.000 s of processor time a \
                        second in repeat 1";
        assert_eq!((kind, &*text), (TooThin, expected));
        // What broke without them is broken.
        assert_eq!(judged(&idle, 3, Broken, Broken), (Broken, "broken in 3 repeats".into()));
    }

    #[test]
    fn repeats_without_the_neighbours_work_are_no_exposure() {
        let some = exposure(&[accesses(5.0e6), accesses(0.0), accesses(4.6e6), accesses(2.0e6), accesses(5.1e6)], 0.9);
        let (kind, text) = judged(&some, 5, NotSeenBroken, NotSeenBroken);
        let expected = "not seen broken in 3 repeats; 2 of 5 repeats were not exposed to the neighbour: hammer on core 2 did 0 \
                        accesses a second in repeat 2";
        assert_eq!((kind, &*text), (NotSeenBroken, expected));
        // The repeats that are left decide, where they are worse.
        assert_eq!(judged(&some, 5, NotSeenBroken, TooThin).0, TooThin);
        assert_eq!(judged(&some, 5, NotSeenBroken, Broken).0, Broken);
        assert_eq!(judged(&some, 5, TooThin, Broken).0, Broken);
        // Leaving repeats out makes no budget hold: what slowed the neighbour down may be what harms the target.
        let (kind, text) = judged(&some, 5, TooThin, NotSeenBroken);
        assert!(kind == TooThin && text.starts_with("too thin to say in 5 repeats; 2 of 5"), "{text}");
    }

    #[test]
    fn less_than_its_share_of_the_median_is_too_little_where_neighbours_can_be_stopped() {
        let work = [accesses(5.0e6), accesses(2.0e6), accesses(4.9e6)];
        let (_, text) = judged(&exposure(&work, 0.9), 3, NotSeenBroken, NotSeenBroken);
        let expected = "hammer on core 2 did 2.00e6 accesses a second in repeat 2, less than 90 % of its median, 4.90e6 accesses a \
                        second";
        assert!(text.ends_with(expected), "{text}");
        let whole = (NotSeenBroken, "not seen broken in 3 repeats".to_owned());
        assert_eq!(judged(&exposure(&work, 0.4), 3, NotSeenBroken, TooThin), whole);
        assert_eq!(judged(&exposure(&work, 0.0), 3, NotSeenBroken, TooThin), whole);
    }

    #[test]
    fn on_a_machine_half_of_the_median_is_enough_and_less_where_that_is_accepted() {
        assert_eq!(least_exposure(ExecutorKind::Host, 0.9), 0.5);
        assert_eq!(least_exposure(ExecutorKind::Host, 0.2), 0.2);
        assert_eq!(least_exposure(ExecutorKind::Sim, 0.9), 0.0);
    }

    #[test]
    fn any_of_several_neighbours_takes_a_repeat_with_it() {
        let names = ["a on core 2".to_owned(), "b on core 3".to_owned()];
        let repeats = [(1, vec![accesses(5.0), accesses(0.0)]), (2, vec![accesses(0.0), accesses(0.0)])];
        let found = Exposure::new(&names, &repeats, 0.9);
        assert_eq!(found.exposed(), 0);
        let (_, text) = judged(&found, 2, NotSeenBroken, NotSeenBroken);
        assert!(text.ends_with("b on core 3 did 0 accesses a second in repeat 1"), "{text}");
        let repeats = [(1, vec![accesses(5.0), accesses(1.0)]), (2, vec![accesses(1.0), accesses(5.0)])];
        let (kind, text) = judged(&Exposure::new(&names, &repeats, 0.5), 2, NotSeenBroken, NotSeenBroken);
        assert!(kind == TooThin && text.contains("because no repeat had all its neighbours: "), "{text}");
    }

    #[test]
    fn work_that_was_not_seen_is_said_and_changes_nothing() {
        let unseen = exposure(&[cpu(1.0), NeighbourWork::not_seen(2)], 0.9);
        let expected = "not seen broken in 2 repeats; it was not seen how much hammer on core 2 worked";
        assert_eq!(judged(&unseen, 2, NotSeenBroken, TooThin), (NotSeenBroken, expected.to_owned()));
        assert_eq!(judged(&unseen, 2, TooThin, TooThin), (TooThin, "too thin to say in 2 repeats".to_owned()));
        // Without neighbours there is nothing to see.
        let alone = Exposure::new(&[], &[(1, Vec::new()), (2, Vec::new())], 0.9);
        assert_eq!(judged(&alone, 2, NotSeenBroken, TooThin).1, "not seen broken in 2 repeats");
    }

    #[test]
    fn a_pattern_without_accesses_lacks_none() {
        let placed = |pattern| Placed {
            workload: "x".into(),
            with: Default::default(),
            core: 2,
            pattern,
            buffer: Default::default(),
        };
        let progress =
            |rate| NeighbourProgress { core: 2, accesses_per_s: Some(rate), per_second: None, cpu_s_per_s: None };
        let spin = [placed(Pattern::Tick { body: TickBody::Nothing })];
        assert_eq!(work_of(&spin, &[progress(0.0)]), [NeighbourWork::not_seen(2)]);
        // On a machine its passes are counted.
        assert_eq!(work_of(&spin, &[progress(7.0)]), [accesses(7.0)]);
        let order = waykeeper_workload::Order::Random;
        let chase = [placed(Pattern::Chase { elements: 2, stride: 64, order, batch: 1 })];
        assert_eq!(work_of(&chase, &[progress(0.0)]), [accesses(0.0)]);
    }
}
