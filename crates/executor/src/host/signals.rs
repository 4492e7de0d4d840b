//! Ctrl-C: the flag that ends a worker's loops, and the way to set it from outside.

use std::sync::atomic::{AtomicU32, Ordering};

/// Non-zero once this process was asked to end. The C loops look at it.
pub static STOP: AtomicU32 = AtomicU32::new(0);

extern "C" fn stop(_: libc::c_int) {
    STOP.store(1, Ordering::Relaxed);
}

/// Makes SIGINT and SIGTERM set [`STOP`] instead of ending the process, also where the launcher had blocked them.
pub fn catch() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler does one atomic store, which is safe in a signal handler.
        unsafe { libc::signal(signal, stop as extern "C" fn(libc::c_int) as libc::sighandler_t) };
    }
    // SAFETY: the set is plain data of this stack.
    unsafe {
        let mut caught = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&mut caught);
        libc::sigaddset(&mut caught, libc::SIGINT);
        libc::sigaddset(&mut caught, libc::SIGTERM);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &caught, std::ptr::null_mut());
    }
}

/// Sends SIGINT to a process.
pub fn interrupt(process: u32) {
    // SAFETY: no memory is passed; a process that is gone already is no mistake.
    unsafe { libc::kill(process as libc::pid_t, libc::SIGINT) };
}
