//! Every loop on every row of every kind of host that this machine is, against a list for each set.

use proptest::prelude::*;

use super::rows::{Host, Kind, Recency};
use crate::access::{EMPTY, STORE, Word};

/// A list for each set, the most recently used word first; a word in it has the bit for stores if its line is dirty.
struct Lists {
    sets: Vec<Vec<Word>>,
    ways: usize,
    mark_only: bool,
}

impl Lists {
    /// Takes a word; returns what is passed on.
    fn take(&mut self, word: Word) -> Vec<Word> {
        let sets = self.sets.len();
        let set = &mut self.sets[word as usize % sets];
        if let Some(at) = set.iter().position(|held| held & EMPTY == word & EMPTY) {
            if self.mark_only && word & STORE != 0 {
                set[at] |= STORE;
            } else {
                let held = set.remove(at);
                set.insert(0, held | word);
            }
            return vec![];
        }
        set.insert(0, word);
        let out = if set.len() > self.ways { set.pop() } else { None };
        [Some(word & EMPTY), out.filter(|out| out & STORE != 0)].into_iter().flatten().collect()
    }
}

const KINDS: [Kind; 5] = [Kind::Steady, Kind::SameSet, Kind::Mixed, Kind::SteadyMarkOnly, Kind::MixedMarkOnly];

fn is_mark_only(kind: Kind) -> bool {
    matches!(kind, Kind::SteadyMarkOnly | Kind::MixedMarkOnly)
}

fn hosts() -> Vec<Host> {
    let mut hosts = vec![Host::Any];
    if Host::this() != Host::Any {
        hosts.push(Host::this());
    }
    hosts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_loop_does_what_the_lists_do(
        log2_sets in 0..4u32,
        ways in 1..33usize,
        kind in prop::sample::select(KINDS.to_vec()),
        stores: bool,
        words in prop::collection::vec((0..200 as Word, any::<bool>(), 1..4usize), 0..900),
    ) {
        let sets = 1 << log2_sets;
        let word = |(line, store, repeats)| std::iter::repeat_n(if store && stores { line | STORE } else { line }, repeats);
        let words: Vec<Word> = words.into_iter().flat_map(word).collect();
        for host in hosts() {
            let mut lists = Lists { sets: vec![vec![]; sets], ways, mark_only: is_mark_only(kind) };
            let mut cache = Recency::on(host, sets, ways, is_mark_only(kind));
            let mut out = Vec::new();
            for block in words.chunks(300) {
                cache.has_seen(block.iter().any(|word| word & STORE != 0));
                let passed = cache.run_as(kind, block, &mut out);
                let mut expected = Vec::new();
                let (mut misses, mut store_misses) = (0, 0);
                for word in block {
                    let passed_on = lists.take(*word);
                    misses += u64::from(!passed_on.is_empty());
                    store_misses += u64::from(!passed_on.is_empty() && word & STORE != 0);
                    expected.extend(passed_on);
                }
                prop_assert_eq!(&out, &expected, "{:?} on {:?}", kind, host);
                prop_assert_eq!((passed.misses, passed.store_misses), (misses, store_misses));
                prop_assert_eq!(passed.evicts, expected.len() as u64 - misses);
            }
            for line in 0..200 {
                let listed = lists.sets[line as usize % sets].iter().any(|held| held & EMPTY == line);
                prop_assert_eq!(cache.holds(line), listed, "line {} under {:?} on {:?}", line, kind, host);
            }
        }
    }
}
