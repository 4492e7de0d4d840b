//! What wakes a thread.

use super::releases::Releases;
use super::time::{now_ns, sleep_until};

/// A thread was woken.
#[derive(Debug, Clone, Copy)]
pub struct Woken {
    /// When it was due or sent, nanoseconds of the source's clock.
    pub since_ns: i64,
    /// When the thread ran, of the same clock.
    pub seen_ns: i64,
    /// That time of CLOCK_MONOTONIC.
    pub now_ns: i64,
    /// Earlier ones that were merged into this one.
    pub missed: u64,
}

impl Woken {
    /// When it was due or sent, of CLOCK_MONOTONIC.
    pub fn due_ns(&self) -> i64 {
        self.now_ns.saturating_sub(self.seen_ns.saturating_sub(self.since_ns))
    }
}

/// What wakes a thread, once every period.
pub trait WakeupSource {
    /// Forgets what came since the last run and sees to it that more comes.
    fn begin(&mut self);

    /// When the next one is due, nanoseconds of CLOCK_MONOTONIC.
    fn next_ns(&self) -> i64;

    /// Sleeps until the next one; `None` where a signal ended the wait.
    fn wait(&mut self) -> Option<Woken>;

    /// The thread is ready to sleep again. Returns how many it has missed meanwhile and will not get.
    fn ready(&mut self, _now_ns: i64) -> u64 {
        0
    }
}

/// `clock_nanosleep` until a programmed time.
pub struct Sleep {
    period_ns: i64,
    releases: Option<Releases>,
}

impl Sleep {
    pub fn new(period_ns: i64) -> Self {
        Self { period_ns, releases: None }
    }
}

impl WakeupSource for Sleep {
    /// The times stay those of the run before. What passed between two runs was not missed: nobody waited for it.
    fn begin(&mut self) {
        let now = now_ns();
        self.releases.get_or_insert_with(|| Releases::from(now, self.period_ns)).skip(now);
    }

    fn next_ns(&self) -> i64 {
        self.releases.map_or(i64::MAX, |releases| releases.next_ns())
    }

    fn wait(&mut self) -> Option<Woken> {
        let releases = self.releases.as_mut()?;
        let since_ns = releases.next_ns();
        sleep_until(since_ns);
        let now_ns = now_ns();
        // A signal may have ended the sleep early.
        (now_ns >= since_ns).then(|| {
            releases.advance(1);
            Woken { since_ns, seen_ns: now_ns, now_ns, missed: 0 }
        })
    }

    fn ready(&mut self, now_ns: i64) -> u64 {
        self.releases.as_mut().map_or(0, |releases| releases.skip(now_ns))
    }
}
