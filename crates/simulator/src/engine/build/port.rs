//! From a platform's core to its way to the memory.

use waykeeper_platform::{CoreKind, Execution, Platform, PrivateCache, SnoopFilterDescription};

use crate::core::latencies::{LEVELS, Latencies};
use crate::core::mshrs::{Bounds, MOST_MSHRS};
use crate::core::port::Port;
use crate::core::window::Window;
use crate::engine::build::{kind_of, limits, need};
use crate::refused::Refused;
use crate::time::Ps;

/// A core's way to the memory.
pub fn port(platform: &Platform, core: usize) -> Result<Port, Refused> {
    let (at, kind) = kind_of(platform, platform.core_ids()[core])?;
    let execution = need(&kind.execution, &format!("cores.{at}.execution"))?.value;
    let latencies = latencies(platform, core, None)?;
    let mut port = Port::new(core, execution == Execution::OutOfOrder, bounds(kind, at)?, latencies);
    port.stops_at_loads = execution == Execution::InOrder && kind.first_use_instructions.is_none();
    port.limits = limits(platform, platform.core_ids()[core]);
    Ok(port)
}

/// The instructions that a core begins beside a load that waits.
pub fn window(platform: &Platform, core: usize) -> Result<Window, Refused> {
    let (_, kind) = kind_of(platform, platform.core_ids()[core])?;
    let of_core = kind.window_instructions.as_ref().or(kind.first_use_instructions.as_ref());
    Ok(Window::new(of_core.map(|window| window.value)))
}

fn bounds(kind: &CoreKind, at: usize) -> Result<Bounds, Refused> {
    let key = format!("cores.{at}.outstanding_misses");
    let of_core = need(&kind.outstanding_misses, &key)?.value as usize;
    let of = |cache: &Option<PrivateCache>| cache.as_ref()?.outstanding_misses.as_ref().map(|most| most.value as usize);
    // Fetches come one at a time, so that the data side's bound is the core's.
    let all = of(&kind.l1d).unwrap_or(of_core).min(of_core);
    if all == 0 || all > MOST_MSHRS {
        let why = format!("{all} outstanding misses; the simulator holds 1 to {MOST_MSHRS}");
        return Err(Refused::new(key, why));
    }
    let second = of(&kind.l2).unwrap_or(0);
    Ok(Bounds {
        all,
        beyond: of(&kind.l2).filter(|most| *most < all),
        for_second: second.min(MOST_MSHRS).saturating_sub(all),
    })
}

/// What answers cost a core at its own clock, or at another one.
pub fn latencies(platform: &Platform, core: usize, clock_ghz: Option<f64>) -> Result<Latencies, Refused> {
    let id = platform.core_ids()[core];
    let (at, kind) = kind_of(platform, id)?;
    let clock = need(&kind.clock_ghz, &format!("cores.{at}.clock_ghz"))?.value;
    let cycle_ns = 1.0 / clock_ghz.unwrap_or(clock);
    let hit = |cache: &Option<PrivateCache>, name: &str| -> Result<Ps, Refused> {
        let Some(cache) = cache else { return Ok(Ps::ZERO) };
        let cycles = need(&cache.hit_cycles, &format!("cores.{at}.{name}.hit_cycles"))?.value;
        Ok(Ps::from_ns(cycles as f64 * cycle_ns))
    };
    let last = kind.l2.as_ref().or(kind.l1d.as_ref());
    let own_cycles = last.and_then(|cache| cache.hit_cycles.as_ref()).map_or(0.0, |cycles| cycles.value as f64);
    let mut shared = [Ps::ZERO; LEVELS];
    let mut cluster_filter = None;
    for (i, cache) in platform.shared_caches.iter().enumerate() {
        if cache.serves(id) {
            let hit_ns = need(&cache.hit_ns, &format!("shared_caches.{i}.hit_ns"))?.value;
            // The time is the one at the file's clock; what of it the core's own caches take goes with the clock.
            shared[usize::from(cache.level)] = Ps::from_ns((hit_ns + own_cycles * (cycle_ns - 1.0 / clock)).max(0.0));
            cluster_filter = cluster_filter.or(cache.snoop_filter.as_ref());
        }
    }
    let one = Ps::new(1);
    let retry =
        |filter: Option<&SnoopFilterDescription>| filter.map_or(one, |f| Ps::from_ns(f.retry_ns.value).max(one));
    let outer = platform.interconnect.as_ref().and_then(|interconnect| interconnect.snoop_filter.as_ref());
    let (cycle, width) = (Ps::from_ns(cycle_ns).max(one), kind.issue_width.as_ref().map_or(1, |width| width.value));
    let l2 = hit(&kind.l2, "l2")?;
    // A line on its way past all caches leaves the core when the last of them has taken notice of it.
    let farthest = shared.iter().copied().max().unwrap_or(Ps::ZERO).max(l2);
    Ok(Latencies {
        cycle,
        in_1000_cycles: match &kind.instructions_per_cycle {
            Some(instructions) => ((instructions.value * 1e3).round() as u64).max(1),
            None => 1000 * width,
        },
        pace: (cycle / width).max(one),
        misprediction: kind.misprediction_cycles.as_ref().map(|cycles| cycle * cycles.value),
        l1: hit(&kind.l1d, "l1d")?,
        l2,
        on_chip: platform.on_chip_ram.as_ref().map_or(Ps::ZERO, |ram| Ps::from_ns(ram.latency_ns.value)),
        stream: match &kind.write_streaming {
            Some(streaming) => match shared.get(streaming.to_level.value as usize) {
                Some(&Ps::ZERO) | None => farthest,
                Some(held) => *held,
            },
            None => farthest,
        },
        other_core: shared.iter().max().copied().expect("there are levels") + l2,
        shared,
        retry: [retry(cluster_filter), retry(outer)],
    })
}
