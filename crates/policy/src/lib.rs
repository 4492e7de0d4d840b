//! Policies: who gets which share of which resource, resolved for a platform and lowered to exact writes.
//!
//! A [`Policy`] is TOML in portable terms. An [`Offer`] says what a machine can be asked for: a platform file's, or a
//! running machine's by its resctrl. [`plan`] makes an [`Assignment`] of both, and
//! [`lower`] the writes that carry it out.

mod amount;
mod assignment;
mod bandwidth;
mod bundled;
mod check;
mod cores;
mod describe;
mod load;
mod lower;
mod mask;
mod membership;
pub mod offer;
mod plan;
mod refusal;
pub mod register;
mod schemata;
mod share;
mod step;

pub use amount::{Amount, Bits, Bound, Quantity, Shape, size};
pub use assignment::{Access, AssignedClass, AssignedLimit, AssignedLock, AssignedMask, Assignment, DividedCache, Gap};
pub use bandwidth::BandwidthLimit;
pub use bundled::{bundled, find_bundled};
pub use cores::{CoreList, Cores};
pub use describe::{Class, Others, Policy, PseudoLock};
pub use load::{Loaded, PolicyError};
pub use lower::{Form, Line, Lowered, lower};
pub use mask::{End, Mask, Run};
pub use membership::{Member, Membership, Named};
pub use offer::Offer;
pub use plan::plan;
pub use refusal::Refusal;
pub use schemata::{SchemataLine, parse_schemata};
pub use share::{CacheShare, Extent};
pub use step::{Mechanism, MountSettings, Step};

/// The JSON Schema of a policy file, for editors and checkers.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Policy)
}
