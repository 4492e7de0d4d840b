//! Which branches of a program a core would predict.

/// Bits of history, and of the number of an entry.
const BITS: u32 = 12;
const ENTRIES: usize = 1 << BITS;

/// A combining predictor (McFarling, "Combining branch predictors", WRL TN-36, 1993): two bits by the branch's place, two
/// bits by its place and what the last branches did, and two bits by its place that choose between them. How the cores of
/// today predict branches is not public; on branches that depend on data alone no predictor is much better than another.
#[derive(Debug, Clone)]
pub struct Predictor {
    by_place: Box<[Counter; ENTRIES]>,
    by_history: Box<[Counter; ENTRIES]>,
    /// Whether the history is to be trusted.
    choice: Box<[Counter; ENTRIES]>,
    history: u32,
}

/// 0 to 3; yes from 2 on.
#[derive(Debug, Clone, Copy)]
struct Counter(u8);

impl Counter {
    fn says(self) -> bool {
        self.0 >= 2
    }

    fn learn(&mut self, yes: bool) {
        self.0 = if yes { (self.0 + 1).min(3) } else { self.0.saturating_sub(1) };
    }
}

impl Predictor {
    /// Expects no branch to be taken.
    pub fn new() -> Self {
        let fresh = || Box::new([Counter(1); ENTRIES]);
        Self { by_place: fresh(), by_history: fresh(), choice: fresh(), history: 0 }
    }

    /// A branch goes one way; whether that was predicted.
    #[inline]
    pub fn foresees(&mut self, place: u32, taken: bool) -> bool {
        let at = place as usize % ENTRIES;
        // Places are small numbers: spread over the upper bits (Knuth's multiplicative hash), they part the histories.
        let spread = place.wrapping_mul(0x9e37_79b9) >> (u32::BITS - BITS);
        let of_history = (spread ^ self.history) as usize;
        let (plain, with_history) = (self.by_place[at].says(), self.by_history[of_history].says());
        let said = if self.choice[at].says() { with_history } else { plain };
        if plain != with_history {
            self.choice[at].learn(with_history == taken);
        }
        self.by_place[at].learn(taken);
        self.by_history[of_history].learn(taken);
        self.history = (self.history << 1 | u32::from(taken)) % ENTRIES as u32;
        said == taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Xorshift;

    /// How many of the branches are mispredicted.
    fn missed(branches: impl IntoIterator<Item = (u32, bool)>) -> usize {
        let mut predictor = Predictor::new();
        branches.into_iter().filter(|(place, taken)| !predictor.foresees(*place, *taken)).count()
    }

    #[test]
    fn what_is_always_the_same_is_known_after_one() {
        assert_eq!(missed((0..1000).map(|_| (7, true))), 1);
        assert_eq!(missed((0..1000).map(|_| (7, false))), 0);
    }

    #[test]
    fn one_that_goes_the_other_way_once_changes_nothing() {
        // Two bits: after many of one kind a single other is missed, and not what follows it.
        let branches = (0..100).map(|at| (0, at != 50));
        assert_eq!(missed(branches), 2);
    }

    #[test]
    fn a_pattern_is_learnt_by_its_history() {
        let pattern = |length: usize| (0..10_000).map(move |at| (3, at % length == length - 1));
        for length in [2, 3, 7] {
            // Each history that occurs, of 12 branches, is learnt in a few turns.
            assert!(missed(pattern(length)) < 60, "{length}: {}", missed(pattern(length)));
        }
        // A loop longer than the history: its last turn is missed each time, and no other.
        assert_eq!(missed(pattern(100)), 100);
    }

    #[test]
    fn what_follows_an_earlier_branch_is_known() {
        let mut random = Xorshift::new(5);
        let branches = (0..10_000).flat_map(|_| {
            let taken = random.next_u64() & 1 == 1;
            [(0, taken), (1, taken), (2, !taken)]
        });
        let missed = missed(branches) as f64;
        // The first of three is a coin; the others follow from it.
        assert!((missed / 5000.0 - 1.0).abs() < 0.1, "{missed}");
    }

    #[test]
    fn nobody_foresees_a_coin() {
        let mut random = Xorshift::new(9);
        let missed = missed((0..100_000).map(|_| (1, random.next_u64() & 1 == 1))) as f64;
        // Five standard errors of a coin thrown 100,000 times: 791.
        assert!((missed - 50_000.0).abs() < 800.0, "{missed}");
    }
}
