//! What `schemata` and `size` show.

use std::fmt::Write as _;

use crate::Resctrl;
use crate::group::{GroupId, Mode};
use crate::resource::{DomainState, Scale, Schema, name_width, value_width};

impl Resctrl {
    pub(crate) fn show_schemata(&self, group: GroupId) -> Vec<u8> {
        let group = self.group(group);
        let mut text = String::new();
        match (group.mode, group.region.as_ref().and_then(|region| region.target.zip(Some(region.mask)))) {
            (Mode::PseudoLocksetup, _) => {
                self.schemas.iter().for_each(|schema| text += &format!("{}:uninitialized\n", schema.name));
            }
            (Mode::PseudoLocked, Some((target, mask))) => {
                let resource = &self.resources[self.schemas[target.schema].resource];
                let id = resource.domains[target.domain].id;
                text = format!("{}:{id}={mask:x}\n", resource.id.name());
            }
            _ => {
                for schema in self.schemas.iter().filter(|schema| group.closid < schema.closids) {
                    self.show_line(&mut text, schema, |domain| self.show_value(schema, domain, group.closid));
                }
            }
        }
        text.into_bytes()
    }

    fn show_value(&self, schema: &Schema, domain: &DomainState, closid: u32) -> String {
        let resource = &self.resources[schema.resource];
        let width = if self.machine.kernel.pads_numbers() { value_width(&self.resources) } else { 0 };
        match &resource.scale {
            Scale::Mask(_) => format!("{:0width$x}", domain.control(closid, schema.kind)),
            Scale::Bandwidth(_) => format!("{:width$}", self.bandwidth(schema, domain, closid)),
        }
    }

    fn bandwidth(&self, schema: &Schema, domain: &DomainState, closid: u32) -> u32 {
        match self.in_mbps(self.resources[schema.resource].id) {
            true => domain.mbps[closid as usize],
            false => domain.control(closid, schema.kind),
        }
    }

    pub(crate) fn show_size(&self, group: GroupId) -> Vec<u8> {
        let group = self.group(group);
        let mut text = String::new();
        let region = group.region.as_ref().filter(|_| group.mode == Mode::PseudoLocked);
        if let Some((target, mask)) = region.and_then(|region| region.target.zip(Some(region.mask))) {
            let schema = &self.schemas[target.schema];
            let width = name_width(&self.resources);
            let id = self.domain(target).id;
            let _ = writeln!(text, "{:>width$}:{id}={}", schema.name, self.mask_bytes(schema, mask));
            return text.into_bytes();
        }
        for schema in &self.schemas {
            self.show_line(&mut text, schema, |domain| {
                let size = match &self.resources[schema.resource].scale {
                    _ if group.mode == Mode::PseudoLocksetup => 0,
                    Scale::Mask(_) => self.mask_bytes(schema, domain.control(group.closid, schema.kind)),
                    Scale::Bandwidth(_) => self.bandwidth(schema, domain, group.closid),
                };
                size.to_string()
            });
        }
        text.into_bytes()
    }

    /// The size of a mask's share in bytes.
    pub(crate) fn mask_bytes(&self, schema: &Schema, mask: u32) -> u32 {
        let cache = self.resources[schema.resource].cache();
        cache.map_or(0, |cache| cache.size_bytes / cache.mask_bits * mask.count_ones())
    }

    fn show_line(&self, text: &mut String, schema: &Schema, value: impl Fn(&DomainState) -> String) {
        let width = name_width(&self.resources);
        let domains = self.resources[schema.resource].domains.iter();
        let values: Vec<String> = domains.map(|domain| format!("{}={}", domain.id, value(domain))).collect();
        let _ = writeln!(text, "{:>width$}:{}", schema.name, values.join(";"));
    }
}
