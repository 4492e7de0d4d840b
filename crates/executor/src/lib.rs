//! Runs cases: on this Linux machine ([`Host`]) or in the simulator ([`Simulated`]), behind one trait.

mod assignments;
mod explained;
mod fast_check;
mod host;
pub mod ladder;
mod measure;
mod not_given;
mod occupancy;
mod policies;
pub mod recorded;
mod schedule;
mod simulated;

pub use assignments::check_assignments;
pub use host::{
    Bench, Host, Job, JobPart, LiveNeighbour, LiveTarget, Recent, Recorded, WORKER_ARGUMENT, WorkerAnswer, no_program,
    not_installed, worker_main,
};
pub use measure::{Executor, ExecutorError, OfferedSite, Pace, PlannedRepeat};
pub use policies::PolicyFiles;
pub use schedule::{Begun, FigureOfRepeat, Finished, Keeper, Progress, RunSettings, one, run};
pub use simulated::Simulated;
