//! What runs on the cores of a neighbour: one pattern on all, or several, core after core.

use fastrand::Rng;

use super::geometry::Geometry;
use super::pattern::NeighbourPattern;

/// Patterns of a neighbour's cores: the first core runs the first one, and so on, beginning again after the last one.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighbourMixture {
    parts: Vec<NeighbourPattern>,
}

impl From<NeighbourPattern> for NeighbourMixture {
    fn from(pattern: NeighbourPattern) -> Self {
        Self { parts: vec![pattern] }
    }
}

impl NeighbourMixture {
    /// Different patterns; equal ones alone are one pattern on all cores.
    fn new(mut parts: Vec<NeighbourPattern>) -> Self {
        if parts.iter().all(|part| *part == parts[0]) {
            parts.truncate(1);
        }
        Self { parts }
    }

    /// Any mixture: most have one pattern.
    pub fn draw(geometry: &Geometry, random: &mut Rng) -> Self {
        let kinds = if random.u32(..4) == 0 { random.usize(1..=geometry.kinds()) } else { 1 };
        Self::new((0..kinds).map(|_| NeighbourPattern::draw(geometry, random)).collect())
    }

    /// Any mixture of which one pattern at least accesses the target's buffer, where that is shared.
    pub fn draw_sharing(geometry: &Geometry, random: &mut Rng) -> Self {
        let kinds = if random.u32(..4) == 0 { random.usize(1..=geometry.kinds()) } else { 1 };
        let part = |at: usize| match at == 0 || random.bool() {
            true => NeighbourPattern::draw_sharing(geometry, random),
            false => NeighbourPattern::draw(geometry, random),
        };
        Self::new((0..kinds).map(part).collect())
    }

    /// Whether one of its patterns accesses the target's buffer.
    pub fn shares_lines(&self) -> bool {
        self.parts.iter().any(NeighbourPattern::shares_lines)
    }

    /// A neighbouring mixture: one pattern changed, added or left out.
    #[must_use]
    pub fn changed(&self, geometry: &Geometry, random: &mut Rng) -> Self {
        let mut parts = self.parts.clone();
        let at = random.usize(..parts.len());
        match random.u32(..8) {
            0 if parts.len() < geometry.kinds() => parts.push(parts[at].changed(geometry, random)),
            1 if parts.len() < geometry.kinds() => parts.push(NeighbourPattern::draw(geometry, random)),
            2 if parts.len() > 1 => drop(parts.remove(at)),
            _ => parts[at] = parts[at].changed(geometry, random),
        }
        Self::new(parts)
    }

    /// A mixture of two: patterns of both on the cores, or one whose numbers are of both.
    #[must_use]
    pub fn crossed(&self, other: &Self, geometry: &Geometry, random: &mut Rng) -> Self {
        let (own, others) = (random.usize(..self.parts.len()), random.usize(..other.parts.len()));
        let (own, others) = (&self.parts[own], &other.parts[others]);
        if geometry.kinds() > 1 && random.bool() {
            return Self::new(vec![own.clone(), others.clone()]);
        }
        own.crossed(others, geometry, random).into()
    }

    /// Its different patterns.
    pub fn parts(&self) -> &[NeighbourPattern] {
        &self.parts
    }

    /// The number of the pattern that each core runs.
    pub fn on_cores(&self, cores: usize) -> impl Iterator<Item = usize> {
        let kinds = self.parts.len();
        (0..cores).map(move |at| at % kinds)
    }

    /// What it does, in a few words.
    pub fn called(&self) -> String {
        self.parts.iter().map(NeighbourPattern::called).collect::<Vec<_>>().join(" | ")
    }
}

#[cfg(test)]
mod tests {
    use waykeeper_workload::{CacheShape, CacheShapes};

    use super::*;

    fn geometry(cores: usize) -> Geometry {
        let shape = CacheShape { level: 1, size_bytes: 32 << 10, ways: 4, line_bytes: 64 };
        Geometry::of(&CacheShapes(vec![shape])).on_cores(cores)
    }

    #[test]
    fn no_mixture_has_more_patterns_than_cores() {
        for (cores, most) in [(1, 1), (2, 2), (7, 3)] {
            let (geometry, mut random) = (geometry(cores), Rng::with_seed(3));
            let mut mixture = NeighbourMixture::draw(&geometry, &mut random);
            let mut seen = 0;
            for round in 0..600 {
                let other = NeighbourMixture::draw(&geometry, &mut random);
                mixture = match round % 3 {
                    0 => other,
                    1 => mixture.changed(&geometry, &mut random),
                    _ => mixture.crossed(&other, &geometry, &mut random),
                };
                assert!(!mixture.parts().is_empty());
                assert_eq!(mixture.on_cores(cores).max().unwrap() + 1, mixture.parts().len().min(cores));
                seen = seen.max(mixture.parts().len());
            }
            assert_eq!(seen, most, "{cores} cores");
        }
    }

    #[test]
    fn a_sharing_mixture_has_a_pattern_in_the_targets_buffer() {
        let (geometry, mut random) = (geometry(3).sharing(Some(32 << 10)), Rng::with_seed(5));
        let drawn: Vec<_> = (0..400).map(|_| NeighbourMixture::draw_sharing(&geometry, &mut random)).collect();
        assert!(drawn.iter().all(NeighbourMixture::shares_lines));
        // Some have cores with buffers of their own beside it.
        assert!(drawn.iter().any(|mixture| mixture.parts().iter().any(|part| !part.shares_lines())));
        // Others never become such ones.
        let mut own = NeighbourMixture::draw(&geometry, &mut random);
        for _ in 0..400 {
            let other = NeighbourMixture::draw(&geometry, &mut random);
            own = own.changed(&geometry, &mut random).crossed(&other, &geometry, &mut random);
            assert!(!own.shares_lines(), "{own:?}");
        }
    }

    #[test]
    fn what_is_crossed_is_of_its_parents() {
        let (geometry, mut random) = (geometry(2), Rng::with_seed(5));
        for _ in 0..200 {
            let [a, b] = [0, 1].map(|_| NeighbourMixture::draw(&geometry, &mut random));
            let crossed = a.crossed(&b, &geometry, &mut random);
            if crossed.parts().len() == 2 {
                assert!(a.parts().contains(&crossed.parts()[0]) && b.parts().contains(&crossed.parts()[1]));
            } else {
                let operations: Vec<_> = [a.parts(), b.parts()].concat().iter().map(|part| part.operation).collect();
                assert!(operations.contains(&crossed.parts()[0].operation));
            }
        }
    }
}
