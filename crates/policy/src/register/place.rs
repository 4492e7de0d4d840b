//! How a register is reached.

use std::fmt;

use serde::Serialize;

/// How a register is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegisterAddress {
    /// A model-specific register of an x86 processor.
    Msr(u32),
    /// A system register of AArch64: S`op0`_`op1`_C`crn`_C`crm`_`op2`.
    System {
        /// 2 or 3.
        op0: u8,
        /// 0 to 7.
        op1: u8,
        /// 0 to 15.
        crn: u8,
        /// 0 to 15.
        crm: u8,
        /// 0 to 7.
        op2: u8,
    },
    /// A register of coprocessor 15 of AArch32.
    Coprocessor {
        /// 0 to 7.
        op1: u8,
        /// 0 to 15.
        crn: u8,
        /// 0 to 15.
        crm: u8,
        /// 0 to 7.
        op2: u8,
    },
    /// A word of memory, from the first address of a block of registers.
    Memory {
        /// Whose block.
        block: RegisterBlock,
        /// Bytes from its beginning.
        offset: u32,
        /// Bytes from one register of this kind to the next.
        step: u32,
    },
}

/// A block of registers in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegisterBlock {
    /// An Arm PL310, also called L2C-310.
    Pl310,
    /// The registers of a memory system component (MSC) of Arm MPAM.
    Mpam,
}

impl RegisterAddress {
    /// The place of the register `number` places after this one.
    pub(super) fn nth(self, number: u32) -> Self {
        match self {
            Self::Msr(first) => Self::Msr(first + number),
            Self::Memory { block, offset, step } => Self::Memory { block, offset: offset + number * step, step },
            single => single,
        }
    }

    /// Its number, where it is a model-specific register.
    pub fn msr(self) -> Option<u32> {
        match self {
            Self::Msr(number) => Some(number),
            _ => None,
        }
    }

    /// Bytes from the beginning of its block, where it is in memory.
    pub fn offset(self) -> Option<u32> {
        match self {
            Self::Memory { offset, .. } => Some(offset),
            _ => None,
        }
    }
}

impl RegisterBlock {
    /// Its name before a `+`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pl310 => "pl310",
            Self::Mpam => "mpam",
        }
    }
}

impl fmt::Display for RegisterAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Msr(number) => write!(f, "{number:#x}"),
            Self::System { op0, op1, crn, crm, op2 } => write!(f, "S{op0}_{op1}_C{crn}_C{crm}_{op2}"),
            Self::Coprocessor { op1, crn, crm, op2 } => write!(f, "p15,{op1},c{crn},c{crm},{op2}"),
            Self::Memory { block, offset, .. } => write!(f, "{}+{offset:#x}", block.name()),
        }
    }
}
