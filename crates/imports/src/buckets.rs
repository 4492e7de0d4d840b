//! How wide the buckets of rtla are: its output does not say it.

use waykeeper_workload::format_ns;

use crate::ImportedHistogram;

/// The widest that rtla takes (`--bucket-size`), in steps.
const WIDEST: u64 = 999_999;

/// The fewest buckets that rtla takes (`--entries`).
const FEWEST_BUCKETS: u64 = 10;

/// The widths that its buckets can have, in steps: 1 unless `--bucket-size` asks for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Widths {
    least: u64,
    most: u64,
}

impl Widths {
    /// What the rows allow, each with its label and whether it has a sample: labels are multiples of the width, and the exact extremes and
    /// means lie in the buckets of their samples. `extremes_in_buckets` says that the extremes are lower ends of buckets too.
    pub fn of(rows: &[(u64, bool)], columns: &[ImportedHistogram], extremes_in_buckets: bool) -> Self {
        let extremes = columns.iter().flat_map(|column| [column.min, column.max]).flatten();
        let labels = rows.iter().map(|(label, _)| *label).chain(extremes.filter(|_| extremes_in_buckets));
        let all = labels.fold(0, gcd);
        // With --with-zeros rtla prints each row, and without it no row without samples.
        if all > 0 && rows.first().is_some_and(|(label, _)| *label == 0) && rows.iter().any(|(_, has)| !has) {
            return Self { least: all, most: all };
        }
        // Of rows at 0 alone nothing follows, and what is beyond all buckets is at least as long as the fewest of them.
        let beyond = columns.iter().filter(|column| column.beyond > 0).filter_map(|column| column.max);
        let most = beyond.map(|max| max / FEWEST_BUCKETS).fold(WIDEST, u64::min);
        let least = match extremes_in_buckets {
            true => 1,
            false => columns.iter().map(least_width).max().unwrap_or(1),
        };
        let can_be = |width: &u64| all % width == 0;
        let narrowest = (least..=most).find(can_be);
        let widest = (least..=most).rev().find(can_be);
        // What contradicts itself is as wide as its rows allow, and refused by its extremes.
        Self { least: narrowest.unwrap_or(all.max(1)), most: widest.unwrap_or(all.max(1)) }
    }

    /// Sets the buckets of columns whose extremes are exact: no sample of a bucket is longer than the longest of all.
    pub fn in_buckets(self, columns: &mut [ImportedHistogram]) {
        for column in columns {
            let longest = column.max.filter(|_| column.beyond == 0 && column.missing == 0);
            let longer = |(lower, _): &(u64, u64)| {
                let upper = lower.saturating_add(self.most - 1);
                longest.map_or(upper, |longest| longest.clamp(*lower, upper)) - lower + 1
            };
            column.bucket = column.counts.iter().map(longer).max().unwrap_or(1);
            column.narrowest = self.least;
        }
    }

    /// Takes a bucket as a step in columns whose extremes, too, are lower ends of buckets.
    ///
    /// # Errors
    /// Samples in the first bucket alone, of which nothing says how wide it is.
    pub fn in_steps(self, columns: &mut [ImportedHistogram]) -> Result<(), String> {
        let has_samples = columns.iter().any(|column| column.samples() > 0);
        if self.least < self.most && has_samples && columns.iter().all(|column| column.max.unwrap_or(0) == 0) {
            return Err(
                "all samples are in the row 0, and the file does not say how wide it is; expected the output of \
                 `rtla osnoise hist --with-zeros`"
                    .into(),
            );
        }
        let width = self.most;
        for column in columns {
            column.step_ns *= width as f64;
            column.narrowest = u64::from(self.least == width);
            for (lower, _) in &mut column.counts {
                *lower /= width;
            }
            for extreme in [&mut column.min, &mut column.max] {
                *extreme = extreme.map(|value| value / width);
            }
            column.mean = column.mean.map(|mean| mean / width as f64);
        }
        Ok(())
    }

    /// What is to be known where the width is not, and figures depend on it; `step_ns` is the tool's unit.
    pub fn remark(self, step_ns: f64, columns: &[ImportedHistogram]) -> Option<String> {
        let widest_ns = columns.iter().map(|column| column.step_ns * column.bucket as f64).fold(0.0, f64::max);
        (self.least < self.most && widest_ns > self.least as f64 * step_ns).then(|| {
            format!(
                "rtla does not say how wide its buckets are ({} unless --bucket-size was given). The rows with samples allow up to {}, and the \
                 figures here hold for that too. With --with-zeros rtla prints every row, and the width is known.",
                format_ns(step_ns),
                format_ns(widest_ns)
            )
        })
    }
}

/// The narrowest buckets in which the smallest, the longest and the mean of a column lie.
fn least_width(column: &ImportedHistogram) -> u64 {
    let (Some((first, _)), Some((last, _))) = (column.counts.first(), column.counts.last()) else { return 1 };
    // What is missing may have been the shortest or the longest.
    if column.missing > 0 {
        return 1;
    }
    let above = |extreme: Option<u64>, lower: u64| extreme.map_or(0, |extreme| extreme.saturating_sub(lower));
    let shortest = above(column.min, *first);
    if column.beyond > 0 {
        return shortest.saturating_add(1);
    }
    let over_mean = column.mean.map_or(0.0, |mean| mean - column.sum_inside() as f64 / column.samples() as f64);
    // The mean is cut to whole steps, so that what it is more than the lower ends is less than what the samples are.
    shortest.max(above(column.max, *last)).max(over_mean.ceil() as u64).saturating_add(1)
}

/// The greatest common divisor.
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
