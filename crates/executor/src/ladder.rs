//! The latency ladder of a core: how long a load takes by the size of what it chases through.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU32;

use serde::Serialize;
use waykeeper_kernels::{Kernel, MappedMemory, Recorder, clock};
use waykeeper_linux::machine::{CacheUse, Machine, MeasuredLatencies, MeasuredTime};
use waykeeper_linux::memory::{Mapping, Pages};
use waykeeper_linux::thread::apart;
use waykeeper_linux::{Root, core_state, schedule};
use waykeeper_workload::{Order, Pattern, TickBody};

/// Loads in a sample: enough that reading the counter does not count.
const BATCH: u64 = 256;
/// Runs for each size, and how long each takes.
const REPEATS: usize = 5;
const RUN_S: f64 = 0.02;
/// A chase begins with as many samples as touch every line once.
const WARM_RUNS: usize = 1;

/// A ladder.
#[derive(Debug, Clone, Serialize)]
pub struct Ladder {
    /// The core.
    pub cpu: u32,
    /// Bytes between loads: a line.
    pub stride: u64,
    /// Counter's frequency in GHz.
    pub counter_ghz: f64,
    /// The core's clock in GHz: the kernel's figure after the last step, else by dependent additions.
    pub clock_ghz: Option<f64>,
    /// The scheduling policy that it ran under.
    pub policy: &'static str,
    /// Whether all buffers lay in huge pages; unknown where absent.
    pub huge_pages: Option<bool>,
    /// Its steps, small sizes first.
    pub steps: Vec<LadderStep>,
}

/// A size, and what a load took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LadderStep {
    /// Bytes of the buffer.
    pub bytes: u64,
    /// Median over the runs of each one's median, in ns a load.
    pub median_ns: f64,
    /// The least of them.
    pub least_ns: f64,
    /// The greatest of them.
    pub greatest_ns: f64,
}

impl Ladder {
    /// Its latencies by level: each cache at four times the one inside, at most at half of its own capacity (others may
    /// hold a part of a shared one), and the memory at the largest size, where that is four times the last cache.
    pub fn measured(&self, machine: &Machine, day: &str) -> MeasuredLatencies {
        let mut level_ns = BTreeMap::new();
        let mut inside = 0;
        for cache in machine.caches.iter().filter(|cache| cache.holds != CacheUse::Instructions) {
            let bytes = cache.size_kib * 1024;
            if !cache.shared_by.iter().any(|group| group.contains(&self.cpu)) {
                continue;
            }
            let own = if inside == 0 { bytes / 2 } else { (inside * 4).min(bytes / 2) };
            if let Some(step) = self.at(own).filter(|step| step.bytes > inside * 5 / 4) {
                level_ns.insert(cache.level, step.spread());
            }
            inside = bytes;
        }
        let last = self.steps.last().filter(|step| step.bytes >= inside * 4);
        let pages = match self.huge_pages {
            Some(true) => "in huge pages",
            Some(false) => "in small pages, so with misses of the TLBs",
            None => "in pages of unknown size",
        };
        MeasuredLatencies {
            cpu: self.cpu,
            source: format!(
                "measured on {day} on core {} by `waykeeper machine --measure`: dependent loads {} bytes apart in random \
                 order, {pages}, under {}; counter at {:.4} GHz; median, least and greatest of {REPEATS} runs",
                self.cpu, self.stride, self.policy, self.counter_ghz
            ),
            clock_ghz: self.clock_ghz,
            counter_ghz: self.counter_ghz,
            level_ns,
            memory_ns: last.map(LadderStep::spread),
        }
    }

    /// The step of the greatest size up to this.
    pub fn at(&self, bytes: u64) -> Option<LadderStep> {
        self.steps.iter().rev().find(|step| step.bytes <= bytes).copied()
    }
}

impl LadderStep {
    fn spread(&self) -> MeasuredTime {
        MeasuredTime { value: self.median_ns, least: self.least_ns, greatest: self.greatest_ns }
    }
}

/// Sizes from 4 KiB up to `most`: two for each doubling.
pub fn sizes(most: u64) -> Vec<u64> {
    let doublings = (12..40).flat_map(|power| [1_u64 << power, 3_u64 << (power - 1)]);
    doublings.take_while(|bytes| *bytes <= most).collect()
}

/// Measures on one core; 0.1 s for each size, and more where the buffer is large.
///
/// # Errors
/// A core that may not be used, memory that is unavailable.
pub fn ladder(cpu: u32, stride: u64, sizes: &[u64]) -> Result<Ladder, String> {
    let measured = apart("ladder", || measure(cpu, stride, sizes)).map_err(|error| error.to_string())?;
    measured.ok_or("the measurement failed")?
}

