//! Shards: parts of a run that processes measure by themselves, on one machine or many.
//!
//! Who measures what follows from the plan alone, so that processes need not talk to each other. The seed of a repeat is that
//! of the whole run: a simulated repeat is the same in a shard, bit for bit.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use waykeeper_experiment::cases::{Case, Plan, Purpose};
use waykeeper_experiment::site::ExecutorKind;

/// One of the parts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    /// Its number, from 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Shard {
    /// Whether there is such a shard.
    pub(crate) fn exists(self) -> bool {
        (1..=self.of).contains(&self.number)
    }
}

/// The repeats of a run that a shard measures.
///
/// Simulated repeats do not touch each other: the repeats of each case are dealt out in turn, so that shards differ by one
/// repeat at most. On a machine, what is compared with each other must be measured alternately: all cases of one target stay
/// together, and targets are dealt out.
#[derive(Debug, Clone)]
pub struct ShardRepeats {
    shard: Shard,
    repeats: usize,
    /// Of each case: what is dealt out. A number for each of its repeats, or one for all of them.
    first_unit: Vec<usize>,
    by_repeat: bool,
}

impl ShardRepeats {
    /// What a shard measures of a plan at a place.
    pub fn new(shard: Shard, plan: &Plan, repeats: u32, place: ExecutorKind) -> Self {
        let repeats = repeats as usize;
        let by_repeat = place == ExecutorKind::Sim;
        let first_unit = match by_repeat {
            true => (0..plan.cases.len()).map(|case| case * repeats).collect(),
            false => compared(&plan.cases),
        };
        Self { shard, repeats, first_unit, by_repeat }
    }

    /// Whether the shard measures a repeat of a case; both places from 0.
    pub fn contains(&self, case: usize, repeat: usize) -> bool {
        let Some(first) = self.first_unit.get(case).filter(|_| repeat < self.repeats) else { return false };
        self.is_mine(if self.by_repeat { first + repeat } else { *first })
    }

    /// Whether the shard measures any repeat of a case.
    pub fn has_case(&self, case: usize) -> bool {
        let Some(first) = self.first_unit.get(case) else { return false };
        if !self.by_repeat {
            return self.repeats > 0 && self.is_mine(*first);
        }
        // The first repeat from which on a unit is this shard's.
        let (of, own) = (self.shard.of as usize, self.shard.number as usize - 1);
        (own + of - first % of) % of < self.repeats
    }

    /// Number of its repeats, of all cases.
    pub fn len(&self) -> usize {
        if !self.by_repeat {
            return self.repeats * self.first_unit.iter().filter(|unit| self.is_mine(**unit)).count();
        }
        let (all, of) = (self.first_unit.len() * self.repeats, self.shard.of as usize);
        all / of + usize::from(self.shard.number as usize <= all % of)
    }

    /// Whether there is nothing for it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most shards for which there is something.
    pub fn most_shards(&self) -> usize {
        match self.by_repeat {
            true => self.first_unit.len() * self.repeats,
            false => self.first_unit.iter().max().map_or(0, |last| last + 1),
        }
    }

    fn is_mine(&self, unit: usize) -> bool {
        unit % self.shard.of as usize + 1 == self.shard.number as usize
    }
}

