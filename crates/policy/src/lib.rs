//! Policies: who gets which share of which resource, resolved for a platform and lowered to exact writes.
//!
//! A [`Policy`] is TOML in portable terms. An [`Offer`] says what a machine can be asked for: a platform file's, or a
//! running machine's by its resctrl. [`plan`] makes an [`Assignment`] of both, and
//! [`lower`] the writes that carry it out.

mod amount;
mod assignment;
mod bandwidth;
mod bundled;
mod cache_shares;
mod cgroup;
mod check;
mod clock;
mod colours;
mod cores;
mod describe;
mod load;
mod lockdown;
mod lower;
mod mask;
mod membership;
pub mod offer;
mod plan;
mod priority;
mod refusal;
pub mod register;
mod remedy;
mod schemata;
mod share;
mod step;
mod text_value;

pub use amount::{Amount, Bits, Bound, CacheQuantity, MaskGeometry, size};
pub use assignment::{
    AssignedClass, AssignedClock, AssignedColours, AssignedControls, AssignedLimit, AssignedLock, AssignedLockdown,
    AssignedMask, AssignedPriority, AssignedStride, Assignment, CdpType, ColourShare, DividedCache, Gap,
};
pub use bandwidth::BandwidthLimit;
pub use bundled::{bundled, find_bundled};
pub use cache_shares::{CacheShares, ShareOfCache};
pub use cgroup::{Cgroup, find_cgroup, is_no_cgroup};
pub use clock::{ClockRange, CoreFrequency};
pub use colours::Colours;
pub use cores::{CoreList, Cores};
pub use describe::{Class, Others, Policy, PseudoLock};
pub use load::{LoadedPolicy, PolicyError};
pub use lockdown::{Location, Lockdown, LockedLines};
pub use lower::{Form, Lowered, RegisterWrite, ScriptLine, lower};
pub use mask::{ContiguousBits, End, Mask};
pub use membership::{Member, Membership, Named};
pub use offer::Offer;
pub use plan::plan;
pub use priority::BusPriority;
pub use refusal::Refusal;
pub use schemata::{SchemataLine, parse_schemata};
pub use share::{CacheShare, Extent};
pub use step::{Mechanism, MountSettings, Step};

/// The JSON Schema of a policy file, for editors and checkers.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Policy)
}
