//! The files below `info`.

use std::fmt::Write as _;

use crate::file::File;
use crate::group::Mode;
use crate::number::unsigned_32;
use crate::resource::{DomainState, Resource, Scale, Schema, full_mask};
use crate::text::c_string;
use crate::{AllocatableCache, Errno, MonitorEvent, MonitorResource, Resctrl, Throttle};

impl Resctrl {
    pub(crate) fn show_info(&self, file: File, schema: Option<&Schema>) -> Result<Vec<u8>, Errno> {
        let text = match (file, schema) {
            (File::LastCmdStatus, _) => return Ok(self.status()),
            (File::NumClosids, Some(schema)) => schema.closids.to_string(),
            (_, Some(schema)) => match &self.resources[schema.resource].scale {
                Scale::Mask(cache) => match file {
                    File::CbmMask => format!("{:x}", full_mask(cache.mask_bits)),
                    File::MinCbmBits => cache.min_bits.to_string(),
                    File::ShareableBits => format!("{:x}", cache.shareable),
                    File::SparseMasks => u8::from(self.allows_holes(cache)).to_string(),
                    _ => self.bit_usage(schema, cache),
                },
                Scale::Bandwidth(bandwidth) => match file {
                    File::MinBandwidth => bandwidth.min.to_string(),
                    File::BandwidthGran => bandwidth.granularity.to_string(),
                    File::DelayLinear => u8::from(bandwidth.linear).to_string(),
                    _ => throttle_mode(bandwidth.throttle).to_owned(),
                },
            },
            (_, None) => self.show_monitoring_info(file)?,
        };
        Ok(format!("{text}\n").into_bytes())
    }

    fn show_monitoring_info(&self, file: File) -> Result<String, Errno> {
        let monitoring = self.machine.monitoring.as_ref().ok_or(Errno::EINVAL)?;
        Ok(match file {
            File::NumRmids => monitoring.rmids.to_string(),
            File::MonFeatures => self.features(monitoring),
            File::MaxThresholdOccupancy => self.threshold.to_string(),
            File::MbmAssignMode => "[default]".to_owned(),
            File::EventConfig(event) => self.show_event_config(event),
            _ => return Err(Errno::EINVAL),
        })
    }

    fn features(&self, monitoring: &MonitorResource) -> String {
        let configurable = self.machine.configurable_events().is_some();
        let mut lines = Vec::new();
        for event in &monitoring.events {
            lines.push(event.name().to_owned());
            if configurable && event.is_bandwidth() {
                lines.push(format!("{}_config", event.name()));
            }
        }
        lines.join("\n")
    }

    /// Whether masks with holes are taken.
    pub(crate) fn allows_holes(&self, cache: &AllocatableCache) -> bool {
        let asked =
            self.machine.kernel.knows_sparse_masks() || self.machine.architecture != crate::QosTechnology::Intel;
        cache.sparse && asked
    }

    /// For every domain one letter a bit, the highest bit first: who uses it.
    fn bit_usage(&self, schema: &Schema, cache: &AllocatableCache) -> String {
        let resource: &Resource = &self.resources[schema.resource];
        let mut text = String::new();
        for (index, domain) in resource.domains.iter().enumerate() {
            let separator = if index == 0 { "" } else { ";" };
            let _ = write!(text, "{separator}{}=", domain.id);
            let masks = self.use_of(schema, domain);
            text.extend((0..cache.mask_bits).rev().map(|bit| masks.letter(bit, cache.shareable)));
        }
        text
    }

    fn use_of(&self, schema: &Schema, domain: &DomainState) -> Use {
        let mut masks = Use { shared: 0, exclusive: 0, locked: self.locked_bits(domain) };
        for closid in self.closids.all_taken() {
            let mask = domain.control(closid, schema.kind);
            match self.mode_of_class(closid) {
                Some(Mode::Shareable) => masks.shared |= mask,
                Some(Mode::Exclusive) => masks.exclusive |= mask,
                _ => (),
            }
        }
        masks
    }

    pub(crate) fn write_threshold(&mut self, data: &[u8]) -> Result<(), Errno> {
        let says_why = self.machine.kernel.clears_status_first();
        if says_why {
            self.status.clear();
        }
        let bytes = unsigned_32(c_string(data), 0).inspect_err(|_| {
            if says_why {
                self.status.puts("max_threshold_occupancy: Invalid input\n");
            }
        })?;
        let Some(MonitorResource { llc_bytes: limit, scale_bytes: scale, .. }) = self.machine.monitoring else {
            return Err(Errno::EINVAL);
        };
        if bytes > limit {
            if says_why {
                let text = format!("max_threshold_occupancy: Exceeds limit (before adjustment) of {limit} bytes\n");
                self.status.print(&[text.as_bytes()]);
            }
            return Err(Errno::EINVAL);
        }
        self.threshold = bytes / scale * scale;
        Ok(())
    }

    /// Machines whose counters cannot be assigned have one mode.
    pub(crate) fn write_assign_mode(&mut self, text: &[u8]) -> Result<(), Errno> {
        match text {
            b"default" => Ok(()),
            b"mbm_event" => {
                self.status.puts("mbm_event mode is not supported\n");
                Err(Errno::EINVAL)
            }
            _ => {
                self.status.puts("Unsupported assign mode\n");
                Err(Errno::EINVAL)
            }
        }
    }

    pub(crate) fn write_mbps_event(&mut self, group: crate::group::GroupId, text: &[u8]) -> Result<(), Errno> {
        let event =
            [MonitorEvent::MbmLocal, MonitorEvent::MbmTotal].into_iter().find(|event| event.name().as_bytes() == text);
        match event.filter(|&event| self.machine.counts(event)) {
            Some(event) => {
                self.group_mut(group).mbps_event = event;
                Ok(())
            }
            None => {
                self.status.print(&[b"Unsupported event id '", text, b"'\n"]);
                Err(Errno::EINVAL)
            }
        }
    }
}

fn throttle_mode(throttle: Option<Throttle>) -> &'static str {
    match throttle {
        Some(Throttle::Max) => "max",
        Some(Throttle::PerThread) => "per-thread",
        None => "undefined",
    }
}

/// Who uses the bits of a domain's mask.
struct Use {
    shared: u32,
    exclusive: u32,
    locked: u32,
}

impl Use {
    fn letter(&self, bit: u32, hardware: u32) -> char {
        let has = |mask: u32| mask >> bit & 1 == 1;
        match (has(hardware), has(self.shared)) {
            (true, true) => 'X',
            (true, false) => 'H',
            (false, true) => 'S',
            (false, false) if has(self.exclusive) => 'E',
            (false, false) if has(self.locked) => 'P',
            (false, false) => '0',
        }
    }
}
