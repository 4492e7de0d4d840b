//! Random steps, sensible and absurd, that look at the model's state: names that exist, masks that nearly fit.

mod content;
mod paths;

use fastrand::Rng;
use waykeeper_resctrl::{FileOperation, MonitorEvent, MountOptions, Reading};

use crate::astray::leads_astray;
use crate::modelled::{FULL, Modelled};
use crate::setup::Setup;
use crate::step::Step;

/// Makes steps for one setup.
#[derive(Debug)]
pub struct Generator {
    rng: Rng,
    mounts: Vec<MountOptions>,
    /// How far the bandwidth counters have come. They only grow, as real ones do.
    counts: u32,
}

impl Generator {
    /// A generator whose steps depend on the seed alone, and on the states that it is shown.
    pub fn new(setup: &Setup, seed: u64) -> Self {
        Generator { rng: Rng::with_seed(seed), mounts: setup.mounts(), counts: 0 }
    }

    /// The next step.
    pub fn next(&mut self, state: &Modelled) -> Step {
        loop {
            let step = self.draw(state);
            if !leads_astray(state, &step) {
                return step;
            }
        }
    }

    fn draw(&mut self, state: &Modelled) -> Step {
        if state.resctrl.mounted().is_none() {
            return match self.rng.u32(..20) {
                0 => Step::Unmount,
                1 => Step::Groups(1),
                2 => self.start(),
                _ => Step::Mount(self.pick_mount()),
            };
        }
        match self.rng.u32(..1000) {
            0..3 => Step::Unmount,
            3..6 => Step::Mount(self.pick_mount()),
            6..30 if state.processes.len() < 6 => self.start(),
            30..45 if !state.processes.is_empty() => Step::End(self.rng.usize(..state.processes.len())),
            45..60 => self.count(),
            60..75 => Step::Groups(self.tid(state)),
            75..110 if state.resctrl.free_rmids() < 2 => Step::Settle,
            75..80 => Step::Settle,
            _ => Step::Do(self.operation(state)),
        }
    }

    fn pick_mount(&mut self) -> MountOptions {
        // Half of the mounts are plain: most states can be reached there.
        let index = if self.rng.bool() { 0 } else { self.rng.usize(..self.mounts.len()) };
        self.mounts[index]
    }

    fn start(&mut self) -> Step {
        Step::Start { threads: self.rng.u32(..3) }
    }

    fn count(&mut self) -> Step {
        match self.rng.u32(..8) {
            0 => Step::Count(MonitorEvent::LlcOccupancy, Reading::Error),
            1 => Step::Count(MonitorEvent::LlcOccupancy, Reading::Unavailable),
            2 | 3 => Step::Count(MonitorEvent::LlcOccupancy, Reading::Value((FULL + self.rng.u32(..FULL)).into())),
            4 => Step::Count(self.bandwidth_event(), Reading::Error),
            _ => {
                self.counts += self.rng.u32(..1000);
                Step::Count(self.bandwidth_event(), Reading::Value(self.counts.into()))
            }
        }
    }

    fn bandwidth_event(&mut self) -> MonitorEvent {
        if self.rng.bool() { MonitorEvent::MbmTotal } else { MonitorEvent::MbmLocal }
    }

    /// A thread: mostly one that is there.
    fn tid(&mut self, state: &Modelled) -> i32 {
        let all: Vec<i32> = state.processes.iter().flatten().copied().chain([1]).collect();
        match self.rng.u32(..20) {
            0 => 0,
            1 => self.rng.i32(30_000..40_000),
            _ => all[self.rng.usize(..all.len())],
        }
    }

    fn operation(&mut self, state: &Modelled) -> FileOperation {
        match self.rng.u32(..100) {
            0..8 => FileOperation::Mkdir { path: self.new_control_group(state), mode: self.directory_mode() },
            8..16 => FileOperation::Mkdir { path: self.new_monitoring_group(state), mode: self.directory_mode() },
            16..18 => FileOperation::Mkdir { path: self.any_new_path(state), mode: self.directory_mode() },
            18..25 => FileOperation::Rmdir { path: self.group(state) },
            25..26 => FileOperation::Rmdir { path: self.any_path(state) },
            26..30 => self.rename(state),
            30..36 => FileOperation::Getattr { path: self.any_path(state) },
            36..39 => FileOperation::Readdir { path: self.directory(state) },
            39..56 => FileOperation::Read { path: self.file(state) },
            56..57 => FileOperation::Read { path: self.any_path(state) },
            57..58 => FileOperation::Unlink { path: self.any_path(state) },
            58..59 => FileOperation::Create { path: self.any_new_path(state) },
            59..60 => FileOperation::Chmod { path: self.any_path(state), mode: self.rng.u32(..0o1000) },
            60..61 => FileOperation::Write { path: self.any_path(state), data: self.noise() },
            _ => self.write(state),
        }
    }

    fn directory_mode(&mut self) -> u32 {
        if self.rng.u32(..4) > 0 { 0o755 } else { self.rng.u32(..0o2000) }
    }

    /// A monitoring group to another place, or anything to anywhere.
    fn rename(&mut self, state: &Modelled) -> FileOperation {
        let from = match self.rng.u32(..4) {
            0 => self.any_path(state),
            _ => self.monitoring_group(state),
        };
        let to = match self.rng.u32(..4) {
            0 => self.any_new_path(state),
            _ => self.new_monitoring_group(state),
        };
        FileOperation::Rename { from, to }
    }
}
