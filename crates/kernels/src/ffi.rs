//! The C functions.

#[cfg(test)]
use crate::clock::cycles::CycleUnit;
#[cfg(any(test, target_arch = "aarch64"))]
use crate::clock::cycles::Stamp;
use crate::params::{BufferParams, ChaseParams, RandomParams, RunParams, TickParams, WalkParams};
use crate::recorder::Recorder;

unsafe extern "C" {
    pub fn wk_walk_target(run: *const RunParams, walk: *mut WalkParams, recorder: *mut Recorder);
    pub fn wk_walk_neighbour(run: *const RunParams, walk: *mut WalkParams);
    pub fn wk_chase_target(run: *const RunParams, chase: *mut ChaseParams, recorder: *mut Recorder);
    pub fn wk_chase_neighbour(run: *const RunParams, chase: *mut ChaseParams);
    pub fn wk_buffer_target(run: *const RunParams, buffer: *mut BufferParams, recorder: *mut Recorder);
    pub fn wk_buffer_neighbour(run: *const RunParams, buffer: *mut BufferParams);
    pub fn wk_random_target(run: *const RunParams, random: *mut RandomParams, recorder: *mut Recorder);
    pub fn wk_random_neighbour(run: *const RunParams, random: *mut RandomParams);
    pub fn wk_tick_target(run: *const RunParams, tick: *mut TickParams, recorder: *mut Recorder);
    pub fn wk_tick_neighbour(run: *const RunParams, tick: *mut TickParams);

    #[cfg(target_arch = "aarch64")]
    pub fn wk_walk_target_in_cycles(run: *const RunParams, walk: *mut WalkParams, recorder: *mut Recorder);
    #[cfg(target_arch = "aarch64")]
    pub fn wk_chase_target_in_cycles(run: *const RunParams, chase: *mut ChaseParams, recorder: *mut Recorder);
    #[cfg(target_arch = "aarch64")]
    pub fn wk_buffer_target_in_cycles(run: *const RunParams, buffer: *mut BufferParams, recorder: *mut Recorder);
    #[cfg(target_arch = "aarch64")]
    pub fn wk_random_target_in_cycles(run: *const RunParams, random: *mut RandomParams, recorder: *mut Recorder);
    #[cfg(target_arch = "aarch64")]
    pub fn wk_tick_target_in_cycles(run: *const RunParams, tick: *mut TickParams, recorder: *mut Recorder);

    pub fn wk_walk_pass(walk: *mut WalkParams);
    pub fn wk_chase_pass(chase: *mut ChaseParams);
    pub fn wk_buffer_pass(buffer: *mut BufferParams);
    pub fn wk_random_pass(random: *mut RandomParams);
    pub fn wk_tick_pass(tick: *mut TickParams);

    pub fn wk_close_cluster(recorder: *mut Recorder);
    pub fn wk_entry_record(recorder: *mut Recorder, start: u64, end: u64) -> bool;
    pub fn wk_entry_now() -> u64;
    #[cfg(target_arch = "arm")]
    pub fn wk_entry_choose_counter(kind: u32, global_timer: *const u32, kernel_clock: extern "C" fn() -> u64);
    #[cfg(test)]
    pub fn wk_entry_between(unit: *const CycleUnit, start: *const Stamp, end: *const Stamp) -> u64;
    #[cfg(target_arch = "aarch64")]
    pub fn wk_entry_stamp(stamp: *mut Stamp);
    pub fn wk_entry_publish_code(start: *const u8, bytes: u64);
}
