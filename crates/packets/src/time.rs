//! The clocks of packets.

use rustix::time::{ClockId, clock_gettime};

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

fn nanoseconds(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * NS_PER_S + time.tv_nsec
}
