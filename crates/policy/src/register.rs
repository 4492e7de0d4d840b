//! Registers that divide caches and guard cores, described once: plans encode their values from the same fields that
//! `waykeeper decode` explains.

mod cortex_a9;
mod dsu;
mod explain;
mod intel;
mod mpam;
mod named;
mod pl310;
mod place;
mod value;

use serde::Serialize;

pub use explain::FieldEncoding;
pub use named::{Named, NotFound, find};
pub use place::{RegisterAddress, RegisterBlock};
pub use value::{Decoded, DecodedField, EncodeError};

/// A register, or several of the same kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Register {
    /// Its name; of numbered ones with `n` in the place of the number, at the end.
    pub name: &'static str,
    /// What it is for.
    pub title: &'static str,
    /// How it is reached; of numbered ones the first.
    pub place: RegisterAddress,
    /// How many there are of this kind.
    pub count: u32,
    /// Bits.
    pub width: u32,
    /// Its fields, the highest first. Bits in none of them are reserved, or not described here.
    pub fields: &'static [Field],
    /// Where the layout is from.
    pub source: &'static str,
}

/// A field of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its highest bit.
    pub high: u32,
    /// Its lowest bit.
    pub low: u32,
    /// What it sets.
    pub about: &'static str,
    /// How its value is read.
    pub meaning: FieldEncoding,
}

/// All registers, by family.
pub fn all() -> impl Iterator<Item = &'static Register> {
    [dsu::REGISTERS, intel::REGISTERS, pl310::REGISTERS, cortex_a9::REGISTERS, mpam::REGISTERS].into_iter().flatten()
}

/// A register of this crate's own tables, by the name that it has there.
///
/// # Panics
/// A name that is in no table: a slip in this crate, which its tests find.
pub(crate) fn known(name: &str) -> Named {
    find(name).unwrap_or_else(|error| panic!("{error}"))
}

/// A field of several bits.
const fn bits(name: &'static str, high: u32, low: u32, about: &'static str, meaning: FieldEncoding) -> Field {
    Field { name, high, low, about, meaning }
}

/// A field of one bit, with what it says when it is clear and when it is set.
const fn flag(name: &'static str, bit: u32, about: &'static str, clear: &'static str, set: &'static str) -> Field {
    Field { name, high: bit, low: bit, about, meaning: FieldEncoding::Flag { clear, set } }
}

impl Field {
    /// How many bits it has.
    pub fn width(&self) -> u32 {
        self.high - self.low + 1
    }

    /// Its bits in the register.
    pub fn mask(&self) -> u64 {
        low_bits(self.width()) << self.low
    }
}

/// The lowest bits of a word; at most 64.
fn low_bits(count: u32) -> u64 {
    u64::MAX.checked_shr(64 - count.min(64)).unwrap_or(0)
}

impl Register {
    /// All its bits.
    pub fn all_bits(&self) -> u64 {
        low_bits(self.width)
    }

    /// A field by name, in any case.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name))
    }
}
