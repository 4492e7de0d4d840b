//! Page colours as mitigations: who shares the core, or the cache, gets pages that do not meet in it. Of the private L2,
//! and of the last level where the processor says that it chooses sets by plain bits of the address.

use std::io;

use waykeeper_experiment::site::{MitigationOffer, SiteCore};
use waykeeper_linux::colour::{CacheColours, Coloured};
use waykeeper_linux::machine::index_is_hashed;
use waykeeper_linux::memory::Mapping;

use super::job::ColourPartition;

/// The target's pages have the lower half of the L2's colours, and those of its neighbours the upper half.
pub const APART: &str = "l2-colours";
/// All have the lower half: what the other is to be compared with, for both see the same smaller cache.
pub const SHARED: &str = "l2-colours-shared";
/// The same with the colours of the last level.
pub const LAST_APART: &str = "llc-colours";
/// The same with the colours of the last level.
pub const LAST_SHARED: &str = "llc-colours-shared";
/// All of them. Their memory is somebody's buffer.
pub const NAMES: [&str; 4] = [APART, SHARED, LAST_APART, LAST_SHARED];

impl ColourPartition {
    /// Memory in pages of some of the colours.
    ///
    /// # Errors
    /// Hidden physical addresses without huge pages; too little memory.
    pub fn memory(&self, bytes: usize, wanted: &[u32]) -> io::Result<Mapping> {
        let colouring = CacheColours::of_cache(self.cache_bytes, self.ways);
        let colouring = colouring.ok_or_else(|| io::Error::other("this cache has no colours"))?;
        Ok(Coloured::new(bytes, colouring, wanted)?.into_mapping())
    }
}

/// The cache whose colours a mitigation deals out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Second,
    Last,
}

/// Size, ways and colours of a cache.
type Geometry = (u64, u64, CacheColours);

/// The colours of everybody's pages under some mitigations, on the target's core. Those of the last level go first: its
/// colours are made of more bits, and those of the L2 are among them.
pub fn of(mitigations: &[&str], core: Option<&SiteCore>) -> Option<ColourPartition> {
    let named = |name: &str| mitigations.contains(&name);
    let (level, apart) = match (named(LAST_APART), named(LAST_SHARED), named(APART), named(SHARED)) {
        (true, ..) => (Level::Last, true),
        (_, true, ..) => (Level::Last, false),
        (.., true, _) => (Level::Second, true),
        (.., true) => (Level::Second, false),
        _ => return None,
    };
    let core = core?;
    let (cache_bytes, ways, colouring) = geometry(core, level, index_is_hashed(core.id)).ok()?;
    let [lower, upper] = colouring.halves();
    Some(ColourPartition { cache_bytes, ways, neighbours: if apart { upper } else { lower.clone() }, target: lower })
}

/// What this machine offers, on the core that is taken by default.
pub fn offers(core: Option<&SiteCore>) -> Vec<(String, MitigationOffer)> {
    let hashed = core.and_then(|core| index_is_hashed(core.id));
    let of = |level: Level, [apart, shared]: [&str; 2], called: &str| {
        let refusal = refuses(core, level, hashed);
        let offer = |name: &str, title: String| {
            (name.to_owned(), refusal.clone().map_or(MitigationOffer::Applied(title), MitigationOffer::Refused))
        };
        [
            offer(
                apart,
                format!(
                    "the target's pages have half of the colours of its {called}, those of its neighbours the other half"
                ),
            ),
            offer(
                shared,
                format!(
                    "the pages of the target and of its neighbours have the same half of the colours of its {called}"
                ),
            ),
        ]
    };
    let second = of(Level::Second, [APART, SHARED], "L2");
    let last = of(Level::Last, [LAST_APART, LAST_SHARED], "last-level cache");
    second.into_iter().chain(last).collect()
}

/// Why colours are unavailable; found out by asking for a page.
fn refuses(core: Option<&SiteCore>, level: Level, hashed: Option<bool>) -> Option<String> {
    let Some(core) = core else { return Some("there is no core to ask for its caches".into()) };
    match geometry(core, level, hashed) {
        Ok((.., colouring)) => Coloured::new(1, colouring, &[0]).err().map(|error| error.to_string()),
        Err(why) => Some(why),
    }
}

