//! The same probe for colours in the place of masks: two workloads that take turns on one core, in pages of the same
//! colours of its L2, and in pages of different ones.
//!
//! The *positive control* is the chase alone, the *negative* one an intruder between its walks whose pages have the chase's
//! own colours, the *treatment* an intruder whose pages have the other half of the colours. Colours are chosen by the lowest
//! 21 bits of physical addresses at most; where a hypervisor moves the guest's pages about, or the cache hashes its index,
//! the treatment looks like the negative control.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde::Serialize;
use waykeeper_kernels::{Kernel, MappedMemory, Recorder, clock};
use waykeeper_linux::colour::{CacheColours, Coloured};
use waykeeper_linux::schedule;
use waykeeper_linux::thread::apart;
use waykeeper_workload::Pattern;

use super::judge::ProbeSamples;
use super::measure::{NotMeasured, PRIORITY, ProbePlan};

/// A chase fills this part of its half of the cache, so that not every piece of bad luck in the replacement counts. Assumed.
const FILL: u64 = 2;
/// An intruder goes through this many times its half of the cache, so that it fills it whatever the replacement.
const STREAM_TIMES: u64 = 4;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ColourPlan {
    /// The core.
    pub core: u32,
    /// Bytes of its private second-level cache.
    pub cache_bytes: u64,
    /// Its ways.
    pub ways: u64,
    /// Bytes of a line.
    pub line_bytes: u64,
    /// How often each arrangement is measured.
    pub repeats: usize,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Coloration {
    /// Colours of the cache.
    pub colours: u32,
    /// Bytes of the chase.
    pub chase_bytes: u64,
    /// Bytes of an intruder.
    pub stream_bytes: u64,
    /// Whether the kernel's page map confirms the colours; false where physical addresses are hidden.
    pub confirmed: bool,
    /// The times.
    pub samples: ProbeSamples,
}

impl ColourPlan {
    /// The walks: a chase, and a stream for each intruder.
    fn walks(&self) -> ProbePlan {
        let half = self.cache_bytes / 2;
        ProbePlan {
            core: self.core,
            neighbour: self.core,
            same_class: self.core,
            chase_bytes: half / FILL / self.line_bytes * self.line_bytes,
            stream_bytes: half * STREAM_TIMES,
            line_bytes: self.line_bytes,
            repeats: self.repeats,
        }
    }
}

/// Measures all three arrangements in turn, on one core, so that slow changes of the machine meet all alike.
///
/// # Errors
/// A cache without colours; hidden physical addresses; see [`NotMeasured`].
pub fn measure_colours(plan: &ColourPlan, stop: &AtomicBool) -> Result<Coloration, NotMeasured> {
    let colouring = CacheColours::of_cache(plan.cache_bytes, plan.ways).ok_or_else(|| {
        let kib = plan.cache_bytes >> 10;
        NotMeasured::Refused(format!("an L2 of {kib} KiB in {} ways has no colours of 4 KiB pages", plan.ways))
    })?;
    // A thread of its own: the caller keeps its core and its scheduling.
    apart("colours", || on_this_thread(plan, colouring, stop))?.ok_or(NotMeasured::Lost)?
}

/// A workload in pages of some colours.
struct Walk {
    kernel: Kernel,
    confirmed: bool,
    /// Under the kernel, which is dropped first.
    _memory: Coloured,
}

impl Walk {
    fn new(pattern: &Pattern, colouring: CacheColours, colours: &[u32]) -> Result<Self, NotMeasured> {
        let memory = Coloured::new(pattern.data_bytes() as usize, colouring, colours).map_err(NotMeasured::Memory)?;
        let mapping = memory.mapping();
        // SAFETY: the mapping belongs to this value alone, and of its fields the kernel is dropped first.
        let kernel = Kernel::new(pattern, unsafe { MappedMemory::new(mapping.start(), mapping.length()) }, 1)?;
        let pages = mapping.length() / waykeeper_linux::colour::PAGE;
        Ok(Self { kernel, confirmed: memory.confirmed == Some(pages), _memory: memory })
    }

    /// Once through, in ticks.
    fn pass(&mut self, recorder: &mut Recorder) -> u64 {
        // One pass is one sample: a run that is asked to stop before it begins does that much.
        recorder.reset(u64::MAX, 0);
        self.kernel.run_target(recorder, u64::MAX, &AtomicU32::new(1));
        recorder.max().unwrap_or(0)
    }
}

fn on_this_thread(plan: &ColourPlan, colouring: CacheColours, stop: &AtomicBool) -> Result<Coloration, NotMeasured> {
    schedule::pin(plan.core).map_err(|error| NotMeasured::Core { core: plan.core, error })?;
    // Others on this core would count as misses. Who may not do this measures with more noise.
    let _ = schedule::fifo(PRIORITY);
    let walks = plan.walks();
    let [own, others] = colouring.halves();
    let mut chase = Walk::new(&walks.chase(), colouring, &own)?;
    let mut same = Walk::new(&walks.stream(), colouring, &own)?;
    let mut apart = Walk::new(&walks.stream(), colouring, &others)?;
    let confirmed = [&chase, &same, &apart].iter().all(|walk| walk.confirmed);
    let tick_ns = 1e9 / clock::measure().frequency_hz;
    let mut recorder = Recorder::new_boxed();
    let mut samples = ProbeSamples::default();
    for _ in 0..plan.repeats {
        if stop.load(Ordering::Relaxed) {
            return Err(NotMeasured::Interrupted);
        }
        for (times, intruder) in [
            (&mut samples.positive, None),
            (&mut samples.negative, Some(&mut same)),
            (&mut samples.treated, Some(&mut apart)),
        ] {
            // Twice: the first walk brings the lines in, the second lets the replacement policy see them used.
            chase.pass(&mut recorder);
            chase.pass(&mut recorder);
            if let Some(intruder) = intruder {
                intruder.pass(&mut recorder);
            }
            times.push(chase.pass(&mut recorder) as f64 * tick_ns / walks.elements() as f64);
        }
    }
    Ok(Coloration {
        colours: colouring.count(),
        chase_bytes: walks.chase_bytes,
        stream_bytes: walks.stream_bytes,
        confirmed,
        samples,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_from_the_cache() {
        let plan = ColourPlan { core: 1, cache_bytes: 512 << 10, ways: 8, line_bytes: 64, repeats: 9 };
        let walks = plan.walks();
        // Half the cache is 256 KiB: the chase fills half of it, an intruder goes through four times as much.
        assert_eq!((walks.chase_bytes, walks.stream_bytes), (128 << 10, 1 << 20));
    }

    #[test]
    fn a_cache_of_one_colour_is_refused() {
        let plan = ColourPlan { core: 0, cache_bytes: 32 << 10, ways: 8, line_bytes: 64, repeats: 9 };
        let why = measure_colours(&plan, &AtomicBool::new(false)).unwrap_err().to_string();
        assert!(why.contains("32 KiB in 8 ways has no colours"), "{why}");
    }

    #[test]
    fn each_arrangement_is_measured_as_often_as_was_asked() {
        let plan = ColourPlan { core: 0, cache_bytes: 512 << 10, ways: 8, line_bytes: 64, repeats: 3 };
        match measure_colours(&plan, &AtomicBool::new(false)) {
            Ok(Coloration { samples, colours, .. }) => {
                assert_eq!(colours, 16);
                for times in [samples.positive, samples.negative, samples.treated] {
                    assert!(times.len() == 3 && times.iter().all(|time| *time > 0.0), "{times:?}");
                }
            }
            // A user without huge pages.
            Err(error) => assert!(error.to_string().contains("physical addresses are hidden"), "{error}"),
        }
    }
}
