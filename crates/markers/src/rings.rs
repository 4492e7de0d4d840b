//! The shared memory, on Waykeeper's side.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::atomic::Ordering;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::layout::{
    ABI, BEGIN, BYTES, ENTRIES, MAGIC, NAME_BYTES, NAMES_AT, PAGE, RingEntry, RingHeader, SLOT_BYTES, SLOTS, Slot,
};

/// Phases are numbers below this.
pub const PHASES: u32 = 64;

/// The clock of a thread's markers is the processor's counter.
pub const CLOCK_COUNTER: u32 = 1;

/// The clock of a thread's markers is `CLOCK_MONOTONIC_RAW`, nanoseconds.
pub const CLOCK_MONOTONIC_RAW: u32 = 2;

/// A marker that a program made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Which of the program's threads, in the order in which they made their first marker.
    pub thread: u32,
    /// Its phase, below [`PHASES`] unless the program is wrong.
    pub phase: u32,
    /// Whether a pass begins; it ends otherwise.
    pub begins: bool,
    /// When, in units of the thread's clock.
    pub at: u64,
    /// Counts the thread's markers, those that were dropped too.
    pub sequence: u32,
}

/// A thread that makes markers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkingThread {
    /// Its place among the rings, as [`Mark::thread`] has it.
    pub place: u32,
    /// Its process.
    pub process: u32,
    /// Its number in the kernel.
    pub thread: u32,
    /// What its times count.
    pub clock: u32,
    /// Markers that found the ring full.
    pub lost: u64,
    /// Where its slot lies in its own memory.
    pub memory: WriterMemory,
}

/// The part of a program's memory that holds a slot: addresses as the program sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterMemory {
    /// The first byte; the number of markers so far is the 8 bytes from here.
    pub first: u64,
}

impl WriterMemory {
    /// Whether an access goes to the slot.
    pub fn holds(&self, address: u64) -> bool {
        (self.first..self.first.saturating_add(SLOT_BYTES as u64)).contains(&address)
    }

    /// Whether a store to an address writes this marker, counted from 0.
    pub fn writes(&self, address: u64, marker: u64) -> bool {
        let index = marker & u64::from(ENTRIES - 1);
        let place = self.first.saturating_add((PAGE as u64) + index * size_of::<RingEntry>() as u64);
        (place..place.saturating_add(size_of::<RingEntry>() as u64)).contains(&address)
    }

    /// Whether a store to an address says that there is one more marker, after it was written.
    pub fn publishes(&self, address: u64) -> bool {
        (self.first..self.first.saturating_add(8)).contains(&address)
    }
}

/// Rings of a program's threads. The memory has no name in any file system: it is gone with its users.
#[derive(Debug)]
pub struct Rings {
    file: OwnedFd,
    start: *mut c_void,
    tails: Vec<u64>,
}

// SAFETY: the mapping is shared with another process anyway; this value alone reads the rings.
unsafe impl Send for Rings {}

