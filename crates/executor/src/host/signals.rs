//! Ctrl-C: the flag that ends a worker's loops, and the way to set it from outside.

use std::sync::atomic::{AtomicU32, Ordering};

/// Non-zero once this process was asked to end. The C loops look at it.
pub static STOP: AtomicU32 = AtomicU32::new(0);

extern "C" fn stop(_: libc::c_int) {
    STOP.store(1, Ordering::Relaxed);
}

/// Makes SIGINT, SIGTERM and SIGHUP set [`STOP`] instead of ending the process, also where the launcher had blocked them.
/// SIGHUP stays ignored where it is: a run under `nohup` outlives its terminal.
pub fn catch() {
    let outlives_terminal = waykeeper_linux::signal::is_hang_up_ignored();
    let caught = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
    let caught = &caught[..if outlives_terminal { 2 } else { 3 }];
    for &signal in caught {
        // SAFETY: the handler does one atomic store, which is safe in a signal handler.
        unsafe { libc::signal(signal, stop as extern "C" fn(libc::c_int) as libc::sighandler_t) };
    }
    // SAFETY: the set is plain data of this stack.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&mut set);
        for &signal in caught {
            libc::sigaddset(&mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
    }
}

/// Sends SIGINT to a process.
pub fn interrupt(process: u32) {
    // SAFETY: no memory is passed; a process that is gone already is no mistake.
    unsafe { libc::kill(process as libc::pid_t, libc::SIGINT) };
}
