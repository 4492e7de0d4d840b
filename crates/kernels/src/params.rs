//! The parameter blocks of the C kernels: the twins of `c/params.h`. `layout.rs` compares every offset.

use std::sync::atomic::AtomicU32;

use waykeeper_workload::{Operation, TickBody};

#[cfg(target_arch = "aarch64")]
use crate::clock::cycles::CycleUnit;

#[repr(C)]
pub struct RunParams {
    pub deadline: u64,
    pub look_ticks: u64,
    pub stop: *const u32,
    pub progress: *mut u64,
    pub units_per_tick_log2: u64,
    pub units_per_cycle: u64,
}

impl RunParams {
    /// A run that ends at the reading `deadline`, or at the first look after `stop` became non-zero.
    pub fn until(deadline: u64, look_ticks: u64, stop: &AtomicU32, progress: *mut u64) -> Self {
        Self { deadline, look_ticks, stop: stop.as_ptr(), progress, units_per_tick_log2: 0, units_per_cycle: 0 }
    }

    /// The same with samples in units of the cycle counter's.
    #[cfg(target_arch = "aarch64")]
    pub fn in_units(self, unit: CycleUnit) -> Self {
        Self { units_per_tick_log2: unit.per_tick_log2, units_per_cycle: unit.per_cycle, ..self }
    }
}

#[repr(C)]
pub struct WalkParams {
    pub data: *mut u8,
    pub operation: u64,
    pub outer_count: u64,
    pub outer_stride: u64,
    pub inner_count: u64,
    pub inner_stride: u64,
    pub outer_at: u64,
    pub inner_at: u64,
}

#[repr(C)]
pub struct ChaseParams {
    pub at: *mut u8,
    pub batch: u64,
}

#[repr(C)]
pub struct BufferParams {
    pub data: *mut u8,
    pub operation: u64,
    pub bytes: u64,
    pub stride: u64,
    pub period_ticks: u64,
    pub period_fraction: u64,
    pub on_grid: u64,
    pub next_ticks: u64,
    pub next_fraction: u64,
}

#[repr(C)]
pub struct RandomParams {
    pub data: *mut u8,
    pub code: *const u8,
    pub generator: u64,
    pub line_bytes: u64,
    pub data_lines: u64,
    pub data_accesses: u64,
    pub code_lines: u64,
    pub code_calls: u64,
    pub event_data_lines: u64,
    pub event_code_lines: u64,
    pub data_modifies: u64,
    pub random_counts: u64,
    pub event_stride_lines: u64,
}

#[repr(C)]
pub struct TickParams {
    pub body: u64,
    pub amount: u64,
}

/// The number of an operation in `enum wk_operation`.
pub fn operation_number(operation: Operation) -> u64 {
    match operation {
        Operation::Read => 0,
        Operation::Write => 1,
        Operation::Modify => 2,
        Operation::Prefetch => 3,
        Operation::Atomic => 4,
        Operation::NonTemporal => 5,
        Operation::Flush => 6,
        Operation::SplitLock => 7,
    }
}

impl From<TickBody> for TickParams {
    /// The numbers are those of `enum wk_body`. A loop of 0 increments is no loop.
    fn from(body: TickBody) -> Self {
        match body {
            TickBody::Nothing | TickBody::Loop(0) => Self { body: 0, amount: 0 },
            TickBody::Adds(amount) => Self { body: 1, amount },
            TickBody::Loop(amount) => Self { body: 2, amount },
        }
    }
}
