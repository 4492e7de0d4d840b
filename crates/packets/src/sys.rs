//! The few system calls that rustix does not have, each with its answer as an `io::Result`.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

use libc::{c_int, c_ulong, c_void, socklen_t};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A socket that is closed in programs that are started, and never blocks.
pub fn socket(family: c_int, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed.
    let descriptor = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, protocol) };
    // SAFETY: the call returned a new descriptor, which nobody else owns.
    check(descriptor).map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Sets an option. `T` is a structure of the kernel's interface, or a number.
pub fn set_option<T: Copy>(socket: &OwnedFd, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as socklen_t;
    // SAFETY: the pointer and the length are those of a value that outlives the call, which only reads it.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, ptr::from_ref(value).cast(), length) }).map(drop)
}

/// Reads an option.
///
/// # Safety
/// Zeros are a value of `T`, and so is whatever the kernel writes.
pub unsafe fn get_option<T: Copy>(socket: &OwnedFd, level: c_int, name: c_int) -> io::Result<T> {
    // SAFETY: the caller vouches for zeros.
    let mut value = unsafe { std::mem::zeroed::<T>() };
    let mut length = size_of::<T>() as socklen_t;
    // SAFETY: the kernel writes at most `length` bytes.
    check(unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, ptr::from_mut(&mut value).cast(), &raw mut length)
    })?;
    Ok(value)
}

/// Binds to an address of the family of `A`.
pub fn bind<A>(socket: &OwnedFd, address: &A) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of a value that outlives the call, which only reads it.
    check(unsafe { libc::bind(socket.as_raw_fd(), ptr::from_ref(address).cast(), size_of::<A>() as socklen_t) })
        .map(drop)
}

/// Sends bytes; with none, an AF_XDP socket looks at its ring.
pub fn send(socket: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the kernel reads the bytes of the slice.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
}

/// Lets the kernel look at the receiving side of an AF_XDP socket.
pub fn poke_receiver(socket: &OwnedFd) {
    // SAFETY: no memory is passed. What it could answer is that there is nothing yet.
    unsafe { libc::recv(socket.as_raw_fd(), ptr::null_mut(), 0, libc::MSG_DONTWAIT) };
}

/// Sleeps until a packet has come or the time is over. Returns earlier where a signal was handled meanwhile.
pub fn wait_for_packet(socket: &OwnedFd, most: Duration) -> io::Result<()> {
    let mut wanted = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let time = libc::timespec { tv_sec: most.as_secs() as _, tv_nsec: most.subsec_nanos() as _ };
    // SAFETY: one structure that outlives the call, and a time.
    match check(unsafe { libc::ppoll(&raw mut wanted, 1, &raw const time, ptr::null()) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ if wanted.revents & (libc::POLLERR | libc::POLLNVAL) != 0 => Err(pending_error(socket)),
        _ => Ok(()),
    }
}

/// What the kernel noted about a socket meanwhile: the interface went down, or away.
fn pending_error(socket: &OwnedFd) -> io::Error {
    // SAFETY: every bit pattern is a number.
    match unsafe { get_option::<c_int>(socket, libc::SOL_SOCKET, libc::SO_ERROR) } {
        Ok(0) => io::Error::other("the socket reports an error without a number"),
        Ok(number) => io::Error::from_raw_os_error(number),
        Err(error) => error,
    }
}

/// A request about an interface, with a structure that the kernel reads and writes.
///
/// # Safety
/// The request takes a pointer to such a structure.
pub unsafe fn ioctl<T>(socket: &OwnedFd, request: c_ulong, argument: &mut T) -> io::Result<()> {
    // SAFETY: the caller vouches for the pair; the structure outlives the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), request as _, ptr::from_mut(argument)) }).map(drop)
}

/// `bpf(2)`. `T` is the beginning of `union bpf_attr` that the command uses; what follows is zero by the kernel's rule.
///
/// # Safety
/// Pointers in the attributes are valid for the command.
pub unsafe fn bpf<T>(command: c_int, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: the caller vouches for the attributes, which outlive the call.
    let result = unsafe { bpf_call(command, attributes) }?;
    // SAFETY: the commands that are used with this return a new descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}

/// `bpf(2)` for a command that returns no descriptor.
///
/// # Safety
/// Pointers in the attributes are valid for the command.
pub unsafe fn bpf_call<T>(command: c_int, attributes: &mut T) -> io::Result<c_int> {
    // SAFETY: the caller vouches for the attributes, which outlive the call.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, ptr::from_mut(attributes), size_of::<T>()) };
    check(result as c_int)
}

/// Memory that is shared with the kernel, or given to it; unmapped when dropped.
pub struct SharedMemory {
    start: *mut c_void,
    length: usize,
}

// SAFETY: the mapping belongs to this value, whichever thread has it.
unsafe impl Send for SharedMemory {}

impl SharedMemory {
    /// What a socket offers at an offset.
    pub fn of(socket: &OwnedFd, length: usize, offset: u64) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice touches nothing that exists.
        let start =
            unsafe { mmap(ptr::null_mut(), length, access, MapFlags::SHARED | MapFlags::POPULATE, socket, offset) }?;
        Ok(Self { start, length })
    }

    /// Plain memory.
    pub fn anonymous(length: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        // SAFETY: as above.
        let start = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), length, access, flags) }?;
        Ok(Self { start, length })
    }

    /// The byte at an offset.
    ///
    /// # Panics
    /// Beyond the mapping.
    pub fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset < self.length, "offset {offset} is beyond a mapping of {} bytes", self.length);
        // SAFETY: within the mapping.
        unsafe { self.start.cast::<u8>().add(offset) }
    }

    /// Bytes.
    pub fn length(&self) -> usize {
        self.length
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: start and length are those of the mapping, and nothing borrows it any more.
        let _ = unsafe { munmap(self.start, self.length) };
    }
}

/// A flag of a ring of AF_XDP: the kernel waits for a system call (`XDP_RING_NEED_WAKEUP`).
pub const NEED_WAKEUP: u32 = libc::XDP_RING_NEED_WAKEUP;