impl Rings {
    /// Makes empty rings for the first 64 threads. The file has its final size: no program can take pages away.
    ///
    /// # Errors
    /// No memory file, or no room to map it.
    pub fn create() -> io::Result<Self> {
        let file = memfd_create("waykeeper-markers", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, BYTES as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        // SAFETY: a new mapping, of a file that cannot shrink.
        let start =
            unsafe { mmap(ptr::null_mut(), BYTES, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &file, 0)? };
        let header = start.cast::<RingHeader>();
        // SAFETY: the mapping is large enough, and nobody else has it yet.
        unsafe {
            (*header).magic = MAGIC;
            (*header).abi = ABI;
            (*header).slots = SLOTS;
            (*header).entries = ENTRIES;
            (*header).slot_bytes = SLOT_BYTES as u32;
            (*header).first_slot = PAGE as u64;
        }
        Ok(Self { file, start, tails: vec![0; SLOTS as usize] })
    }

    /// The file to hand over.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The value of [`VARIABLE`](crate::VARIABLE) for a program that inherits the file's descriptor.
    pub fn variable(&self) -> String {
        format!("{}:{}", self.file.as_raw_fd(), self.path())
    }

    /// The file and the value of [`VARIABLE`](crate::VARIABLE) for a program that is started while the file is kept: every program
    /// that is started meanwhile inherits it.
    ///
    /// # Errors
    /// No descriptor.
    pub fn hand_over(&self) -> io::Result<(OwnedFd, String)> {
        let inherited = self.file.try_clone()?;
        fcntl_setfd(&inherited, FdFlags::empty())?;
        let variable = format!("{}:{}", inherited.as_raw_fd(), self.path());
        Ok((inherited, variable))
    }

    /// Where a program that has closed the descriptor finds the file.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Threads that made markers and have a ring.
    pub fn writers(&self) -> Vec<MarkingThread> {
        self.in_use()
            .map(|place| (place, self.slot(place)))
            .map(|(place, slot)| MarkingThread {
                place,
                process: slot.process.load(Ordering::Relaxed),
                thread: slot.thread.load(Ordering::Relaxed),
                clock: slot.clock.load(Ordering::Relaxed),
                lost: slot.lost.load(Ordering::Relaxed),
                memory: WriterMemory { first: slot.address.load(Ordering::Relaxed) },
            })
            .collect()
    }

    /// How many markers of one thread were taken.
    pub fn taken(&self, place: u32) -> u64 {
        self.tails.get(place as usize).copied().unwrap_or(0)
    }

    /// Takes the next marker of one thread, where there is one.
    pub fn take_next(&mut self, place: u32) -> Option<Mark> {
        let tail = *self.tails.get(place as usize)?;
        if !self.is_in_use(place) || self.slot(place).head.load(Ordering::Acquire) == tail {
            return None;
        }
        let mark = self.mark(place, tail);
        self.advance(place, tail.wrapping_add(1));
        Some(mark)
    }

    /// Threads that asked for a ring when none was left.
    pub fn without_ring(&self) -> u32 {
        self.claims().saturating_sub(SLOTS)
    }

    /// The name that the program gave a phase.
    pub fn phase_name(&self, phase: u32) -> Option<String> {
        let mut name = [0; NAME_BYTES];
        let at = NAMES_AT + (phase.min(PHASES - 1) as usize) * NAME_BYTES;
        // SAFETY: within the first page. The program may write meanwhile: what is read are bytes, in any case.
        unsafe { ptr::copy_nonoverlapping(self.start.cast::<u8>().add(at), name.as_mut_ptr(), NAME_BYTES) };
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(NAME_BYTES);
        (phase < PHASES && length > 0).then(|| String::from_utf8_lossy(&name[..length]).into_owned())
    }

    /// Takes the markers that are there, thread by thread, each thread's in its own order.
    pub fn drain(&mut self, mut each: impl FnMut(Mark)) {
        for number in 0..SLOTS {
            if !self.is_in_use(number) {
                continue;
            }
            let tail = self.tails[number as usize];
            let head = self.slot(number).head.load(Ordering::Acquire);
            // A program that writes nonsense gets no more than a ring's worth of it.
            let new = head.wrapping_sub(tail).min(u64::from(ENTRIES));
            for index in 0..new {
                each(self.mark(number, tail.wrapping_add(index)));
            }
            self.advance(number, head);
        }
    }

    fn mark(&self, place: u32, index: u64) -> Mark {
        let entry = self.entry(place, index);
        Mark {
            thread: place,
            phase: entry.mark & !BEGIN,
            begins: entry.mark & BEGIN != 0,
            at: entry.time,
            sequence: entry.sequence,
        }
    }

    fn advance(&mut self, place: u32, tail: u64) {
        self.tails[place as usize] = tail;
        self.slot(place).tail.store(tail, Ordering::Release);
    }

    /// Threads that asked for a ring so far.
    pub fn claims(&self) -> u32 {
        // SAFETY: the header lies at the mapping's start; its fields are atomic.
        unsafe { (*self.start.cast::<RingHeader>()).claimed.load(Ordering::Acquire) }
    }

    /// Slots whose thread has written who it is. A thread that could not map its slot leaves a gap among them.
    fn in_use(&self) -> impl Iterator<Item = u32> + '_ {
        (0..SLOTS).filter(|place| self.is_in_use(*place))
    }

    fn is_in_use(&self, place: u32) -> bool {
        self.slot(place).in_use.load(Ordering::Acquire) != 0
    }

    fn slot(&self, number: u32) -> &Slot {
        let at = PAGE + number as usize * SLOT_BYTES;
        // SAFETY: within the mapping, which begins on a page; all fields are atomic.
        unsafe { &*self.start.cast::<u8>().add(at).cast::<Slot>() }
    }

    fn entry(&self, number: u32, index: u64) -> RingEntry {
        let at = PAGE + number as usize * SLOT_BYTES + PAGE;
        let index = (index & u64::from(ENTRIES - 1)) as usize;
        // SAFETY: within the slot. The program may write meanwhile; any bytes are an entry.
        unsafe { self.start.cast::<u8>().add(at).cast::<RingEntry>().add(index).read_volatile() }
    }
}

impl Drop for Rings {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        let _ = unsafe { munmap(self.start, BYTES) };
    }
}
