//! How much a figure of a case differs between its repeats.

use serde::Serialize;
use waykeeper_experiment::layout::CaseMetric;
use waykeeper_statistics::half_width;

use crate::record::{CaseRecord, RepeatRecord, Run};

/// One-sided confidence of each end.
const ONE_SIDED: f64 = 0.975;

/// The 95 % point of the normal distribution, for standard errors from many windows.
const NORMAL: f64 = 1.959_964;

/// The 95 % interval for the mean of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FigureSpread {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How many values it rests on.
    pub n: usize,
    /// What they are of.
    pub of: SpreadOf,
}

/// What an interval rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpreadOf {
    /// Repeats, or repeats with and without neighbours in pairs (Student's t).
    Repeats,
    /// Windows of sampled passes, as if they had been drawn at random; what differs between repeats is not in it.
    Windows,
}

impl SpreadOf {
    /// As a legend has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Repeats => "repeats",
            Self::Windows => "windows",
        }
    }
}

impl FigureSpread {
    /// The interval of these values; none for fewer than two, or where the spread is not finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let half = half_width(values, ONE_SIDED);
        let is_finite = half.is_finite() && mean.is_finite();
        is_finite.then_some(Self { low: mean - half, high: mean + half, n: values.len(), of: SpreadOf::Repeats })
    }
}

/// The interval of a figure that is a mean over repeats; none for extremes and quantiles, which are none.
pub fn spread(run: &Run, case: &CaseRecord, metric: CaseMetric) -> Option<FigureSpread> {
    let of_repeats = |figure: fn(&RepeatRecord) -> Option<f64>| -> Vec<f64> {
        case.repeats.iter().filter(|repeat| repeat.not_counted.is_none()).filter_map(figure).collect()
    };
    if let (CaseMetric::Slowdown, Some(error), Some(value), Some(sampled)) =
        (metric, case.slowdown_standard_error, case.slowdown, &case.sampled)
    {
        let half = NORMAL * error;
        let n = usize::try_from(sampled.windows).unwrap_or(usize::MAX);
        return Some(FigureSpread { low: value - half, high: value + half, n, of: SpreadOf::Windows });
    }
    let values = match metric {
        CaseMetric::Slowdown => slowdowns(case, alone(run, case)?),
        CaseMetric::Mean | CaseMetric::Latency => of_repeats(|repeat| repeat.mean_ns),
        CaseMetric::Bandwidth => of_repeats(|repeat| repeat.bandwidth_bytes_per_s),
        CaseMetric::TotalBandwidth => of_repeats(|repeat| repeat.total_bandwidth_bytes_per_s),
        CaseMetric::Misses => of_repeats(|repeat| repeat.misses_per_sample),
        _ => return None,
    };
    FigureSpread::of(&values)
}

/// The case of the same target without neighbours, under the same mitigation and at the same point of the sweeps.
pub fn alone<'r>(run: &'r Run, like: &CaseRecord) -> Option<&'r CaseRecord> {
    run.cases.iter().find(|case| {
        case.neighbours.is_empty()
            && (&case.target, case.core, &case.target_with) == (&like.target, like.core, &like.target_with)
            && case.mitigation == like.mitigation
            && case.point.iter().all(|(sweep, label)| like.point.get(sweep) == Some(label))
    })
}

/// The slowdown in each repeat that counts in both cases: the mean beside neighbours over the mean alone. As in the tables,
/// time off the core is in both.
pub fn slowdowns(case: &CaseRecord, alone: &CaseRecord) -> Vec<f64> {
    let pairs = case.repeats.iter().filter_map(|repeat| {
        let other = alone.repeats.iter().find(|other| other.repeat == repeat.repeat)?;
        let counts = repeat.not_counted.is_none() && other.not_counted.is_none();
        Some(repeat.mean_ns? / other.mean_ns?).filter(|ratio| counts && ratio.is_finite())
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cases: Vec<CaseRecord>) -> Run {
        let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/released/0.1.0/simulated");
        Run { cases, ..crate::folder::read(std::path::Path::new(kept)).unwrap() }
    }

    fn case(neighbours: bool, means: &[f64]) -> CaseRecord {
        let repeat = |(at, mean): (usize, &f64)| RepeatRecord {
            repeat: at as u32 + 1,
            samples: 10,
            mean_ns: Some(*mean),
            ..RepeatRecord::default()
        };
        let repeats = means.iter().enumerate().map(repeat).collect();
        let neighbours = if neighbours { vec![Default::default()] } else { Vec::new() };
        CaseRecord { repeats, neighbours, slowdown: Some(1.2), ..CaseRecord::default() }
    }

    #[test]
    fn the_interval_is_students_for_the_pairs_of_repeats() {
        let mut run = run(vec![case(false, &[10.0, 20.0, 10.0]), case(true, &[10.0, 24.0, 14.0])]);
        // Ratios 1, 1.2, 1.4: mean 1.2, s = 0.2; t(0.975, 2) = 4.3027 (tables): 4.3027 x 0.2 / sqrt 3 = 0.49683.
        let found = spread(&run, &run.cases[1], CaseMetric::Slowdown).unwrap();
        assert!((found.low - 0.70317).abs() < 1e-4 && (found.high - 1.69683).abs() < 1e-4, "{found:?}");
        assert_eq!((found.n, found.of), (3, SpreadOf::Repeats));
        // A repeat that does not count is in no pair.
        run.cases[0].repeats[2].not_counted = Some("the clock changed".into());
        // 1 and 1.2: mean 1.1, s = 0.141421, t(0.975, 1) = 12.7062: 12.7062 x 0.1 = 1.27062.
        let found = spread(&run, &run.cases[1], CaseMetric::Slowdown).unwrap();
        assert!((found.high - 2.37062).abs() < 1e-4 && found.n == 2, "{found:?}");
        run.cases[1].repeats.truncate(1);
        assert_eq!(spread(&run, &run.cases[1], CaseMetric::Slowdown), None);
    }

    #[test]
    fn time_off_the_core_is_in_a_slowdown() {
        let mut loaded = case(true, &[24.0]);
        loaded.repeats[0].run_length_s = 240e-9;
        loaded.repeats[0].disturbances.insert(crate::off_core::OFF_CORE_MS.into(), 100e-6);
        assert!(loaded.repeats[0].off_core_s() > 0.0);
        assert_eq!(slowdowns(&loaded, &case(false, &[10.0])), [2.4]);
    }

    #[test]
    fn extremes_and_cases_alone_have_no_interval() {
        let run = run(vec![case(true, &[10.0, 24.0, 14.0])]);
        assert_eq!(spread(&run, &run.cases[0], CaseMetric::Slowdown), None);
        assert_eq!(spread(&run, &run.cases[0], CaseMetric::Max), None);
        assert!(spread(&run, &run.cases[0], CaseMetric::Mean).is_some());
    }
}
