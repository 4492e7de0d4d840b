//! The kernel's resctrl as a pure state machine.
//!
//! A [`ResctrlMachine`] says what the hardware has and which kernel runs. A [`Resctrl`] on it can be mounted, and then takes
//! [`FileOperation`]s on its files: it answers with the bytes, or with the error number and the text of
//! `info/last_cmd_status`, that the kernel would answer with. It does no I/O. What happens outside is reported to it: tasks
//! that start and end, what the hardware's counters say, the passing of time in limbo.
//!
//! ```
//! use waykeeper_resctrl::{MountOptions, FileOperation, Reply, Resctrl, example};
//!
//! let mut resctrl = Resctrl::new(example::server());
//! resctrl.mount(MountOptions::default())?;
//! let path = b"schemata".to_vec();
//! let write = FileOperation::Write { path: path.clone(), data: b"L3:0=f00f\n".to_vec() };
//! let refusal = resctrl.apply(&write).unwrap_err();
//! assert_eq!(refusal.status, b"The mask f00f has non-consecutive 1-bits\n");
//! # Ok::<(), waykeeper_resctrl::Errno>(())
//! ```

mod apply;
mod closid;
mod counters;
mod cpu_set;
mod cpus;
mod dispatch;
mod errno;
mod event_config;
pub mod example;
mod file;
mod group;
mod hardware;
mod info;
mod kernel;
mod machine;
mod mask;
mod mkdir;
mod mode;
mod mount;
mod number;
mod operation;
mod populate;
mod process;
mod pseudo_lock;
mod rename;
mod resource;
mod rmdir;
mod rmid;
mod schemata;
mod show_schemata;
mod status;
mod text;
mod tree;

use std::collections::BTreeMap;

pub use counters::Reading;
pub use cpu_set::CpuSet;
pub use errno::Errno;
pub use hardware::HardwareControls;
pub use kernel::KernelRelease;
pub use machine::{
    AllocatableCache, BandwidthResource, Domain, MachineCpus, MonitorEvent, MonitorResource, QosTechnology,
    ResctrlMachine, Throttle,
};
pub use mount::MountOptions;
pub use operation::{Attributes, Caller, DirectoryEntry, FileOperation, OperationError, Reply};
pub use process::Task;
pub use pseudo_lock::LockedRegion;
pub use resource::{ConfType, ResourceId};

/// resctrl on a machine.
#[derive(Clone, Debug)]
pub struct Resctrl {
    machine: ResctrlMachine,
    mounted: Option<MountOptions>,
    resources: Vec<resource::Resource>,
    schemas: Vec<resource::Schema>,
    closids: closid::Closids,
    rmids: rmid::Rmids,
    /// Bytes of occupancy below which a freed RMID counts as clean.
    threshold: u32,
    counters: counters::Counters,
    /// What bandwidth events count, by domain (index), where it was changed.
    event_configs: BTreeMap<(usize, MonitorEvent), u32>,
    processes: process::Processes,
    groups: BTreeMap<group::GroupId, group::Group>,
    /// Control groups, the newest first, the root last.
    all_groups: Vec<group::GroupId>,
    root: group::GroupId,
    next_group: u64,
    tree: tree::Tree,
    /// Permissions and owners of the root's files over an unmount.
    kept: BTreeMap<Vec<u8>, (u32, u32, u32)>,
    status: status::Status,
}

impl Resctrl {
    /// resctrl as it is after boot: not mounted, no tasks, all counters at 0.
    pub fn new(machine: ResctrlMachine) -> Self {
        let monitoring = machine.monitoring.as_ref();
        let classes = match machine.architecture {
            QosTechnology::Mpam => machine.l3.iter().chain(&machine.l2).map(|cache| cache.closids).min().unwrap_or(1),
            QosTechnology::Intel | QosTechnology::Amd => 1,
        };
        let threshold = monitoring.map_or(0, |it| it.llc_bytes / it.rmids.max(1) / it.scale_bytes * it.scale_bytes);
        let signed_names = machine.kernel.hashes_signed_names(machine.architecture);
        Resctrl {
            rmids: rmid::Rmids::new(classes, monitoring.map_or(0, |it| it.rmids)),
            counters: monitoring
                .map_or_else(Default::default, |it| counters::Counters::new(it.scale_bytes, it.counter_bits)),
            threshold,
            machine,
            mounted: None,
            resources: Vec::new(),
            schemas: Vec::new(),
            closids: closid::Closids::default(),
            event_configs: BTreeMap::new(),
            processes: process::Processes::default(),
            groups: BTreeMap::new(),
            all_groups: Vec::new(),
            root: group::GroupId(0),
            next_group: 0,
            tree: tree::Tree::new(signed_names),
            kept: BTreeMap::new(),
            status: status::Status::default(),
        }
    }

    /// The machine.
    pub fn machine(&self) -> &ResctrlMachine {
        &self.machine
    }

    /// The options of the mount, if it is mounted.
    pub fn mounted(&self) -> Option<MountOptions> {
        self.mounted
    }
}
