//! From another thread's `write` to an eventfd to the return of `read`.

use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::io;

use super::sender::Sender;
use super::source::{WakeupSource, Woken};
use super::time::now_ns;

/// A thread that reads what another one writes, on the same core.
pub struct Eventfd {
    file: Arc<OwnedFd>,
    sender: Sender,
}

impl Eventfd {
    /// # Errors
    /// No file descriptor is left, or no thread can be started.
    pub fn new(period_ns: i64) -> std::io::Result<Self> {
        let file = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let to = Arc::clone(&file);
        let sender = Sender::start(period_ns, move || {
            // Full only after 2^64 - 2 writes that nobody read.
            let _ = io::write(&to, &1_u64.to_ne_bytes());
        })?;
        Ok(Self { file, sender })
    }

    /// Writes since the last call; waits for one.
    fn writes(&self) -> Option<u64> {
        let mut count = [0; 8];
        let read = io::read(&self.file, &mut count);
        (read == Ok(count.len())).then(|| u64::from_ne_bytes(count)).filter(|count| *count > 0)
    }
}

impl WakeupSource for Eventfd {
    fn begin(&mut self) {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        if poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&at_once)) == Ok(1) {
            self.writes();
        }
        self.sender.take_sent_at_ns();
        self.sender.take_missed();
    }

    fn next_ns(&self) -> i64 {
        self.sender.next_ns()
    }

    fn wait(&mut self) -> Option<Woken> {
        let writes = self.writes()?;
        let seen_ns = now_ns();
        let since_ns = self.sender.take_sent_at_ns()?;
        Some(Woken { since_ns, seen_ns, now_ns: seen_ns, missed: writes - 1 + self.sender.take_missed() })
    }
}
