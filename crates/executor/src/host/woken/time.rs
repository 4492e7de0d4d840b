//! CLOCK_MONOTONIC, the clock that timers are programmed in.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use waykeeper_kernels::clock;

const NS_PER_S: i64 = 1_000_000_000;

/// Nanoseconds of CLOCK_MONOTONIC now; no system call, where the kernel has a vDSO.
pub fn now_ns() -> i64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// A time as the kernel writes it.
pub fn nanoseconds(time: Timespec) -> i64 {
    time.tv_sec * NS_PER_S + time.tv_nsec
}

/// A time as the kernel reads it.
pub fn timespec(ns: i64) -> Timespec {
    Timespec { tv_sec: ns.div_euclid(NS_PER_S), tv_nsec: ns.rem_euclid(NS_PER_S) }
}

/// Sleeps until a time of CLOCK_MONOTONIC. Returns earlier where a signal was handled meanwhile.
pub fn sleep_until(ns: i64) {
    // The only error of a valid time is EINTR.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(ns));
}

/// Nanoseconds from now to a reading of the counter; negative where it has passed.
pub fn until_reading_ns(reading: u64, tick_ns: f64) -> i64 {
    let now = clock::now();
    let ticks = if reading >= now { (reading - now) as f64 } else { -((now - reading) as f64) };
    (ticks * tick_ns) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_survives_the_way_to_the_kernel_and_back() {
        for ns in [0, 1, 999_999_999, 1_000_000_000, 1_234_567_890_123_456_789, -1] {
            assert_eq!(nanoseconds(timespec(ns)), ns);
            assert!((0..NS_PER_S).contains(&timespec(ns).tv_nsec));
        }
    }

    #[test]
    fn a_sleep_ends_at_its_time_or_later() {
        let until = now_ns() + 2_000_000;
        sleep_until(until);
        assert!(now_ns() >= until);
        sleep_until(until - 1_000_000_000);
    }
}
