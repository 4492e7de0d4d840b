//! Activations of a thread, by the kernel's records of its context switches: from the time at which it gets its core after a
//! sleep to its next sleep.
//!
//! The scheduler's tracepoints would show the wake-up too. But perf reports no tracepoint that fires while the core's idle task
//! is the current one (seen on Linux 6.18), and that is where a timer wakes the only thread of a core.

use std::io;

use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};

use super::BoundaryEvent;

/// Bytes of the buffer: some ten thousand switches.
const BUFFER_BYTES: usize = 1 << 19;

// Of perf_event_open(2).
const RECORD_LOST: u32 = 2;
const RECORD_SWITCH: u32 = 14;
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// Records of a thread's switches.
pub struct Activations {
    sampler: Sampler,
    is_awake: bool,
    lost: u64,
}

impl Activations {
    /// Opens them for a thread that is the first of its process.
    ///
    /// # Errors
    /// What the kernel refuses: no perf events, no permission, a thread that is gone.
    pub fn open(thread: u32) -> io::Result<Self> {
        let mut builder = Builder::new(Software::DUMMY);
        builder.observe_pid(thread as i32).any_cpu().include_kernel().clockid(Clock::MONOTONIC_RAW);
        builder.context_switch(true).sample_id_all(true).sample(SampleFlag::TID).sample(SampleFlag::TIME);
        let mut sampler = builder.build()?.sampled(BUFFER_BYTES)?;
        sampler.as_counter_mut().enable()?;
        Ok(Self { sampler, is_awake: true, lost: 0 })
    }

    /// Takes what has happened so far, in the order of time.
    pub fn drain(&mut self, mut each: impl FnMut(BoundaryEvent)) {
        while let Some(record) = self.sampler.next_record() {
            let (kind, misc, bytes) = (record.ty(), record.misc(), record.to_vec());
            drop(record);
            match kind {
                RECORD_SWITCH => each_step(&mut self.is_awake, misc, &bytes, &mut each),
                RECORD_LOST => self.lost += long(&bytes, 8).unwrap_or(1),
                _ => {}
            }
        }
    }

    /// Records that found the buffer full.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// A switch has no body but what is known of every record: process, thread, time.
fn each_step(is_awake: &mut bool, misc: u16, bytes: &[u8], each: &mut impl FnMut(BoundaryEvent)) {
    let preempted = misc & SWITCH_OUT != 0 && misc & SWITCH_OUT_PREEMPT != 0;
    let begins = misc & SWITCH_OUT == 0;
    // A thread that was preempted and comes back goes on with its activation.
    if preempted || begins == *is_awake {
        return;
    }
    let (Some(process), Some(thread), Some(at_ns)) = (word(bytes, 0), word(bytes, 4), long(bytes, 8)) else { return };
    *is_awake = begins;
    each(BoundaryEvent { thread, process, begins, at_ns });
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_activation_lasts_until_the_next_sleep_whatever_comes_between() {
        let bytes: Vec<u8> =
            [7_u32, 8].iter().flat_map(|word| word.to_ne_bytes()).chain(99_u64.to_ne_bytes()).collect();
        let mut is_awake = true;
        let mut step = |misc: u16| {
            let mut seen = None;
            each_step(&mut is_awake, misc, &bytes, &mut |event| seen = Some(event));
            seen.map(|event| event.begins)
        };
        assert_eq!(step(SWITCH_OUT), Some(false));
        assert_eq!(step(0), Some(true));
        // Preempted and back.
        assert_eq!((step(SWITCH_OUT | SWITCH_OUT_PREEMPT), step(0)), (None, None));
        assert_eq!((step(SWITCH_OUT), step(SWITCH_OUT)), (Some(false), None));
        let mut seen = None;
        each_step(&mut is_awake, 0, &bytes, &mut |event| seen = Some(event));
        assert_eq!(seen, Some(BoundaryEvent { thread: 8, process: 7, begins: true, at_ns: 99 }));
    }

    #[test]
    fn the_sleeps_of_a_thread_are_seen() {
        let mut activations = Activations::open(crate::thread::own_id()).unwrap();
        for _ in 0..5 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let mut events = Vec::new();
        activations.drain(|event| events.push(event));
        // Each sleep ends an activation and the next one begins after it.
        assert!(events.len() >= 10 && !events[0].begins, "{events:?}");
        assert!(
            events.windows(2).all(|pair| pair[0].begins != pair[1].begins && pair[0].at_ns < pair[1].at_ns),
            "{events:?}"
        );
        let slept = events.windows(2).filter(|pair| !pair[0].begins && pair[1].at_ns - pair[0].at_ns >= 2_000_000);
        assert!(slept.count() >= 5, "{events:?}");
    }
}
