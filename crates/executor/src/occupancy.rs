//! Who holds how much of a simulated shared cache, over time.

use waykeeper_experiment::cases::Case;
use waykeeper_platform::Platform;
use waykeeper_run::Occupancy;
use waykeeper_simulator::Engine;

/// As many looks as a line of a terminal has room for.
const LOOKS: usize = 24;

/// A repeat that ends with its samples can be this many times shorter than its longest, as a power of two, and still has a line.
const SHORTER_LOG2: u32 = 12;

/// Looks at the last shared cache of the target's core at equal distances.
pub struct Watch {
    times: Times,
    core: u32,
    seen: Occupancy,
}

/// When to look. Nobody knows before how long a repeat is that ends with its samples: the first looks follow each other closely, and
/// each time that a line is full every second one goes.
struct Times {
    /// The distance of looks over the longest repeat.
    longest_ps: u64,
    /// The distance now is shorter by this power of two.
    shorter_log2: u32,
    next_ps: u64,
}

impl Times {
    fn over(length_ps: u64) -> Self {
        Self { longest_ps: (length_ps / LOOKS as u64).max(1), shorter_log2: SHORTER_LOG2, next_ps: 0 }
    }

    /// Goes on to the next look after the one at `now_ps`; whether every second one goes that was before it.
    fn go_on(&mut self, now_ps: u64, looks: usize) -> bool {
        let thins = looks >= LOOKS && self.shorter_log2 > 0;
        self.shorter_log2 -= u32::from(thins);
        let every_ps = (self.longest_ps >> self.shorter_log2).max(1);
        self.next_ps = now_ps - now_ps % every_ps + every_ps;
        thins
    }
}

impl Watch {
    /// None where the target's core shares no cache.
    pub fn new(platform: &Platform, case: &Case, engine: &Engine, length_ps: u64) -> Option<Self> {
        let core = case.target.core;
        let (cache, sharers) = platform
            .shared_caches
            .iter()
            .rev()
            .find_map(|cache| cache.groups().find(|group| group.contains(&core)).map(|group| (cache, group)))?;
        let ways_of = |core: u32| engine.ways(cache.level, core).unwrap_or(0);
        let others = sharers.iter().filter(|other| **other != core).fold(0, |ways, other| ways | ways_of(*other));
        let (ways, target_ways, others_ways) =
            (cache.ways.value as u32, ways_of(core).count_ones(), others.count_ones());
        let seen = Occupancy {
            level: cache.level,
            lines: cache.size_kib.value * 1024 / platform.line_bytes.value,
            ways,
            target_ways,
            others_ways,
            ..Occupancy::default()
        };
        Some(Self { times: Times::over(length_ps), core, seen })
    }

    /// Looks, if it is time to; `now_ps` is from the start of the repeat.
    pub fn look(&mut self, engine: &Engine, now_ps: u64) {
        if now_ps < self.times.next_ps {
            return;
        }
        let Some(lines) = engine.occupancy(self.seen.level, self.core) else { return };
        if self.times.go_on(now_ps, self.seen.at_s.len()) {
            self.thin();
        }
        let target = lines[usize::from(waykeeper_simulator::TARGET_CLASS)];
        self.seen.at_s.push(now_ps as f64 / 1e12);
        self.seen.target_lines.push(target);
        self.seen.others_lines.push(lines.iter().sum::<u64>() - target);
    }

    /// Leaves every second look.
    fn thin(&mut self) {
        fn every_second<T>(looks: &mut Vec<T>) {
            let mut stays = false;
            looks.retain(|_| {
                stays = !stays;
                stays
            });
        }
        every_second(&mut self.seen.at_s);
        every_second(&mut self.seen.target_lines);
        every_second(&mut self.seen.others_lines);
    }

    /// What was seen.
    pub fn finish(self) -> Option<Occupancy> {
        (!self.seen.at_s.is_empty()).then_some(self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of the looks at a repeat that ends after so much of its longest.
    fn looks(longest_ps: u64, ends_ps: u64, slice_ps: u64) -> Vec<u64> {
        let (mut times, mut seen) = (Times::over(longest_ps), Vec::new());
        for now in (0..ends_ps).step_by(slice_ps as usize) {
            if now >= times.next_ps {
                if times.go_on(now, seen.len()) {
                    seen = seen.into_iter().step_by(2).collect();
                }
                seen.push(now);
            }
        }
        seen
    }

    #[test]
    fn a_repeat_of_any_length_has_a_line_of_looks() {
        let longest = 20_000_000_000_000;
        for ends in [longest, longest / 2, longest / 7, longest / 100, 71_000_000_000] {
            let seen = looks(longest, ends, 100_000_000);
            assert!((LOOKS / 2..=LOOKS).contains(&seen.len()), "{ends}: {seen:?}");
            let apart: Vec<u64> = seen.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let (least, most) = (apart.iter().min().unwrap(), apart.iter().max().unwrap());
            assert!(most - least <= 100_000_000 && ends - seen[seen.len() - 1] <= 2 * most, "{ends}: {seen:?}");
        }
        // The longest is looked at as often as has room, from its start on.
        let (apart, slice) = (1 << 20, 1 << 8);
        assert_eq!(looks(24 * apart, 24 * apart, slice), (0..24).map(|at| at * apart).collect::<Vec<_>>());
    }
}
