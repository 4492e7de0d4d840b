//! Groups: control groups with a class of their own, and monitoring groups within them.

use crate::pseudo_lock::Region;
use crate::tree::NodeId;
use crate::{CpuSet, MonitorEvent, Resctrl};

/// Names a group as long as it lives, and no other afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct GroupId(pub u64);

/// What a group is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// Allocates, and monitors where the machine can.
    Control,
    /// Monitors a part of a control group.
    Monitoring,
}

/// The mode of a control group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    Shareable,
    Exclusive,
    PseudoLocksetup,
    PseudoLocked,
}

impl Mode {
    pub const ALL: [Mode; 4] = [Mode::Shareable, Mode::Exclusive, Mode::PseudoLocksetup, Mode::PseudoLocked];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Shareable => "shareable",
            Mode::Exclusive => "exclusive",
            Mode::PseudoLocksetup => "pseudo-locksetup",
            Mode::PseudoLocked => "pseudo-locked",
        }
    }

    /// Whether the group is locked or on the way to it.
    pub fn is_locking(self) -> bool {
        matches!(self, Mode::PseudoLocksetup | Mode::PseudoLocked)
    }
}

/// A group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub kind: GroupKind,
    /// Its directory.
    pub node: NodeId,
    /// The control group around a monitoring group; a control group itself.
    pub parent: GroupId,
    pub closid: u32,
    pub rmid: u32,
    pub mode: Mode,
    pub cpus: CpuSet,
    /// Monitoring groups within, the oldest first.
    pub children: Vec<GroupId>,
    /// The region to lock, from pseudo-locksetup on.
    pub region: Option<Region>,
    /// What the software controller follows.
    pub mbps_event: MonitorEvent,
}

impl Resctrl {
    pub(crate) fn group(&self, id: GroupId) -> &Group {
        &self.groups[&id]
    }

    pub(crate) fn group_mut(&mut self, id: GroupId) -> &mut Group {
        self.groups.get_mut(&id).expect("a group that is named is there")
    }

    /// The mode of the control group with a class, if there is one. Of two with the same class (the older one is
    /// pseudo-locked) the newer one counts.
    pub(crate) fn mode_of_class(&self, closid: u32) -> Option<Mode> {
        self.all_groups.iter().map(|&id| self.group(id)).find(|group| group.closid == closid).map(|group| group.mode)
    }

    /// Whether a task belongs to a group.
    pub(crate) fn holds_task(&self, group: &Group, closid: u32, rmid: u32) -> bool {
        match group.kind {
            GroupKind::Control => !self.resources.is_empty() && closid == group.closid,
            GroupKind::Monitoring => {
                let parent = self.groups.get(&group.parent).map_or(group.closid, |parent| parent.closid);
                self.rmid(closid, rmid) == self.rmid(parent, group.rmid)
            }
        }
    }
}
