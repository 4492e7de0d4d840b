//! A thread of its own that sends something once every period.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread::JoinHandle;

use waykeeper_linux::schedule;
use waykeeper_linux::thread::spawn;

use super::PIECE_NS;
use super::releases::Releases;
use super::time::{now_ns, sleep_until};

#[derive(Default)]
struct Shared {
    next_ns: AtomicI64,
    sent_at_ns: AtomicI64,
    missed: AtomicU64,
    ends: AtomicBool,
}

/// The thread; it ends with this value. It has the cores and the policy of the thread that starts it, at that time.
pub struct Sender {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Sender {
    /// Calls `send` once every period, the first time in one.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(period_ns: i64, send: impl FnMut() + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let releases = Releases::from(now_ns(), period_ns);
        shared.next_ns.store(releases.next_ns(), Ordering::Relaxed);
        let of_thread = Arc::clone(&shared);
        let thread = spawn("sender", move || of_thread.send_all(releases, send)).map_err(io::Error::other)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// When it sends next, nanoseconds of CLOCK_MONOTONIC.
    pub fn next_ns(&self) -> i64 {
        self.shared.next_ns.load(Ordering::Relaxed)
    }

    /// Just before the first `send` since the last call, nanoseconds of CLOCK_MONOTONIC; `None` where there was none.
    pub fn take_sent_at_ns(&self) -> Option<i64> {
        Some(self.shared.sent_at_ns.swap(0, Ordering::AcqRel)).filter(|at| *at != 0)
    }

    /// Periods since the last call in which it came too late to send.
    pub fn take_missed(&self) -> u64 {
        self.shared.missed.swap(0, Ordering::Relaxed)
    }
}

impl Shared {
    fn send_all(&self, mut releases: Releases, mut send: impl FnMut()) {
        // Refused nowhere; it only decides how exactly the period is kept.
        let _ = schedule::least_timer_slack();
        while !self.ends.load(Ordering::Relaxed) {
            let (now, next) = (now_ns(), releases.next_ns());
            let is_near = next.saturating_sub(now) < 2 * PIECE_NS;
            sleep_until(if is_near { next } else { now + PIECE_NS });
            if now_ns() < next {
                continue;
            }
            releases.advance(1);
            self.next_ns.store(releases.next_ns(), Ordering::Relaxed);
            let _ = self.sent_at_ns.compare_exchange(0, now_ns(), Ordering::AcqRel, Ordering::Relaxed);
            send();
            self.missed.fetch_add(releases.skip(now_ns()), Ordering::Relaxed);
            self.next_ns.store(releases.next_ns(), Ordering::Relaxed);
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
