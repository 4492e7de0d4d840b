//! Ctrl-C: the first ends the measurement and keeps what there is, the second ends the program.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use waykeeper_linux::signal;

use crate::commands::output::{Kind, say};

/// Signals that come closer together than this are one: `timeout` signals a process and its group.
const ONE_PRESS: Duration = Duration::from_secs(1);

/// A flag that the first Ctrl-C (or SIGTERM, or SIGHUP where it is not ignored) sets.
pub fn on_ctrl_c() -> Arc<AtomicBool> {
    on_ctrl_c_or("what had not ended was not kept")
}

/// The same; at the second one the program says what that leaves behind.
pub fn on_ctrl_c_or(left: &'static str) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    // Without a handler Ctrl-C ends the program at once and loses the run; there is nothing better to do then.
    let first = Mutex::new(None::<Instant>);
    let outlives_terminal = signal::is_hang_up_ignored();
    let _ = ctrlc::set_handler(move || {
        flag.store(true, Ordering::Relaxed);
        let mut first = first.lock().unwrap_or_else(|e| e.into_inner());
        if first.get_or_insert_with(Instant::now).elapsed() > ONE_PRESS {
            say(Kind::Plain, &format!("interrupted twice: {left}"));
            std::process::exit(130);
        }
    });
    // A run under `nohup` outlives its terminal, and its workers inherit that.
    if outlives_terminal {
        signal::ignore_hang_up();
    }
    stop
}

/// How often Ctrl-C was pressed, for a command that goes on elsewhere: whoever reads it decides what that means. A terminal that
/// goes away does not count.
pub fn presses() -> Arc<AtomicU32> {
    let presses = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&presses);
    let last = Mutex::new(None::<Instant>);
    let _ = ctrlc::set_handler(move || {
        let mut last = last.lock().unwrap_or_else(|e| e.into_inner());
        if last.is_none_or(|last| last.elapsed() > ONE_PRESS) {
            count.fetch_add(1, Ordering::Relaxed);
            *last = Some(Instant::now());
        }
    });
    signal::ignore_hang_up();
    presses
}
