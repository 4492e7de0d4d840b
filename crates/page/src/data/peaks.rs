//! The largest sample of each interval, or of each repeat, over time: repeats one after the other.

use serde::Serialize;
use serde_with::skip_serializing_none;
use waykeeper_run::RepeatRecord;

use super::Numbered;

/// The largest samples over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Peaks {
    /// The cases.
    pub lines: Vec<PeaksLine>,
}

/// One case.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PeaksLine {
    /// Its number.
    pub case: usize,
    /// What each point is the largest of.
    pub per: Per,
    /// The length of an interval.
    pub interval_s: Option<f64>,
    /// The points.
    pub points: Vec<PeakPoint>,
}

/// What a largest sample is the largest of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// An interval of a repeat.
    Interval,
    /// A whole repeat.
    Repeat,
}

/// A largest sample.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PeakPoint {
    /// When it ended, from the start of the case's first repeat, without the time between repeats.
    pub at_s: f64,
    /// The same from the start of its repeat.
    pub in_repeat_s: f64,
    /// The repeat, from 1.
    pub repeat: u32,
    /// Its length.
    pub max_ns: f64,
    /// The length of the repeat.
    pub run_length_s: f64,
    /// Why the repeat does not count.
    pub not_counted: Option<String>,
}

pub(crate) fn peaks(cases: &[Numbered<'_>]) -> Option<Peaks> {
    let lines: Vec<_> = cases.iter().filter_map(line).collect();
    (!lines.is_empty()).then_some(Peaks { lines })
}

fn line(case: &Numbered<'_>) -> Option<PeaksLine> {
    let repeats = &case.case.repeats;
    let by_interval = repeats.iter().any(|repeat| !repeat.peaks.is_empty());
    let mut begun_s = 0.0;
    let mut points = Vec::new();
    for repeat in repeats {
        points.extend(of_repeat(repeat, begun_s));
        begun_s += repeat.run_length_s;
    }
    // One point shows no course.
    (points.len() > 1).then_some(PeaksLine {
        case: case.number,
        per: if by_interval { Per::Interval } else { Per::Repeat },
        interval_s: case.source.run.peak_interval_s.filter(|_| by_interval),
        points,
    })
}

fn of_repeat(repeat: &RepeatRecord, begun_s: f64) -> Vec<PeakPoint> {
    let point = |in_repeat_s: f64, max_ns: f64| PeakPoint {
        at_s: begun_s + in_repeat_s,
        in_repeat_s,
        repeat: repeat.repeat,
        max_ns,
        run_length_s: repeat.run_length_s,
        not_counted: repeat.not_counted.clone(),
    };
    match repeat.peaks.as_slice() {
        [] => repeat.max_at_s.zip(repeat.max_ns).map(|(at_s, max_ns)| point(at_s, max_ns)).into_iter().collect(),
        peaks => peaks.iter().map(|peak| point(peak.at_s, peak.max_ns)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use waykeeper_run::Peak;

    use super::*;

    #[test]
    fn repeats_follow_each_other() {
        let first = RepeatRecord { repeat: 1, max_ns: Some(7.0), max_at_s: Some(2.0), ..RepeatRecord::default() };
        assert_eq!(of_repeat(&first, 30.0)[0].at_s, 32.0);
        let peaks = vec![Peak { at_s: 1.0, max_ns: 5.0 }, Peak { at_s: 2.0, max_ns: 7.0 }];
        let with = RepeatRecord { peaks, ..first };
        let points: Vec<_> = of_repeat(&with, 30.0).iter().map(|point| (point.at_s, point.max_ns)).collect();
        assert_eq!(points, [(31.0, 5.0), (32.0, 7.0)]);
    }
}
