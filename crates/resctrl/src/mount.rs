//! Mounting and unmounting: what is built, and what is put back.

use std::fmt::Write as _;

use crate::resource::{ConfType, Resource, ResourceId, Schema};
use crate::{Caller, Errno, MonitorEvent, Resctrl};

/// The options of a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MountOptions {
    /// `cdp`: masks for code and data in the L3.
    pub cdp: bool,
    /// `cdpl2`: the same in the L2.
    pub cdpl2: bool,
    /// `mba_MBps`: bandwidth in MiB/s, with a software controller.
    pub mba_mbps: bool,
    /// `debug`: files with the hardware's identifiers.
    pub debug: bool,
}

impl Resctrl {
    /// Mounts the file system.
    ///
    /// # Errors
    /// EINVAL and EOPNOTSUPP for options that the machine or the kernel does not have, EBUSY when it is mounted already.
    pub fn mount(&mut self, options: MountOptions) -> Result<(), Errno> {
        if options.mba_mbps && !self.supports_mbps() || options.debug && !self.machine.kernel.has_debug_files() {
            return Err(Errno::EINVAL);
        }
        if self.mounted.is_some() {
            if self.machine.kernel.clears_status_on_failed_mount() {
                self.status.clear();
            }
            return Err(Errno::EBUSY);
        }
        for (wanted, cache) in [(options.cdpl2, &self.machine.l2), (options.cdp, &self.machine.l3)] {
            if wanted && self.machine.architecture == crate::QosTechnology::Mpam {
                return Err(Errno::EOPNOTSUPP);
            }
            if wanted && !cache.as_ref().is_some_and(|cache| cache.cdp) {
                self.status.clear();
                return Err(Errno::EINVAL);
            }
        }
        self.mounted = Some(options);
        self.resources = Resource::all(&self.machine, options);
        self.schemas = Schema::all(&self.resources);
        self.closids.reset(self.schemas.iter().map(|schema| schema.closids).min());
        self.build_tree();
        self.status.clear();
        Ok(())
    }

    /// Unmounts: masks become full, tasks and CPUs go back to the root, all groups die.
    pub fn unmount(&mut self) {
        if self.mounted.take().is_none() {
            return;
        }
        self.processes.move_all(0, 0);
        for id in self.all_groups.clone() {
            self.free_children(id);
            if id == self.root {
                continue;
            }
            if self.group(id).mode.is_locking() {
                self.release_region(id);
            } else {
                let group = self.group(id);
                self.free_rmid(group.closid, group.rmid, Caller::default().cpu);
            }
        }
        if self.machine.kernel.keeps_root_files() {
            self.keep_root_files();
        }
        self.all_groups.clear();
        self.groups.clear();
        self.tree.clear();
        self.resources.clear();
        self.schemas.clear();
    }

    /// Whether `mba_MBps` can be mounted.
    fn supports_mbps(&self) -> bool {
        let counted = self.machine.counts(MonitorEvent::MbmLocal)
            || self.machine.kernel.chooses_mbps_event() && self.machine.counts(MonitorEvent::MbmTotal);
        counted && self.machine.mb.as_ref().is_some_and(|mb| mb.linear)
    }

    /// The options in /proc/mounts, beginning with a comma unless there are none.
    pub fn shown_options(&self) -> String {
        let options = self.mounted.unwrap_or_default();
        let mut text = String::new();
        let all =
            [(options.cdp, "cdp"), (options.cdpl2, "cdpl2"), (options.mba_mbps, "mba_MBps"), (options.debug, "debug")];
        for (_, name) in all.iter().filter(|(set, _)| *set) {
            let _ = write!(text, ",{name}");
        }
        text
    }

    /// Whether bandwidth is in MiB/s.
    pub(crate) fn in_mbps(&self, resource: ResourceId) -> bool {
        resource == ResourceId::Mb && self.mounted.is_some_and(|options| options.mba_mbps)
    }

    /// Whether code and data of a resource have masks of their own.
    pub(crate) fn peer(kind: ConfType) -> Option<ConfType> {
        match kind {
            ConfType::Both => None,
            ConfType::Code => Some(ConfType::Data),
            ConfType::Data => Some(ConfType::Code),
        }
    }
}
