//! resctrl, the registers and the tasks together, and what the simulation has to know of them.

use std::collections::BTreeMap;

use waykeeper_platform::CoreId;
use waykeeper_resctrl::{
    Caller, FileOperation, HardwareControls, LockedRegion, MonitorEvent, OperationError, QosTechnology, Reading, Reply,
    Resctrl, ResourceId,
};

use crate::backing::ControlChange;
use crate::hardware::{Association, Change, Hardware};
use crate::msr::OwnRegisters;
use crate::runner::{Ask, Runner, Watched};
use crate::slots::Slots;
use crate::tasks::News;

/// A load and the task that stands for it.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    /// The runner's number.
    pub id: u64,
    pub name: String,
    pub core: CoreId,
    /// Whose groups decide; 0 for none.
    pub tid: i32,
    /// Whether its latency is what counts.
    pub target: bool,
}

/// Everything that changes with a write.
#[derive(Debug)]
pub(crate) struct State {
    pub resctrl: Option<Resctrl>,
    /// Goes up with each mount of it.
    pub instance: u64,
    pub hardware: Hardware,
    /// What resctrl had put into registers at the last look.
    shown: Vec<HardwareControls>,
    /// What the kernel had put into each core's association at the last look.
    switched: BTreeMap<CoreId, Association>,
    pub own: OwnRegisters,
    pub loads: Vec<Load>,
    slots: Slots,
    watched: Watched,
    /// Locked regions and the simulation's numbers of them.
    regions: Vec<(LockedRegion, Option<u64>)>,
    /// The snapshot whose counters resctrl has.
    seen: u64,
}

impl State {
    pub fn new(resctrl: Option<Resctrl>, hardware: Hardware, monitors: u8) -> Self {
        let shown = resctrl.as_ref().map(Resctrl::hardware_controls).unwrap_or_default();
        let switched = hardware.associations.clone();
        Self {
            resctrl,
            instance: 1,
            hardware,
            shown,
            switched,
            own: OwnRegisters::default(),
            loads: Vec::new(),
            slots: Slots::new(monitors),
            watched: Watched::default(),
            regions: Vec::new(),
            seen: 0,
        }
    }

    /// Carries out an operation on resctrl's files.
    pub fn apply(
        &mut self,
        runner: &Runner,
        caller: &Caller,
        operation: &FileOperation,
    ) -> Result<Reply, OperationError> {
        let changes = matches!(
            operation,
            FileOperation::Write { .. }
                | FileOperation::Mkdir { .. }
                | FileOperation::Rmdir { .. }
                | FileOperation::Rename { .. }
        );
        self.take_counters(runner);
        let resctrl = self.resctrl.as_mut().expect("only a machine with resctrl has its files");
        let reply = resctrl.apply_for(caller, operation);
        if changes {
            self.settle(runner);
        }
        reply
    }

    /// Learns who began and who ended.
    pub fn learn(&mut self, news: News) {
        let Some(resctrl) = &mut self.resctrl else { return };
        for tid in news.ended {
            resctrl.end_task(tid);
        }
        for (parent, task) in news.began {
            resctrl.start_task(parent, task);
        }
    }

    /// What the kernel does every second.
    pub fn check_limbo(&mut self, runner: &Runner) {
        self.take_counters(runner);
        if let Some(resctrl) = &mut self.resctrl {
            resctrl.check_limbo();
        }
    }

    /// Hands resctrl the counters of the latest snapshot.
    fn take_counters(&mut self, runner: &Runner) {
        let Some(resctrl) = &mut self.resctrl else { return };
        let Some(monitoring) = resctrl.machine().monitoring.as_ref() else { return };
        let scale = u64::from(monitoring.scale_bytes.max(1));
        let limit = u64::MAX >> (64 - monitoring.counter_bits.clamp(1, 64));
        let snapshot = runner.published.snapshot();
        if snapshot.version == self.seen {
            return;
        }
        self.seen = snapshot.version;
        for ((domain, slot), counted) in &snapshot.monitored {
            let Some((association, base)) = self.slots.holder(*domain, *slot) else { continue };
            for (event, bytes) in [
                (MonitorEvent::LlcOccupancy, counted.occupancy_bytes),
                (MonitorEvent::MbmTotal, counted.total_bytes.saturating_sub(base.total_bytes)),
                (MonitorEvent::MbmLocal, counted.local_bytes.saturating_sub(base.local_bytes)),
            ] {
                let counts = if event.is_bandwidth() { (bytes / scale) & limit } else { bytes / scale };
                let Association { closid, rmid } = association;
                resctrl.set_counter(*domain, closid, rmid, event, Reading::Value(counts));
            }
        }
    }

    /// Brings registers and simulation in line with resctrl.
    pub fn settle(&mut self, runner: &Runner) {
        self.follow_controls();
        self.follow_switches();
        self.follow_regions(runner);
        self.tell(runner);
    }

