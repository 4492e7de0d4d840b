//! A program as it runs without a recorder: how often its passes begin. Under a recorder it is too slow to say.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, set_parent_process_death_signal};
use waykeeper_kernels::clock;
use waykeeper_markers::{CLOCK_COUNTER, Pairs, Rings, VARIABLE};

/// A program must make its first pass within this time.
const FIRST_PASS: Duration = Duration::from_secs(20);
/// From its first pass on it is watched so long, or so many passes.
const WATCHED: Duration = Duration::from_secs(2);
const ENOUGH: usize = 50;
/// A program pauses between its passes, where they take less than this share of the time between two beginnings.
const BUSY: f64 = 0.9;

/// Passes of a program that runs by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rhythm {
    /// Median nanoseconds from one beginning to the next.
    pub period_ns: f64,
    /// Median nanoseconds of a pass.
    pub pass_ns: f64,
}

impl Rhythm {
    /// From one beginning to the next, where the program waits between its passes.
    pub fn period_ns(&self) -> Option<f64> {
        (self.pass_ns < BUSY * self.period_ns).then_some(self.period_ns)
    }
}

/// Ends the program and what it started.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let group = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = self.0.wait();
    }
}

/// Runs a program that marks its passes for a short time and sees how often those of a phase begin. `None` where it makes no
/// two passes.
pub fn rhythm(command: &[OsString], phase: u32, stop: &AtomicBool) -> Option<Rhythm> {
    let mut rings = Rings::create().ok()?;
    let (_inherited, variable) = rings.hand_over().ok()?;
    let (program, arguments) = command.split_first()?;
    let mut started = Command::new(program);
    started.args(arguments).env(VARIABLE, variable).process_group(0);
    started.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: one system call between fork and exec. Nothing of the program is left when this one is killed.
    unsafe { started.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?)) };
    let mut child = Group(started.spawn().ok()?);
    let (begun, mut first) = (Instant::now(), None::<Instant>);
    let (mut pairs, mut passes) = (Pairs::default(), Vec::new());
    let goes_on = |first: Option<Instant>, made: usize| match first {
        None => begun.elapsed() < FIRST_PASS,
        Some(first) => first.elapsed() < WATCHED && made < ENOUGH,
    };
    while goes_on(first, passes.len()) && !stop.load(Ordering::Relaxed) {
        let has_ended = !matches!(child.0.try_wait(), Ok(None));
        rings.drain(|mark| passes.extend(pairs.take(mark).filter(|pass| pass.phase == phase)));
        if has_ended {
            break;
        }
        first = first.or_else(|| (!passes.is_empty()).then(Instant::now));
        std::thread::sleep(Duration::from_millis(2));
    }
    let by_counter = rings.writers().iter().all(|writer| writer.clock == CLOCK_COUNTER);
    let tick_ns = if by_counter { 1e9 / clock::frequency_hz() } else { 1.0 };
    // The passes of one thread: those of several have no order.
    let thread = passes.first()?.thread;
    passes.retain(|pass| pass.thread == thread);
    let between = passes.windows(2).map(|two| two[1].start.saturating_sub(two[0].start));
    let period_ns = tick_ns * median(between.collect())?;
    let pass_ns = tick_ns * median(passes.iter().map(|pass| pass.end.saturating_sub(pass.start)).collect())?;
    Some(Rhythm { period_ns, pass_ns })
}

fn median(mut of: Vec<u64>) -> Option<f64> {
    of.sort_unstable();
    of.get(of.len() / 2).map(|middle| *middle as f64)
}
