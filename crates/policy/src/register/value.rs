//! Values of registers, put together from fields and taken apart again.

use serde::Serialize;

use super::{Field, Register};

/// A value, field by field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decoded {
    /// The fields, the highest first.
    pub fields: Vec<DecodedField>,
    /// Bits that are set in no field.
    pub undescribed: u64,
}

/// The value of one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DecodedField {
    /// The field.
    #[serde(flatten)]
    pub field: &'static Field,
    /// Its value.
    pub value: u64,
}

/// Why a value cannot be put together, or is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// There is no such field.
    #[error("{register} has no field `{field}`; it has {fields}")]
    NoField {
        /// The register.
        register: &'static str,
        /// What was named.
        field: String,
        /// The fields that it has.
        fields: String,
    },
    /// The value has more bits than the field, or the register.
    #[error("{value:#x} does not fit into the {bits} bits of {what}")]
    TooLarge {
        /// The field or register.
        what: String,
        /// How many bits it has.
        bits: u32,
        /// The value.
        value: u64,
    },
}

impl Register {
    /// Puts a value together; fields that are not named are 0.
    ///
    /// # Errors
    /// A name that is no field's, a value that has more bits than its field.
    pub fn encode(&self, fields: &[(&str, u64)]) -> Result<u64, EncodeError> {
        fields.iter().try_fold(0, |word, (name, value)| {
            let field = self.field(name).ok_or_else(|| EncodeError::NoField {
                register: self.name,
                field: (*name).to_owned(),
                fields: self.fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", "),
            })?;
            if *value > super::low_bits(field.width()) {
                let what = format!("{} of {}", field.name, self.name);
                return Err(EncodeError::TooLarge { what, bits: field.width(), value: *value });
            }
            Ok((word & !field.mask()) | value << field.low)
        })
    }

    /// Takes a value apart.
    ///
    /// # Errors
    /// A value that has more bits than the register.
    pub fn decode(&'static self, value: u64) -> Result<Decoded, EncodeError> {
        if value & !self.all_bits() != 0 {
            return Err(EncodeError::TooLarge { what: self.name.into(), bits: self.width, value });
        }
        let of = |field: &'static Field| DecodedField { field, value: (value & field.mask()) >> field.low };
        let described = self.fields.iter().fold(0, |bits, field| bits | field.mask());
        Ok(Decoded { fields: self.fields.iter().map(of).collect(), undescribed: value & !described })
    }
}

impl Decoded {
    /// The value that this was taken from.
    pub fn value(&self) -> u64 {
        self.fields.iter().fold(self.undescribed, |word, it| word | it.value << it.field.low)
    }
}
