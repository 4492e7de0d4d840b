//! How long a thread slept because it wanted to.

use waykeeper_linux::schedule::voluntary_switches;

/// Sleeps of a thread's own will so far. Others (the process was stopped, a page came from a disk) are not among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rest {
    /// How many in which the thread left its core. One that was over before it began is none.
    pub sleeps: u64,
    /// From each call to the time at which the thread was to run again, nanoseconds.
    pub asleep_ns: u64,
}

/// Counts the sleeps of the calling thread.
#[derive(Debug, Default)]
pub struct Resting {
    rest: Rest,
    /// The kernel's count when the present sleep began.
    switches: Option<u64>,
}

impl Resting {
    /// Up to the end of the last sleep.
    pub fn rest(&self) -> Rest {
        self.rest
    }

    /// A sleep begins, and an earlier one is over. Costs a system call, so it comes before a sleep and not after one.
    pub fn begin(&mut self) {
        self.end();
        self.switches = Some(voluntary_switches());
    }

    /// The present sleep is over. However often the thread has left its core since it began, once was its own will.
    pub fn end(&mut self) {
        if let Some(before) = self.switches.take() {
            self.rest.sleeps += u64::from(voluntary_switches() > before);
        }
    }

    /// The present sleep took from one time to another.
    pub fn add(&mut self, begins_ns: i64, ends_ns: i64) {
        self.rest.asleep_ns += u64::try_from(ends_ns.saturating_sub(begins_ns)).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_counts_once_however_often_the_thread_waited_and_not_where_it_did_not() {
        let mut rest = Resting::default();
        rest.begin();
        rest.begin();
        assert_eq!(rest.rest().sleeps, 0);
        for _ in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        rest.end();
        rest.end();
        assert_eq!(rest.rest().sleeps, 1);
    }
}
