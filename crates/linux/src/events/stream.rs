//! Samples of several perf events in one order of time.

use std::io;
use std::time::Duration;

use perf_event::data::Record;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use rustix::time::{ClockId, clock_gettime};

/// Bytes of each event's buffer: some ten thousand samples.
const BUFFER_BYTES: usize = 1 << 20;

/// A sample gets its time before it is in its buffer. It is in it much sooner than this, unless a hypervisor has its core
/// meanwhile.
pub const SETTLES: Duration = Duration::from_millis(20);

/// A sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Which of the events, in the order in which they were opened.
    pub source: usize,
    /// The thread on whose behalf it was taken.
    pub thread: u32,
    /// Its process.
    pub process: u32,
    /// Nanoseconds of `CLOCK_MONOTONIC_RAW`.
    pub at_ns: u64,
}

/// Open events.
pub struct EventStream {
    samplers: Vec<Sampler>,
    pending: Vec<Sample>,
    lost: u64,
}

impl EventStream {
    /// No event yet.
    pub fn new() -> Self {
        Self { samplers: Vec::new(), pending: Vec::new(), lost: 0 }
    }

    /// Opens an event of everything that runs on a core.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn open(&mut self, mut builder: Builder<'_>, core: u32) -> io::Result<()> {
        builder.any_pid().one_cpu(core as usize).include_kernel().sample_period(1).clockid(Clock::MONOTONIC_RAW);
        builder.sample(SampleFlag::TID).sample(SampleFlag::TIME);
        let mut sampler = builder.build()?.sampled(BUFFER_BYTES)?;
        sampler.as_counter_mut().enable()?;
        self.samplers.push(sampler);
        Ok(())
    }

    /// Takes the samples that are there in the order of their times. Those younger than [`SETTLES`] stay for the next
    /// call.
    pub fn drain(&mut self, mut each: impl FnMut(Sample)) {
        let settled = now_ns().saturating_sub(SETTLES.as_nanos() as u64);
        for (source, sampler) in self.samplers.iter_mut().enumerate() {
            while let Some(record) = sampler.next_record() {
                match record.parse_record() {
                    Ok(Record::Sample(sample)) => {
                        if let (Some(process), Some(thread), Some(at_ns)) = (sample.pid(), sample.tid(), sample.time())
                        {
                            self.pending.push(Sample { source, thread, process, at_ns });
                        }
                    }
                    Ok(Record::Lost(lost)) => self.lost += lost.lost,
                    _ => {}
                }
            }
        }
        self.pending.sort_by_key(|sample| sample.at_ns);
        let ready = self.pending.partition_point(|sample| sample.at_ns <= settled);
        self.pending.drain(..ready).for_each(&mut each);
    }

    /// Samples that found a buffer full.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