    /// What resctrl changed, it wrote into registers.
    fn follow_controls(&mut self) {
        let Some(resctrl) = &self.resctrl else { return };
        let in_mbps = resctrl.mounted().is_some_and(|options| options.mba_mbps);
        let now = resctrl.hardware_controls();
        for after in &now {
            let level = match after.resource {
                ResourceId::L3 => 3,
                ResourceId::L2 => 2,
                ResourceId::Mb | ResourceId::Smba => 0,
            };
            if level > 0 {
                self.hardware.set_cdp(level, after.cdp);
            }
            let before = self.shown.iter().find(|it| (it.resource, it.domain) == (after.resource, after.domain));
            for (register, value) in after.values.iter().enumerate() {
                if before.and_then(|before| before.values.get(register)) == Some(value) {
                    continue;
                }
                match level {
                    // In MB/s the kernel's software controller sets the registers; it is not part of a room.
                    0 if in_mbps => {}
                    0 => self.hardware.set_throttle(after.domain as usize, register, *value),
                    _ => self.hardware.set_mask(level, after.domain as usize, register, *value),
                }
            }
        }
        self.shown = now;
    }

    /// What the kernel writes when it switches to a task, or a task's group changes.
    fn follow_switches(&mut self) {
        let Some(resctrl) = &self.resctrl else { return };
        let cores: Vec<CoreId> = self.hardware.associations.keys().copied().collect();
        for core in cores {
            let tid = self.loads.iter().find(|load| load.core == core).map_or(0, |load| load.tid);
            let (closid, rmid) = resctrl.effective_identifiers(tid, core);
            let association = Association { closid, rmid };
            if self.switched.insert(core, association) != Some(association) {
                self.hardware.associate(core, association);
            }
        }
    }

    fn follow_regions(&mut self, runner: &Runner) {
        let Some(resctrl) = &self.resctrl else { return };
        let now = resctrl.locked_regions();
        let (kept, gone): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.regions).into_iter().partition(|(region, _)| now.contains(region));
        self.regions = kept;
        for (_, number) in gone {
            if let Some(number) = number {
                runner.ask(Ask::Unlock(number));
            }
        }
        for region in now {
            if self.regions.iter().any(|(held, _)| *held == region) {
                continue;
            }
            let level = if region.resource == ResourceId::L3 { 3 } else { 2 };
            let masks = self.hardware.masks.get(&level);
            let core = masks.and_then(|masks| masks.cache.groups.get(region.domain as usize)?.first().copied());
            // The masks that keep others out come first.
            self.tell(runner);
            let number = core.and_then(|core| {
                let ways = region.mask;
                runner.ask_for(|answer| Ask::Lock { level, core, ways, answer }).ok()
            });
            self.regions.push((region, number));
        }
    }

    /// Passes register changes on.
    pub fn tell(&mut self, runner: &Runner) {
        for change in std::mem::take(&mut self.hardware.changes) {
            let control = match change {
                Change::Control(control) => control,
                Change::Associate(core, association) => {
                    let in_use = self.in_use();
                    let monitor = self.slots.slot_of(self.key(association), &in_use, &runner.published.snapshot());
                    ControlChange::Assign { core, class: association.closid, monitor }
                }
            };
            runner.ask(Ask::Set(control));
        }
        let watched = self.to_watch();
        if watched != self.watched {
            self.watched.clone_from(&watched);
            runner.ask(Ask::Watch(watched));
        }
    }

    /// RMIDs of MPAM belong to a class, others are numbers of their own.
    pub fn key(&self, association: Association) -> Association {
        let mpam = self.resctrl.as_ref().is_some_and(|it| it.machine().architecture == QosTechnology::Mpam);
        Association { closid: if mpam { association.closid } else { 0 }, ..association }
    }

    fn in_use(&self) -> Vec<Association> {
        let groups = self.resctrl.iter().flat_map(Resctrl::identifiers);
        let groups = groups.map(|(closid, rmid)| self.key(Association { closid, rmid }));
        groups.chain(self.hardware.associations.values().map(|it| self.key(*it))).collect()
    }

    fn to_watch(&self) -> Watched {
        let Some(monitoring) = self.resctrl.as_ref().and_then(|it| it.machine().monitoring.as_ref()) else {
            return Watched::default();
        };
        let cores = monitoring.domains.iter().map(|domain| domain.cpus.iter().next().unwrap_or(0)).collect();
        Watched { level: 3, cores, slots: self.slots.used() }
    }

    /// The simulation's number of a locked region, by the name of its group.
    pub fn region(&self, name: &str) -> Option<u64> {
        self.regions.iter().find(|(region, _)| region.name == name.as_bytes()).and_then(|(_, number)| *number)
    }

    /// All locked regions.
    pub fn regions(&self) -> impl Iterator<Item = &LockedRegion> {
        self.regions.iter().map(|(region, _)| region)
    }

    /// The number of a monitor, if it ever had one.
    pub fn slot(&self, association: Association) -> Option<u8> {
        self.slots.find(self.key(association))
    }
}
