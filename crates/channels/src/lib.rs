//! The interference channels of a platform, one row each: whether it is there and how that is known, which setting of a policy
//! reduces it, which neighbour exercised it, and what is not covered.
//!
//! The list of channels, what reduces each, and what the table assumes are data: `channels.toml`. [`of_machine`] looks at the
//! files of a machine, [`of_platform`] at a platform file. Each answer is yes, no or not seen; what could not be seen is never
//! "no".

mod list;
mod policy;
mod presence;
mod table;
mod text;

pub use list::{ChannelList, ListedChannel, list};
pub use policy::{ChannelPolicy, PolicySettings};
pub use presence::{ChannelPlace, of_machine, of_platform};
pub use table::{
    ChannelAnswer, ChannelRow, ChannelTable, CheckOutcome, HowKnown, PolicyStanding, Presence, ReducingSetting,
    Reduction, schema,
};
pub use text::text;
