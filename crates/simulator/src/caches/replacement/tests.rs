use super::*;

/// The policy of one set.
struct Policy {
    kind: Replacement,
    order: [u8; 8],
}

impl Policy {
    fn new(kind: Replacement) -> Self {
        Self { kind, order: std::array::from_fn(|way| fresh(kind, way)) }
    }

    fn touch(&mut self, way: usize, ways: usize) {
        touch(self.kind, &mut self.order, way, ways);
    }

    fn fill(&mut self, way: usize, ways: usize, mask: u32) {
        fill(self.kind, &mut self.order, way, ways, mask);
    }

    fn victim(&mut self, ways: usize, mask: u32, random: &mut Xorshift) -> usize {
        victim(self.kind, &mut self.order, ways, mask, random)
    }
}

#[test]
fn lru_evicts_the_oldest_that_the_mask_allows() {
    let mut lru = Policy::new(Replacement::Lru);
    let mut random = Xorshift::new(0);
    for way in [2, 0, 3, 1] {
        lru.touch(way, 4);
    }
    assert_eq!(lru.victim(4, 0b1111, &mut random), 2);
    assert_eq!(lru.victim(4, 0b1011, &mut random), 0);
    lru.touch(2, 4);
    assert_eq!(lru.victim(4, 0b1111, &mut random), 0);
}

#[test]
fn tree_plru_points_away_from_recent_use() {
    let mut plru = Policy::new(Replacement::TreePlru);
    let mut random = Xorshift::new(0);
    // Nodes: 1 is the root, 2 its left half (ways 0, 1), 3 its right half (ways 2, 3).
    for (way, victim) in [(0, 2), (2, 1), (1, 3), (3, 0)] {
        plru.touch(way, 4);
        assert_eq!(plru.victim(4, 0b1111, &mut random), victim, "after a use of way {way}");
    }
    assert_eq!(plru.victim(4, 0b0100, &mut random), 2);
}

#[test]
fn set_bits_are_counted_from_the_lowest() {
    // 0b1011_0110 has its bits at 1, 2, 4, 5 and 7.
    assert_eq!([0, 1, 2, 3, 4].map(|n| nth_set_bit(0b1011_0110, n)), [1, 2, 4, 5, 7]);
    assert_eq!([0, 31].map(|n| nth_set_bit(u32::MAX, n)), [0, 31]);
}

#[test]
fn random_reaches_every_allowed_way_and_no_other() {
    let mut policy = Policy::new(Replacement::Random);
    let mut random = Xorshift::new(7);
    let mut seen = 0u32;
    for _ in 0..1000 {
        seen |= 1 << policy.victim(8, 0b1010_0110, &mut random);
    }
    assert_eq!(seen, 0b1010_0110);
}

/// Fills and uses as a cache would make them: empty ways first, then victims. Returns the way that each line took.
fn ways_taken(kind: Replacement, ways: usize, mask: u32, lines: &[u32]) -> Vec<usize> {
    let mut policy = Policy::new(kind);
    let mut random = Xorshift::new(0);
    let mut held = vec![None; ways];
    let take = |line: &u32| {
        if let Some(way) = held.iter().position(|held| *held == Some(*line)) {
            policy.touch(way, ways);
            return way;
        }
        let empty = (0..ways).find(|way| mask >> way & 1 == 1 && held[*way].is_none());
        let way = empty.unwrap_or_else(|| policy.victim(ways, mask, &mut random));
        held[way] = Some(*line);
        policy.fill(way, ways, mask);
        way
    };
    lines.iter().map(take).collect()
}

#[test]
fn mru_evicts_the_youngest_that_the_mask_allows() {
    // 0, 1, 2 fill three ways. 3 replaces 2, the last one filled. A use of 0 makes it the youngest: 4 replaces it.
    assert_eq!(ways_taken(Replacement::Mru, 3, 0b111, &[0, 1, 2, 3, 0, 4]), [0, 1, 2, 2, 0, 0]);
    // Of ways 0 and 2 only: 5 finds none empty and replaces 1 in way 2.
    assert_eq!(ways_taken(Replacement::Mru, 3, 0b101, &[0, 1, 5, 0, 6]), [0, 2, 2, 0, 0]);
}

#[test]
fn round_robin_takes_the_ways_in_turn_whatever_is_used() {
    assert_eq!(
        ways_taken(Replacement::RoundRobin, 3, 0b111, &[0, 1, 2, 0, 3, 3, 4, 5, 6]),
        [0, 1, 2, 0, 0, 0, 1, 2, 0]
    );
    // Ways 1 and 3 of four: the pointer stops at neither 0 nor 2.
    assert_eq!(ways_taken(Replacement::RoundRobin, 4, 0b1010, &[0, 1, 2, 3, 4]), [1, 3, 1, 3, 1]);
}

