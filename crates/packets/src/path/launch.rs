//! Launch times: frames that the kernel, or the interface, keeps until their time (SO_TXTIME), and what became of each.

use std::io;

use waykeeper_linux::qdisc::{PacketTiming, QueueingDiscipline, queueing_disciplines};

use crate::interface::NetInterface;

/// Earliest TxTime First, which keeps the launch times of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchQueue {
    /// All queueing disciplines of the interface, as the kernel lists them.
    pub disciplines: Vec<String>,
    /// In software a packet leaves up to so many nanoseconds before its launch time.
    pub delta_ns: i64,
    /// The interface keeps the launch time itself.
    pub offload: bool,
    /// A packet is handed to the kernel so many nanoseconds before its launch time.
    pub lead_ns: i64,
}

/// Why no launch times are kept.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The kernel does not list them.
    #[error(
        "the queueing disciplines of `{name}` cannot be listed: {error}; a kernel with CONFIG_NET_SCHED would do, or leave out \
         --launch-time"
    )]
    NotListed {
        /// The interface.
        name: String,
        /// The system's answer.
        error: io::Error,
    },
    /// None of them keeps launch times.
    #[error(
        "`{name}` keeps no launch times: its queueing disciplines are {}. `tc qdisc replace dev {name} root etf clockid CLOCK_TAI \
         delta 200000` adds one where the kernel has the module sch_etf; or leave out --launch-time",
        listed(found)
    )]
    NotKept {
        /// The interface.
        name: String,
        /// What it has.
        found: Vec<String>,
    },
    /// It keeps something else.
    #[error(
        "`{name}` has {found}; --launch-time needs `etf` on CLOCK_TAI without deadline_mode: `tc qdisc replace dev {name} root \
         etf clockid CLOCK_TAI delta 200000`"
    )]
    Other {
        /// The interface.
        name: String,
        /// The discipline.
        found: String,
    },
    /// A packet would be handed over when it may leave already.
    #[error(
        "--launch-time {lead_ns}ns is not longer than the delta of `etf` on `{name}` ({delta_ns} ns), so packets could leave at \
         once; expected a longer one, or a smaller delta"
    )]
    LeadTooShort {
        /// The interface.
        name: String,
        /// What was asked for.
        lead_ns: i64,
        /// What the discipline has.
        delta_ns: i64,
    },
}

fn listed(found: &[String]) -> String {
    if found.is_empty() { "none".into() } else { found.join("; ") }
}

impl LaunchQueue {
    /// Looks at the queueing disciplines of an interface.
    ///
    /// # Errors
    /// See [`LaunchError`].
    pub fn find(interface: &NetInterface, lead_ns: i64) -> Result<Self, LaunchError> {
        let name = || interface.name.clone();
        let found =
            queueing_disciplines(&interface.name).map_err(|error| LaunchError::NotListed { name: name(), error })?;
        Self::among(&interface.name, &found, lead_ns)
    }

    fn among(name: &str, found: &[QueueingDiscipline], lead_ns: i64) -> Result<Self, LaunchError> {
        let name = || name.to_owned();
        let disciplines: Vec<String> = found.iter().map(ToString::to_string).collect();
        let etf = found.iter().find(|discipline| matches!(discipline.timing, Some(PacketTiming::Etf { .. })));
        let Some(etf) = etf else { return Err(LaunchError::NotKept { name: name(), found: disciplines }) };
        match etf.timing {
            Some(PacketTiming::Etf { clock: libc::CLOCK_TAI, delta_ns, offload, deadline: false, .. }) => {
                let delta_ns = i64::from(delta_ns);
                if lead_ns <= delta_ns {
                    return Err(LaunchError::LeadTooShort { name: name(), lead_ns, delta_ns });
                }
                Ok(Self { disciplines, delta_ns, offload, lead_ns })
            }
            _ => Err(LaunchError::Other { name: name(), found: etf.to_string() }),
        }
    }
}

/// What became of a frame that had a launch time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// The kernel handed it to the interface at this time, nanoseconds of CLOCK_REALTIME.
    Left {
        /// The time stamp of software.
        realtime_ns: i64,
    },
    /// Its launch time was over before it could leave, so the kernel dropped it.
    Missed,
    /// The kernel did not take it into its queue: the launch time was over, or before that of the frame before.
    Refused,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn etf(clock: i32, delta_ns: i32, deadline: bool) -> QueueingDiscipline {
        let timing = Some(PacketTiming::Etf { clock, delta_ns, offload: false, deadline, skip_check: false });
        QueueingDiscipline { kind: "etf".into(), handle: 0x8001_0000, parent: u32::MAX, timing }
    }

    #[test]
    fn only_etf_on_tai_with_a_delta_below_the_lead_keeps_launch_times() {
        let plain = |kind: &str| QueueingDiscipline { kind: kind.into(), handle: 0, parent: u32::MAX, timing: None };
        let of = |found: &[QueueingDiscipline]| LaunchQueue::among("eth1", found, 300_000);
        let queue = of(&[plain("mqprio"), etf(libc::CLOCK_TAI, 200_000, false)]).unwrap();
        assert_eq!((queue.delta_ns, queue.offload, queue.disciplines.len()), (200_000, false, 2));
        for (found, words) in [
            (vec![plain("noqueue")], "are noqueue"),
            (vec![], "are none"),
            (vec![etf(libc::CLOCK_TAI, 200_000, true)], "deadline_mode; --launch-time needs"),
            (vec![etf(libc::CLOCK_MONOTONIC, 200_000, false)], "CLOCK_MONOTONIC"),
            (vec![etf(libc::CLOCK_TAI, 300_000, false)], "not longer than the delta"),
        ] {
            let refused = of(&found).unwrap_err().to_string();
            assert!(refused.contains(words) && refused.contains("`eth1`"), "{refused}");
        }
    }
}
