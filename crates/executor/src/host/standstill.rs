//! Time in which the target neither ran nor wanted to: its process was stopped (SIGSTOP, Ctrl-Z, a debugger) or frozen, or
//! the machine was suspended. The sample that holds it is no sample of interference.

use rustix::time::{ClockId, clock_gettime};
use waykeeper_linux::schedule::ThreadUsage;

use super::woken::rest::Rest;

/// Less than this cannot be distinguished from the readings themselves, nanoseconds.
const LEAST_NS: f64 = 1e6;

/// The clocks at one end of a repeat, and the target's account.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    pub usage: ThreadUsage,
    /// What it slept because it wanted to.
    rest: Rest,
    /// The system's clock without corrections, nanoseconds.
    pub system_ns: f64,
    /// How much further the clock is that goes on while the machine is suspended, nanoseconds.
    ahead_ns: f64,
}

impl Account {
    /// Of the calling thread, which has slept that much because it wanted to.
    pub fn read(rest: Rest) -> Self {
        let ns = |clock| {
            let time = clock_gettime(clock);
            time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
        };
        let ahead_ns = ns(ClockId::Boottime) - ns(ClockId::Monotonic);
        Self { usage: ThreadUsage::read(), rest, system_ns: ns(ClockId::MonotonicRaw), ahead_ns }
    }

    /// Why a repeat that began with `before` does not count. `steal_ns` is what the hypervisor took meanwhile, where that is
    /// known: neither the target nor its waiting is charged for it.
    pub fn stood_still_since(&self, before: &Self, steal_ns: f64) -> Option<String> {
        let suspended_ns = self.ahead_ns - before.ahead_ns;
        if suspended_ns >= LEAST_NS {
            return Some(format!("the machine was suspended for {}", seconds(suspended_ns)));
        }
        let added = |of: fn(&ThreadUsage) -> u64| of(&self.usage).saturating_sub(of(&before.usage)) as f64;
        let waited_ns = self.usage.waited_ns.zip(before.usage.waited_ns)?;
        let waited_ns = waited_ns.0.saturating_sub(waited_ns.1) as f64;
        let wall_ns = self.system_ns - before.system_ns;
        let asleep_ns = self.rest.asleep_ns.saturating_sub(before.rest.asleep_ns) as f64;
        let still_ns = wall_ns - added(|usage| usage.ran_ns) - waited_ns - steal_ns - asleep_ns;
        // A loop never waits by itself, and a sleeper once for each sleep. What a hypervisor took, and did not say, is no wait.
        let waits = self.waits_since(before) as f64 - added(|usage| usage.major_faults);
        (waits > 0.0 && still_ns >= LEAST_NS).then(|| {
            format!(
                "the target neither ran nor waited for its core for {}: its process was stopped or frozen",
                seconds(still_ns)
            )
        })
    }

    /// How often the thread waited without having wanted to sleep.
    pub fn waits_since(&self, before: &Self) -> u64 {
        let switches = self.usage.voluntary_switches.saturating_sub(before.usage.voluntary_switches);
        switches.saturating_sub(self.rest.sleeps.saturating_sub(before.rest.sleeps))
    }
}

fn seconds(ns: f64) -> String {
    format!("{:.3} s", ns / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(wall_s: f64, ran_s: f64, waited_s: f64, waits: u64) -> Account {
        let ns = |s: f64| (s * 1e9) as u64;
        let usage = ThreadUsage {
            involuntary_switches: 0,
            voluntary_switches: waits,
            minor_faults: 0,
            major_faults: 0,
            waited_ns: Some(ns(waited_s)),
            ran_ns: ns(ran_s),
        };
        Account { usage, rest: Rest::default(), system_ns: wall_s * 1e9, ahead_ns: 0.0 }
    }

    #[test]
    fn only_time_that_nobody_accounts_for_is_a_standstill() {
        let before = account(100.0, 10.0, 1.0, 5);
        let since = |after: Account, steal_s: f64| after.stood_still_since(&before, steal_s * 1e9);
        assert_eq!(since(account(105.0, 15.0, 1.0, 5), 0.0), None, "it ran all the time");
        assert_eq!(since(account(105.0, 13.0, 3.0, 5), 0.0), None, "others had its core for two seconds");
        assert_eq!(since(account(105.0, 13.0, 1.0, 5), 0.0), None, "it did not stop: a hypervisor had the core unseen");
        assert_eq!(since(account(105.0, 13.0, 1.0, 6), 2.0), None, "the hypervisor says that it had the core");
        let stopped = since(account(105.0, 13.0, 1.0, 6), 0.0).unwrap();
        assert!(stopped.contains("for 2.000 s: its process was stopped or frozen"), "{stopped}");
    }

    #[test]
    fn a_sleeper_that_sleeps_as_programmed_is_not_stopped_and_one_that_waits_once_more_is() {
        let before = account(100.0, 10.0, 1.0, 5);
        // 1000 sleeps of 4.9 ms in 5 s: it ran for 0.05 s, and 0.05 s went into waking it.
        let rest = Rest { sleeps: 1000, asleep_ns: 4_900_000_000 };
        let since =
            |waits: u64| Account { rest, ..account(105.0, 10.05, 1.0, 5 + waits) }.stood_still_since(&before, 0.0);
        assert_eq!(since(1000), None);
        assert!(since(1001).unwrap().contains("for 0.050 s: its process was stopped or frozen"));
    }

    #[test]
    fn a_suspended_machine_is_no_interference() {
        let before = account(100.0, 10.0, 1.0, 5);
        let after = Account { ahead_ns: 60e9, ..account(105.0, 15.0, 1.0, 5) };
        assert_eq!(after.stood_still_since(&before, 0.0).unwrap(), "the machine was suspended for 60.000 s");
    }
}
