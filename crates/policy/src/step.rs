//! What a plan does to a machine, write by write. A plan is pure; whoever carries it out keeps a journal.

use serde::{Deserialize, Serialize};

/// How a plan reaches the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// The kernel's resctrl file system.
    Resctrl,
    /// Model-specific registers through `/dev/cpu/N/msr`.
    Msr,
}

/// Options of a resctrl mount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MountSettings {
    /// `cdp`: code and data have masks of their own in the L3.
    #[serde(default)]
    pub cdp: bool,
    /// `cdpl2`: the same in the L2.
    #[serde(default)]
    pub cdp_l2: bool,
    /// `mba_MBps`: bandwidth in MiB/s.
    #[serde(default)]
    pub mbps: bool,
}

/// One thing that is done to the machine, in the order of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// resctrl is to be mounted with these options: mounted when it is not, refused when it is mounted with others.
    Mounted(MountSettings),
    /// Makes a control group; `group` is its name below the root of resctrl.
    MakeGroup {
        /// Name of the group.
        group: String,
    },
    /// Writes a line to a file of resctrl, such as `target/schemata`.
    Write {
        /// Path below the root of resctrl.
        path: String,
        /// What is written, with its newline.
        text: String,
    },
    /// Puts every task of a cgroup into a group, and of every cgroup below it that no other step names. Tasks that come
    /// later are followed.
    Cgroup {
        /// Name of the group, which an earlier step makes.
        group: String,
        /// Path of the cgroup below the mount of cgroup v2 or `/sys/fs/cgroup`; it need not be there yet.
        cgroup: String,
    },
    /// Writes the bits of `mask` in a register of a CPU; the others stay.
    Register {
        /// Number of the CPU.
        cpu: u32,
        /// Number of the register.
        register: u32,
        /// The value of the bits of `mask`.
        value: u64,
        /// The bits that are written.
        mask: u64,
    },
}
