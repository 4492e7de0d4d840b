//! The samples of a case, all repeats that count together.

use std::collections::BTreeMap;

use waykeeper_run::CaseRecord;

use super::Numbered;

/// The samples of a case: lengths in nanoseconds in rising order, and how many had each.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Merged {
    pub steps: Vec<(f64, u64)>,
    /// Samples in the steps.
    pub inside: u64,
}

/// Merges the histograms of the repeats that count; nothing where one of them is missing or there is no sample. Samples beyond
/// the histogram are in no step.
pub(crate) fn merge(case: &Numbered<'_>) -> Option<Merged> {
    let tick_ns = case.source.run.clock.tick_ns;
    let mut ticks: BTreeMap<u64, u64> = BTreeMap::new();
    for repeat in case.case.repeats.iter().filter(|repeat| repeat.not_counted.is_none()) {
        let histogram = case.source.samples.get(&repeat.histogram)?;
        for step in histogram.iter_recorded() {
            // A step holds a range of lengths; its middle stands for them.
            *ticks.entry(histogram.median_equivalent(step.value_iterated_to())).or_default() += step.count_at_value();
        }
    }
    let mut steps: Vec<_> = ticks.into_iter().map(|(ticks, count)| (ticks as f64 * tick_ns, count)).collect();
    exact_ends(&mut steps, case.case);
    let inside = steps.iter().map(|(_, count)| count).sum();
    (inside + case.case.overflow > 0).then_some(Merged { steps, inside })
}

/// The extremes are known to the tick; the middle of a step may lie to either side of them.
fn exact_ends(steps: &mut [(f64, u64)], case: &CaseRecord) {
    let (least, most) = (case.min_ns.unwrap_or(0.0), case.max_ns.unwrap_or(f64::INFINITY));
    for (ns, _) in steps.iter_mut() {
        *ns = ns.max(least).min(most);
    }
    if let (Some(first), Some(min)) = (steps.first_mut(), case.min_ns) {
        first.0 = min;
    }
    // Of samples beyond the histogram the largest is in no step.
    if let (Some(last), Some(max)) = (steps.last_mut(), case.max_ns.filter(|_| case.overflow == 0)) {
        last.0 = max;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_the_extremes_that_were_seen() {
        let case = CaseRecord { min_ns: Some(9.0), max_ns: Some(104.0), ..CaseRecord::default() };
        let ends = |case: &CaseRecord| {
            let mut steps = vec![(10.0, 1), (50.0, 2), (100.0, 3)];
            exact_ends(&mut steps, case);
            steps
        };
        assert_eq!(ends(&case), [(9.0, 1), (50.0, 2), (104.0, 3)]);
        let beyond = CaseRecord { overflow: 1, ..case };
        assert_eq!(ends(&beyond), [(9.0, 1), (50.0, 2), (100.0, 3)]);
    }
}
