//! The counter that samples are measured with, and what is known about it.

#[cfg(target_arch = "arm")]
mod armv7;
pub mod cycles;

use std::sync::OnceLock;
use std::thread::sleep;
use std::time::Duration;

use crate::ffi;

/// Intervals over which the frequency is measured, and the length of each.
const INTERVALS: usize = 10;
const INTERVAL: Duration = Duration::from_millis(20);
/// Tries for a reading of both clocks that nothing came between.
const PAIRING_TRIES: usize = 16;
const BACK_TO_BACK_READINGS: usize = 10_000;

/// The counter now, with fences on both sides: everything before has been done, nothing after has begun.
///
/// x86-64: `lfence; rdtsc; lfence`. AArch64: `dsb ld; isb; mrs cntvct_el0; isb`. ARMv7: `dsb; isb`, the counter that could be
/// had there (`clock/armv7.rs`), `isb`.
pub fn now() -> u64 {
    #[cfg(target_arch = "arm")]
    armv7::chosen();
    // SAFETY: reads a counter.
    unsafe { ffi::wk_entry_now() }
}

/// What is known about the counter.
#[derive(Debug, Clone, PartialEq)]
pub struct TimestampCounter {
    /// `TSC`, `CNTVCT`, or on ARMv7 what stands in for it.
    pub name: &'static str,
    /// Ticks per second of `CLOCK_MONOTONIC_RAW`.
    pub frequency_hz: f64,
    /// The smallest step, in ticks, that was seen between two readings or between two durations.
    pub resolution_ticks: u64,
    /// The median of the durations between two readings that follow each other, in ticks.
    pub read_overhead_ticks: u64,
    /// Largest minus smallest frequency over ten intervals of 20 ms, in millionths of the frequency. The reading of the
    /// reference clock itself accounts for about 1 of them.
    pub stability_ppm: f64,
    /// Whether the counter promises a constant rate in all power states: CPUID 80000007h EDX bit 8 (Intel SDM 18.17.1).
    /// None on Arm, where the architecture promises it (Arm ARM D11.1).
    pub invariant: Option<bool>,
}

/// Measures the counter; takes 0.2 s, most of it asleep.
pub fn measure() -> TimestampCounter {
    let mut readings = vec![paired_reading()];
    for _ in 0..INTERVALS {
        sleep(INTERVAL);
        readings.push(paired_reading());
    }
    let frequency_hz = frequency(readings[0], readings[INTERVALS]);
    let each: Vec<f64> = readings.windows(2).map(|pair| frequency(pair[0], pair[1])).collect();
    let (lowest, highest) = each.iter().fold((f64::MAX, 0.0), |(low, high), f| (f.min(low), f.max(high)));

    let mut durations = back_to_back();
    durations.sort_unstable();
    TimestampCounter {
        name: name(),
        frequency_hz,
        resolution_ticks: smallest_step(&durations),
        read_overhead_ticks: durations[durations.len() / 2],
        stability_ppm: (highest - lowest) / frequency_hz * 1e6,
        invariant: invariant(),
    }
}

fn name() -> &'static str {
    #[cfg(target_arch = "arm")]
    return armv7::chosen().name();
    #[cfg(not(target_arch = "arm"))]
    if cfg!(target_arch = "x86_64") { "TSC" } else { "CNTVCT" }
}

/// Ticks per second, measured once in a process over one interval of 20 ms; good to some ten millionths.
pub fn frequency_hz() -> f64 {
    static FREQUENCY: OnceLock<f64> = OnceLock::new();
    *FREQUENCY.get_or_init(|| {
        let before = paired_reading();
        sleep(INTERVAL);
        frequency(before, paired_reading())
    })
}

/// A reading of the counter and of `CLOCK_MONOTONIC_RAW` (ns) at the same moment.
pub fn paired_reading() -> (u64, i128) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..PAIRING_TRIES {
        let before = now();
        let reference_ns = monotonic_raw_ns();
        let between = now().saturating_sub(before);
        if between < best.0 {
            best = (between, before + between / 2, reference_ns);
        }
    }
    (best.1, best.2)
}

/// libc's call, not rustix's: the latter looks for the vDSO in a way that ends the process under valgrind, which has
/// none, and valgrind watches these kernels in the tests.
fn monotonic_raw_ns() -> i128 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing. The call cannot fail: every Linux since 2.6.28 has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut time) };
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

fn frequency(first: (u64, i128), second: (u64, i128)) -> f64 {
    (i128::from(second.0) - i128::from(first.0)) as f64 / (second.1 - first.1) as f64 * 1e9
}

fn back_to_back() -> Vec<u64> {
    let readings: Vec<u64> = (0..=BACK_TO_BACK_READINGS).map(|_| now()).collect();
    readings.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
}

/// Of sorted durations: the smallest that is not 0, or the smallest difference of two, whichever is less.
fn smallest_step(durations: &[u64]) -> u64 {
    let differences = durations.windows(2).map(|pair| pair[1] - pair[0]);
    durations.iter().copied().chain(differences).filter(|step| *step != 0).min().unwrap_or(1)
}

#[cfg(target_arch = "x86_64")]
fn invariant() -> Option<bool> {
    use std::arch::x86_64::__cpuid;
    let highest = __cpuid(0x8000_0000).eax;
    Some(highest >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0)
}

#[cfg(not(target_arch = "x86_64"))]
fn invariant() -> Option<bool> {
    None
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_step_is_the_least_of_durations_and_their_differences() {
        // A fast counter that is slow to read: durations of 20, 22 and 26 ticks show a step of 2.
        assert_eq!(smallest_step(&[20, 20, 22, 26]), 2);
        // A slow counter: most readings see no change; the others see one tick of it.
        assert_eq!(smallest_step(&[0, 0, 0, 1, 1]), 1);
        // A counter that moves 36 ticks at a time.
        assert_eq!(smallest_step(&[36, 36, 72]), 36);
    }

    #[test]
    fn readings_and_frequency_agree_with_another_clock() {
        let clock = measure();
        // This thread may be interrupted between the readings of the two clocks, but not every time.
        let agreed = (0..20).any(|_| {
            let (before, reference) = (now(), Instant::now());
            sleep(Duration::from_millis(20));
            let (after, elapsed) = (now(), reference.elapsed());
            let measured = (after - before) as f64 / clock.frequency_hz;
            (measured / elapsed.as_secs_f64() - 1.0).abs() < 0.001
        });
        assert!(agreed, "{clock:?} is not the frequency of {}", clock.name);
        assert!(clock.resolution_ticks >= 1);
        assert!(clock.stability_ppm >= 0.0);
    }
}
