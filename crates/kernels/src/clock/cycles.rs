//! The cycle counter of an AArch64 core (`PMCCNTR_EL0`) as the clock of samples, where the counter (`CNTVCT`) is too coarse for them.
//!
//! Cycles alone are no time: a core changes its clock, and the kernel stops the count while it runs something else. So every sample
//! has both, and the cycles only decide within what the counter allows (`c/stamp.h`).

/// The longest unit of samples, nanoseconds: about a cycle of a fast core.
const LONGEST_UNIT_NS: f64 = 0.25;
/// Units in a tick are at most 2 to this power: a counter of 1 MHz needs 12.
const MOST_PER_TICK_LOG2: u64 = 16;

/// A reading of the counter and one of the cycle counter.
#[cfg(any(test, target_arch = "aarch64"))]
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stamp {
    pub at: u64,
    pub cycles: u64,
}

/// In what samples are counted that the cycle counter times.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CycleUnit {
    pub(crate) per_tick_log2: u64,
    /// In 2^-32.
    pub(crate) per_cycle: u64,
}

/// Units in a tick of so many nanoseconds, as the power of two: a unit is at most 0.25 ns.
pub fn units_per_tick_log2(tick_ns: f64) -> u64 {
    (0..MOST_PER_TICK_LOG2)
        .find(|log2| tick_ns / (1_u64 << log2) as f64 <= LONGEST_UNIT_NS)
        .unwrap_or(MOST_PER_TICK_LOG2)
}

/// What was measured of a core's cycle counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CycleCounter {
    /// What its cycles are in units of samples.
    pub unit: CycleUnit,
    /// Cycles in a second, the median of several short intervals.
    pub frequency_hz: f64,
    /// Largest minus smallest frequency of these intervals, in millionths.
    pub spread_ppm: f64,
}

#[cfg(target_arch = "aarch64")]
impl CycleCounter {
    /// Measures the cycle counter of the core that this thread runs on; takes 10 ms, all of them busy.
    ///
    /// # Safety
    /// The kernel lets this thread read `PMCCNTR_EL0` (`waykeeper_linux::perf::CycleAccess`): otherwise it gets SIGILL.
    pub unsafe fn measure(units_per_tick_log2: u64) -> Self {
        const INTERVALS: usize = 5;
        const INTERVAL_S: f64 = 0.002;
        let ticks = (super::frequency_hz() * INTERVAL_S) as u64;
        let mut rates = [0.0; INTERVALS];
        for rate in &mut rates {
            // SAFETY: as this function's own contract.
            let (first, last) = unsafe {
                let first = stamp();
                while super::now().wrapping_sub(first.at) < ticks {}
                (first, stamp())
            };
            *rate = last.cycles.wrapping_sub(first.cycles) as f64 / last.at.wrapping_sub(first.at) as f64;
        }
        rates.sort_by(f64::total_cmp);
        let cycles_per_tick = rates[INTERVALS / 2];
        Self {
            unit: CycleUnit::new(units_per_tick_log2, cycles_per_tick),
            frequency_hz: cycles_per_tick * super::frequency_hz(),
            spread_ppm: (rates[INTERVALS - 1] - rates[0]) / cycles_per_tick * 1e6,
        }
    }
}

#[cfg(target_arch = "aarch64")]
unsafe fn stamp() -> Stamp {
    let mut stamp = Stamp::default();
    // SAFETY: writes to `stamp` and reads two counters, which the caller may do.
    unsafe { crate::ffi::wk_entry_stamp(&mut stamp) };
    stamp
}

#[cfg(any(test, target_arch = "aarch64"))]
impl CycleUnit {
    fn new(per_tick_log2: u64, cycles_per_tick: f64) -> Self {
        // `wk_between` multiplies it by up to 2^28 cycles.
        const MOST: f64 = (1_u64 << 36) as f64 - 1.0;
        let per_cycle = (1_u64 << per_tick_log2) as f64 / cycles_per_tick * (1_u64 << 32) as f64;
        // A counter that stands still makes samples as coarse as the counter beside it.
        Self { per_tick_log2, per_cycle: if per_cycle.is_finite() { per_cycle.clamp(0.0, MOST) as u64 } else { 0 } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 24 MHz and 1.8 GHz: 75 cycles in a tick, 256 units in a tick.
    fn unit() -> CycleUnit {
        CycleUnit::new(units_per_tick_log2(1e9 / 24e6), 75.0)
    }

    fn between(start: (u64, u64), end: (u64, u64)) -> u64 {
        let stamp = |(at, cycles)| Stamp { at, cycles };
        // SAFETY: computes from what it is given.
        unsafe { crate::ffi::wk_entry_between(&unit(), &stamp(start), &stamp(end)) }
    }

    #[test]
    fn a_unit_is_at_most_a_quarter_of_a_nanosecond() {
        assert_eq!(units_per_tick_log2(1e9 / 24e6), 8);
        assert_eq!(units_per_tick_log2(1e9 / 62.5e6), 6);
        assert_eq!(units_per_tick_log2(1.0), 2);
        assert_eq!(units_per_tick_log2(0.25), 0);
        assert_eq!(units_per_tick_log2(1e6), MOST_PER_TICK_LOG2);
    }

    #[test]
    fn cycles_decide_within_what_the_counter_allows() {
        // 30 cycles are 0.4 ticks: 102.4 units, wherever the ticks lie.
        assert_eq!(between((1000, 500), (1000, 530)), 102);
        assert_eq!(between((1000, 500), (1001, 530)), 102);
        // 7500 cycles are 100 ticks.
        assert_eq!(between((1000, 500), (1100, 8000)), 25_600);
    }

    #[test]
    fn what_the_core_did_not_count_is_seen_by_the_counter() {
        // Something else ran for 1000 ticks, and the cycle counter stood still: at least 999 ticks.
        assert_eq!(between((1000, 500), (2000, 530)), 999 << 8);
        // The core slowed down to a third: 2500 cycles in 100 ticks.
        assert_eq!(between((1000, 500), (1100, 3000)), 99 << 8);
        // It became twice as fast.
        assert_eq!(between((1000, 500), (1100, 15_500)), 101 << 8);
        // It was set back, and it ran so long that the counter alone is fine enough.
        assert_eq!(between((1000, 500), (1003, 100)), 3 << 8);
        assert_eq!(between((0, 0), (40_000_000, 1 << 30)), 40_000_000 << 8);
    }

    #[test]
    fn the_longest_sample_in_cycles_fits() {
        let fast = CycleUnit::new(MOST_PER_TICK_LOG2, 1.0);
        assert_eq!(fast.per_cycle, (1 << 36) - 1);
        let (start, end) = (Stamp::default(), Stamp { at: 1 << 28, cycles: (1 << 28) - 1 });
        // SAFETY: as above. One tick less than between the readings is what it must be at least.
        let units = unsafe { crate::ffi::wk_entry_between(&fast, &start, &end) };
        assert_eq!(units, ((1 << 28) - 1) << MOST_PER_TICK_LOG2);
        assert_eq!(CycleUnit::new(8, 0.0).per_cycle, 0);
    }
}
