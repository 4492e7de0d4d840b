//! Markers for Waykeeper, ABI 1: where a pass of your program begins and ends. The same as `waykeeper.h`, in Rust without
//! crates: copy this file beside your `main.rs`.
//!
//! ```ignore
//! mod waykeeper;
//!
//! loop {
//!     wait_for_the_next_period();
//!     let _pass = waykeeper::pass(0); // ends where it is dropped
//!     control_step();
//! }
//! ```
//!
//! Run the program with `waykeeper run ... -- ./program`. Without Waykeeper around it, the calls do nothing. Only the first
//! call of a thread makes system calls: [`open`] makes them earlier. A marker that finds its ring full is dropped and counted.
//! For 64-bit Linux on x86-64 and AArch64; elsewhere nothing is recorded.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(dead_code)]

use std::cell::UnsafeCell;
use std::ffi::{CString, c_char, c_int, c_long, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};

/// Phases are numbers below this.
pub const PHASES: u32 = 64;

const MAGIC: u64 = 0x3153_4b52_414d_4b57;
const ABI: u32 = 1;
const PAGE: usize = 4096;
const NAME_BYTES: usize = 32;
const NAMES_AT: usize = 1024;
const BEGIN: u32 = 0x8000_0000;
const CLOCK_COUNTER: u32 = 1;

#[repr(C)]
struct Header {
    magic: u64,
    abi: u32,
    slots: u32,
    entries: u32,
    slot_bytes: u32,
    first_slot: u64,
    reserved: [u8; 32],
    claimed: AtomicU32,
}

#[repr(C)]
struct Slot {
    head: AtomicU64,
    lost: AtomicU64,
    process: AtomicU32,
    thread: AtomicU32,
    clock: AtomicU32,
    in_use: AtomicU32,
    /// Of this slot in the program's memory.
    address: AtomicU64,
    reserved: [u8; 24],
    tail: AtomicU64,
}

#[repr(C)]
struct Entry {
    time: u64,
    mark: u32,
    sequence: u32,
}

struct Thread {
    slot: *const Slot,
    ring: *mut Entry,
    epoch_now: *const u32,
    epoch: u32,
    mask: u64,
    head: u64,
    known_tail: u64,
    sequence: u32,
}

static WITHOUT_RINGS: u32 = 1;

impl Thread {
    const fn new(epoch: u32) -> Self {
        Self {
            slot: ptr::null(),
            ring: ptr::null_mut(),
            epoch_now: &raw const WITHOUT_RINGS,
            epoch,
            mask: 0,
            head: 0,
            known_tail: 0,
            sequence: 0,
        }
    }
}

thread_local! {
    static THREAD: UnsafeCell<Thread> = const { UnsafeCell::new(Thread::new(0)) };
}

/// A pass that ends where this value is dropped.
#[must_use]
pub struct Pass(u32);

impl Drop for Pass {
    fn drop(&mut self) {
        end(self.0);
    }
}

/// Begins a pass of a phase.
#[inline(always)]
pub fn pass(phase: u32) -> Pass {
    begin(phase);
    Pass(phase)
}

/// A pass of a phase begins. The counter is read as late as possible.
#[inline(always)]
pub fn begin(phase: u32) {
    with_ready(|thread| {
        // SAFETY: the entry is this thread's own until it is published.
        if let Some(entry) = unsafe { reserve(thread, phase | BEGIN) } {
            unsafe { publish(thread, entry, now()) };
        }
    });
}

/// The pass ends. The counter is read first.
#[inline(always)]
pub fn end(phase: u32) {
    with_ready(|thread| {
        let now = now();
        // SAFETY: as in `begin`.
        if let Some(entry) = unsafe { reserve(thread, phase) } {
            unsafe { publish(thread, entry, now) };
        }
    });
}

/// Maps a ring for the calling thread. True where there is one. The first marker of a thread does it otherwise.
pub fn open() -> bool {
    let mut ready = false;
    with_ready(|_| ready = true);
    ready
}

