//! The capacity probe: whether a partition of a cache is in force, or only stands in registers.
//!
//! A chase is walked once, so that it lies in the cache; then a neighbour streams several times the cache through; then the
//! chase is walked again, and timed. Three arrangements are measured in turn: nobody streams (everything stays: the
//! *positive control*), the neighbour streams within the chase's own class (nothing stays: the *negative control*), and
//! the neighbour streams in the other class (the *treatment*). Where the two controls cannot be distinguished nothing is
//! concluded from the third.

mod arrange;
mod colours;
mod judge;
mod measure;

pub use arrange::{Arrangement, NotArranged, PartitionedCache, arrange};
pub use colours::{Coloration, ColourPlan, measure_colours};
pub use judge::{ProbeSamples, ProbeVerdict, Survival, judge};
pub use measure::{Here, NotMeasured, ProbePlan, Prober};
