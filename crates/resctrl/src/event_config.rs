//! Which transactions the bandwidth events count (AMD BMEC): the files `mbm_*_bytes_config`.

use crate::number::unsigned;
use crate::text::{take_until, trim};
use crate::{Errno, MonitorEvent, Resctrl};

impl Resctrl {
    pub(crate) fn show_event_config(&self, event: MonitorEvent) -> String {
        let Some(monitoring) = &self.machine.monitoring else { return String::new() };
        let configured = |(index, domain): (usize, &crate::Domain)| {
            format!("{}=0x{:02x}", domain.id, self.event_config(index, event))
        };
        monitoring.domains.iter().enumerate().map(configured).collect::<Vec<_>>().join(";")
    }

    /// The transactions that an event counts in a domain; at first all (total), or those to local memory (local).
    fn event_config(&self, domain: usize, event: MonitorEvent) -> u32 {
        let default = if event == MonitorEvent::MbmTotal { 0x7f } else { 0x15 };
        self.event_configs.get(&(domain, event)).copied().unwrap_or(default)
    }

    /// Takes `domain=mask` pairs. Unlike masks of caches each pair holds at once, even if a later one is wrong.
    pub(crate) fn write_event_config(&mut self, event: MonitorEvent, text: &[u8]) -> Result<(), Errno> {
        let valid = self.machine.configurable_events().unwrap_or(0);
        let mut rest = Some(text);
        while rest.is_some_and(|rest| !rest.is_empty()) {
            let mut pair = Some(trim(take_until(&mut rest, b';').unwrap_or_default()));
            let id = take_until(&mut pair, b'=').and_then(|id| unsigned(id, 10).ok());
            let Some(id) = id else {
                self.status.puts("Missing '=' or non-numeric domain id\n");
                return Err(Errno::EINVAL);
            };
            let Some(mask) = pair.and_then(|mask| unsigned(mask, 16).ok()) else {
                self.status.puts("Non-numeric event configuration value\n");
                return Err(Errno::EINVAL);
            };
            if mask & !u64::from(valid) != 0 {
                let text = format!("Invalid event configuration: max valid mask is 0x{valid:02x}\n");
                self.status.print(&[text.as_bytes()]);
                return Err(Errno::EINVAL);
            }
            let domain = u32::try_from(id).ok().and_then(|id| self.monitoring_domain(id)).ok_or(Errno::EINVAL)?;
            if self.event_config(domain, event) != mask as u32 {
                self.event_configs.insert((domain, event), mask as u32);
                self.counters.forget(domain);
            }
        }
        Ok(())
    }
}
