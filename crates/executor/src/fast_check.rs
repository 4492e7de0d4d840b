//! The beginning of a repeat in full, to be compared with the fast path.

use std::sync::atomic::{AtomicBool, Ordering};

use waykeeper_platform::CoreId;
use waykeeper_simulator::Engine;

use crate::simulated::slices::{Nothing, advance};

/// Parts of the time in full; their spread shows how far off it may be.
const PARTS: u64 = 20;

/// Longest time in full: about a second of one core for a way hammer.
const LONGEST_PS: u64 = 50_000_000_000;

/// Shortest worth anything.
const SHORTEST_PS: u64 = 2_000_000_000;

/// The share of a repeat that is simulated in full too: small beside what the fast path saves.
const SHARE: u64 = 40;

/// Time in full, picoseconds, and the lines that a core read from memory in each of its parts.
pub struct InFull {
    /// All parts together.
    pub ps: u64,
    /// Lines in each.
    pub reads: Vec<u64>,
}

/// Simulates the beginning of a repeat of so many picoseconds in full, after the warm-up, with an engine that is made for
/// it. None of one that is too short, or was stopped.
pub fn in_full(
    engine: impl FnOnce() -> Option<Engine>,
    core: CoreId,
    warm_ps: u64,
    repeat_ps: u64,
    stop: &AtomicBool,
) -> Option<InFull> {
    let part = (repeat_ps / SHARE).min(LONGEST_PS) / PARTS;
    if part * PARTS < SHORTEST_PS {
        return None;
    }
    let total = |engine: &Engine| engine.counters().core(core).map_or(0, |core| core.memory_reads);
    let mut engine = engine()?;
    advance(&mut engine, 0, warm_ps, stop, &mut Nothing);
    let mut before = total(&engine);
    let mut reads = Vec::new();
    for at in 1..=PARTS {
        advance(&mut engine, warm_ps + (at - 1) * part, warm_ps + at * part, stop, &mut Nothing);
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let now = total(&engine);
        reads.push(now - before);
        before = now;
    }
    Some(InFull { ps: part * PARTS, reads })
}
