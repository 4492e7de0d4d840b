//! What a person reads: the table of a run, the plan of a dry run, the comparison of two runs.

mod compare;
mod figure;
mod headline;
mod parameters;
mod plan;
mod run;
mod sections;
mod table;
mod text;

pub use compare::compare;
pub use parameters::parameters;
pub use plan::plan;
pub use run::run;
