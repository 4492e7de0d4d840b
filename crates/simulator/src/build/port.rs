//! From a platform's core to its way to the memory.

use waykeeper_platform::{Execution, Platform, PrivateCache};

use crate::build::{kind_of, need, ps};
use crate::port::{LEVELS, Latencies, MOST_SLOTS, Port};
use crate::refused::Refused;

/// A core's way to the memory.
pub fn port(platform: &Platform, core: usize) -> Result<Port, Refused> {
    let id = platform.core_ids()[core];
    let (at, kind) = kind_of(platform, id)?;
    let mut shared = [0; LEVELS];
    let mut inner = None;
    for (i, cache) in platform.shared_caches.iter().enumerate() {
        if cache.serves(id) {
            shared[usize::from(cache.level)] = ps(need(&cache.hit_ns, &format!("shared_caches.{i}.hit_ns"))?.value);
            inner = inner.or(cache.snoop_filter.as_ref());
        }
    }
    let cycle_ns = 1.0 / need(&kind.clock_ghz, &format!("cores.{at}.clock_ghz"))?.value;
    let hit = |cache: &Option<PrivateCache>, name: &str| -> Result<u64, Refused> {
        let Some(cache) = cache else { return Ok(0) };
        let cycles = need(&cache.hit_cycles, &format!("cores.{at}.{name}.hit_cycles"))?.value;
        Ok(ps(cycles as f64 * cycle_ns))
    };
    let slots = need(&kind.outstanding_misses, &format!("cores.{at}.outstanding_misses"))?.value as usize;
    if slots == 0 || slots > MOST_SLOTS {
        let why = format!("{slots} outstanding misses; the simulator holds 1 to {MOST_SLOTS}");
        return Err(Refused::new(format!("cores.{at}.outstanding_misses"), why));
    }
    let execution = need(&kind.execution, &format!("cores.{at}.execution"))?.value;
    let retry = |filter: Option<&waykeeper_platform::SnoopFilter>| filter.map_or(1, |f| ps(f.retry_ns.value).max(1));
    let outer = platform.interconnect.as_ref().and_then(|interconnect| interconnect.snoop_filter.as_ref());
    let latencies = Latencies {
        cycle: ps(cycle_ns).max(1),
        l1: hit(&kind.l1d, "l1d")?,
        l2: hit(&kind.l2, "l2")?,
        shared,
        cluster_retry: retry(inner),
        interconnect_retry: retry(outer),
    };
    Ok(Port::new(core, execution == Execution::OutOfOrder, slots, latencies))
}