/// The number of each case's group, from 0: the cases of one target, the sentinels of one core.
fn compared(cases: &[Case]) -> Vec<usize> {
    let alike = |a: &Case, b: &Case| match (a.purpose, b.purpose) {
        (Purpose::Case, Purpose::Case) => a.target == b.target,
        (Purpose::Sentinel, Purpose::Sentinel) => a.target.core == b.target.core,
        _ => false,
    };
    let mut first_of_groups: Vec<&Case> = Vec::new();
    let mut number = |case| {
        first_of_groups.iter().position(|first| alike(first, case)).unwrap_or_else(|| {
            first_of_groups.push(case);
            first_of_groups.len() - 1
        })
    };
    cases.iter().map(&mut number).collect()
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Why a text names no shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected NUMBER/SHARDS, such as 1/4, with a number from 1 to the number of shards")]
pub struct BadShard;

impl FromStr for Shard {
    type Err = BadShard;

    fn from_str(text: &str) -> Result<Self, BadShard> {
        let (number, of) = text.split_once('/').ok_or(BadShard)?;
        let [number, of] = [number, of].map(|text| text.parse().map_err(|_| BadShard));
        let shard = Self { number: number?, of: of? };
        if shard.exists() { Ok(shard) } else { Err(BadShard) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use waykeeper_experiment::Loaded;
    use waykeeper_experiment::site::{Site, SiteCore};
    use waykeeper_workload::{CacheShape, CacheShapes};

    use super::*;

    fn site() -> Site {
        let caches = CacheShapes(vec![CacheShape { level: 1, size_bytes: 32 << 10, ways: 8, line_bytes: 64 }]);
        let core = |id: u32| SiteCore { id, caches: caches.clone(), siblings: Vec::new() };
        Site {
            executor: ExecutorKind::Host,
            platform: "host".into(),
            called: "this machine".into(),
            cores: (0..4).map(core).collect(),
            auto_core: 3,
            mitigations: Default::default(),
            needs_buffer: Vec::new(),
            needs_own_memory: Vec::new(),
        }
    }

    #[test]
    fn a_shard_is_a_number_of_so_many() {
        assert_eq!("2/3".parse(), Ok(Shard { number: 2, of: 3 }));
        assert_eq!(Shard { number: 2, of: 3 }.to_string(), "2/3");
        for bad in ["", "1", "0/3", "4/3", "0/0", "-1/3", "1/3/3", "a/b", "1/99999999999"] {
            assert_eq!(bad.parse::<Shard>(), Err(BadShard), "{bad}");
        }
    }

    fn plan(targets: &str) -> Plan {
        let text = format!(
            "title = 'x'\ntargets = [{targets}]\n\
             neighbours = [{{ workload = 'stream_read', cores = [2] }}]\n"
        );
        Plan::new(&Loaded::from_text("x", "x.toml", &text, Vec::new()).unwrap(), &site()).unwrap()
    }

    /// What each shard measures: every repeat belongs to one of them.
    #[track_caller]
    fn shares(plan: &Plan, repeats: u32, of: u32, place: ExecutorKind) -> Vec<BTreeSet<(usize, usize)>> {
        let share = |number| ShardRepeats::new(Shard { number, of }, plan, repeats, place);
        let listed = |share: &ShardRepeats| -> BTreeSet<(usize, usize)> {
            let all =
                (0..plan.cases.len() + 1).flat_map(|case| (0..repeats as usize + 1).map(move |repeat| (case, repeat)));
            all.filter(|(case, repeat)| share.contains(*case, *repeat)).collect()
        };
        let shares: Vec<BTreeSet<_>> = (1..=of).map(|number| listed(&share(number))).collect();
        let all: BTreeSet<(usize, usize)> = shares.iter().flatten().copied().collect();
        let repeats = plan.cases.len() * repeats as usize;
        assert_eq!((all.len(), shares.iter().map(BTreeSet::len).sum::<usize>()), (repeats, repeats));
        for (listed, number) in shares.iter().zip(1..) {
            let share = share(number);
            assert_eq!((share.len(), share.is_empty()), (listed.len(), listed.is_empty()));
            let cases = |case: &usize| listed.iter().any(|(of, _)| of == case);
            assert!((0..plan.cases.len()).all(|case| share.has_case(case) == cases(&case)));
            assert_eq!(share.is_empty(), number as usize > share.most_shards());
        }
        shares
    }

    #[test]
    fn simulated_repeats_are_dealt_out_evenly_within_each_case_and_over_all() {
        let plan = plan("{ workload = 'latency_loop', core = 1 }");
        let cases = plan.cases.len();
        let differ_by_one = |counts: Vec<usize>| counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1;
        for (repeats, of) in [(1, 1), (1, 2), (3, 2), (12, 5), (5, 5), (2, 2 * cases as u32), (1, 1 + cases as u32)] {
            let shares = shares(&plan, repeats, of, ExecutorKind::Sim);
            assert!(differ_by_one(shares.iter().map(BTreeSet::len).collect()), "{repeats} repeats, {of} shards");
            for case in 0..cases {
                let of_case = |share: &BTreeSet<(usize, usize)>| share.iter().filter(|(of, _)| *of == case).count();
                assert!(differ_by_one(shares.iter().map(of_case).collect()), "{repeats} repeats, {of} shards");
            }
        }
    }

    #[test]
    fn on_a_machine_the_cases_of_a_target_stay_together() {
        let plan = plan("{ workload = 'latency_loop', core = 1 }, { workload = 'latency_loop', core = 3 }");
        let shares = shares(&plan, 4, 2, ExecutorKind::Host);
        for (share, core) in shares.iter().zip([1, 3]) {
            let cases = share.iter().map(|(case, _)| &plan.cases[*case]);
            let cores: BTreeSet<u32> =
                cases.filter(|case| case.purpose == Purpose::Case).map(|case| case.target.core).collect();
            assert_eq!(cores, BTreeSet::from([core]));
        }
    }
}