/// Names a phase, for reports and for `--phase NAME`: at most 31 bytes.
pub fn name(phase: u32, name: &str) {
    let Some(file) = (phase < PHASES).then(open_rings).flatten() else { return };
    // SAFETY: the names lie within the first page, which the file has.
    unsafe {
        let page = mmap(ptr::null_mut(), PAGE, READ_WRITE, SHARED, file.number, 0);
        if page as isize != -1 {
            let place = page.cast::<u8>().add(NAMES_AT + phase as usize * NAME_BYTES);
            let length = name.len().min(NAME_BYTES - 1);
            ptr::write_bytes(place, 0, NAME_BYTES);
            ptr::copy_nonoverlapping(name.as_ptr(), place, length);
            munmap(page, PAGE);
        }
    }
}

#[inline(always)]
fn with_ready(act: impl FnOnce(&mut Thread)) {
    // A thread that is ending has no state any more.
    let _ = THREAD.try_with(|cell| {
        // SAFETY: nobody else has this thread's state, and `act` does not come back here.
        let thread = unsafe { &mut *cell.get() };
        // SAFETY: points to a constant, or to a page that stays mapped.
        if thread.epoch == 0 || unsafe { thread.epoch_now.read_volatile() } != thread.epoch {
            attach(thread);
        }
        if !thread.slot.is_null() {
            act(thread);
        }
    });
}

#[inline(always)]
unsafe fn reserve(thread: &mut Thread, mark: u32) -> Option<*mut Entry> {
    let sequence = thread.sequence;
    thread.sequence = sequence.wrapping_add(1);
    // SAFETY: the slot stays mapped, and indices are masked.
    unsafe {
        if thread.head - thread.known_tail > thread.mask {
            thread.known_tail = (*thread.slot).tail.load(Ordering::Acquire);
            if thread.head - thread.known_tail > thread.mask {
                let lost = (*thread.slot).lost.load(Ordering::Relaxed);
                (*thread.slot).lost.store(lost + 1, Ordering::Relaxed);
                return None;
            }
        }
        let entry = thread.ring.add((thread.head & thread.mask) as usize);
        (*entry).mark = mark;
        (*entry).sequence = sequence;
        Some(entry)
    }
}

#[inline(always)]
unsafe fn publish(thread: &mut Thread, entry: *mut Entry, time: u64) {
    thread.head += 1;
    // SAFETY: as in `reserve`.
    unsafe {
        (*entry).time = time;
        (*thread.slot).head.store(thread.head, Ordering::Release);
    }
}

#[cold]
#[inline(never)]
fn attach(thread: &mut Thread) {
    *thread = Thread::new(1);
    let Some(file) = open_rings() else { return };
    // SAFETY: sizes and places come from a header that was checked; what is mapped stays mapped.
    unsafe {
        let page = mmap(ptr::null_mut(), PAGE, READ_WRITE, SHARED, file.number, 0);
        let epoch = mmap(ptr::null_mut(), PAGE, READ_WRITE, PRIVATE | ANONYMOUS, -1, 0);
        if page as isize == -1 || epoch as isize == -1 || madvise(epoch, PAGE, WIPE_ON_FORK) != 0 {
            return;
        }
        let header = &*page.cast::<Header>();
        let number = header.claimed.fetch_add(1, Ordering::Relaxed);
        if number < header.slots {
            let place = header.first_slot + u64::from(number) * u64::from(header.slot_bytes);
            let slot = mmap(
                ptr::null_mut(),
                header.slot_bytes as usize,
                READ_WRITE,
                SHARED | POPULATE,
                file.number,
                place as i64,
            );
            if slot as isize != -1 {
                thread.ring = slot.cast::<u8>().add(PAGE).cast();
                thread.mask = u64::from(header.entries) - 1;
                thread.slot = slot.cast();
                let slot = &*thread.slot;
                slot.process.store(std::process::id(), Ordering::Relaxed);
                slot.thread.store(gettid() as u32, Ordering::Relaxed);
                slot.clock.store(CLOCK_COUNTER, Ordering::Relaxed);
                slot.address.store(thread.slot as u64, Ordering::Relaxed);
                slot.in_use.store(1, Ordering::Release);
                epoch.cast::<u32>().write(1);
                thread.epoch_now = epoch.cast();
            }
        }
        munmap(page, PAGE);
    }
}

