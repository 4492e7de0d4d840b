//! The C functions.

use crate::params::{Buffer, Chase, Random, Run, Tick, Walk};
use crate::recorder::Recorder;

unsafe extern "C" {
    pub fn wk_walk_target(run: *const Run, walk: *mut Walk, recorder: *mut Recorder);
    pub fn wk_walk_neighbour(run: *const Run, walk: *mut Walk);
    pub fn wk_chase_target(run: *const Run, chase: *mut Chase, recorder: *mut Recorder);
    pub fn wk_chase_neighbour(run: *const Run, chase: *mut Chase);
    pub fn wk_buffer_target(run: *const Run, buffer: *mut Buffer, recorder: *mut Recorder);
    pub fn wk_buffer_neighbour(run: *const Run, buffer: *mut Buffer);
    pub fn wk_random_target(run: *const Run, random: *mut Random, recorder: *mut Recorder);
    pub fn wk_random_neighbour(run: *const Run, random: *mut Random);
    pub fn wk_tick_target(run: *const Run, tick: *mut Tick, recorder: *mut Recorder);
    pub fn wk_tick_neighbour(run: *const Run, tick: *mut Tick);

    pub fn wk_walk_pass(walk: *mut Walk);
    pub fn wk_chase_pass(chase: *mut Chase);
    pub fn wk_buffer_pass(buffer: *mut Buffer);
    pub fn wk_random_pass(random: *mut Random);
    pub fn wk_tick_pass(tick: *mut Tick);

    pub fn wk_close_cluster(recorder: *mut Recorder);
    pub fn wk_entry_record(recorder: *mut Recorder, start: u64, end: u64) -> bool;
    pub fn wk_entry_now() -> u64;
    #[cfg(target_arch = "arm")]
    pub fn wk_entry_choose_counter(kind: u32, global_timer: *const u32, kernel_clock: extern "C" fn() -> u64);
    pub fn wk_entry_publish_code(start: *const u8, bytes: u64);
}
