//! Counters of the hardware, as someone outside sets them, and what the kernel makes of them.

use std::collections::BTreeMap;

use crate::group::{GroupId, GroupKind};
use crate::rmid::Rmid;
use crate::{Errno, MonitorEvent, Resctrl};

/// What a counter says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Counts of the hardware, in units of `scale_bytes`.
    Value(u64),
    /// The event or the RMID is not known to the hardware.
    Error,
    /// The hardware has no data at the moment.
    Unavailable,
}

/// What the kernel remembers of a bandwidth counter.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    previous: u64,
    counts: u64,
}

/// All counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// Bytes for one count.
    scale: u64,
    /// Width of the bandwidth counters in bits.
    bits: u32,
    raw: BTreeMap<(usize, Rmid, MonitorEvent), Reading>,
    /// What those read that were not set on their own, by event.
    all: [Option<Reading>; 3],
    progress: BTreeMap<(usize, Rmid, MonitorEvent), Progress>,
}

impl Counters {
    pub fn new(scale: u32, bits: u32) -> Self {
        Counters { scale: scale.into(), bits, ..Self::default() }
    }

    fn raw(&self, domain: usize, rmid: Rmid, event: MonitorEvent) -> Reading {
        let own = self.raw.get(&(domain, rmid, event)).copied();
        own.or(self.all[event as usize]).unwrap_or(Reading::Value(0))
    }

    /// An occupancy, in bytes.
    pub fn read(&self, domain: usize, rmid: Rmid, event: MonitorEvent) -> Reading {
        match self.raw(domain, rmid, event) {
            Reading::Value(counts) => Reading::Value(counts.wrapping_mul(self.scale)),
            other => other,
        }
    }

    /// A bandwidth event, in bytes since the last reset.
    fn advance(&mut self, domain: usize, rmid: Rmid, event: MonitorEvent) -> Reading {
        let raw = self.raw(domain, rmid, event);
        let progress = self.progress.entry((domain, rmid, event)).or_default();
        match raw {
            Reading::Value(counts) => {
                let mask = u64::MAX >> (64 - self.bits);
                progress.counts += counts.wrapping_sub(progress.previous) & mask;
                progress.previous = counts;
                Reading::Value(progress.counts.wrapping_mul(self.scale))
            }
            other => {
                if other == Reading::Unavailable {
                    progress.previous = 0;
                }
                other
            }
        }
    }

    /// Forgets what was counted in a domain; the next counts are taken as they are.
    pub fn forget(&mut self, domain: usize) {
        self.progress.retain(|&(other, _, _), _| other != domain);
    }

    /// Lets a bandwidth event begin at 0 again.
    fn reset(&mut self, domain: usize, rmid: Rmid, event: MonitorEvent) {
        let previous = match self.raw(domain, rmid, event) {
            Reading::Value(counts) => counts,
            _ => 0,
        };
        self.progress.insert((domain, rmid, event), Progress { previous, counts: 0 });
    }
}

impl Resctrl {
    /// Sets what the hardware's counter says for a class and RMID (on x86 the CLOSID does not matter) in an L3 domain.
    /// Does nothing when there is no such domain.
    pub fn set_counter(&mut self, domain_id: u32, closid: u32, rmid: u32, event: MonitorEvent, reading: Reading) {
        let rmid = self.rmid(closid, rmid);
        if let Some(domain) = self.monitoring_domain(domain_id) {
            self.counters.raw.insert((domain, rmid, event), reading);
        }
    }

    /// Sets what all counters of an event say that were not set on their own.
    pub fn set_all_counters(&mut self, event: MonitorEvent, reading: Reading) {
        self.counters.all[event as usize] = Some(reading);
    }

    /// The index of an L3 domain.
    pub(crate) fn monitoring_domain(&self, id: u32) -> Option<usize> {
        self.machine.monitoring.as_ref()?.domains.iter().position(|domain| domain.id == id)
    }

    /// The content of a file below `mon_data`: the group's own counter, for control groups with all of their monitoring
    /// groups'. An error counts only when no part could be read.
    pub(crate) fn show_event(&mut self, group: GroupId, domain: usize, event: MonitorEvent) -> Vec<u8> {
        let mut members = vec![group];
        if self.group(group).kind == GroupKind::Control {
            members.extend(&self.group(group).children);
        }
        let mut sum = 0_u64;
        let mut read_one = false;
        let mut failure = None;
        for member in members {
            let rmid = self.rmid(self.group(member).closid, self.group(member).rmid);
            let reading = match event.is_bandwidth() {
                true => self.counters.advance(domain, rmid, event),
                false => self.counters.read(domain, rmid, event),
            };
            match reading {
                Reading::Value(bytes) => {
                    sum = sum.wrapping_add(bytes);
                    read_one = true;
                }
                Reading::Error => failure = Some(Errno::EIO),
                Reading::Unavailable => failure = Some(Errno::EINVAL),
            }
        }
        match failure.filter(|_| !read_one) {
            Some(Errno::EIO) => b"Error\n".to_vec(),
            Some(_) => b"Unavailable\n".to_vec(),
            None => format!("{sum}\n").into_bytes(),
        }
    }

    /// Lets the bandwidth counters of a new group begin at 0.
    pub(crate) fn reset_counters(&mut self, closid: u32, rmid: u32) {
        let rmid = self.rmid(closid, rmid);
        let Some(monitoring) = &self.machine.monitoring else { return };
        for &event in monitoring.events.iter().filter(|event| event.is_bandwidth()) {
            for domain in 0..monitoring.domains.len() {
                self.counters.reset(domain, rmid, event);
            }
        }
    }
}
