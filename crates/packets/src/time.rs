//! The clocks of packets.

use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};

const NS_PER_S: i64 = 1_000_000_000;

/// How every figure of this crate but one names its time stamps.
pub const SOFTWARE: &str = "software, CLOCK_MONOTONIC in this program";

/// How the figure between the kernel and this program names them.
pub const KERNEL: &str = "software, CLOCK_REALTIME in the kernel (SO_TIMESTAMPING) and in this program";

/// Nanoseconds of CLOCK_MONOTONIC; no system call, where the kernel has a vDSO.
pub fn now_ns() -> i64 {
    nanoseconds(ClockId::Monotonic)
}

/// Nanoseconds of CLOCK_REALTIME, the clock of the kernel's time stamps.
pub fn realtime_ns() -> i64 {
    nanoseconds(ClockId::Realtime)
}

/// Nanoseconds of CLOCK_TAI, the clock of launch times; of CLOCK_REALTIME before Linux 3.10, which has no launch times.
pub fn tai_ns() -> i64 {
    clock_gettime_dynamic(DynamicClockId::Tai).map_or_else(|_| realtime_ns(), in_ns)
}

/// How far another clock is ahead of CLOCK_MONOTONIC now, nanoseconds, by the closest of some pairs of readings.
pub fn ahead_ns(clock: impl Fn() -> i64) -> i64 {
    let pair = |_| {
        let (before, other, after) = (now_ns(), clock(), now_ns());
        (after - before, other - before - (after - before) / 2)
    };
    (0..3).map(pair).min().map_or(0, |(_, ahead)| ahead)
}

fn nanoseconds(clock: ClockId) -> i64 {
    in_ns(clock_gettime(clock))
}

fn in_ns(time: Timespec) -> i64 {
    time.tv_sec * NS_PER_S + time.tv_nsec
}
