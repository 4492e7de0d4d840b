//! A machine to try things on.

use crate::{
    AllocatableCache, BandwidthResource, Domain, KernelRelease, MachineCpus, MonitorEvent, MonitorResource,
    QosTechnology, ResctrlMachine, Throttle,
};

/// An Intel server with two sockets of two cores: L3 allocation with CDP, memory bandwidth allocation, monitoring.
pub fn server() -> ResctrlMachine {
    let sockets = || {
        vec![Domain { id: 0, cpus: [0, 1].into_iter().collect() }, Domain { id: 1, cpus: [2, 3].into_iter().collect() }]
    };
    ResctrlMachine {
        kernel: KernelRelease::V6_1,
        architecture: QosTechnology::Intel,
        cpus: MachineCpus { possible: 4, parsed: 4, online: (0..4).collect() },
        l3: Some(AllocatableCache {
            domains: sockets(),
            mask_bits: 20,
            min_bits: 1,
            closids: 16,
            shareable: 0xc0000,
            sparse: false,
            cdp: true,
            size_bytes: 40 << 20,
            line_bytes: 64,
        }),
        l2: None,
        mb: Some(BandwidthResource {
            domains: sockets(),
            closids: 8,
            min: 10,
            max: 100,
            granularity: 10,
            linear: true,
            throttle: Some(Throttle::Max),
        }),
        smba: None,
        monitoring: Some(MonitorResource {
            domains: sockets(),
            rmids: 32,
            events: MonitorEvent::ALL.to_vec(),
            scale_bytes: 65536,
            counter_bits: 24,
            llc_bytes: 40 << 20,
            configurable: None,
        }),
        pseudo_lock: false,
    }
}
