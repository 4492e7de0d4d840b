//! Which files stand where: the root, `info`, and what a new group gets.

use crate::cpus::CpuFormat;
use crate::file::File;
use crate::group::{Group, GroupId, GroupKind, Mode};
use crate::resource::Scale;
use crate::tree::{Content, Directory, NodeId, Owner, Tree};
use crate::{CpuSet, MonitorEvent, Resctrl};

const ROOT_OWNER: Owner = Owner { uid: 0, gid: 0 };

impl Resctrl {
    /// Builds the tree of a fresh mount.
    pub(crate) fn build_tree(&mut self) {
        self.root = self.new_group_id();
        let directory = Content::Directory(Directory::Group(self.root));
        let node = self.tree.add(None, b"", directory, 0o555, ROOT_OWNER);
        debug_assert_eq!(node, Tree::ROOT);
        let root =
            Group { cpus: self.machine.cpus.online.clone(), ..self.new_group(self.root, GroupKind::Control, node) };
        self.groups.insert(self.root, root);
        self.all_groups = vec![self.root];
        self.add_group_files(self.root, ROOT_OWNER);
        self.build_info();
        if self.machine.monitoring.is_some() {
            self.tree.add_directory(node, b"mon_groups", Directory::MonitoringGroups(self.root), ROOT_OWNER);
            self.add_counters(self.root, ROOT_OWNER);
        }
        self.restore_root_files();
    }

    pub(crate) fn new_group_id(&mut self) -> GroupId {
        self.next_group += 1;
        GroupId(self.next_group)
    }

    /// A group in class 0 without anything in it; its parent is itself.
    pub(crate) fn new_group(&self, id: GroupId, kind: GroupKind, node: NodeId) -> Group {
        Group {
            kind,
            node,
            parent: id,
            closid: 0,
            rmid: 0,
            mode: Mode::Shareable,
            cpus: CpuSet::new(),
            children: Vec::new(),
            region: None,
            mbps_event: self.default_mbps_event(),
        }
    }

    fn default_mbps_event(&self) -> MonitorEvent {
        if self.machine.counts(MonitorEvent::MbmLocal) { MonitorEvent::MbmLocal } else { MonitorEvent::MbmTotal }
    }

    /// The files of a group.
    pub(crate) fn add_group_files(&mut self, id: GroupId, owner: Owner) {
        let Group { kind, node, .. } = *self.group(id);
        let control = kind == GroupKind::Control;
        let options = self.mounted.unwrap_or_default();
        let monitoring = self.machine.monitoring.is_some();
        let all = [
            (true, File::Cpus(CpuFormat::Mask)),
            (true, File::Cpus(CpuFormat::List)),
            (true, File::Tasks),
            (control, File::Schemata),
            (control, File::Mode),
            (control, File::Size),
            (control && options.mba_mbps && self.machine.kernel.chooses_mbps_event(), File::MbpsEvent),
            (control && options.debug, File::CtrlHwId),
            (monitoring && options.debug, File::MonHwId),
        ];
        self.add_files(node, &all, owner);
    }

    fn add_files(&mut self, node: NodeId, files: &[(bool, File)], owner: Owner) {
        for &(_, file) in files.iter().filter(|(present, _)| *present) {
            self.tree.add(Some(node), file.name().as_bytes(), Content::File(file), file.mode(), owner);
        }
    }

    /// `mon_data` of a group.
    pub(crate) fn add_counters(&mut self, id: GroupId, owner: Owner) {
        let Some(monitoring) = &self.machine.monitoring else { return };
        let group_node = self.groups[&id].node;
        let what = Directory::MonitoringData(id);
        let data = self.tree.add_directory(group_node, b"mon_data", what, owner);
        for (index, domain) in monitoring.domains.iter().enumerate() {
            let name = format!("mon_L3_{:02}", domain.id);
            let node = self.tree.add_directory(data, name.as_bytes(), what, owner);
            for &event in &monitoring.events {
                self.tree.add(Some(node), event.name().as_bytes(), Content::Counter(index, event), 0o444, owner);
            }
        }
        let (closid, rmid) = (self.group(id).closid, self.group(id).rmid);
        self.reset_counters(closid, rmid);
    }

    fn build_info(&mut self) {
        let info = self.tree.add_directory(Tree::ROOT, b"info", Directory::Info, ROOT_OWNER);
        self.add_files(info, &[(true, File::LastCmdStatus)], ROOT_OWNER);
        for index in 0..self.schemas.len() {
            let schema = &self.schemas[index];
            let node = self.tree.add_directory(info, schema.name.as_bytes(), Directory::Schema(index), ROOT_OWNER);
            let files = match &self.resources[schema.resource].scale {
                Scale::Mask(_) => vec![
                    (true, File::NumClosids),
                    (true, File::CbmMask),
                    (true, File::MinCbmBits),
                    (true, File::ShareableBits),
                    (true, File::BitUsage),
                    (self.machine.kernel.has_debug_files(), File::SparseMasks),
                ],
                Scale::Bandwidth(_) => vec![
                    (true, File::NumClosids),
                    (true, File::MinBandwidth),
                    (true, File::BandwidthGran),
                    (true, File::DelayLinear),
                    (self.knows_throttle_mode(), File::ThreadThrottleMode),
                ],
            };
            self.add_files(node, &files, ROOT_OWNER);
        }
        self.build_monitoring_info(info);
    }

    fn build_monitoring_info(&mut self, info: NodeId) {
        if self.machine.monitoring.is_none() {
            return;
        }
        let node = self.tree.add_directory(info, b"L3_MON", Directory::Monitoring, ROOT_OWNER);
        let configurable = self.machine.configurable_events().is_some();
        let can_set = |event| configurable && self.machine.counts(event);
        let files = [
            (true, File::NumRmids),
            (true, File::MonFeatures),
            (true, File::MaxThresholdOccupancy),
            (self.machine.kernel.has_assign_mode(), File::MbmAssignMode),
            (can_set(MonitorEvent::MbmTotal), File::EventConfig(MonitorEvent::MbmTotal)),
            (can_set(MonitorEvent::MbmLocal), File::EventConfig(MonitorEvent::MbmLocal)),
        ];
        self.add_files(node, &files, ROOT_OWNER);
    }

    /// The file appears for all bandwidth resources when one of them says how it throttles.
    fn knows_throttle_mode(&self) -> bool {
        [&self.machine.mb, &self.machine.smba].into_iter().flatten().any(|bandwidth| bandwidth.throttle.is_some())
    }

    /// Remembers what users made of the root's files, for kernels where these outlive an unmount.
    pub(crate) fn keep_root_files(&mut self) {
        let files: Vec<NodeId> =
            self.tree.children(Tree::ROOT).filter(|&node| !self.tree.is_directory(node)).chain([Tree::ROOT]).collect();
        let kept = files.into_iter().map(|node| self.tree.node(node));
        self.kept = kept.map(|node| (node.name.clone(), (node.mode, node.uid, node.gid))).collect();
    }

    fn restore_root_files(&mut self) {
        for (name, (mode, uid, gid)) in self.kept.clone() {
            let node = if name.is_empty() { Some(Tree::ROOT) } else { self.tree.child(Tree::ROOT, &name) };
            if let Some(node) = node {
                let node = self.tree.node_mut(node);
                (node.mode, node.uid, node.gid) = (mode, uid, gid);
            }
        }
    }
}
