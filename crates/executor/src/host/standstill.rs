//! Time in which the target neither ran nor wanted to: its process was stopped (SIGSTOP, Ctrl-Z, a debugger) or frozen, or
//! the machine was suspended. The sample that holds it is no sample of interference.

use rustix::time::{ClockId, clock_gettime};
use waykeeper_linux::schedule::ThreadUsage;

/// Less than this is not told from the readings themselves, nanoseconds.
const LEAST_NS: f64 = 1e6;

/// The clocks at one end of a repeat, and the target's account.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    pub usage: ThreadUsage,
    /// The system's clock without corrections, nanoseconds.
    pub system_ns: f64,
    /// How much further the clock is that goes on while the machine is suspended, nanoseconds.
    ahead_ns: f64,
}

impl Account {
    /// Of the calling thread.
    pub fn read() -> Self {
        let ns = |clock| {
            let time = clock_gettime(clock);
            time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
        };
        let ahead_ns = ns(ClockId::Boottime) - ns(ClockId::Monotonic);
        Self { usage: ThreadUsage::read(), system_ns: ns(ClockId::MonotonicRaw), ahead_ns }
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
        let still_ns = wall_ns - added(|usage| usage.ran_ns) - waited_ns - steal_ns;
        // A loop never waits by itself. What a hypervisor took, and did not say, is no wait.
        let waits = added(|usage| usage.voluntary_switches) - added(|usage| usage.major_faults);
        (waits > 0.0 && still_ns >= LEAST_NS).then(|| {
            format!(
                "the target neither ran nor waited for its core for {}: its process was stopped or frozen",
                seconds(still_ns)
            )
        })
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
        Account { usage, system_ns: wall_s * 1e9, ahead_ns: 0.0 }
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
    fn a_suspended_machine_is_no_interference() {
        let before = account(100.0, 10.0, 1.0, 5);
        let after = Account { ahead_ns: 60e9, ..account(105.0, 15.0, 1.0, 5) };
        assert_eq!(after.stood_still_since(&before, 0.0).unwrap(), "the machine was suspended for 60.000 s");
    }
}
