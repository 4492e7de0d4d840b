//! The largest sample of each interval of a long run: whether the worst came at the beginning, once, or again and again.

use waykeeper_run::{CaseRecord, Peak, RepeatRecord, Run};

use crate::figure::{counted, seconds, time};

/// A line for each case with more than one interval in a repeat.
pub fn peaks(run: &Run) -> Vec<String> {
    let Some(interval_s) = run.peak_interval_s else { return Vec::new() };
    run.cases.iter().filter_map(|case| of_case(case, interval_s)).collect()
}

fn of_case(case: &CaseRecord, interval_s: f64) -> Option<String> {
    let counts = |repeat: &&RepeatRecord| repeat.not_counted.is_none();
    let repeats = case.repeats.iter().filter(counts);
    let all = repeats.flat_map(|repeat| repeat.peaks.iter().map(move |peak| (repeat.repeat, *peak)));
    let mut all: Vec<(u32, Peak)> = all.collect();
    all.sort_by(|a, b| a.1.max_ns.total_cmp(&b.1.max_ns));
    let ((repeat, largest), (_, least)) = (all.last()?, all.first()?);
    let median = all[all.len() / 2].1.max_ns;
    Some(format!(
        "{}: {} of {}; the largest samples of intervals go from {} to {}, the median is {}; the largest ended {} into \
         repeat {repeat}",
        case.name,
        counted(all.len() as u64, "interval", "intervals"),
        seconds(interval_s),
        time(Some(least.max_ns)),
        time(Some(largest.max_ns)),
        time(Some(median)),
        seconds(largest.at_s),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_named_with_its_time_and_repeats_that_do_not_count_are_left_out() {
        let peak = |at_s, max_ns| Peak { at_s, max_ns };
        let repeat = |repeat, peaks: &[Peak], why: Option<&str>| RepeatRecord {
            repeat,
            peaks: peaks.to_vec(),
            not_counted: why.map(str::to_owned),
            ..RepeatRecord::default()
        };
        let repeats = vec![
            repeat(1, &[peak(10.0, 2000.0), peak(400.0, 3000.0)], None),
            repeat(2, &[peak(20.0, 9000.0), peak(310.0, 1000.0)], None),
            repeat(3, &[peak(20.0, 5e9), peak(310.0, 1.0)], Some("it was stopped")),
        ];
        let case = CaseRecord { name: "none".into(), repeats, ..CaseRecord::default() };
        let line = of_case(&case, 300.0).unwrap();
        assert!(line.contains("none: 4 intervals of 300 s"), "{line}");
        assert!(line.contains("from 1 us to 9 us, the median is 3 us; the largest ended 20 s into repeat 2"), "{line}");
        assert_eq!(of_case(&CaseRecord::default(), 300.0), None);
    }
}
