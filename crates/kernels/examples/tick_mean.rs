//! The mean of the plain tick loop on the core that it is started on, and how much of it is the recording.
//!
//! ```text
//! tick_mean SECONDS
//! ```
//!
//! Prints, in nanoseconds: `mean` of all samples; `quiet`, the mean of the samples of up to 1 us; `reading`, the mean of
//! a loop that reads the counter with the same fence and records nothing; `recording`, `quiet` minus `reading`. The
//! reading is measured in pieces of 0.1 ms of which the median is taken, so that interruptions do not count.

use std::env;
use std::sync::atomic::AtomicU32;

use waykeeper_kernels::{Kernel, MappedMemory, Recorder, clock};
use waykeeper_workload::{Pattern, TickBody};

const READINGS: u64 = 4000;
const PIECES: usize = 2001;
const QUIET_NS: f64 = 1000.0;

unsafe extern "C" {
    /// The ticks that a loop of so many readings takes.
    safe fn wk_entry_readings(times: u64) -> u64;
}

fn main() {
    let seconds: f64 = env::args().nth(1).and_then(|text| text.parse().ok()).expect("usage: tick_mean SECONDS");
    let frequency_hz = clock::measure().frequency_hz;
    let to_ns = |ticks: f64| ticks / frequency_hz * 1e9;

    let mut kernel =
        Kernel::new(&Pattern::Tick { body: TickBody::Nothing }, MappedMemory::none(), 1).expect("a plain tick");
    let mut recorder = Recorder::new_boxed();
    kernel.run_target(&mut recorder, clock::now() + (seconds * frequency_hz) as u64, &AtomicU32::new(0));

    let limit = (QUIET_NS * frequency_hz * 1e-9) as u64;
    let loud: Vec<_> = recorder.counts().filter(|(value, _)| *value > limit).collect();
    let (loud_ticks, loud_samples) =
        loud.iter().fold((0, 0), |(ticks, n), (value, count)| (ticks + value * count, n + count));
    let mean = to_ns(recorder.sum() as f64 / recorder.samples() as f64);
    let quiet = to_ns((recorder.sum() as f64 - loud_ticks as f64) / (recorder.samples() - loud_samples) as f64);

    let mut pieces: Vec<u64> = (0..PIECES).map(|_| wk_entry_readings(READINGS)).collect();
    pieces.sort_unstable();
    let reading = to_ns(pieces[PIECES / 2] as f64 / READINGS as f64);
    println!(
        "samples {} mean {mean:.2} quiet {quiet:.2} reading {reading:.2} recording {:.2} minimum {:.2}",
        recorder.samples(),
        quiet - reading,
        to_ns(recorder.min().unwrap_or_default() as f64),
    );
}
