//! The shapes of distributions, on one axis for all cases.

use crate::measurement::Measured;
use crate::record::{CaseRecord, Shape};

/// As many steps as a line of a terminal has room for.
const STEPS: usize = 60;

/// Sets the shape of each record. The axis goes from the smallest to the largest sample of all.
pub(crate) fn draw(records: &mut [CaseRecord], measured: &[Measured]) {
    let least = records.iter().filter_map(|record| record.min_ns).reduce(f64::min);
    let most = records.iter().filter_map(|record| record.max_ns).reduce(f64::max);
    let Some((from_ns, to_ns)) = least.zip(most) else { return };
    let step_ns = ((to_ns - from_ns) / STEPS as f64).max(f64::MIN_POSITIVE);
    for (record, measured) in records.iter_mut().zip(measured) {
        let mut counts = vec![0_u64; STEPS];
        for repeat in measured.counted() {
            let samples = &repeat.samples;
            for step in samples.counts.to_histogram().iter_recorded() {
                let ns = step.value_iterated_to() as f64 * samples.tick_ns;
                let at = ((ns - from_ns) / step_ns) as usize;
                counts[at.min(STEPS - 1)] += step.count_at_value();
            }
            counts[STEPS - 1] += samples.overflow;
        }
        if record.samples > 0 {
            record.shape = Some(Shape { from_ns, step_ns, counts });
        }
    }
}
