//! Checks of the network interface that real-time packets pass through, a file each.

mod coalescing;
mod energy_efficient;
mod interrupts;
mod launch;
mod link;
mod pause;
mod ptm;
mod ptp;
mod queues;
mod time_stamps;

use crate::check::Check;

/// Every check of an interface, the gravest subjects first.
pub const INTERFACE_CHECKS: [Check; 10] = [
    link::CHECK,
    interrupts::CHECK,
    queues::CHECK,
    coalescing::CHECK,
    energy_efficient::CHECK,
    pause::CHECK,
    time_stamps::CHECK,
    ptm::CHECK,
    launch::CHECK,
    ptp::CHECK,
];
