//! The interference channels of a platform, one row each: whether it is there and how that is known, which setting of a policy
//! reduces it, which neighbour exercised it, and what is not covered.
//!
//! The list of channels, what reduces each, and what the table assumes are data: `channels.toml`. [`of_machine`] looks at the
//! files of a machine, [`of_platform`] at a platform file; [`ChannelRuns`] are runs of that place, and [`experiment`] is one
//! that is made for the table. Each answer is yes, no or not seen; what could not be seen is never
//! "no".

mod list;
mod measure;
mod pattern;
mod policy;
mod presence;
mod reach;
mod runs;
mod table;
mod text;

pub use list::{ChannelList, ListedChannel, list};
pub use measure::{MeasureRequest, experiment};
pub use policy::{ChannelPolicy, PolicySettings};
pub use presence::{ChannelPlace, of_machine, of_platform};
pub use runs::ChannelRuns;
pub use table::{
    ChannelAnswer, ChannelExercise, ChannelRow, ChannelRun, ChannelTable, CheckOutcome, CounterShift, Exercised,
    HowKnown, PolicyStanding, Presence, ReducingSetting, Reduction, schema,
};
pub use text::text;
