//! Steps on the kernel that runs here. Only the guest calls this.

mod clock;
mod ground;
mod process;
mod system;

use std::collections::BTreeMap;

use waykeeper_resctrl::{FileOperation, MonitorEvent, MountOptions, Reading};

use crate::compare::Subject;
use crate::modelled::FULL;
use crate::real::process::Process;
use crate::real::system::Full;
use crate::step::{Answer, Outcome, Step};
pub(crate) use ground::{Ground, Threads};
pub(crate) use system::System;

/// A threshold of occupancy that every emulated machine takes: one count.
const SOME_BYTES: &[u8] = b"65536\n";

/// The kernel.
#[derive(Debug)]
pub struct Real {
    system: System,
    processes: Vec<Process>,
    /// CPUs that are online.
    cpus: Vec<u32>,
    /// How many RMIDs there are.
    rmids: u32,
    /// `max_threshold_occupancy` after boot.
    threshold: Option<Vec<u8>>,
    /// Permissions of the root's files after boot; the older kernels keep them over an unmount.
    modes: BTreeMap<Vec<u8>, u32>,
    /// What the events count after boot.
    configs: BTreeMap<&'static str, Vec<u8>>,
}

impl Real {
    /// Looks at the kernel after boot.
    ///
    /// # Errors
    /// A kernel without resctrl.
    pub fn new() -> Result<Self, String> {
        // The older kernels look at the freeing CPU's domain when an RMID is freed.
        clock::pin(0);
        let system = System::new();
        system.mount(MountOptions::default()).map_err(|errno| format!("resctrl cannot be mounted: errno {errno}"))?;
        let read = |path: &[u8]| system.read(path).ok();
        let number = |path: &[u8]| {
            read(path).and_then(|text| String::from_utf8(text).ok()).and_then(|text| text.trim().parse().ok())
        };
        let names = ["", "cpus", "cpus_list", "tasks", "schemata", "mode", "size"];
        let modes = names.into_iter().filter_map(|name| Some((name.into(), system.mode(name.as_bytes()).ok()?)));
        let configs = ["info/L3_MON/mbm_total_bytes_config", "info/L3_MON/mbm_local_bytes_config"];
        let configs = configs.into_iter().filter_map(|path| Some((path, read(path.as_bytes())?))).collect();
        let real = Real {
            cpus: clock::online(),
            rmids: number(b"info/L3_MON/num_rmids").unwrap_or(0),
            threshold: read(b"info/L3_MON/max_threshold_occupancy"),
            modes: modes.collect(),
            configs,
            system,
            processes: Vec::new(),
        };
        real.system.unmount().map_err(|errno| format!("resctrl cannot be unmounted: errno {errno}"))?;
        Ok(real)
    }

    fn answer(&mut self, step: &Step) -> Full<Answer> {
        match step {
            Step::Mount(options) => self.system.mount(*options).map(|()| Answer::Done),
            Step::Unmount => {
                // The model has nothing to say about unmounting what is not mounted.
                let _ = self.system.unmount();
                Ok(Answer::Done)
            }
            Step::Do(operation) => self.operate(operation),
            Step::Start { threads } => {
                let process = Process::start(*threads)?;
                let tids = process.tids.clone();
                self.processes.push(process);
                Ok(Answer::Started(tids))
            }
            Step::End(index) => {
                if *index < self.processes.len() {
                    self.processes.remove(*index).end();
                }
                Ok(Answer::Done)
            }
            Step::Count(event, reading) => {
                count(*event, *reading);
                Ok(Answer::Done)
            }
            Step::Settle => {
                self.settle();
                Ok(Answer::Done)
            }
            Step::Groups(tid) => self.system.groups(*tid).map(Answer::Bytes),
        }
    }

