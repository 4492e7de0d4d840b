//! Colours of the private L2 as mitigations: who shares the core, or the cache, gets pages that do not meet in it.

use std::io;

use waykeeper_experiment::site::{Offer, SiteCore};
use waykeeper_linux::colour::{Coloured, Colouring};
use waykeeper_linux::memory::Mapping;

use super::job::Colours;

/// The target's pages have the lower half of the L2's colours, and those of its neighbours the upper half.
pub const APART: &str = "l2-colours";
/// All have the lower half: what the other is to be compared with, for both see the same smaller cache.
pub const SHARED: &str = "l2-colours-shared";

impl Colours {
    /// Memory in pages of some of the colours.
    ///
    /// # Errors
    /// Hidden physical addresses without huge pages; too little memory.
    pub fn memory(&self, bytes: usize, wanted: &[u32]) -> io::Result<Mapping> {
        let colouring = Colouring::of_cache(self.cache_bytes, self.ways);
        let colouring = colouring.ok_or_else(|| io::Error::other("this cache has no colours"))?;
        Ok(Coloured::new(bytes, colouring, wanted)?.into_mapping())
    }
}

/// The colours of everybody's pages under some mitigations, on the target's core.
pub fn of(mitigations: &[&str], core: Option<&SiteCore>) -> Option<Colours> {
    let apart = mitigations.contains(&APART);
    if !apart && !mitigations.contains(&SHARED) {
        return None;
    }
    let (cache_bytes, ways, colouring) = l2(core?)?;
    let [lower, upper] = colouring.halves();
    Some(Colours { cache_bytes, ways, neighbours: if apart { upper } else { lower.clone() }, target: lower })
}

/// What this machine offers, on the core that is taken by default.
pub fn offers(core: Option<&SiteCore>) -> Vec<(String, Offer)> {
    let refusal = refuses(core);
    let offer = |name: &str, title: &str| {
        let offer = refusal.clone().map_or_else(|| Offer::Applied(title.into()), Offer::Refused);
        (name.to_owned(), offer)
    };
    vec![
        offer(APART, "the target's pages have half of the colours of its L2, those of its neighbours the other half"),
        offer(SHARED, "the pages of the target and of its neighbours have the same half of the colours of its L2"),
    ]
}

/// Why colours are not to be had; found out by asking for a page.
fn refuses(core: Option<&SiteCore>) -> Option<String> {
    let Some((_, _, colouring)) = core.and_then(l2) else {
        return Some("the core has no L2 whose index is a plain choice of address bits above the page".into());
    };
    Coloured::new(1, colouring, &[0]).err().map(|error| error.to_string())
}

fn l2(core: &SiteCore) -> Option<(u64, u64, Colouring)> {
    let cache = core.caches.0.iter().find(|cache| cache.level == 2)?;
    Some((cache.size_bytes, cache.ways, Colouring::of_cache(cache.size_bytes, cache.ways)?))
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
        let refused =
            |core: Option<&SiteCore>| offers(core).iter().all(|(_, offer)| matches!(offer, Offer::Refused(_)));
        assert!(refused(None) && refused(Some(&core(32 << 10, 8))));
    }
}
