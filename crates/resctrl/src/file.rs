//! The files, their names and permissions.

use crate::MonitorEvent;
use crate::cpus::CpuFormat;

/// A file, apart from counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum File {
    LastCmdStatus,
    NumClosids,
    CbmMask,
    MinCbmBits,
    ShareableBits,
    BitUsage,
    SparseMasks,
    MinBandwidth,
    BandwidthGran,
    DelayLinear,
    ThreadThrottleMode,
    NumRmids,
    MonFeatures,
    MaxThresholdOccupancy,
    MbmAssignMode,
    EventConfig(MonitorEvent),
    Cpus(CpuFormat),
    Tasks,
    Schemata,
    Mode,
    Size,
    MbpsEvent,
    CtrlHwId,
    MonHwId,
}

impl File {
    pub fn name(self) -> &'static str {
        match self {
            File::LastCmdStatus => "last_cmd_status",
            File::NumClosids => "num_closids",
            File::CbmMask => "cbm_mask",
            File::MinCbmBits => "min_cbm_bits",
            File::ShareableBits => "shareable_bits",
            File::BitUsage => "bit_usage",
            File::SparseMasks => "sparse_masks",
            File::MinBandwidth => "min_bandwidth",
            File::BandwidthGran => "bandwidth_gran",
            File::DelayLinear => "delay_linear",
            File::ThreadThrottleMode => "thread_throttle_mode",
            File::NumRmids => "num_rmids",
            File::MonFeatures => "mon_features",
            File::MaxThresholdOccupancy => "max_threshold_occupancy",
            File::MbmAssignMode => "mbm_assign_mode",
            File::EventConfig(MonitorEvent::MbmTotal) => "mbm_total_bytes_config",
            File::EventConfig(_) => "mbm_local_bytes_config",
            File::Cpus(CpuFormat::Mask) => "cpus",
            File::Cpus(CpuFormat::List) => "cpus_list",
            File::Tasks => "tasks",
            File::Schemata => "schemata",
            File::Mode => "mode",
            File::Size => "size",
            File::MbpsEvent => "mba_MBps_event",
            File::CtrlHwId => "ctrl_hw_id",
            File::MonHwId => "mon_hw_id",
        }
    }

    /// Permissions of a new file.
    pub fn mode(self) -> u32 {
        match self {
            File::MaxThresholdOccupancy
            | File::MbmAssignMode
            | File::EventConfig(_)
            | File::Cpus(_)
            | File::Tasks
            | File::Schemata
            | File::Mode
            | File::MbpsEvent => 0o644,
            _ => 0o444,
        }
    }
}
