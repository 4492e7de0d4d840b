//! The account of packets with launch times: when they left, and on which clocks that rests.

use waykeeper_linux::Root;
use waykeeper_linux::ptp::PtpState;

use crate::accounts::CycleAccount;
use crate::figure::{CycleFigure, CycleTimes};
use crate::path::launch::{Departure, LaunchQueue};
use crate::record::{LaunchCounts, LaunchRecord};
use crate::time;

const NS_PER_S: i64 = 1_000_000_000;

/// How the figure names its time stamps.
const STAMPS: &str = "software, CLOCK_REALTIME in the kernel as it hands the packet to the driver (SO_TIMESTAMPING)";

/// The launch times of a run.
pub struct Launches {
    queue: LaunchQueue,
    counts: LaunchCounts,
    departures: CycleTimes,
}

impl Launches {
    pub fn new(queue: LaunchQueue) -> Self {
        Self { queue, counts: LaunchCounts::default(), departures: CycleTimes::default() }
    }

    pub fn lead_ns(&self) -> i64 {
        self.queue.lead_ns
    }

    /// Takes what became of a cycle's packet, whose round trip then begins with its departure.
    pub fn take(&mut self, departure: Departure, cycle: u64, account: &mut CycleAccount) {
        match departure {
            Departure::Left { realtime_ns } => {
                self.leave(cycle, realtime_ns - time::ahead_ns(time::realtime_ns), account);
            }
            Departure::Missed => self.counts.missed += 1,
            Departure::Refused => self.counts.refused += 1,
        }
    }

    /// The packet of a cycle left at a time of CLOCK_MONOTONIC.
    fn leave(&mut self, cycle: u64, left_ns: i64, account: &mut CycleAccount) {
        self.counts.left += 1;
        if let Some(launch_ns) = account.depart(cycle, left_ns) {
            self.departures.add(cycle, launch_ns - self.queue.delta_ns, left_ns);
        }
    }

    /// What goes into the record of a run with so many packets.
    pub fn finish(self, sent: u64, path: &str, began_ns: i64, run_length_s: f64) -> (LaunchRecord, CycleFigure) {
        let Self { queue, counts, departures } = self;
        let what = "from `delta` before the launch time to the departure";
        let figure = departures.figure(what, path, STAMPS, began_ns, run_length_s);
        // A refused packet was not sent.
        let reported = counts.left + counts.missed;
        let ptp = PtpState::read(&Root::default());
        let tai_ahead_ns = time::ahead_ns(time::tai_ns) - time::ahead_ns(time::realtime_ns);
        let record = LaunchRecord {
            lead_ns: queue.lead_ns as u64,
            disciplines: queue.disciplines,
            delta_ns: queue.delta_ns.max(0) as u64,
            offload: queue.offload,
            counts: LaunchCounts { not_seen: sent.saturating_sub(reported), ..counts },
            // Whole seconds; the two were read one after the other.
            tai_ahead_s: (tai_ahead_ns + NS_PER_S / 2).div_euclid(NS_PER_S),
            ptp4l: answer(ptp.ptp4l),
            phc2sys: answer(ptp.phc2sys),
            device_clocks: clocks(ptp.clocks),
        };
        (record, figure)
    }
}

fn answer(runs: Result<bool, String>) -> String {
    match runs {
        Ok(true) => "yes".into(),
        Ok(false) => "no".into(),
        Err(why) => format!("not seen: {why}"),
    }
}

fn clocks(clocks: Result<Vec<waykeeper_linux::ptp::DeviceClock>, String>) -> String {
    match clocks {
        Ok(clocks) if clocks.is_empty() => "none".into(),
        Ok(clocks) => {
            let name = |name: Option<String>| name.map_or(String::new(), |name| format!(" ({name})"));
            let all: Vec<_> =
                clocks.into_iter().map(|clock| format!("/dev/ptp{}{}", clock.number, name(clock.name))).collect();
            all.join(", ")
        }
        Err(why) => format!("not seen: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_are_counted_once_and_measured_from_the_beginning_of_their_window() {
        let queue =
            LaunchQueue { disciplines: vec!["etf".into()], delta_ns: 200_000, offload: false, lead_ns: 300_000 };
        let mut launches = Launches::new(queue);
        let began_ns = time::now_ns();
        let mut account = CycleAccount::new(began_ns, 1_000_000);
        (0..4).for_each(|cycle| account.send(began_ns + 1_000_000 * (cycle + 1)));
        // 150 us before its launch time, 50 us after the window opened; the second was answered before it was seen.
        launches.leave(1, began_ns + 850_000, &mut account);
        account.answer(2, began_ns + 2_000_000);
        launches.leave(2, began_ns + 1_900_000, &mut account);
        launches.take(Departure::Missed, 3, &mut account);
        launches.take(Departure::Refused, 5, &mut account);
        let (record, figure) = launches.finish(4, "AF_PACKET", began_ns, 1.0);
        assert_eq!(record.counts, LaunchCounts { left: 2, missed: 1, refused: 1, not_seen: 1 });
        assert_eq!((figure.samples, figure.max_ns), (1, Some(50_000.0)));
        assert!((0..3600).contains(&record.tai_ahead_s), "{record:?}");
    }
}
