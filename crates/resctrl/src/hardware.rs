//! What the hardware's registers hold, and which path a number of a file stands for: for a file system around the model.

use crate::resource::Scale;
use crate::tree::{NodeId, Tree};
use crate::{Resctrl, ResourceId};

/// The settings of one instance of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HardwareControls {
    /// The resource.
    pub resource: ResourceId,
    /// The instance's id.
    pub domain: u32,
    /// Whether code and data have registers of their own: then those of class n are 2 n (data) and 2 n + 1 (code).
    pub cdp: bool,
    /// What each register holds: a mask, or a bandwidth in the units of `schemata`.
    pub values: Vec<u32>,
}

impl Resctrl {
    /// What resctrl has put into the registers of all resources. When it is not mounted: what an unmount leaves there.
    pub fn hardware_controls(&self) -> Vec<HardwareControls> {
        let unmounted;
        let resources = if self.mounted.is_some() {
            &self.resources
        } else {
            unmounted = crate::resource::Resource::all(&self.machine, crate::MountOptions::default());
            &unmounted
        };
        let controls = resources.iter().flat_map(|resource| {
            resource.domains.iter().map(|domain| HardwareControls {
                resource: resource.id,
                domain: domain.id,
                cdp: resource.cdp && matches!(resource.scale, Scale::Mask(_)),
                values: domain.controls().to_vec(),
            })
        });
        controls.collect()
    }

    /// The path of a directory or file, by the number in [`crate::Attributes::inode`]; none if it is gone.
    pub fn path_of(&self, inode: u64) -> Option<Vec<u8>> {
        let mut names = Vec::new();
        let mut id = NodeId(inode);
        while id != Tree::ROOT {
            let node = self.tree.find(id)?;
            names.push(node.name.as_slice());
            id = node.parent?;
        }
        self.tree.find(id)?;
        names.reverse();
        Some(names.join(&b'/'))
    }

    /// Every CLOSID and RMID that the groups which are there have; monitoring groups included.
    pub fn identifiers(&self) -> Vec<(u32, u32)> {
        self.groups.values().map(|group| (group.closid, group.rmid)).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{FileOperation, MountOptions, Reply, Resctrl, ResourceId, example};

    #[test]
    fn a_schemata_write_shows_in_the_registers_and_an_unmount_takes_it_back() {
        let mut resctrl = Resctrl::new(example::server());
        resctrl.mount(MountOptions::default()).unwrap();
        let path = b"schemata".to_vec();
        resctrl.apply(&FileOperation::Write { path, data: b"L3:1=ff\nMB:0=50\n".to_vec() }).unwrap();
        let value = |resctrl: &Resctrl, resource, domain: u32| {
            let all = resctrl.hardware_controls();
            all.into_iter().find(|it| it.resource == resource && it.domain == domain).unwrap().values[0]
        };
        assert_eq!(value(&resctrl, ResourceId::L3, 0), 0xf_ffff);
        assert_eq!(value(&resctrl, ResourceId::L3, 1), 0xff);
        assert_eq!(value(&resctrl, ResourceId::Mb, 0), 50);
        resctrl.unmount();
        assert_eq!(value(&resctrl, ResourceId::L3, 1), 0xf_ffff);
        assert_eq!(value(&resctrl, ResourceId::Mb, 0), 100);
    }

    #[test]
    fn every_number_leads_back_to_its_path() {
        let mut resctrl = Resctrl::new(example::server());
        resctrl.mount(MountOptions::default()).unwrap();
        for path in ["", "schemata", "info/L3/cbm_mask", "mon_data/mon_L3_01"] {
            let path = path.as_bytes().to_vec();
            let Ok(Reply::Attributes(seen)) = resctrl.apply(&FileOperation::Getattr { path: path.clone() }) else {
                panic!("{path:?} is there")
            };
            assert_eq!(resctrl.path_of(seen.inode), Some(path));
        }
        assert_eq!(resctrl.path_of(u64::MAX), None);
    }
}
