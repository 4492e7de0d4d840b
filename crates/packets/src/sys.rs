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

/// Sends bytes that are to leave at a time of the socket's launch clock, nanoseconds (SO_TXTIME).
pub fn send_at(socket: &OwnedFd, bytes: &[u8], launch_ns: u64) -> io::Result<usize> {
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // Aligned for a control message, with room for one of eight bytes.
    let mut control = [0_u64; 8];
    // SAFETY: zeros are a value of the structure.
    let mut message = unsafe { std::mem::zeroed::<libc::msghdr>() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    // SAFETY: these compute lengths.
    let (space, length) = unsafe { (libc::CMSG_SPACE(8), libc::CMSG_LEN(8)) };
    message.msg_controllen = space as _;
    // SAFETY: the first control message lies within `control`, and its value is not aligned for eight bytes on every machine.
    // The kernel reads the bytes of the slice and of the control message.
    let sent = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = SO_TXTIME;
        (*header).cmsg_len = length as _;
        libc::CMSG_DATA(header).cast::<u64>().write_unaligned(launch_ns);
        libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
}

/// What the kernel reports about a frame that was sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct SentReport {
    /// Bytes of the frame, as they were put into the caller's buffer.
    pub length: usize,
    /// The origin and the code of `struct sock_extended_err`.
    pub origin: u8,
    /// What is reported.
    pub code: u8,
    /// The time stamp of software, nanoseconds of CLOCK_REALTIME; 0 where there is none.
    pub realtime_ns: i64,
}

/// Takes the next report of the socket's error queue, with the frame that it is about. `None` where there is none.
pub fn take_report(socket: &OwnedFd, into: &mut [u8]) -> io::Result<Option<SentReport>> {
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let mut control = [0_u64; 64];
    // SAFETY: zeros are a value of the structure.
    let mut message = unsafe { std::mem::zeroed::<libc::msghdr>() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the kernel writes within the buffers that the message names.
    let length =
        unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) };
    if length < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
    }
    let mut report = SentReport { length: (length as usize).min(into.len()), ..SentReport::default() };
    // SAFETY: the kernel filled the control messages, and the macros walk within them.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            let all: usize = (*header).cmsg_len as _;
            let bytes = all.saturating_sub(libc::CMSG_LEN(0) as usize);
            let value = std::slice::from_raw_parts(libc::CMSG_DATA(header), bytes);
            match ((*header).cmsg_level, (*header).cmsg_type) {
                (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) => report.realtime_ns = first_time_ns(value),
                (libc::SOL_PACKET, PACKET_TX_TIMESTAMP) if bytes >= size_of::<libc::sock_extended_err>() => {
                    (report.origin, report.code) = (value[4], value[6]);
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok(Some(report))
}

/// The first of three `struct timespec`, whose words have 32 or 64 bits.
fn first_time_ns(value: &[u8]) -> i64 {
    let word = |at: usize, length: usize| -> i64 {
        match value.get(at * length..(at + 1) * length) {
            Some(bytes) if length == 8 => i64::from_ne_bytes(bytes.try_into().unwrap_or_default()),
            Some(bytes) => i64::from(i32::from_ne_bytes(bytes.try_into().unwrap_or_default())),
            None => 0,
        }
    };
    let length = value.len() / 6;
    if length != 4 && length != 8 {
        return 0;
    }
    word(0, length).saturating_mul(1_000_000_000).saturating_add(word(1, length))
}

/// Launch times of a socket, and the control message with one (`asm-generic/socket.h`).
pub const SO_TXTIME: c_int = 61;
/// The control message with a report (`linux/if_packet.h`).
const PACKET_TX_TIMESTAMP: c_int = 16;
/// Origins and codes of reports (`linux/errqueue.h`).
pub const ORIGIN_TIME_STAMP: u8 = 4;
pub const ORIGIN_LAUNCH: u8 = 6;
pub const LAUNCH_MISSED: u8 = 2;

/// Lets the kernel look at the receiving side of an AF_XDP socket.
pub fn poke_receiver(socket: &OwnedFd) {
    // SAFETY: no memory is passed. What it could answer is that there is nothing yet.
    unsafe { libc::recv(socket.as_raw_fd(), ptr::null_mut(), 0, libc::MSG_DONTWAIT) };
}

/// Sleeps until a packet has come or the time is over. Returns earlier where a signal was handled meanwhile, or where the socket has
/// reports about frames and `reports` says that somebody takes them.
pub fn wait_for_packet(socket: &OwnedFd, most: Duration, reports: bool) -> io::Result<()> {
    let mut wanted = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let time = libc::timespec { tv_sec: most.as_secs() as _, tv_nsec: most.subsec_nanos() as _ };
    // SAFETY: one structure that outlives the call, and a time.
    match check(unsafe { libc::ppoll(&raw mut wanted, 1, &raw const time, ptr::null()) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ if wanted.revents & (libc::POLLERR | libc::POLLNVAL) != 0 => pending_error(socket, reports),
        _ => Ok(()),
    }
}

/// What the kernel noted about a socket meanwhile: the interface went down, or away.
fn pending_error(socket: &OwnedFd, reports: bool) -> io::Result<()> {
    // SAFETY: every bit pattern is a number.
    match unsafe { get_option::<c_int>(socket, libc::SOL_SOCKET, libc::SO_ERROR) }? {
        0 if reports => Ok(()),
        0 => Err(io::Error::other("the socket reports an error without a number")),
        number => Err(io::Error::from_raw_os_error(number)),
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
