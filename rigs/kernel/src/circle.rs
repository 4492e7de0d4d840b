//! The whole circle on the kernel that runs here: apply, read back, restore. Every byte of resctrl must be as before, also
//! when apply or restore is killed before, after and amid every single write. Only the guest calls this.

mod cut;
mod pqos;
mod scenario;
mod snapshot;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use waykeeper_control::host::HostFiles;
use waykeeper_control::{ApplyRequest, OthersChanges, Restored, StateDirectory, apply_with, restore_with};
use waykeeper_policy::Step;

use self::cut::{Knife, Stroke};
use self::scenario::{SCENARIOS, Scenario};
use self::snapshot::Snapshot;
use crate::real::Ground;
use crate::setup::Setup;

/// Where the journal is.
const STATE: &str = "/run/waykeeper";

/// What a part of the circle does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Apply,
    Restore,
}

/// What was carried out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    /// Scenarios.
    pub scenarios: usize,
    /// Kills.
    pub kills: usize,
}

/// Carries out all scenarios that a machine can do.
///
/// # Errors
/// The first thing that is not as it should be.
pub fn run(setup: &Setup) -> Result<Carried, String> {
    let registers = load_module("/msr.ko");
    let mut carried = Carried::default();
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.fits(setup.name, registers)) {
        for populated in [false, true] {
            if populated && !scenario.on_mounted {
                continue;
            }
            // Beside others the classes have other numbers.
            let shown = if registers && !populated { scenario.shown } else { &[] };
            let kills = Circle::begin(scenario, populated, shown)
                .and_then(Circle::run)
                .map_err(|why| format!("{}{}: {why}", scenario.name, if populated { " beside others" } else { "" }))?;
            carried.scenarios += 1;
            carried.kills += kills;
            let place = if populated { "beside others" } else { "alone" };
            println!("RIG circle {} {place}: as before after {kills} kills", scenario.name);
        }
    }
    Ok(carried)
}

struct Circle {
    ground: Ground,
    steps: Vec<Step>,
    /// What `pqos` shows once they are applied, where it can be asked.
    shown: &'static [&'static str],
    before: Snapshot,
    compared: u32,
}

impl Circle {
    fn begin(scenario: &Scenario, populated: bool, shown: &'static [&'static str]) -> Result<Self, String> {
        let mut ground = Ground::new()?;
        let processes = ground.populate(populated)?;
        let steps = scenario.steps(&processes);
        let before = Snapshot::take(&ground, scenario.registers);
        Ok(Circle { ground, steps, shown, before, compared: 0 })
    }

    /// Once without a kill; then with one before, after and amid each action of apply, and of restore.
    fn run(mut self) -> Result<usize, String> {
        let apply = self.whole(Part::Apply)?;
        if Snapshot::take(&self.ground, self.before.with_registers()) == self.before {
            return Err("apply changed nothing".into());
        }
        if !self.shown.is_empty() {
            pqos::shows(self.shown)?;
        }
        let restore = self.whole(Part::Restore)?;
        self.compare("after apply and restore")?;
        let (apply, restore) = (Stroke::all(&apply), Stroke::all(&restore));
        let kills = apply.len() + restore.len();
        for stroke in apply {
            self.killed(Part::Apply, stroke)?;
            self.whole(Part::Restore)?;
            self.compare(&format!("after apply was killed {stroke} and restore"))?;
        }
        for stroke in restore {
            self.whole(Part::Apply)?;
            self.killed(Part::Restore, stroke)?;
            self.whole(Part::Restore)?;
            self.compare(&format!("after restore was killed {stroke} and restore"))?;
        }
        self.ground.clear();
        Ok(kills)
    }

    fn compare(&mut self, when: &str) -> Result<(), String> {
        // Each time a group's RMID is freed; they have to come back before there is none left.
        self.compared += 1;
        if self.compared.is_multiple_of(8) {
            self.ground.settle();
        }
        let now = Snapshot::take(&self.ground, self.before.with_registers());
        match self.before.difference(&now) {
            None => Ok(()),
            Some(difference) => Err(format!("{when}: {difference}")),
        }
    }

    /// A part that comes to its end; returns a sign for each of its actions.
    fn whole(&self, part: Part) -> Result<String, String> {
        let _ = std::fs::remove_file(OUTCOME);
        let status = in_child(|| self.carry_out(part, None));
        let outcome = std::fs::read_to_string(OUTCOME).unwrap_or_default();
        match outcome.strip_prefix("done ") {
            Some(actions) if status == 0 => Ok(actions.to_owned()),
            _ => Err(format!("{part:?} ended with {status:#x}: {outcome}")),
        }
    }

    fn killed(&self, part: Part, stroke: Stroke) -> Result<(), String> {
        let status = in_child(|| self.carry_out(part, Some(stroke)));
        if status == libc::SIGKILL { Ok(()) } else { Err(format!("{part:?} {stroke} ended with {status:#x}")) }
    }

    fn carry_out(&self, part: Part, stroke: Option<Stroke>) {
        let knife = Knife::new(stroke);
        let mut host = HostFiles::at(Path::new("/"));
        let machine = host.machine();
        let (mut tree, mut registers) = (knife.tree(machine.tree), knife.registers(machine.registers));
        let mut machine =
            waykeeper_control::MachineAccess { tree: &mut tree, registers: &mut registers, system: machine.system };
        let state = StateDirectory::at(STATE);
        let outcome = match state.lock("rig") {
            Err(error) => Err(error.to_string()),
            Ok(_held) => {
                let mut store = knife.store(state);
                match part {
                    Part::Apply => {
                        let request = ApplyRequest { policy: "rig", version: "0", steps: &self.steps };
                        let applied = apply_with(&mut machine, &mut store, &request, &AtomicBool::new(false));
                        applied.map(drop).map_err(|error| error.to_string())
                    }
                    Part::Restore => match restore_with(&mut machine, &mut store, OthersChanges::Leave) {
                        Ok(Restored::Nothing | Restored::Back { .. }) => Ok(()),
                        Ok(other) => Err(format!("{other:?}")),
                        Err(error) => Err(error.to_string()),
                    },
                }
            }
        };
        let text = match outcome {
            Ok(()) => format!("done {}", knife.actions()),
            Err(why) => why,
        };
        let _ = std::fs::write(OUTCOME, text);
    }
}

/// What a child says at its end.
const OUTCOME: &str = "/run/outcome";

/// After so long a child is ended: it hangs.
const PATIENCE_SECONDS: u32 = 60;

/// Runs something in a process of its own and returns the status that it ended with.
fn in_child(work: impl FnOnce()) -> i32 {
    // SAFETY: this program has one thread, so the child may do anything; it does not return from here.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::alarm(PATIENCE_SECONDS);
            work();
            libc::_exit(0);
        }
        let mut status = 0;
        libc::waitpid(child, &raw mut status, 0);
        status
    }
}

/// Loads a kernel module; returns whether registers can be reached afterwards.
pub(crate) fn load_module(path: &str) -> bool {
    if let Ok(module) = std::fs::read(path) {
        // SAFETY: the buffer is as long as is said, the options are empty and end with a NUL.
        unsafe { libc::syscall(libc::SYS_init_module, module.as_ptr(), module.len(), c"".as_ptr()) };
    }
    Path::new("/dev/cpu/0/msr").exists()
}
