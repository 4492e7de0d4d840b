//! Platforms as data: what a machine consists of, in numbers that say where they come from.
//!
//! A platform file is TOML (`platforms/*.toml`, compiled in; any other path works too). Every physical parameter is a
//! [`Param`]: a value, one of the four words of [`Basis`], and its source.

mod bundled;
mod describe;
mod load;
mod param;

pub use bundled::{Bundled, bundled, find_bundled};
pub use describe::{CoreId, CoreKind, Mitigation, Platform, PrivateCache, SharedCache};
pub use load::PlatformError;
pub use param::{Basis, Param, ParameterRow};
