//! Ctrl-C: the flag that ends a worker's loops, and the way to set it from outside.

use std::sync::atomic::{AtomicU32, Ordering};

/// Non-zero once this process was asked to end. The C loops look at it.
pub static STOP: AtomicU32 = AtomicU32::new(0);

extern "C" fn stop(_: libc::c_int) {
    STOP.store(1, Ordering::Relaxed);
}

/// Makes SIGINT and SIGTERM set [`STOP`] instead of ending the process.
pub fn catch() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler does one atomic store, which is safe in a signal handler.
        unsafe { libc::signal(signal, stop as extern "C" fn(libc::c_int) as libc::sighandler_t) };
    }
}

/// Sends SIGINT to a process.
pub fn interrupt(process: u32) {
    // SAFETY: no memory is passed; a process that is gone already is no mistake.
    unsafe { libc::kill(process as libc::pid_t, libc::SIGINT) };
}