/// A cache whose index is a plain choice of address bits above the page. Private second levels are taken for that; the
/// last level has to say so, since most of them hash.
fn geometry(core: &SiteCore, level: Level, hashed: Option<bool>) -> Result<Geometry, String> {
    let caches = &core.caches.0;
    let cache = match level {
        Level::Second => caches.iter().find(|cache| cache.level == 2),
        Level::Last => caches.iter().filter(|cache| cache.level > 2).max_by_key(|cache| cache.level),
    };
    let cache = cache.ok_or_else(|| match level {
        Level::Second => "the core has no L2 whose index is a plain choice of address bits above the page".to_owned(),
        Level::Last => "there is no cache beyond the L2; its own colours are l2-colours".to_owned(),
    })?;
    if level == Level::Last {
        match hashed {
            Some(false) => {}
            Some(true) => {
                return Err(format!(
                    "the L{} chooses a line's set by a hash of its whole address (CPUID leaf 4), so that its pages have no colours; \
                     its ways can be divided instead, where `waykeeper machine` lists a control",
                    cache.level
                ));
            }
            None => {
                return Err(format!(
                    "nothing on this machine shows whether the L{} chooses a line's set by plain bits of its address (CPUID leaf 4 \
                     of Intel's processors alone does), and most last levels hash; l2-colours needs no such word",
                    cache.level
                ));
            }
        }
    }
    let colouring = CacheColours::of_cache(cache.size_bytes, cache.ways);
    let colouring = colouring.ok_or_else(|| {
        format!(
            "the core has no L{} whose index is a plain choice of address bits above the page: {} bytes in {} ways",
            cache.level, cache.size_bytes, cache.ways
        )
    })?;
    Ok((cache.size_bytes, cache.ways, colouring))
}

#[cfg(test)]
mod tests {
    use super::*;
    use waykeeper_workload::{CacheShape, CacheShapes};

    fn core(size_bytes: u64, ways: u64) -> SiteCore {
        let l2 = CacheShape { level: 2, size_bytes, ways, line_bytes: 64 };
        SiteCore { id: 0, caches: CacheShapes(vec![l2]), siblings: Vec::new() }
    }

    #[test]
    fn halves_apart_or_the_same_half() {
        // 512 KiB in 8 ways: 16 colours.
        let core = core(512 << 10, 8);
        let (lower, upper): (Vec<u32>, Vec<u32>) = ((0..8).collect(), (8..16).collect());
        let colours = of(&[APART], Some(&core)).unwrap();
        assert_eq!((&colours.target, &colours.neighbours), (&lower, &upper));
        let colours = of(&["fifo", SHARED], Some(&core)).unwrap();
        assert_eq!((&colours.target, &colours.neighbours), (&lower, &lower));
        assert_eq!(of(&["fifo"], Some(&core)), None);
    }

    #[test]
    fn a_cache_without_colours_offers_none() {
        let refused = |core: Option<&SiteCore>| {
            offers(core).iter().all(|(_, offer)| matches!(offer, MitigationOffer::Refused(_)))
        };
        assert!(refused(None) && refused(Some(&core(32 << 10, 8))));
    }

    #[test]
    fn a_last_level_has_colours_where_it_says_that_it_does_not_hash() {
        // 6 MiB in 12 ways: 512 KiB a way, 128 pages.
        let last = CacheShape { level: 3, size_bytes: 6 << 20, ways: 12, line_bytes: 64 };
        let mut core = core(512 << 10, 8);
        let why = geometry(&core, Level::Last, Some(false)).unwrap_err();
        assert!(why.contains("no cache beyond the L2"), "{why}");
        core.caches.0.push(last);
        let (bytes, ways, colouring) = geometry(&core, Level::Last, Some(false)).unwrap();
        assert_eq!((bytes, ways, colouring.count()), (6 << 20, 12, 128));
        for (hashed, words) in [(Some(true), "a hash of its whole address"), (None, "nothing on this machine shows")] {
            let why = geometry(&core, Level::Last, hashed).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
        // What the last level says is no matter for the L2.
        assert_eq!(geometry(&core, Level::Second, Some(true)).unwrap().2.count(), 16);
    }
}
