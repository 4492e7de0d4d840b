//! Model-specific registers as something to act on, and which of them may be written.

use std::fmt;

/// Model-specific registers of the CPUs.
pub trait Registers {
    /// Why the registers of a CPU cannot be used at all.
    fn unusable(&mut self, cpu: u32) -> Option<String>;
    /// Reads a register.
    ///
    /// # Errors
    /// What the system answered; EIO where the CPU has no such register.
    fn read(&mut self, cpu: u32, register: u32) -> Result<u64, RegisterError>;
    /// Writes a register.
    ///
    /// # Errors
    /// What the system answered; EIO where the CPU does not take the value.
    fn write(&mut self, cpu: u32, register: u32, value: u64) -> Result<(), RegisterError>;
}

/// An access to a register that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterError {
    /// `read` or `write`.
    pub action: &'static str,
    /// Number of the CPU.
    pub cpu: u32,
    /// Number of the register.
    pub register: u32,
    /// What the system said.
    pub reason: String,
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { action, cpu, register, reason } = self;
        write!(f, "{action} register {register:#x} of CPU {cpu}: {reason}")
    }
}

impl std::error::Error for RegisterError {}

/// What a register sets. Others are refused: a slip in a number must not reach the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A mask of ways: bits in a run.
    Mask,
    /// Anything else that the kernel's resctrl writes too.
    Other,
    /// A clock: of no concern to resctrl.
    Clock,
}

/// The registers of cache and bandwidth allocation (Intel SDM vol. 4, table 2-2; AMD PPR, `L3QOS_BW_CONTROL_n`), of
/// performance levels (IA32_HWP_REQUEST) and of the ring's ratio (MSR_RING_RATIO_LIMIT).
pub(crate) fn purpose(register: u32) -> Option<Purpose> {
    match register {
        // L3 masks from 0xc90 on, L2 masks from 0xd10 on.
        0xc90..=0xd4f => Some(Purpose::Mask),
        0xc8f | 0xc81 | 0xc82 | 0xd50..=0xd8f | 0xc000_0200..=0xc000_020f => Some(Purpose::Other),
        0x774 | 0x620 => Some(Purpose::Clock),
        _ => None,
    }
}

/// Whether resctrl writes this register itself while it is mounted.
pub(crate) fn belongs_to_resctrl(register: u32) -> bool {
    purpose(register) != Some(Purpose::Clock)
}
