//! Writes to `schemata`: parse every line and stage its settings, then apply all or none.

use crate::group::{GroupId, Mode};
use crate::number::{unsigned, unsigned_32};
use crate::pseudo_lock::Target;
use crate::resource::{ResourceId, Scale};
use crate::text::{take_until, trim};
use crate::{BandwidthResource, Caller, Errno, Resctrl};

impl Resctrl {
    pub(crate) fn write_schemata(&mut self, caller: &Caller, group: GroupId, text: &[u8]) -> Result<(), Errno> {
        if self.group(group).mode == Mode::PseudoLocked {
            return self.refuse("Resource group is pseudo-locked\n");
        }
        self.clear_staged();
        let result = self.stage_lines(group, text).and_then(|()| {
            let closid = self.group(group).closid;
            self.apply_staged(closid);
            match self.group(group).mode {
                Mode::PseudoLocksetup => self.lock_region(caller, group),
                _ => Ok(()),
            }
        });
        self.clear_staged();
        result
    }

    fn stage_lines(&mut self, group: GroupId, text: &[u8]) -> Result<(), Errno> {
        for line in text.split(|&byte| byte == b'\n') {
            let mut rest = Some(line);
            let name = trim(take_until(&mut rest, b':').unwrap_or_default());
            let Some(values) = rest else { return self.refuse("Missing ':'\n") };
            if values.is_empty() {
                self.status.print(&[b"Missing '", name, b"' value\n"]);
                return Err(Errno::EINVAL);
            }
            let closid = self.group(group).closid;
            let known = |schema: &crate::resource::Schema| schema.name.as_bytes() == name && closid < schema.closids;
            let Some(schema) = self.schemas.iter().position(known) else {
                self.status.print(&[b"Unknown or unsupported resource name '", name, b"'\n"]);
                return Err(Errno::EINVAL);
            };
            self.stage_values(group, schema, values)?;
        }
        Ok(())
    }

    /// Stages `id=value;...` of one schema. On the way to a pseudo-locked region only the first pair counts.
    fn stage_values(&mut self, group: GroupId, schema: usize, values: &[u8]) -> Result<(), Errno> {
        let resource = self.schemas[schema].resource;
        let setup = self.group(group).mode == Mode::PseudoLocksetup;
        if setup && !self.resources[resource].id.is_cache() {
            return self.refuse("Cannot pseudo-lock MBA resource\n");
        }
        let mut rest = Some(values);
        while rest.is_some_and(|rest| !rest.is_empty()) {
            let mut pair = take_until(&mut rest, b';');
            let id = take_until(&mut pair, b'=').and_then(|id| unsigned(id, 10).ok());
            let (Some(id), Some(value)) = (id, pair) else {
                return self.refuse("Missing '=' or non-numeric domain\n");
            };
            let domains = &self.resources[resource].domains;
            // No text is given for an id that no domain has.
            let domain = domains.iter().position(|domain| u64::from(domain.id) == id).ok_or(Errno::EINVAL)?;
            let target = Target { schema, domain };
            match &self.resources[resource].scale {
                Scale::Mask(_) => self.stage_mask(group, target, trim(value))?,
                Scale::Bandwidth(_) => self.stage_bandwidth(group, target, trim(value))?,
            }
            if setup {
                self.aim_region(group, target);
                return Ok(());
            }
        }
        Ok(())
    }

    fn stage_mask(&mut self, group: GroupId, target: Target, value: &[u8]) -> Result<(), Errno> {
        self.refuse_duplicate(target)?;
        let mode = self.group(group).mode;
        if mode == Mode::PseudoLocksetup && self.is_locked_in_hierarchy(target) {
            return self.refuse("Pseudo-locked region in hierarchy\n");
        }
        let mask = self.parse_mask(target, value)?;
        if !mode.is_locking() && mask & self.locked_bits(self.domain(target)) != 0 {
            return self.refuse("CBM overlaps with pseudo-locked region\n");
        }
        let closid = self.group(group).closid;
        if self.overlaps(target, mask, closid, true) {
            return self.refuse("Overlaps with exclusive group\n");
        }
        if mode != Mode::Shareable && self.overlaps(target, mask, closid, false) {
            return self.refuse("Overlaps with other group\n");
        }
        self.stage(target, mask);
        Ok(())
    }

    fn stage_bandwidth(&mut self, group: GroupId, target: Target, value: &[u8]) -> Result<(), Errno> {
        self.refuse_duplicate(target)?;
        let resource = self.schemas[target.schema].resource;
        let Scale::Bandwidth(BandwidthResource { min, max, granularity, linear, throttle, .. }) =
            self.resources[resource].scale
        else {
            return Err(Errno::EINVAL);
        };
        // Only Intel's scale, which says how it throttles, has to be linear.
        if !linear && throttle.is_some() {
            return self.refuse("No support for non-linear MB domains\n");
        }
        let Ok(bandwidth) = unsigned_32(value, 10) else {
            self.status.print(&[b"Invalid MB value ", value, b"\n"]);
            return Err(Errno::EINVAL);
        };
        if self.in_mbps(self.resources[resource].id) {
            let closid = self.group(group).closid;
            // The software controller's targets hold at once, even if a later line is wrong.
            self.resources[resource].domains[target.domain].mbps[closid as usize] = bandwidth;
            return Ok(());
        }
        if bandwidth < min || bandwidth > max {
            let text = format!("MB value {bandwidth} out of range [{min},{max}]\n");
            self.status.print(&[text.as_bytes()]);
            return Err(Errno::EINVAL);
        }
        self.stage(target, bandwidth.div_ceil(granularity) * granularity);
        Ok(())
    }

    fn refuse_duplicate(&mut self, target: Target) -> Result<(), Errno> {
        let kind = self.schemas[target.schema].kind;
        let domain = self.domain(target);
        if domain.staged[kind as usize].is_some() {
            let text = format!("Duplicate domain {}\n", domain.id);
            self.status.print(&[text.as_bytes()]);
            return Err(Errno::EINVAL);
        }
        Ok(())
    }

    pub(crate) fn stage(&mut self, target: Target, value: u32) {
        let schema = &self.schemas[target.schema];
        let (resource, kind) = (schema.resource, schema.kind);
        self.resources[resource].domains[target.domain].staged[kind as usize] = Some(value);
    }

    pub(crate) fn clear_staged(&mut self) {
        self.resources.iter_mut().for_each(|resource| resource.clear_staged());
    }

    fn apply_staged(&mut self, closid: u32) {
        for resource in &mut self.resources {
            resource.apply_staged(closid);
        }
    }

    /// Fails with EINVAL and a text.
    pub(crate) fn refuse<T>(&mut self, text: &str) -> Result<T, Errno> {
        self.status.puts(text);
        Err(Errno::EINVAL)
    }

    /// A setting as the hardware has it.
    pub fn control(&self, resource: ResourceId, domain: u32, closid: u32, kind: crate::ConfType) -> Option<u32> {
        let resource = self.resources.iter().find(|other| other.id == resource)?;
        let domain = resource.domains.iter().find(|other| other.id == domain)?;
        let kinds_exist = resource.cdp == (kind != crate::ConfType::Both);
        (kinds_exist && closid < resource.closids()).then(|| domain.control(closid, kind))
    }
}
