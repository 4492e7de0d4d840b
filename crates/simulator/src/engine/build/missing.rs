//! What a platform's file leaves out that every simulation of it needs: all of it at once.

use waykeeper_platform::{CoreKind, Platform, PrivateCache, SharedCache};

use crate::refused::Refused;

const REPLACEMENT: &str = "`lru`, `tree_plru`, `bit_plru`, `random`, `round_robin`, `mru` or `biased`";
const ALLOCATION: &str = "`exclusive_until_shared`, `inclusive`, `non_inclusive` or `victim`";
const INCLUSION: &str = "`exclusive_of_l1d`, `inclusive_of_l1d` or `non_inclusive`";

/// Keys that are missing, each with what would do.
struct Missing(Vec<(String, &'static str)>);

impl Missing {
    fn look(&mut self, there: bool, key: impl FnOnce() -> String, would_do: &'static str) {
        if !there {
            self.0.push((key(), would_do));
        }
    }
}

/// Refuses a platform that lacks what every simulation needs.
///
/// # Errors
/// The first key that is missing, and all others in the reason.
pub fn nothing_is_missing(platform: &Platform) -> Result<(), Refused> {
    let mut missing = Missing(Vec::new());
    for (at, kind) in platform.cores.iter().enumerate() {
        of_core(kind, &format!("cores.{at}"), &mut missing);
    }
    for (at, cache) in platform.shared_caches.iter().enumerate() {
        of_shared(cache, &format!("shared_caches.{at}"), &mut missing);
    }
    missing.look(platform.interconnect.is_some(), || "interconnect".into(), "a table with `crossing_ns`");
    missing.look(platform.memory.is_some(), || "memory".into(), "a table with `part`, such as `ddr4-2133-x32`");
    let mut keys = missing.0.into_iter();
    let Some((first, would_do)) = keys.next() else { return Ok(()) };
    let mut why = format!("the platform does not give it; a simulation needs it: {would_do}");
    let others: Vec<_> = keys.map(|(key, would_do)| format!("{key} ({would_do})")).collect();
    if !others.is_empty() {
        why += &format!("; and {}", others.join(", "));
    }
    Err(Refused::new(first, why))
}

fn of_core(kind: &CoreKind, path: &str, missing: &mut Missing) {
    let key = |name: &str| format!("{path}.{name}");
    missing.look(kind.clock_ghz.is_some(), || key("clock_ghz"), "a number");
    missing.look(kind.execution.is_some(), || key("execution"), "`in_order` or `out_of_order`");
    missing.look(kind.outstanding_misses.is_some(), || key("outstanding_misses"), "1 to 64");
    let caches = [("l1d", &kind.l1d, true), ("l1i", &kind.l1i, true), ("l2", &kind.l2, false)];
    for (name, cache, needed) in caches {
        match cache {
            Some(cache) => of_cache(cache, name, &key(name), missing),
            None => missing.look(!needed, || key(name), "a table with `size_kib` and `ways`"),
        }
    }
}

fn of_cache(cache: &PrivateCache, name: &str, path: &str, missing: &mut Missing) {
    let key = |name: &str| format!("{path}.{name}");
    missing.look(cache.replacement.is_some(), || key("replacement"), REPLACEMENT);
    // Fetches that hit cost nothing of their own.
    missing.look(cache.hit_cycles.is_some() || name == "l1i", || key("hit_cycles"), "a number");
    missing.look(cache.inclusion.is_some() || name != "l2", || key("inclusion"), INCLUSION);
}

fn of_shared(cache: &SharedCache, path: &str, missing: &mut Missing) {
    let key = |name: &str| format!("{path}.{name}");
    missing.look(cache.replacement.is_some(), || key("replacement"), REPLACEMENT);
    missing.look(cache.allocation.is_some(), || key("allocation"), ALLOCATION);
    missing.look(cache.hit_ns.is_some(), || key("hit_ns"), "a number");
}

#[cfg(test)]
mod tests {
    use waykeeper_platform::find_bundled;

    use super::*;

    #[test]
    fn all_that_is_missing_is_told_at_once() {
        let text = find_bundled("agilex5").unwrap().text;
        let mut platform = Platform::from_toml(text, "agilex5").unwrap();
        assert_eq!(nothing_is_missing(&platform), Ok(()));
        platform.cores[1].execution = None;
        platform.cores[1].l1d.as_mut().unwrap().replacement = None;
        platform.cores[1].l1i = None;
        platform.shared_caches[0].allocation = None;
        let refused = nothing_is_missing(&platform).unwrap_err();
        assert_eq!(refused.what, "cores.1.execution");
        for key in ["cores.1.l1d.replacement (`lru`", "cores.1.l1i (a table", "shared_caches.0.allocation (`excl"] {
            assert!(refused.why.contains(key), "{refused}");
        }
        assert!(!refused.why.contains("cores.0") && !refused.why.contains("memory"), "{refused}");
    }

    #[test]
    fn every_bundled_platform_that_is_simulated_has_all() {
        for bundled in waykeeper_platform::bundled() {
            let platform = Platform::from_toml(bundled.text, bundled.name).unwrap();
            if platform.memory.is_some() {
                assert_eq!(nothing_is_missing(&platform), Ok(()), "{}", bundled.name);
            }
        }
    }
}
