//! Who holds how much of a simulated shared cache, over time.

use waykeeper_experiment::cases::Case;
use waykeeper_experiment::mitigation::parts;
use waykeeper_experiment::run::Occupancy;
use waykeeper_platform::{Platform, Settings};
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
    pub fn new(platform: &Platform, case: &Case, length_ps: u64) -> Option<Self> {
        let core = case.target.core;
        let shares = |cores: &Vec<u32>| cores.contains(&core);
        let cache =
            platform.shared_caches.iter().rfind(|cache| shares(&cache.cores) || cache.copies.iter().any(shares))?;
        let ways = cache.ways.value as u32;
        let settings = settings(platform, case);
        let of_groups = |groups: usize| {
            let all = cache.way_groups.as_ref().map_or(u64::from(ways), |count| count.value).max(1);
            (u64::from(ways) * groups as u64 / all) as u32
        };
        let (target_ways, others_ways) = match &settings.way_groups {
            Some(groups) => (of_groups(groups.target.len()), of_groups(groups.others.len())),
            None => (ways, ways),
        };
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

/// The settings of a case's mitigations together.
fn settings(platform: &Platform, case: &Case) -> Settings {
    let set = |part: &str| {
        let own = case.assignments.get(part);
        own.or_else(|| platform.mitigations.get(part).map(|mitigation| &mitigation.set)).cloned().unwrap_or_default()
    };
    parts(&case.mitigation).into_iter().fold(Settings::default(), |all, part| all.then(&set(part)))
}
