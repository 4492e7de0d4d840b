//! The checks, a file each.

mod aspm;
mod clocksource;
mod energy_preference;
mod governor;
mod gpu_cache;
mod gpu_power;
mod hybrid_l2;
mod idle_states;
mod interface;
mod irq_affinity;
mod irqs;
mod isolcpus;
mod kernel_parameters;
mod kernel_threads;
mod nmi_watchdog;
pub(crate) mod nohz_full;
mod numa_balancing;
mod preemption;
mod ptm;
mod rcu_nocbs;
mod rt_throttling;
mod secure_firmware;
mod smi;
mod smt;
mod soft_watchdog;
mod split_lock;
mod swap;
mod tcc_firmware;
mod thermal;
mod transparent_hugepages;
mod tsc;
mod turbo;
mod virtual_machine;

pub use interface::INTERFACE_CHECKS;

use crate::check::Check;

/// Every check, the gravest subjects first.
pub const CHECKS: [Check; 32] = [
    preemption::CHECK,
    virtual_machine::CHECK,
    smi::CHECK,
    secure_firmware::CHECK,
    idle_states::CHECK,
    isolcpus::CHECK,
    irqs::CHECK,
    smt::CHECK,
    hybrid_l2::CHECK,
    clocksource::CHECK,
    tsc::CHECK,
    nohz_full::CHECK,
    rcu_nocbs::CHECK,
    irq_affinity::CHECK,
    kernel_threads::CHECK,
    kernel_parameters::CHECK,
    nmi_watchdog::CHECK,
    soft_watchdog::CHECK,
    governor::CHECK,
    energy_preference::CHECK,
    turbo::CHECK,
    thermal::CHECK,
    transparent_hugepages::CHECK,
    numa_balancing::CHECK,
    swap::CHECK,
    split_lock::CHECK,
    rt_throttling::CHECK,
    gpu_cache::CHECK,
    gpu_power::CHECK,
    aspm::CHECK,
    ptm::CHECK,
    tcc_firmware::CHECK,
];
