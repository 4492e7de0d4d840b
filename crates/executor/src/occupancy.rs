//! Who holds how much of a simulated shared cache, over time.

use waykeeper_experiment::cases::Case;
use waykeeper_platform::Platform;
use waykeeper_run::Occupancy;
use waykeeper_simulator::Engine;

/// As many looks as a line of a terminal has room for.
const LOOKS: u64 = 24;

/// Looks at the last shared cache of the target's core at equal distances.
pub struct Watch {
    every_ps: u64,
    next_ps: u64,
    core: u32,
    seen: Occupancy,
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
        Some(Self { every_ps: (length_ps / LOOKS).max(1), next_ps: 0, core, seen })
    }

    /// Looks, if it is time to; `now_ps` is from the start of the repeat.
    pub fn look(&mut self, engine: &Engine, now_ps: u64) {
        if now_ps < self.next_ps {
            return;
        }
        let Some(lines) = engine.occupancy(self.seen.level, self.core) else { return };
        self.next_ps = now_ps - now_ps % self.every_ps + self.every_ps;
        let target = lines[usize::from(waykeeper_simulator::TARGET_CLASS)];
        self.seen.at_s.push(now_ps as f64 / 1e12);
        self.seen.target_lines.push(target);
        self.seen.others_lines.push(lines.iter().sum::<u64>() - target);
    }

    /// What was seen.
    pub fn finish(self) -> Option<Occupancy> {
        (!self.seen.at_s.is_empty()).then_some(self.seen)
    }
}
