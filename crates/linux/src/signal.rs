//! Signals that whoever started the program had ignored: `nohup` does so for SIGHUP.

use std::mem::MaybeUninit;

/// Whether this process ignores SIGHUP, as it does under `nohup`.
pub fn is_hang_up_ignored() -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: no new action is passed; the old one is written to memory of this stack where the call succeeds.
    unsafe {
        libc::sigaction(libc::SIGHUP, std::ptr::null(), now.as_mut_ptr()) == 0
            && now.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Ignores SIGHUP again, after a library has set a handler for it.
pub fn ignore_hang_up() {
    // SAFETY: no memory is passed.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
}
