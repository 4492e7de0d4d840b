//! One case from its repeats: figures that merge them, and a record of each.

use waykeeper_experiment::cases::Case;
use waykeeper_statistics::supports;

use crate::measurement::{Measured, Measurement, NeighbourProgress, Simulation};
use crate::record::{CaseRecord, LongSample, NeighbourRecord, NeighbourWork, Peak, RepeatRecord, SampledRecord};
use crate::samples::{histogram, ticks_at_quantile};

/// The record of a case. `tag` names its histograms: `tag.r1` is the first repeat's.
pub(crate) fn summarize(case: &Case, measured: &Measured, tag: &str) -> CaseRecord {
    let counted: Vec<&Measurement> = measured.counted().collect();
    let repeats = counted.as_slice();
    let mut merged = histogram();
    for repeat in repeats {
        repeat.samples.counts.add_to(&mut merged);
    }
    let samples: u64 = repeats.iter().map(|r| r.samples.count).sum();
    let sum = |of: fn(&Measurement) -> u64| repeats.iter().map(|repeat| of(repeat)).sum::<u64>();
    let tick_ns = repeats.first().map(|r| r.samples.tick_ns);
    let percentile = |quantile: f64| {
        let tick = tick_ns.filter(|_| supports(samples, quantile))?;
        Some(ticks_at_quantile(&merged, samples, quantile)? as f64 * tick)
    };
    let total: f64 = repeats.iter().map(|r| r.samples.sum as f64 * r.samples.tick_ns).sum();
    let min_ns = repeats.iter().filter_map(|r| r.min_ns()).reduce(f64::min);
    let max_ns = repeats.iter().filter_map(|r| r.max_ns()).reduce(f64::max);
    // The highest value of a bucket may exceed the largest sample in it, and the lowest one may lie below the smallest.
    let within = |value: f64| value.min(max_ns.unwrap_or(f64::INFINITY)).max(min_ns.unwrap_or(0.0));
    let percentile = |quantile: f64| percentile(quantile).map(within);
    let simulated: Vec<_> = repeats.iter().filter_map(|r| r.simulation).collect();
    let is_simulated = !simulated.is_empty();
    // Where no repeat was made, `sum` would give -0.
    let run_length_s = repeats.iter().fold(0.0, |sum, repeat| sum + repeat.observed_s);
    CaseRecord {
        name: case.name.clone(),
        target: case.target.workload.clone(),
        core: case.target.core,
        neighbours: neighbours(case, repeats),
        mitigation: case.mitigation.clone(),
        target_with: case.target.with.clone(),
        point: case.point.to_map(),
        samples,
        run_length_s,
        min_ns,
        mean_ns: (samples > 0).then(|| total / samples as f64),
        p50_ns: percentile(0.5),
        p99_ns: percentile(0.99),
        p99_9_ns: percentile(0.999),
        p99_99_ns: percentile(0.9999),
        max_ns,
        jitter_ns: max_ns.zip(min_ns).map(|(max, min)| max - min),
        slowdown: None,
        cost: None,
        bandwidth_bytes_per_s: bandwidth(repeats),
        total_bandwidth_bytes_per_s: mean(repeats, Measurement::total_bytes_per_s).filter(|_| case.throughput),
        misses_per_sample: misses(repeats),
        sampled: sampled(repeats),
        slowdown_standard_error: None,
        shape: None,
        longest: longest(&measured.repeats),
        occupancy: repeats.first().and_then(|repeat| repeat.occupancy.clone()),
        overflow: sum(|r| r.samples.overflow),
        excursion_above_ns: measured.excursion_above_ns,
        missed_periods: sum(|r| r.samples.missed_periods),
        excursions: sum(|r| r.samples.excursions),
        excursion_events: sum(|r| r.samples.excursion_events),
        repeats: measured
            .repeats
            .iter()
            .enumerate()
            .map(|(index, r)| repeat_record(index, r, tag, case.throughput))
            .collect(),
        verdict: None,
        reference: case.reference.clone(),
        simulated_s: is_simulated.then_some(run_length_s),
        wall_s: wall_s(&simulated).filter(|_| is_simulated),
        functional_warm_up_s: simulated.iter().filter_map(|s| s.functional_warm_up_s).reduce(f64::max),
        accesses: is_simulated.then(|| simulated.iter().map(|s| s.accesses).sum()),
        skipped_accesses: simulated.iter().map(|s| s.skipped_accesses).sum(),
        fast_check: simulated.iter().find_map(|s| s.fast_check),
    }
}

