//! Lets the room's first process answer `mount` and `umount2` of everyone in the room: seccomp's user notification.
//!
//! This is no wall: whoever means to get round it can. It is there so that `mount -t resctrl` reaches the model.

use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use libc::{c_int, c_long, c_void, seccomp_data, seccomp_notif, seccomp_notif_resp, sock_filter, sock_fprog};

/// The architecture whose numbers of calls these are (linux/audit.h).
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(target_arch = "arm")]
const ARCHITECTURE: u32 = 0x4000_0028;

/// The room for a message with one file descriptor.
const CONTROL: usize = 64;

const fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

const fn jump(k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, jt, jf, k }
}

/// What is asked about, and what is not there: without fsopen(2) programs fall back to mount(2).
const fn filter() -> [sock_filter; 9] {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    [
        statement(LOAD, offset_of!(seccomp_data, arch) as u32),
        // Another architecture's numbers are let through.
        jump(ARCHITECTURE, 0, 4),
        statement(LOAD, offset_of!(seccomp_data, nr) as u32),
        jump(libc::SYS_mount as u32, 3, 0),
        jump(libc::SYS_umount2 as u32, 2, 0),
        jump(libc::SYS_fsopen as u32, 2, 0),
        statement(RETURN, libc::SECCOMP_RET_ALLOW),
        statement(RETURN, libc::SECCOMP_RET_USER_NOTIF),
        statement(RETURN, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
    ]
}

/// Installs the filter in the calling thread, for it and its children, and returns the listener.
///
/// Only system calls are made: it may be called between fork and exec.
pub(super) fn install() -> io::Result<RawFd> {
    let mut instructions = filter();
    let program = sock_fprog { len: instructions.len() as u16, filter: instructions.as_mut_ptr() };
    let kill_only = libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    // Kernels before 5.19 do not know the second flag.
    for flags in [libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | kill_only, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER] {
        // SAFETY: the program and its instructions live until the call returns.
        let listener = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &program) };
        if listener >= 0 {
            return Ok(listener as RawFd);
        }
    }
    Err(io::Error::last_os_error())
}

/// A message of one byte, with or without a file descriptor.
fn with_message<T>(
    descriptor: Option<RawFd>,
    carry: impl FnOnce(*mut libc::msghdr) -> T,
) -> (T, [u64; CONTROL / 8], u64) {
    let mut byte = [0_u8];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control = [0_u64; CONTROL / 8];
    // SAFETY: all fields of a msghdr may be zero.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    // SAFETY: the control buffer has room for one header with one number, and is aligned for it.
    unsafe {
        message.msg_controllen = libc::CMSG_SPACE(size_of::<c_int>() as u32) as _;
        if let Some(descriptor) = descriptor {
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<c_int>() as u32) as _;
            libc::CMSG_DATA(header).cast::<c_int>().write_unaligned(descriptor);
        }
    }
    let carried = carry(&raw mut message);
    (carried, control, message.msg_controllen as u64)
}

/// Sends the listener, or that there is none, to the first process. Only system calls are made.
pub(super) fn pass(socket: BorrowedFd<'_>, listener: Option<RawFd>) {
    with_message(listener, |message| {
        // SAFETY: the message is whole.
        unsafe {
            if listener.is_none() {
                (*message).msg_controllen = 0;
            }
            libc::sendmsg(socket.as_raw_fd(), message, libc::MSG_NOSIGNAL)
        }
    });
}

/// Takes the listener that a child has sent.
pub(super) fn take(socket: BorrowedFd<'_>) -> Option<OwnedFd> {
    let (received, control, length) = with_message(None, |message| {
        // SAFETY: the message has room for a byte and a descriptor.
        unsafe { libc::recvmsg(socket.as_raw_fd(), message, libc::MSG_CMSG_CLOEXEC) }
    });
    if received != 1 || length == 0 {
        return None;
    }
    let header = control.as_ptr().cast::<libc::cmsghdr>();
    // SAFETY: the kernel wrote a whole header, and the descriptor is new and nobody else's.
    unsafe {
        let is_one = (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS;
        is_one.then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<c_int>().read_unaligned()))
    }
}

/// A call that waits for its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    id: u64,
    /// The caller, in this process namespace.
    pub pid: u32,
    /// Which call.
    pub number: c_long,
    pub arguments: [u64; 6],
}

/// What a call answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The kernel goes on with it.
    GoOn,
    /// It succeeded.
    Done,
    /// It failed with this number.
    Failed(i32),
}

/// Waits for the next call. `None` when nobody can make one any more.
pub(super) fn next(listener: BorrowedFd<'_>) -> Option<Call> {
    loop {
        // SAFETY: all fields may be zero, and the kernel demands that they are.
        let mut seen: seccomp_notif = unsafe { std::mem::zeroed() };
        match ask(listener, libc::SECCOMP_IOCTL_NOTIF_RECV, (&raw mut seen).cast()) {
            Ok(()) => {
                let number = c_long::from(seen.data.nr);
                return Some(Call { id: seen.id, pid: seen.pid, number, arguments: seen.data.args });
            }
            // The caller died before it was seen, or a signal came.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {}
            Err(_) => return None,
        }
    }
}

/// Whether the caller still waits: only then is what was read from its memory its own.
pub(super) fn waits(listener: BorrowedFd<'_>, call: &Call) -> bool {
    let mut id = call.id;
    ask(listener, libc::SECCOMP_IOCTL_NOTIF_ID_VALID, (&raw mut id).cast()).is_ok()
}

/// Answers a call.
pub(super) fn answer(listener: BorrowedFd<'_>, call: &Call, answer: Answer) {
    let (error, flags) = match answer {
        Answer::GoOn => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
        Answer::Done => (0, 0),
        Answer::Failed(number) => (-number, 0),
    };
    let mut response = seccomp_notif_resp { id: call.id, val: 0, error, flags };
    // Nobody waits for it any more if this fails.
    let _ = ask(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, (&raw mut response).cast());
}

fn ask(listener: BorrowedFd<'_>, what: libc::Ioctl, with: *mut c_void) -> io::Result<()> {
    // SAFETY: each of these requests has its own structure, which the callers give.
    match unsafe { libc::ioctl(listener.as_raw_fd(), what, with) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