struct File {
    number: c_int,
    own: bool,
}

impl Drop for File {
    fn drop(&mut self) {
        if self.own {
            // SAFETY: no memory is passed.
            unsafe { close(self.number) };
        }
    }
}

/// `WAYKEEPER_MARKERS` is `FD:PATH`: an inherited descriptor, and a path for programs that closed it.
fn open_rings() -> Option<File> {
    if cfg!(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))) {
        return None;
    }
    let place = std::env::var("WAYKEEPER_MARKERS").ok()?;
    let (number, path) = place.split_once(':')?;
    let inherited = File { number: number.parse().ok()?, own: false };
    if is_header(inherited.number) {
        return Some(inherited);
    }
    let path = CString::new(path).ok()?;
    // SAFETY: the path ends with a null byte.
    let opened = File { number: unsafe { open_file(path.as_ptr(), 2 | 0o2_000_000) }, own: true };
    (opened.number >= 0 && is_header(opened.number)).then_some(opened)
}

fn is_header(file: c_int) -> bool {
    let mut start = [0_u8; 32];
    // SAFETY: the buffer outlives the call.
    let (length, end) = unsafe { (pread(file, start.as_mut_ptr().cast(), 32, 0), lseek(file, 0, 2)) };
    let word = |at: usize| u32::from_ne_bytes(start[at..at + 4].try_into().unwrap());
    let long = |at: usize| u64::from_ne_bytes(start[at..at + 8].try_into().unwrap());
    length == 32
        && long(0) == MAGIC
        && word(8) == ABI
        && word(16).is_power_of_two()
        && u64::try_from(end).is_ok_and(|end| end >= long(24) + u64::from(word(12)) * u64::from(word(20)))
}

/// The counter, with fences on both sides.
#[inline(always)]
pub fn now() -> u64 {
    compiler_fence(Ordering::SeqCst);
    let reading: u64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a counter.
    unsafe {
        let (low, high): (u64, u64);
        std::arch::asm!("lfence", "rdtsc", "lfence", out("rax") low, out("rdx") high, options(nostack, preserves_flags));
        reading = (high << 32) | low;
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads a counter.
    unsafe {
        std::arch::asm!("dsb ld", "isb", "mrs {}, cntvct_el0", "isb", out(reg) reading, options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        reading = 0;
    }
    compiler_fence(Ordering::SeqCst);
    reading
}

const READ_WRITE: c_int = 3;
const SHARED: c_int = 1;
const PRIVATE: c_int = 2;
const ANONYMOUS: c_int = 0x20;
const POPULATE: c_int = 0x8000;
const WIPE_ON_FORK: c_int = 18;

unsafe extern "C" {
    fn mmap(at: *mut c_void, length: usize, access: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
    fn munmap(at: *mut c_void, length: usize) -> c_int;
    fn madvise(at: *mut c_void, length: usize, advice: c_int) -> c_int;
    fn pread(file: c_int, to: *mut c_void, length: usize, offset: i64) -> isize;
    fn lseek(file: c_int, offset: i64, from: c_int) -> i64;
    fn close(file: c_int) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    #[link_name = "open"]
    fn open_file(path: *const c_char, flags: c_int, ...) -> c_int;
}

unsafe fn gettid() -> c_long {
    // SAFETY: no memory is passed.
    unsafe { syscall(if cfg!(target_arch = "aarch64") { 178 } else { 186 }) }
}
