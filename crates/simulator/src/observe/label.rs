//! Who a line or a request counts for: the class whose share it is, and the monitor that counts it.
//!
//! A core has one label at a time, as IA32_PQR_ASSOC or MPAM0_EL1 set it; what it brings into shared caches carries it.

/// Bits of a class number.
pub const CLASS_BITS: u32 = 5;
/// Bits of a monitor number.
pub const MONITOR_BITS: u32 = 7;

/// The most classes that can be distinguished (CLOS, DSU scheme ID, MPAM PARTID).
pub const MOST_CLASSES: usize = 1 << CLASS_BITS;
/// The most monitors that can be distinguished (RMID, MPAM PMG).
pub const MOST_MONITORS: usize = 1 << MONITOR_BITS;

/// A class and a monitor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Label {
    /// Below [`MOST_CLASSES`].
    pub class: u8,
    /// Below [`MOST_MONITORS`].
    pub monitor: u8,
}