#[test]
fn bit_plru_evicts_the_lowest_way_not_used_since_all_were() {
    // After 0, 1, 2, 3 only bit 3 is set: 4 goes to way 0 (bits 0, 3), a use of 1 sets bit 1, so 5 goes to way 2, which
    // makes all set and clears the others: 6 goes to way 0.
    assert_eq!(ways_taken(Replacement::BitPlru, 4, 0b1111, &[0, 1, 2, 3, 4, 1, 5, 6]), [0, 1, 2, 3, 0, 1, 2, 0]);
    // Of ways 0 and 1 only, the same with two bits: after 0, 1 only bit 1 is set, 2 goes to way 0 and clears it, 3 to way 1.
    assert_eq!(ways_taken(Replacement::BitPlru, 4, 0b0011, &[0, 1, 2, 3]), [0, 1, 0, 1]);
}

#[test]
fn biased_keeps_a_line_that_was_used_again() {
    // Fills predict 2. The use of 0 makes intervals 0 2 2 2: 4 takes way 1, the others age by one: 1 2 3 3.
    // 5 takes way 2 (nothing ages: 1 2 2 3), 6 takes way 3 (1 2 2 2), 7 takes way 1 and ages the others: 2 2 3 3.
    // 8 takes way 2 (2 2 2 3), 9 way 3 (2 2 2 2), and 10 at last way 0: its line was not used again.
    let lines = [0, 1, 2, 3, 0, 4, 5, 6, 7, 8, 9, 10];
    assert_eq!(ways_taken(Replacement::Biased, 4, 0b1111, &lines), [0, 1, 2, 3, 0, 1, 2, 3, 1, 2, 3, 0]);
    // Only allowed ways age. Ways 2 and 3: 2 takes way 2 and leaves 2 3, 3 takes way 3.
    assert_eq!(ways_taken(Replacement::Biased, 4, 0b1100, &[0, 1, 2, 3]), [2, 3, 2, 3]);
}

#[test]
fn bit_plru_goes_through_all_ways_of_a_mask_although_nobody_uses_the_others() {
    // As in a set of four ways: 6 makes all four used and clears the bits but that of way 2, then 9 those but that of way 3.
    let lines: Vec<_> = (0..12).collect();
    for ways in [4, 8] {
        assert_eq!(ways_taken(Replacement::BitPlru, ways, 0b1111, &lines), [0, 1, 2, 3, 0, 1, 2, 0, 1, 3, 0, 1]);
    }
    // Hits on ways 0 and 1 of two use both: the bits are cleared when a line is put there.
    assert_eq!(ways_taken(Replacement::BitPlru, 8, 0b0011, &[0, 1, 0, 2, 3, 4]), [0, 1, 0, 0, 1, 0]);
}

#[test]
fn a_stream_of_fills_without_uses_passes_over_a_used_line_under_biased_but_not_under_lru() {
    // Line 0 is used once more, then 100 others stream by: LRU loses it after three of them, SRRIP after nine.
    let lost_after = |kind| {
        let lines: Vec<_> = [0, 0].into_iter().chain(1..100).collect();
        ways_taken(kind, 4, 0b1111, &lines).iter().skip(2).position(|way| *way == 0).unwrap()
    };
    // LRU: ways 1, 2, 3, then 0. Biased: ways 1, 2, 3; the fourth takes way 1 and ages (1 2 3 3), then 2, 3, then
    // 1 with (2 2 3 3), 2, 3 and only then 0: nine lines before it.
    assert_eq!((lost_after(Replacement::Lru), lost_after(Replacement::Biased)), (3, 9));
}

/// "64 KiB, 8 ways, MRU, the same 64 KiB read twice": each of the 128 sets sees its 8 lines in turn, twice. With k ways
/// the first pass leaves lines 0 to k-2 and 7. The second finds 0 to k-2; the last of them is then the youngest, and k-1
/// replaces it, k replaces k-1 and so on up to 6; 7 is still there. That is k hits, but none for k = 1, where 7 itself
/// makes room for 0.
#[test]
fn mru_gives_the_golden_vector_of_a_buffer_read_twice() {
    use crate::caches::cache::Cache;
    use crate::line::Line;
    let hits = |allocated: u32| {
        let mut cache = Cache::new(128, 8, Replacement::Mru);
        let mut random = Xorshift::new(0);
        let mut hits = 0;
        for line in (0..1024).chain(0..1024) {
            match cache.find(Line::new(line)) {
                Some(place) => {
                    cache.touch(place, 0);
                    hits += 1;
                }
                None => drop(cache.insert(Line::new(line), 0, u32::MAX >> (32 - allocated), &mut random)),
            }
        }
        hits
    };
    assert_eq!([1, 2, 3, 4, 5, 6, 7, 8].map(hits), [0, 256, 384, 512, 640, 768, 896, 1024]);
}
