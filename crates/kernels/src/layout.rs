//! The structs that C and Rust share, compared field by field with the table that C exports.

use std::ffi::{CStr, c_char};
use std::mem::offset_of;

use waykeeper_workload::recorder as shape;

use crate::params::{BufferParams, ChaseParams, RandomParams, RunParams, TickParams, WalkParams};
use crate::recorder::Recorder;

#[repr(C)]
struct Field {
    name: *const c_char,
    offset: u64,
    bytes: u64,
}

unsafe extern "C" {
    static wk_layout: [Field; 0];
}

/// `(name, offset, bytes)` of every row of C's table.
fn in_c() -> Vec<(String, u64, u64)> {
    let mut rows = Vec::new();
    // SAFETY: the table ends with a null name.
    unsafe {
        let mut field = (&raw const wk_layout).cast::<Field>();
        while !(*field).name.is_null() {
            let name = CStr::from_ptr((*field).name).to_str().unwrap();
            rows.push((name.to_owned(), (*field).offset, (*field).bytes));
            field = field.add(1);
        }
    }
    rows
}

/// The rows of one Rust struct under its C name; the offset of the next field, or the struct's end, determines the size.
macro_rules! rows {
    ($rows:ident, $name:literal, $type:ty, $bytes:expr, $($field:ident),* $(,)?) => {
        let offsets = [$((stringify!($field), offset_of!($type, $field) as u64)),*];
        let ends = offsets.iter().skip(1).map(|(_, offset)| *offset).chain([$bytes]);
        for ((field, offset), end) in offsets.iter().zip(ends) {
            $rows.push((format!("{}.{field}", $name), *offset, end - offset));
        }
        $rows.push(($name.to_owned(), 0, $bytes));
    };
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table, one row a field")]
fn c_and_rust_agree_on_every_field() {
    let mut in_rust = Vec::new();
    rows!(
        in_rust,
        "wk_recorder",
        Recorder,
        shape::BYTES,
        min,
        max,
        max_at,
        sum_low,
        sum_high,
        attention_above,
        excursion_above,
        cluster_gap,
        overflow,
        backwards,
        excursions,
        cluster_overflow,
        cluster_is_open,
        cluster_start,
        cluster_max,
        missed_periods,
        counts,
        cluster_counts,
    );
    rows!(
        in_rust,
        "wk_run",
        RunParams,
        size_of::<RunParams>() as u64,
        deadline,
        look_ticks,
        stop,
        progress,
        units_per_tick_log2,
        units_per_cycle
    );
    rows!(
        in_rust,
        "wk_walk",
        WalkParams,
        size_of::<WalkParams>() as u64,
        data,
        operation,
        outer_count,
        outer_stride,
        inner_count,
        inner_stride,
        outer_at,
        inner_at,
    );
    rows!(in_rust, "wk_chase", ChaseParams, size_of::<ChaseParams>() as u64, at, batch);
    rows!(
        in_rust,
        "wk_buffer",
        BufferParams,
        size_of::<BufferParams>() as u64,
        data,
        operation,
        bytes,
        stride,
        period_ticks,
        period_fraction,
        on_grid,
        next_ticks,
        next_fraction,
    );
    rows!(
        in_rust,
        "wk_random",
        RandomParams,
        size_of::<RandomParams>() as u64,
        data,
        code,
        generator,
        line_bytes,
        data_lines,
        data_accesses,
        code_lines,
        code_calls,
        event_data_lines,
        event_code_lines,
        data_modifies,
        random_counts,
        event_stride_lines,
    );
    rows!(in_rust, "wk_tick", TickParams, size_of::<TickParams>() as u64, body, amount);
    assert_eq!(in_c(), in_rust);
}

#[test]
fn the_recorder_lies_where_the_simulator_thinks_it_does() {
    assert_eq!(offset_of!(Recorder, overflow) as u64, shape::EXCURSION_LINE);
    assert_eq!(offset_of!(Recorder, counts) as u64, shape::COUNTS_OFFSET);
    assert_eq!(offset_of!(Recorder, cluster_counts) as u64, shape::CLUSTER_COUNTS_OFFSET);
    assert_eq!(align_of::<Recorder>(), 4096);
}
