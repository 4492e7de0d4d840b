//! Rings of AF_XDP: one side writes entries and moves `producer`, the other reads them and moves `consumer`.
//! `Documentation/networking/af_xdp.rst` and `net/xdp/xsk_queue.h` of the kernel.

use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::xdp_ring_offset;

use crate::sys::{self, SharedMemory};

/// What both sides of a ring see.
struct Ring<T> {
    memory: SharedMemory,
    producer: usize,
    consumer: usize,
    flags: usize,
    entries: usize,
    mask: u32,
    of: PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    fn map(socket: &OwnedFd, offset: u64, places: &xdp_ring_offset, entries: u32) -> io::Result<Self> {
        let first = places.desc as usize;
        let memory = SharedMemory::of(socket, first + entries as usize * size_of::<T>(), offset)?;
        let (producer, consumer) = (places.producer as usize, places.consumer as usize);
        let flags = places.flags as usize;
        Ok(Self { memory, producer, consumer, flags, entries: first, mask: entries - 1, of: PhantomData })
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: the kernel lays out aligned words at these offsets, and changes them as atomic ones.
        unsafe { AtomicU32::from_ptr(self.memory.at(offset).cast()) }
    }

    fn entry(&self, index: u32) -> *mut T {
        self.memory.at(self.entries + (index & self.mask) as usize * size_of::<T>()).cast()
    }
}

/// The side of a ring that this program writes.
pub struct Producer<T> {
    ring: Ring<T>,
    next: u32,
}

impl<T: Copy> Producer<T> {
    pub fn map(socket: &OwnedFd, offset: u64, places: &xdp_ring_offset, entries: u32) -> io::Result<Self> {
        Ok(Self { ring: Ring::map(socket, offset, places, entries)?, next: 0 })
    }

    /// Adds an entry. There is room, because a ring has as many entries as there are chunks for it.
    pub fn push(&mut self, entry: T) {
        // SAFETY: within the ring; the kernel does not read it before `producer` moves.
        unsafe { self.ring.entry(self.next).write(entry) };
        self.next = self.next.wrapping_add(1);
        self.ring.word(self.ring.producer).store(self.next, Ordering::Release);
    }

    /// Whether the kernel waits for a system call before it looks at the ring.
    pub fn needs_wakeup(&self) -> bool {
        self.ring.word(self.ring.flags).load(Ordering::Relaxed) & sys::NEED_WAKEUP != 0
    }
}

/// The side of a ring that this program reads.
pub struct Consumer<T> {
    ring: Ring<T>,
    next: u32,
}

impl<T: Copy> Consumer<T> {
    pub fn map(socket: &OwnedFd, offset: u64, places: &xdp_ring_offset, entries: u32) -> io::Result<Self> {
        Ok(Self { ring: Ring::map(socket, offset, places, entries)?, next: 0 })
    }

    /// Takes the next entry.
    pub fn pop(&mut self) -> Option<T> {
        if self.ring.word(self.ring.producer).load(Ordering::Acquire) == self.next {
            return None;
        }
        // SAFETY: within the ring; the kernel wrote it before it moved `producer`.
        let entry = unsafe { self.ring.entry(self.next).read() };
        self.next = self.next.wrapping_add(1);
        self.ring.word(self.ring.consumer).store(self.next, Ordering::Release);
        Some(entry)
    }
}
