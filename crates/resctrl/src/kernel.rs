//! Generations of the kernel: where their resctrl differs in what a client sees.

use crate::QosTechnology;

/// A generation of kernels, named for the release that the model was compared with.
///
/// A release between two of these behaves like one of them in each single point below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelRelease {
    /// 5.15 to 6.2: code in arch/x86, one task for each write.
    V6_1,
    /// About 6.10 to 6.13: lists of tasks, monitoring groups can be moved, the `debug` option.
    V6_12,
    /// About 6.16 to 6.19: code in fs/resctrl, numbers without padding.
    V6_18,
    /// 7.3: nearly every operation, also reading, clears `last_cmd_status`.
    V7_3,
}

impl KernelRelease {
    /// All generations, the oldest first.
    pub const ALL: [KernelRelease; 4] =
        [KernelRelease::V6_1, KernelRelease::V6_12, KernelRelease::V6_18, KernelRelease::V7_3];

    /// Masks and percentages in `schemata` are padded to the widest of all resources.
    pub(crate) fn pads_numbers(self) -> bool {
        self < KernelRelease::V6_18
    }

    /// Every operation on a group begins by clearing the status, and a missing newline gets a text.
    pub(crate) fn clears_status_first(self) -> bool {
        self >= KernelRelease::V7_3
    }

    /// Making a group and writing its CPUs begin by clearing the status.
    pub(crate) fn clears_status_for_groups_and_cpus(self) -> bool {
        self >= KernelRelease::V6_18
    }

    /// A mount of what is mounted already clears the status.
    pub(crate) fn clears_status_on_failed_mount(self) -> bool {
        self < KernelRelease::V7_3
    }

    /// A status that did not fit says so.
    pub(crate) fn marks_truncated_status(self) -> bool {
        self >= KernelRelease::V7_3
    }

    /// Names of directories are hashed byte by byte, and a byte is signed on x86 (until 6.2 made it unsigned everywhere).
    pub(crate) fn hashes_signed_names(self, architecture: QosTechnology) -> bool {
        self < KernelRelease::V6_12 && architecture != QosTechnology::Mpam
    }

    /// `tasks` takes a list, and says more when it fails (6.7).
    pub(crate) fn takes_task_lists(self) -> bool {
        self >= KernelRelease::V6_12
    }

    /// Monitoring groups can be renamed and moved (6.5).
    pub(crate) fn moves_monitoring_groups(self) -> bool {
        self >= KernelRelease::V6_12
    }

    /// The `debug` mount option and `sparse_masks` exist (6.7).
    pub(crate) fn has_debug_files(self) -> bool {
        self >= KernelRelease::V6_12
    }

    /// Slow memory bandwidth (SMBA) and configurable events (BMEC) exist (6.3).
    pub(crate) fn has_slow_memory(self) -> bool {
        self >= KernelRelease::V6_12
    }

    /// Processors that allow masks with holes are asked for it, and new groups get such masks (6.7).
    pub(crate) fn knows_sparse_masks(self) -> bool {
        self >= KernelRelease::V6_12
    }

    /// A freed RMID that the writer's domain finds clean need not wait there (until 6.8).
    pub(crate) fn looks_before_limbo(self) -> bool {
        self < KernelRelease::V6_12
    }

    /// A new group takes its CLOSID before its RMID (6.9).
    pub(crate) fn takes_closid_first(self) -> bool {
        self >= KernelRelease::V6_12
    }

    /// The software controller can follow the total bandwidth: `mba_MBps_event` (6.14).
    pub(crate) fn chooses_mbps_event(self) -> bool {
        self >= KernelRelease::V6_18
    }

    /// `mbm_assign_mode` exists for every machine that monitors (6.18).
    pub(crate) fn has_assign_mode(self) -> bool {
        self >= KernelRelease::V6_18
    }

    /// mkdir looks for a group first and for the place afterwards: ENODEV below info.
    pub(crate) fn mkdir_needs_group_first(self) -> bool {
        self >= KernelRelease::V6_18
    }

    /// The root's files outlive an unmount, with the modes that a user gave them.
    pub(crate) fn keeps_root_files(self) -> bool {
        self < KernelRelease::V6_12
    }
}
