//! What wakes a sleeping thread: the way from an event in the kernel to the thread. Linux wakes it, so only the host runs it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::duration::Nanoseconds;
use crate::pattern::Pattern;
use crate::wakeup::period_ns;
use crate::workload::WorkloadError;

/// Where the event comes from, and where the thread sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterruptSource {
    /// From a timer's programmed expiry to the signal's handler.
    TimerSignal,
    /// From a timer's programmed expiry to the return of `read`.
    Timerfd,
    /// From a timer's programmed expiry to the return of `epoll_wait`.
    TimerfdEpoll,
    /// From another thread's `write` to the return of `read`.
    Eventfd,
    /// From a packet's software receive time stamp on the loopback device to the return of `recvmsg`.
    Loopback,
}

impl InterruptSource {
    /// Its name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::TimerSignal => "timer_signal",
            Self::Timerfd => "timerfd",
            Self::TimerfdEpoll => "timerfd_epoll",
            Self::Eventfd => "eventfd",
            Self::Loopback => "loopback",
        }
    }
}

/// Sleep until an event of the kernel, once every period. One sample is one event. Host only.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interrupt {
    /// One line for `waykeeper list`.
    pub title: Option<String>,
    /// Where the event comes from, and where the thread sees it.
    pub source: InterruptSource,
    /// Time from one event to the next.
    pub period: Nanoseconds,
}

impl Interrupt {
    pub(crate) fn resolve(&self) -> Result<Pattern, WorkloadError> {
        Ok(Pattern::Interrupt { source: self.source, period_ns: period_ns(self.period)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;

    #[test]
    fn every_source_is_called_in_a_file_as_in_a_message() {
        use InterruptSource::{Eventfd, Loopback, TimerSignal, Timerfd, TimerfdEpoll};
        for source in [TimerSignal, Timerfd, TimerfdEpoll, Eventfd, Loopback] {
            let text = format!("kind = 'interrupt'\nperiod = '1 ms'\nsource = '{}'\n", source.name());
            let pattern = toml::from_str::<Workload>(&text).unwrap().resolve(&Default::default()).unwrap();
            assert_eq!(pattern, Pattern::Interrupt { source, period_ns: 1e6 });
        }
    }

    #[test]
    fn a_period_shorter_than_a_wake_up_is_refused() {
        let text = "kind = 'interrupt'\nperiod = '999 ns'\nsource = 'timerfd'\n";
        let refused = toml::from_str::<Workload>(text).unwrap().resolve(&Default::default()).unwrap_err();
        assert_eq!(refused.key, "period");
    }
}
