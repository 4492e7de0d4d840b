//! Writes to registers that Linux does not reach: what firmware and bare metal have to write.

use serde::{Serialize, Serializer};
use waykeeper_platform::{CoreId, format_cpulist};

use crate::refusal::Refusal;
use crate::register::{EncodeError, Named, RegisterAddress, known};

/// A write to a register.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RegisterWrite {
    /// The cores that write it; one of them is enough for a register of the whole cluster.
    pub cores: Vec<CoreId>,
    /// Name of the register.
    pub register: String,
    /// How it is reached.
    #[serde(serialize_with = "as_text")]
    pub place: RegisterAddress,
    /// The value of the bits of `mask`.
    pub value: u64,
    /// The bits that are written; the others stay.
    pub mask: u64,
    /// What it does.
    pub why: String,
}

fn as_text<S: Serializer>(place: &RegisterAddress, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(place)
}

impl RegisterWrite {
    /// Writes all bits of a register.
    ///
    /// # Errors
    /// Values that do not fit into its fields.
    pub(super) fn all(register: &str, fields: &[(&str, u64)], cores: &[CoreId], why: String) -> Result<Self, Refusal> {
        let named = known(register);
        Self::of(named, fields, named.register.all_bits(), cores, why)
    }

    /// Writes the fields that are named; the others stay.
    ///
    /// # Errors
    /// Values that do not fit into their fields.
    pub(super) fn some(register: &str, fields: &[(&str, u64)], cores: &[CoreId], why: String) -> Result<Self, Refusal> {
        let named = known(register);
        let masks = fields.iter().filter_map(|(name, _)| Some(named.register.field(name)?.mask()));
        Self::of(named, fields, masks.fold(0, |all, mask| all | mask), cores, why)
    }

    fn of(named: Named, fields: &[(&str, u64)], mask: u64, cores: &[CoreId], why: String) -> Result<Self, Refusal> {
        let value =
            named.register.encode(fields).map_err(|error: EncodeError| Refusal::lacking("", error.to_string()))?;
        Ok(Self { cores: cores.to_vec(), register: named.name(), place: named.place(), value, mask, why })
    }

    /// Whether every bit of the register is written.
    pub fn is_whole(&self) -> bool {
        self.mask == known(&self.register).register.all_bits()
    }

    /// The write as one line, such as `core 1: CLUSTERTHREADSID_EL1 (S3_0_C15_C4_0) = 0x1`.
    pub(super) fn line(&self) -> String {
        let Self { register, place, value, .. } = self;
        let cores = match self.cores.as_slice() {
            [core] => format!("core {core}"),
            cores => format!("cores {}", format_cpulist(cores)),
        };
        match self.is_whole() {
            true => format!("{cores}: {register} ({place}) = {value:#x}"),
            false if *value == self.mask => format!("{cores}: {register} ({place}) |= {value:#x}"),
            false => format!("{cores}: {register} ({place}) = {value:#x} in the bits {:#x}", self.mask),
        }
    }
}
