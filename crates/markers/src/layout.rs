//! The shared memory of ABI 1: one header page, then a slot for each thread: a page of its own and a ring.
//! `user/waykeeper.h` has the same layout; a test compiles it and compares every offset.

use std::sync::atomic::{AtomicU32, AtomicU64};

pub const MAGIC: u64 = 0x3153_4b52_414d_4b57;
pub const ABI: u32 = 1;
pub const PAGE: usize = 4096;
pub const NAME_BYTES: usize = 32;
pub const NAMES_AT: usize = 1024;
/// In a mark: it begins a pass.
pub const BEGIN: u32 = 0x8000_0000;

/// Threads that get a ring.
pub const SLOTS: u32 = 64;
/// Markers of a ring: 256 KiB, 80 ms of a program that marks a pass every 10 us.
pub const ENTRIES: u32 = 1 << 14;
pub const SLOT_BYTES: usize = PAGE + ENTRIES as usize * size_of::<RingEntry>();
pub const BYTES: usize = PAGE + SLOTS as usize * SLOT_BYTES;

/// The header's beginning; the names of phases follow at [`NAMES_AT`].
#[repr(C)]
pub struct RingHeader {
    pub magic: u64,
    pub abi: u32,
    pub slots: u32,
    pub entries: u32,
    pub slot_bytes: u32,
    pub first_slot: u64,
    pub reserved: [u8; 32],
    pub claimed: AtomicU32,
}

/// A slot's first page.
#[repr(C)]
pub struct Slot {
    pub head: AtomicU64,
    pub lost: AtomicU64,
    pub process: AtomicU32,
    pub thread: AtomicU32,
    pub clock: AtomicU32,
    pub in_use: AtomicU32,
    /// Of this slot in the program's memory.
    pub address: AtomicU64,
    pub reserved: [u8; 24],
    pub tail: AtomicU64,
}

/// A marker in a ring.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RingEntry {
    pub time: u64,
    pub mark: u32,
    pub sequence: u32,
}