fn measure(cpu: u32, stride: u64, sizes: &[u64]) -> Result<Ladder, String> {
    schedule::pin(cpu).map_err(|error| format!("core {cpu}: {error}"))?;
    // Without the right to it an ordinary thread measures too; the spread shows what that costs.
    let _ = schedule::fifo(1);
    let hz = clock::measure().frequency_hz;
    let mut huge = Some(true);
    let mut steps = Vec::new();
    for bytes in sizes {
        let elements = (bytes / stride).max(2);
        let length = usize::try_from(elements * stride).map_err(|error| error.to_string())?;
        let mapping = Mapping::new(length, Pages::Huge).map_err(|error| format!("{bytes} bytes of memory: {error}"))?;
        huge = match (huge, mapping.huge_bytes()) {
            (Some(all), Some(got)) => Some(all && got >= length as u64),
            _ => None,
        };
        steps.push(step(&mapping, elements, stride, hz)?);
    }
    let told = core_state::frequency_mhz(&Root::default(), cpu).map(|mhz| mhz / 1e3);
    let clock_ghz = told.or_else(|| by_additions(hz));
    Ok(Ladder { cpu, stride, counter_ghz: hz / 1e9, clock_ghz, policy: schedule::policy(), huge_pages: huge, steps })
}

/// The clock by additions that wait for each other, a cycle each: what so many more of them add to a pass. A
/// clock that no core has is none.
fn by_additions(hz: f64) -> Option<f64> {
    let ticks = |adds: u64| {
        let pattern = Pattern::Tick { body: TickBody::Adds(adds) };
        // SAFETY: there are no bytes.
        let memory = unsafe { MappedMemory::new(std::ptr::dangling_mut(), 0) };
        let mut kernel = Kernel::new(&pattern, memory, 1).ok()?;
        let mut recorder = Recorder::new_boxed();
        recorder.reset(u64::MAX, 0);
        kernel.run_target(&mut recorder, clock::now() + (RUN_S * hz) as u64, &AtomicU32::new(0));
        Some(median(&recorder))
    };
    let (few, many) = (2048, 8192);
    let cycle_ns = (ticks(many)? - ticks(few)?) / hz * 1e9 / (many - few) as f64;
    let ghz = 1.0 / cycle_ns;
    (0.1..=7.0).contains(&ghz).then_some(ghz)
}

fn step(mapping: &Mapping, elements: u64, stride: u64, hz: f64) -> Result<LadderStep, String> {
    let pattern = Pattern::Chase { elements, stride, order: Order::Random, batch: BATCH };
    // SAFETY: the mapping outlives the kernel, and nobody else uses it.
    let memory = unsafe { MappedMemory::new(mapping.start(), mapping.length()) };
    let mut kernel = Kernel::new(&pattern, memory, 1).map_err(|error| error.to_string())?;
    let mut recorder = Recorder::new_boxed();
    let stop = AtomicU32::new(0);
    let mut runs = Vec::new();
    for run in 0..WARM_RUNS + REPEATS {
        recorder.reset(u64::MAX, 0);
        // A run that is long enough for a whole pass, so that no run sees only lines that the one before left cached.
        let pass_s = elements as f64 * 150e-9;
        let length_s = RUN_S.max(if run < WARM_RUNS { pass_s } else { pass_s / REPEATS as f64 });
        let deadline = clock::now() + (length_s * hz) as u64;
        kernel.run_target(&mut recorder, deadline, &stop);
        if run >= WARM_RUNS {
            runs.push(median(&recorder) / hz * 1e9 / BATCH as f64);
        }
    }
    runs.sort_by(f64::total_cmp);
    Ok(LadderStep {
        bytes: elements * stride,
        median_ns: runs[REPEATS / 2],
        least_ns: runs[0],
        greatest_ns: runs[REPEATS - 1],
    })
}

/// The median sample in ticks.
fn median(recorder: &Recorder) -> f64 {
    let half = recorder.samples().div_ceil(2);
    let mut seen = 0;
    for (ticks, count) in recorder.counts() {
        seen += count;
        if seen >= half {
            return ticks as f64;
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_double_in_two_steps() {
        assert_eq!(sizes(16 << 10), [4096, 6144, 8192, 12288, 16384]);
        assert_eq!(sizes(100), [0; 0]);
    }

    #[test]
    fn a_larger_buffer_is_not_faster() {
        let found = ladder(schedule::allowed()[0], 64, &[4096, 64 << 20]).unwrap();
        let [small, large] = found.steps[..] else { panic!() };
        assert!(small.least_ns > 0.1 && small.least_ns < large.greatest_ns, "{found:?}");
        assert!(small.least_ns <= small.median_ns && small.median_ns <= small.greatest_ns);
        assert_eq!(found.at(5000), Some(small));
        assert_eq!(found.at(1), None);
    }
}
