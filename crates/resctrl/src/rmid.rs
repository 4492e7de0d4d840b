//! Monitoring identifiers: RMIDs of x86, PMGs of MPAM, and the limbo in which freed ones wait.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::counters::Reading;
use crate::{Errno, MonitorEvent, QosTechnology, Resctrl};

/// An identifier. On x86 the CLOSID is always 0 here: RMIDs are numbers of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Rmid {
    pub closid: u32,
    pub rmid: u32,
}

/// Which identifiers are free.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rmids {
    /// The next to be taken comes first.
    free: VecDeque<Rmid>,
    /// Freed ones that may still have lines in a cache: the domains (by index) that were not seen clean since.
    limbo: BTreeMap<Rmid, BTreeSet<usize>>,
}

impl Rmids {
    /// All are free but the root group's.
    pub fn new(closids: u32, rmids: u32) -> Self {
        let all = (0..closids).flat_map(|closid| (0..rmids).map(move |rmid| Rmid { closid, rmid }));
        Rmids { free: all.skip(1).collect(), limbo: BTreeMap::new() }
    }

    /// Takes the one that has been free for longest.
    pub fn take(&mut self, closid: u32) -> Result<u32, Errno> {
        if self.free.is_empty() {
            return Err(if self.limbo.is_empty() { Errno::ENOSPC } else { Errno::EBUSY });
        }
        let at = self.free.iter().position(|rmid| rmid.closid == closid).ok_or(Errno::ENOSPC)?;
        Ok(self.free.remove(at).map_or(0, |rmid| rmid.rmid))
    }

    /// Frees one that has to wait for some domains, or for none.
    pub fn free(&mut self, rmid: Rmid, busy: BTreeSet<usize>) {
        if busy.is_empty() {
            self.free.push_back(rmid);
        } else {
            self.limbo.insert(rmid, busy);
        }
    }

    /// Those of a CLOSID that are in limbo.
    pub fn dirty(&self, closid: u32) -> usize {
        self.limbo.keys().filter(|rmid| rmid.closid == closid).count()
    }

    /// How many are free.
    pub fn free_count(&self) -> usize {
        self.free.len()
    }

    /// Those that wait for a domain.
    pub fn waiting(&self, domain: usize) -> Vec<Rmid> {
        self.limbo.iter().filter(|(_, busy)| busy.contains(&domain)).map(|(&rmid, _)| rmid).collect()
    }

    /// A domain is clean of one.
    pub fn clean(&mut self, rmid: Rmid, domain: usize) {
        let Some(busy) = self.limbo.get_mut(&rmid) else { return };
        busy.remove(&domain);
        if busy.is_empty() {
            self.limbo.remove(&rmid);
            self.free.push_back(rmid);
        }
    }
}

impl Resctrl {
    /// What the kernel does about every second: looks which identifiers in limbo have little enough left in the caches.
    pub fn check_limbo(&mut self) {
        for domain in 0..self.monitoring_domains() {
            for rmid in self.rmids.waiting(domain) {
                let occupancy = self.counters.read(domain, rmid, MonitorEvent::LlcOccupancy);
                if matches!(occupancy, Reading::Value(bytes) if bytes < self.threshold.into()) {
                    self.rmids.clean(rmid, domain);
                }
            }
        }
    }

    /// How many identifiers are free; those in limbo are not.
    pub fn free_rmids(&self) -> usize {
        self.rmids.free_count()
    }

    /// The identifier's whole name on this architecture.
    pub(crate) fn rmid(&self, closid: u32, rmid: u32) -> Rmid {
        let closid = if self.machine.architecture == QosTechnology::Mpam { closid } else { 0 };
        Rmid { closid, rmid }
    }

    pub(crate) fn take_rmid(&mut self, closid: u32) -> Result<u32, Errno> {
        let closid = self.rmid(closid, 0).closid;
        self.rmids.take(closid).inspect_err(|_| self.status.puts("Out of RMIDs\n"))
    }

    /// Frees an identifier; `cpu` is the one that does it.
    pub(crate) fn free_rmid(&mut self, closid: u32, rmid: u32, cpu: u32) {
        let rmid = self.rmid(closid, rmid);
        let Some(monitoring) = &self.machine.monitoring else { return };
        if rmid == self.rmid(0, 0) {
            return;
        }
        let mut busy = BTreeSet::new();
        if self.machine.counts(MonitorEvent::LlcOccupancy) {
            let looks = self.machine.kernel.looks_before_limbo();
            for (index, domain) in monitoring.domains.iter().enumerate() {
                let occupancy = self.counters.read(index, rmid, MonitorEvent::LlcOccupancy);
                // A counter that cannot be read does not hold the RMID back.
                let clean = !matches!(occupancy, Reading::Value(bytes) if bytes > self.threshold.into());
                if !(looks && domain.cpus.contains(cpu) && clean) {
                    busy.insert(index);
                }
            }
        }
        self.rmids.free(rmid, busy);
    }

    fn monitoring_domains(&self) -> usize {
        self.machine.monitoring.as_ref().map_or(0, |monitoring| monitoring.domains.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limbo_makes_the_difference_between_none_left_and_none_yet() {
        let mut rmids = Rmids::new(1, 2);
        assert_eq!(rmids.take(0), Ok(1));
        assert_eq!(rmids.take(0), Err(Errno::ENOSPC));
        rmids.free(Rmid { closid: 0, rmid: 1 }, BTreeSet::from([0, 1]));
        assert_eq!(rmids.take(0), Err(Errno::EBUSY));
        rmids.clean(Rmid { closid: 0, rmid: 1 }, 0);
        assert_eq!(rmids.take(0), Err(Errno::EBUSY));
        rmids.clean(Rmid { closid: 0, rmid: 1 }, 1);
        assert_eq!(rmids.take(0), Ok(1));
    }

    #[test]
    fn identifiers_of_another_class_do_not_help() {
        let mut rmids = Rmids::new(2, 1);
        assert_eq!(rmids.take(0), Err(Errno::ENOSPC));
        assert_eq!(rmids.take(1), Ok(0));
    }
}
