//! Threads that sleep and are woken by the kernel, once every period.

mod eventfd;
mod loopback;
mod releases;
pub mod rest;
mod sender;
mod source;
pub mod time;
mod timer_signal;
mod timerfd;

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use waykeeper_kernels::{AccessCounter, Recorder, clock};
use waykeeper_linux::schedule;
use waykeeper_workload::{InterruptSource, WakeupFigure};

use super::program::Runner;
use eventfd::Eventfd;
use loopback::Loopback;
use rest::{Rest, Resting};
use source::{Sleep, WakeupSource};
use time::{now_ns, sleep_until, until_reading_ns};
use timer_signal::TimerSignal;
use timerfd::Timerfd;

/// A long sleep is made of pieces of this length, so that a stop is noticed; the last one takes between one and two.
const PIECE_NS: i64 = 100_000_000;

/// A thread that sleeps until something wakes it, and then runs the body.
pub struct Sleeper {
    source: Box<dyn WakeupSource>,
    body: Option<Box<Runner>>,
    figure: WakeupFigure,
    tick_ns: f64,
    resting: Resting,
}

impl Sleeper {
    /// Wakes up at a programmed time, once every period, and runs the body.
    pub fn wakeup(period_ns: f64, figure: WakeupFigure, body: Option<Runner>) -> Self {
        Self::new(Box::new(Sleep::new(period_ns as i64)), figure, body)
    }

    /// Is woken by an event of the kernel, once every period. The calling thread is the one that runs it.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn interrupt(source: InterruptSource, period_ns: f64) -> io::Result<Self> {
        let period_ns = period_ns as i64;
        let source: Box<dyn WakeupSource> = match source {
            InterruptSource::TimerSignal => Box::new(TimerSignal::new(period_ns)?),
            InterruptSource::Timerfd => Box::new(Timerfd::new(period_ns, false)?),
            InterruptSource::TimerfdEpoll => Box::new(Timerfd::new(period_ns, true)?),
            InterruptSource::Eventfd => Box::new(Eventfd::new(period_ns)?),
            InterruptSource::Loopback => Box::new(Loopback::new(period_ns)?),
        };
        Ok(Self::new(source, WakeupFigure::WakeupLatency, None))
    }

    /// For the calling thread, whose timers are as exact as they can be from now on. The first call in a process takes 20 ms.
    fn new(source: Box<dyn WakeupSource>, figure: WakeupFigure, body: Option<Runner>) -> Self {
        // Refused nowhere; without it a wake-up comes up to 50 us later, and that is what the figures then show.
        let _ = schedule::least_timer_slack();
        let tick_ns = 1e9 / clock::frequency_hz();
        Self { source, body: body.map(Box::new), figure, tick_ns, resting: Resting::default() }
    }

    /// Sleeps of the thread's own will so far.
    pub fn rest(&self) -> Rest {
        self.resting.rest()
    }

    /// Runs until the counter reads `deadline` or `stop` is set, and records every wake-up. A body that has begun is
    /// finished; a wake-up that is due later than the deadline is left for the next run.
    pub fn run_target(&mut self, recorder: &mut Recorder, deadline: u64, stop: &AtomicU32) {
        let ends = now_ns().saturating_add(until_reading_ns(deadline, self.tick_ns));
        let tick_ns = self.tick_ns;
        self.run(ends, stop, |since_ns, until_ns, missed| {
            record(recorder, since_ns, until_ns, tick_ns);
            recorder.miss_periods(missed);
        });
        recorder.close_cluster();
    }

    /// The same as neighbour until `stop` is set. Counts the wake-ups.
    pub fn run_neighbour(&mut self, progress: &AccessCounter, stop: &AtomicU32) {
        self.run(i64::MAX, stop, |_, _, _| progress.add(1));
    }

    /// Calls `woken` for each wake-up, with both ends of what is timed and how many were missed.
    fn run(&mut self, ends: i64, stop: &AtomicU32, mut woken: impl FnMut(i64, i64, u64)) {
        self.source.begin();
        let mut now = now_ns();
        while self.is_near(&mut now, ends, stop) {
            let begins = now;
            let event = self.source.wait();
            now = event.map_or_else(now_ns, |event| event.now_ns);
            self.resting.add(begins, event.map_or(now, |event| event.due_ns()));
            let Some(event) = event else { continue };
            let mut until_ns = event.seen_ns;
            if let Some(body) = &mut self.body {
                body.run_pass();
                now = now_ns();
                if self.figure == WakeupFigure::ResponseTime {
                    until_ns = now;
                }
            }
            woken(event.since_ns, until_ns, event.missed + self.source.ready(now));
        }
        self.resting.end();
    }

    /// Sleeps until the next wake-up is near; false where the run ends before it.
    fn is_near(&mut self, now: &mut i64, ends: i64, stop: &AtomicU32) -> bool {
        loop {
            let due = self.source.next_ns();
            if stop.load(Ordering::Relaxed) != 0 || *now >= ends {
                return false;
            }
            self.resting.begin();
            if due <= ends && due.saturating_sub(*now) < 2 * PIECE_NS {
                return true;
            }
            let piece = ends.min(*now + PIECE_NS);
            self.resting.add(*now, piece);
            sleep_until(piece);
            *now = now_ns();
        }
    }
}

/// Records the difference of two times in ticks, as a sample that ends now.
pub fn record(recorder: &mut Recorder, since_ns: i64, until_ns: i64, tick_ns: f64) {
    let end = clock::now();
    let ticks = ((until_ns - since_ns) as f64 / tick_ns).round();
    let start = if ticks < 0.0 { end.saturating_add(-ticks as u64) } else { end.saturating_sub(ticks as u64) };
    recorder.record(start, end);
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