    fn operate(&mut self, operation: &FileOperation) -> Full<Answer> {
        let system = &self.system;
        match operation {
            FileOperation::Read { path } => system.read(path).map(Answer::Bytes),
            FileOperation::Write { path, data } => system.write(path, data).map(|()| Answer::Done),
            FileOperation::Mkdir { path, mode } => system.mkdir(path, *mode).map(|()| Answer::Done),
            FileOperation::Rmdir { path } => system.rmdir(path).map(|()| Answer::Done),
            FileOperation::Rename { from, to } => system.rename(from, to).map(|()| Answer::Done),
            FileOperation::Readdir { path } => system.entries(path).map(Answer::Entries),
            FileOperation::Getattr { path } => system.attributes(path),
            FileOperation::Chmod { path, mode } => system.chmod(path, *mode).map(|()| Answer::Done),
            FileOperation::Unlink { path } => system.unlink(path).map(|()| Answer::Done),
            FileOperation::Create { path } => system.create(path).map(|()| Answer::Done),
        }
    }

    /// Lets the kernel see empty caches for longer than the second after which it looks at freed RMIDs again.
    fn settle(&self) {
        count(MonitorEvent::LlcOccupancy, Reading::Value(0));
        for _ in 0..2 {
            clock::jump(1200);
            self.cpus.iter().for_each(|&cpu| clock::let_run(cpu));
        }
        count(MonitorEvent::LlcOccupancy, Reading::Value(FULL.into()));
    }

    /// Unmounts. Groups on the way to a locked region go first: see `astray`.
    fn unmount(&self) {
        for entry in self.system.entries(b"").unwrap_or_default().iter().filter(|entry| entry.directory) {
            let mode = [&entry.name[..], b"/mode"].concat();
            let _ = self.system.chmod(&mode, 0o644);
            if self.system.read(&mode).is_ok_and(|mode| mode.starts_with(b"pseudo-lock")) {
                let _ = self.system.rmdir(&entry.name);
            }
        }
        let _ = self.system.unmount();
    }

    /// Puts all RMIDs into limbo: from there they come back in order, as after boot.
    fn sort_rmids(&self) {
        if self.rmids < 2 || self.system.mount(MountOptions::default()).is_err() {
            return;
        }
        // With a threshold of 0 none would come back.
        self.set_threshold(SOME_BYTES);
        for (path, config) in &self.configs {
            let _ = self.system.write(path.as_bytes(), config);
        }
        for (name, mode) in &self.modes {
            let _ = self.system.chmod(name, *mode);
        }
        for number in 1..self.rmids {
            let _ = self.system.mkdir(format!("mon_groups/{number}").as_bytes(), 0o755);
        }
        let _ = self.system.unmount();
        self.settle();
        if let Some(threshold) = &self.threshold
            && self.system.mount(MountOptions::default()).is_ok()
        {
            self.set_threshold(threshold);
            let _ = self.system.unmount();
        }
    }

    fn set_threshold(&self, bytes: &[u8]) {
        let _ = self.system.write(b"info/L3_MON/max_threshold_occupancy", bytes);
    }
}

impl Subject for Real {
    fn reset(&mut self) {
        self.unmount();
        std::mem::take(&mut self.processes).into_iter().for_each(Process::end);
        count(MonitorEvent::LlcOccupancy, Reading::Value(FULL.into()));
        self.sort_rmids();
        if self.rmids < 2 && self.system.mount(MountOptions::default()).is_ok() {
            for (name, mode) in &self.modes {
                let _ = self.system.chmod(name, *mode);
            }
            let _ = self.system.unmount();
        }
        count(MonitorEvent::MbmTotal, Reading::Value(0));
        count(MonitorEvent::MbmLocal, Reading::Value(0));
    }

    fn run(&mut self, step: &Step) -> Outcome {
        let answer = self.answer(step);
        Outcome { answer, status: self.system.read(b"info/last_cmd_status").ok() }
    }
}

/// Sets what all counters of an event say in the emulated processor: see rdt.c.
fn count(event: MonitorEvent, reading: Reading) {
    let value = match reading {
        Reading::Value(value) => value as u32,
        Reading::Error => u32::MAX,
        Reading::Unavailable => u32::MAX - 1,
    };
    knob(1 + event as u32, value);
}

/// Turns one of the knobs of rdt.c.
fn knob(number: u32, value: u32) {
    #[cfg(target_arch = "x86_64")]
    std::arch::x86_64::__cpuid_count(0x5741_4b00 + number, value);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (number, value);
}
