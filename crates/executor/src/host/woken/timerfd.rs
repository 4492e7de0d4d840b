//! From a timer's programmed expiry to the return of `read`, or of `epoll_wait`.

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::io;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};

use super::releases::Releases;
use super::source::{WakeupSource, Woken};
use super::time::{now_ns, timespec};

/// A timer that is a file.
pub struct Timerfd {
    timer: OwnedFd,
    epoll: Option<Epoll>,
    period_ns: i64,
    releases: Option<Releases>,
}

struct Epoll {
    file: OwnedFd,
    events: Vec<epoll::Event>,
}

impl Timerfd {
    /// The thread sees an expiry when `read` returns, or `epoll_wait`.
    ///
    /// # Errors
    /// No file descriptor is left.
    pub fn new(period_ns: i64, by_epoll: bool) -> io::Result<Self> {
        let waits = if by_epoll { TimerfdFlags::NONBLOCK } else { TimerfdFlags::empty() };
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | waits)?;
        let epoll = by_epoll.then(|| Epoll::of(&timer)).transpose()?;
        Ok(Self { timer, epoll, period_ns, releases: None })
    }

    /// Expiries since the last call. Waits for one, where the file does.
    fn expiries(&self) -> Option<u64> {
        let mut count = [0; 8];
        let read = io::read(&self.timer, &mut count);
        (read == Ok(count.len())).then(|| u64::from_ne_bytes(count)).filter(|count| *count > 0)
    }
}

impl Epoll {
    fn of(timer: &OwnedFd) -> io::Result<Self> {
        let file = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&file, timer, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        Ok(Self { file, events: Vec::with_capacity(1) })
    }

    /// Waits for an expiry. Allocates nothing.
    fn wait(&mut self) -> Option<()> {
        self.events.clear();
        epoll::wait(&self.file, spare_capacity(&mut self.events), None).ok()?;
        (!self.events.is_empty()).then_some(())
    }
}

impl WakeupSource for Timerfd {
    fn begin(&mut self) {
        let now = now_ns();
        let releases = self.releases.get_or_insert_with(|| Releases::from(now, self.period_ns));
        releases.skip(now);
        let times = Itimerspec { it_interval: timespec(self.period_ns), it_value: timespec(releases.next_ns()) };
        // Forgets expiries that nobody read. Valid times are refused nowhere.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &times);
    }

    fn next_ns(&self) -> i64 {
        self.releases.map_or(i64::MAX, |releases| releases.next_ns())
    }

    fn wait(&mut self) -> Option<Woken> {
        let (expiries, seen_ns) = match &mut self.epoll {
            None => (self.expiries()?, now_ns()),
            Some(epoll) => {
                epoll.wait()?;
                let seen_ns = now_ns();
                (self.expiries()?, seen_ns)
            }
        };
        let releases = self.releases.as_mut()?;
        let since_ns = releases.next_ns();
        releases.advance(expiries);
        Some(Woken { since_ns, seen_ns, now_ns: now_ns(), missed: expiries - 1 })
    }
}
