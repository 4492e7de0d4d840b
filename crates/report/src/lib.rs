//! What a person reads: the table of a run, the plan of a dry run, the comparison of two runs.

mod compare;
mod figure;
mod headline;
mod plan;
mod run;
mod table;

pub use compare::compare;
pub use plan::plan;
pub use run::run;
