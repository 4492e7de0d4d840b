//! The guardian: a small process between the caller and an external program. All descendants of the program become its
//! children when their own parents end (a subreaper). When the caller's end of the line closes, however the caller
//! ended, it kills them all. It is a fork that never calls `exec`, so it makes system calls only and allocates nothing.

use std::ffi::{CStr, CString};
use std::os::fd::RawFd;

use waykeeper_linux::schedule;

/// What the guardian needs, allocated before the fork.
#[derive(Debug)]
pub struct Orders {
    /// A list of pointers into the arguments, with a null pointer at its end.
    pub argv: Vec<*const libc::c_char>,
    pub core: u32,
    /// A byte starts the program; the end of file ends everything.
    pub line: RawFd,
    /// Receives the wait status of the program.
    pub status: RawFd,
    /// Receives why the program does not start, or closes when it does.
    pub started: RawFd,
    /// Standard error of the program.
    pub errors: RawFd,
    /// `cgroup.procs` of the program's own group, `cgroup.kill`, and the group's directory.
    pub group: Option<(CString, CString, CString)>,
}

/// The program could not join its group.
pub static NO_GROUP: u8 = b'g';
/// The program could not be started; the error's number follows.
pub static NOT_STARTED: u8 = b'e';

/// Runs the guardian in a process that was just forked.
///
/// # Safety
/// Only in the child of a fork; the pointers of `orders` are valid.
pub unsafe fn guard(orders: &Orders) -> ! {
    // SAFETY: system calls with buffers of this stack; the caller vouches for the pointers.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
        libc::setsid();
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        // Lines of other guardians would keep those alive; so would the caller's standard output keep its reader.
        close_all_but([orders.line, orders.status, orders.started, orders.errors]);
        let mut child: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut child);
        libc::sigaddset(&mut child, libc::SIGCHLD);
        let children = libc::signalfd(-1, &child, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        let mut byte = 0_u8;
        if libc::read(orders.line, (&raw mut byte).cast(), 1) != 1 {
            end(0, orders);
        }
        let program = libc::fork();
        if program == 0 {
            begin(orders);
        }
        libc::close(orders.started);
        libc::close(orders.errors);
        loop {
            let mut ready = [
                libc::pollfd { fd: orders.line, events: libc::POLLIN, revents: 0 },
                libc::pollfd { fd: children, events: libc::POLLIN, revents: 0 },
            ];
            libc::poll(ready.as_mut_ptr(), 2, -1);
            let mut seen = [0_u8; 128];
            while libc::read(children, seen.as_mut_ptr().cast(), seen.len()) > 0 {}
            let mut status = 0_i32;
            loop {
                let ended = libc::waitpid(-1, &mut status, libc::WNOHANG);
                if ended <= 0 {
                    break;
                }
                if ended == program {
                    libc::write(orders.status, (&raw const status).cast(), 4);
                }
            }
            if ready[0].revents != 0 {
                end(program, orders);
            }
        }
    }
}

/// Becomes the program.
unsafe fn begin(orders: &Orders) -> ! {
    // SAFETY: as of the caller.
    unsafe {
        let _ = schedule::die_with_parent();
        libc::setpgid(0, 0);
        if let Some((join, ..)) = &orders.group {
            let file = libc::open(join.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            if libc::write(file, c"0".as_ptr().cast(), 1) != 1 {
                libc::write(orders.started, (&raw const NO_GROUP).cast(), 1);
            }
        }
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        libc::dup2(null, 0);
        libc::dup2(null, 1);
        libc::dup2(orders.errors, 2);
        for signal in [libc::SIGPIPE, libc::SIGINT, libc::SIGTERM] {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        let why = match schedule::pin(orders.core) {
            Err(error) => error.raw_os_error().unwrap_or(libc::EINVAL),
            Ok(()) => {
                libc::execvp(orders.argv[0], orders.argv.as_ptr());
                *libc::__errno_location()
            }
        };
        libc::write(orders.started, (&raw const NOT_STARTED).cast(), 1);
        libc::write(orders.started, (&raw const why).cast(), 4);
        libc::_exit(127)
    }
}

/// Kills the group and all descendants, removes the group, and ends.
unsafe fn end(program: libc::pid_t, orders: &Orders) -> ! {
    // SAFETY: as of the caller.
    unsafe {
        if let Some((_, kill, _)) = &orders.group {
            let file = libc::open(kill.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            libc::write(file, c"1".as_ptr().cast(), 1);
            libc::close(file);
        }
        if program > 0 {
            libc::kill(-program, libc::SIGKILL);
            // Orphans become children of this process: when it has none left, nobody is.
            while kill_children(c"/proc/thread-self/children") && libc::waitpid(-1, std::ptr::null_mut(), 0) > 0 {}
        }
        if let Some((.., directory)) = &orders.group {
            libc::rmdir(directory.as_ptr());
        }
        libc::_exit(0)
    }
}

/// Kills the direct children; whether there was one that could be killed.
unsafe fn kill_children(list: &CStr) -> bool {
    let mut text = [0_u8; 4096];
    // SAFETY: the buffer outlives the call.
    let length = unsafe {
        let file = libc::open(list.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        length.max(0) as usize
    };
    let (mut number, mut any) = (0_i32, false);
    for byte in &text[..length] {
        if byte.is_ascii_digit() {
            number = number.wrapping_mul(10).wrapping_add(i32::from(byte - b'0'));
        } else {
            // SAFETY: no memory is passed.
            any |= number > 0 && unsafe { libc::kill(number, libc::SIGKILL) } == 0;
            number = 0;
        }
    }
    any
}

unsafe fn close_all_but(mut kept: [RawFd; 4]) {
    kept.sort_unstable();
    let mut from = 0_u32;
    for keep in kept.map(|keep| keep as u32) {
        if keep > from {
            // SAFETY: no memory is passed; the descriptors are those of the forked process.
            unsafe { libc::syscall(libc::SYS_close_range, from, keep - 1, 0) };
        }
        from = keep + 1;
    }
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_close_range, from, u32::MAX, 0) };
}
