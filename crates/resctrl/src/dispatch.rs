//! From a file to what it shows and what it takes.

use crate::file::File;
use crate::resource::Schema;
use crate::tree::{Content, Directory, NodeId};
use crate::{Caller, Errno, Resctrl};

impl Resctrl {
    /// The content of a file.
    pub(crate) fn show(&mut self, node: NodeId) -> Result<Vec<u8>, Errno> {
        let group = self.tree.group(node);
        if group.is_some() {
            self.begin();
        }
        match (self.tree.node(node).content, group) {
            (Content::Counter(domain, event), Some(group)) => Ok(self.show_event(group, domain, event)),
            (Content::File(File::Cpus(format)), Some(group)) => Ok(self.show_cpus(group, format)),
            (Content::File(File::Tasks), Some(group)) => Ok(self.show_tasks(group)),
            (Content::File(File::Schemata), Some(group)) => Ok(self.show_schemata(group)),
            (Content::File(File::Size), Some(group)) => Ok(self.show_size(group)),
            (Content::File(File::Mode), Some(group)) => Ok(line(self.group(group).mode.name())),
            (Content::File(File::MbpsEvent), Some(group)) => Ok(line(self.group(group).mbps_event.name())),
            (Content::File(File::CtrlHwId), Some(group)) => Ok(line(self.group(group).closid)),
            (Content::File(File::MonHwId), Some(group)) => Ok(line(self.group(group).rmid)),
            (Content::File(file), None) => self.show_info(file, self.schema_of(node)),
            _ => Err(Errno::EISDIR),
        }
    }

    /// Takes a write.
    pub(crate) fn store(&mut self, caller: &Caller, node: NodeId, data: &[u8]) -> Result<(), Errno> {
        let Content::File(file) = self.tree.node(node).content else { return Err(Errno::EISDIR) };
        match (file, self.tree.group(node)) {
            (File::Cpus(format), Some(group)) => {
                self.begin_with_group_or_cpus();
                self.write_cpus(group, format, data)
            }
            (File::Tasks, Some(group)) => self.write_tasks(caller, group, data),
            (File::Schemata, Some(group)) => {
                let text = self.begin_line(data, file)?;
                self.write_schemata(caller, group, text)
            }
            (File::Mode, Some(group)) => {
                let text = self.begin_line(data, file)?;
                self.write_mode(caller, group, text)
            }
            (File::MbpsEvent, Some(group)) => {
                let text = self.begin_line(data, file)?;
                self.write_mbps_event(group, text)
            }
            (File::MaxThresholdOccupancy, None) => self.write_threshold(data),
            (File::MbmAssignMode, None) => {
                let text = self.begin_line(data, file)?;
                self.write_assign_mode(text)
            }
            (File::EventConfig(event), None) => {
                let text = self.begin_line(data, file)?;
                self.write_event_config(event, text)
            }
            _ => Err(Errno::EINVAL),
        }
    }

    /// What the newest kernels do whenever a group is looked at.
    pub(crate) fn begin(&mut self) {
        if self.machine.kernel.clears_status_first() {
            self.status.clear();
        }
    }

    /// What the newer ones do already when a group is made and when CPUs are written.
    pub(crate) fn begin_with_group_or_cpus(&mut self) {
        if self.machine.kernel.clears_status_for_groups_and_cpus() {
            self.status.clear();
        }
    }

    /// Checks that a write ends with a newline, and takes that off. Without one the older kernels leave the status alone.
    fn begin_line<'a>(&mut self, data: &'a [u8], file: File) -> Result<&'a [u8], Errno> {
        self.begin();
        let Some(text) = Self::line(data) else {
            if self.machine.kernel.clears_status_first() {
                self.status.print(&[file.name().as_bytes(), b": Invalid input\n"]);
            }
            return Err(Errno::EINVAL);
        };
        self.status.clear();
        Ok(text)
    }

    fn schema_of(&self, node: NodeId) -> Option<&Schema> {
        match self.tree.node(self.tree.node(node).parent?).content {
            Content::Directory(Directory::Schema(index)) => Some(&self.schemas[index]),
            _ => None,
        }
    }
}

fn line(value: impl std::fmt::Display) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}
