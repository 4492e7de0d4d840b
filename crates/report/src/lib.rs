//! What a person reads: the table of a run, the plan of a dry run, the comparison of two runs.

mod assignment;
mod catalogue;
mod compare;
mod differences;
mod figure;
mod headline;
mod length;
pub mod live;
mod longer;
mod longest;
mod machine;
mod matrix;
mod metric;
mod parameters;
mod plan;
mod references;
mod register;
mod run;
mod sections;
mod shapes;
mod table;
mod text;
mod trace;

pub use assignment::assignment;
pub use catalogue::{catalogue, entry};
pub use compare::{Side, compare};
pub use length::Length;
pub use longer::longer;
pub use machine::machine;
pub use parameters::parameters;
pub use plan::plan;
pub use register::{decoded, register, registers};
pub use run::{Detail, run};
pub use trace::{TraceSummary, trace};