/// The longest samples of all repeats: as many as one repeat gave.
fn longest(repeats: &[Measurement]) -> Vec<LongSample> {
    let most = repeats.iter().map(|repeat| repeat.longest.len()).max().unwrap_or(0);
    let counted = repeats.iter().zip(1..).filter(|(repeat, _)| repeat.not_counted.is_none());
    let numbered = counted.flat_map(|(repeat, number)| {
        repeat.longest.iter().map(move |sample| LongSample { repeat: number, ..sample.clone() })
    });
    let mut all: Vec<LongSample> = numbered.collect();
    all.sort_by(|a, b| b.ns.total_cmp(&a.ns));
    all.truncate(most);
    all
}

/// Of all repeats together, where all have it.
fn wall_s(simulated: &[Simulation]) -> Option<f64> {
    simulated.iter().try_fold(0.0, |sum, repeat| Some(sum + repeat.wall_s?))
}

/// The mean over the repeats, where all have the figure.
fn mean(repeats: &[&Measurement], of: fn(&Measurement) -> Option<f64>) -> Option<f64> {
    let figures: Vec<f64> = repeats.iter().map(|repeat| of(repeat)).collect::<Option<_>>()?;
    (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
}

/// Bytes over time, all repeats together. All repeats of a case are counted in the same way.
fn bandwidth(repeats: &[&Measurement]) -> Option<f64> {
    if repeats.iter().any(|repeat| repeat.target_bytes_per_s.is_some()) {
        return mean(repeats, Measurement::bandwidth_bytes_per_s);
    }
    let bytes: Option<f64> = repeats.iter().map(|r| Some(r.bytes_per_sample? as f64 * r.samples.count as f64)).sum();
    let ns: f64 = repeats.iter().map(|r| r.samples.sum as f64 * r.samples.tick_ns).sum();
    bytes.filter(|_| ns > 0.0).map(|bytes| bytes * 1e9 / ns)
}

fn misses(repeats: &[&Measurement]) -> Option<f64> {
    let misses: Option<u64> = repeats.iter().map(|repeat| repeat.misses).sum();
    let samples: u64 = repeats.iter().map(|repeat| repeat.samples.count).sum();
    misses.filter(|_| samples > 0).map(|misses| misses as f64 / samples as f64)
}

/// What all repeats rest on. The times of windows stand with each repeat.
fn sampled(repeats: &[&Measurement]) -> Option<SampledRecord> {
    let estimated = repeats.iter().filter_map(|repeat| Some((repeat.sampled.as_ref()?, repeat.samples.count)));
    SampledRecord::merged(estimated).map(|all| SampledRecord { window_ns: Vec::new(), ..all })
}

/// The tag of a repeat's histograms in the log files.
pub(crate) fn repeat_tag(tag: &str, index: usize) -> String {
    format!("{tag}.r{}", index + 1)
}

impl Measurement {
    /// Smallest sample in nanoseconds.
    pub fn min_ns(&self) -> Option<f64> {
        self.samples.min.map(|min| min as f64 * self.samples.tick_ns)
    }

    /// Largest sample in nanoseconds.
    pub fn max_ns(&self) -> Option<f64> {
        self.samples.max.map(|(max, _)| max as f64 * self.samples.tick_ns)
    }
}

fn repeat_record(index: usize, measurement: &Measurement, tag: &str, throughput: bool) -> RepeatRecord {
    let samples = &measurement.samples;
    RepeatRecord {
        repeat: index as u32 + 1,
        samples: samples.count,
        run_length_s: measurement.observed_s,
        min_ns: measurement.min_ns(),
        mean_ns: samples.mean_ns(),
        max_ns: measurement.max_ns(),
        bandwidth_bytes_per_s: measurement.bandwidth_bytes_per_s(),
        total_bandwidth_bytes_per_s: measurement.total_bytes_per_s().filter(|_| throughput),
        misses_per_sample: measurement.misses_per_sample(),
        sampled: measurement.sampled.clone(),
        max_at_s: samples.max.and_then(|(_, at)| at),
        started: measurement.started.clone(),
        peaks: samples
            .peaks
            .iter()
            .map(|(ticks, at_s)| Peak { at_s: *at_s, max_ns: *ticks as f64 * samples.tick_ns })
            .collect(),
        overflow: samples.overflow,
        backwards: samples.backwards,
        missed_periods: samples.missed_periods,
        excursions: samples.excursions,
        excursion_events: samples.excursion_events,
        histogram: repeat_tag(tag, index),
        waits_between_samples: measurement.waits_between_samples,
        cut_short: measurement.cut_short,
        not_counted: measurement.not_counted.clone(),
        packets: measurement.packets.clone(),
        remarks: measurement.remarks.clone(),
        seed: measurement.seed,
        placement: measurement.placement.clone(),
        disturbances: measurement.disturbances.clone(),
        counters: measurement.counters.clone(),
        neighbours: measurement.neighbours.iter().filter_map(work).collect(),
    }
}

/// A neighbour's work; none where nothing of it was seen.
fn work(progress: &NeighbourProgress) -> Option<NeighbourWork> {
    let work = NeighbourWork::of(progress);
    (work.accesses_per_s.is_some() || work.cpu_s_per_s.is_some()).then_some(work)
}

/// Neighbours of one workload are one entry, with all its cores.
fn neighbours(case: &Case, repeats: &[&Measurement]) -> Vec<NeighbourRecord> {
    let mut records: Vec<NeighbourRecord> = Vec::new();
    for neighbour in &case.neighbours {
        let alike =
            |record: &&mut NeighbourRecord| (&record.workload, &record.with) == (&neighbour.workload, &neighbour.with);
        match records.iter_mut().find(alike) {
            Some(record) => record.cores.push(neighbour.core),
            None => records.push(NeighbourRecord {
                workload: neighbour.workload.clone(),
                with: neighbour.with.clone(),
                cores: vec![neighbour.core],
                ..NeighbourRecord::default()
            }),
        }
    }
    for record in &mut records {
        let of_record = |measurement: &Measurement| {
            let rates = measurement.neighbours.iter().filter(|n| record.cores.contains(&n.core)).map(|n| n.per_second);
            rates.sum::<Option<Sum>>()
        };
        let rates: Option<Vec<Sum>> = repeats.iter().map(|repeat| of_record(repeat)).collect();
        if let Some(rates) = rates.filter(|rates| !rates.is_empty()) {
            let n = rates.len() as f64;
            record.accesses_per_s = Some(rates.iter().map(|pair| pair.0).sum::<f64>() / n);
            record.bytes_per_s = Some(rates.iter().map(|pair| pair.1).sum::<f64>() / n);
        }
    }
    records
}

/// Accesses and bytes a second, added up.
struct Sum(f64, f64);

impl std::iter::Sum<(f64, f64)> for Sum {
    fn sum<I: Iterator<Item = (f64, f64)>>(pairs: I) -> Self {
        pairs.fold(Self(0.0, 0.0), |sum, pair| Self(sum.0 + pair.0, sum.1 + pair.1))
    }
}
