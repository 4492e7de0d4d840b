//! The shapes of distributions, one line a case, all on one axis.

use waykeeper_run::{CaseRecord, Run, Shape};

use crate::figure::time;
use crate::text::paragraph;

/// From one sample to the most, in the ratio of the logarithms: a tail of single samples must be seen beside a million.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The shapes of all cases; nothing where the experiment does not ask for them.
pub fn shapes(run: &Run) -> Option<String> {
    let drawn: Vec<(&CaseRecord, &Shape)> =
        run.cases.iter().filter_map(|case| Some((case, case.shape.as_ref()?))).collect();
    let (_, first) = drawn.first()?;
    let width = drawn.iter().map(|(case, _)| case.name.chars().count()).max().unwrap_or(0);
    let most = drawn.iter().flat_map(|(_, shape)| &shape.counts).copied().max().unwrap_or(1);
    let lines: Vec<String> =
        drawn.iter().map(|(case, shape)| format!("  {:width$}  {}", case.name, line(&shape.counts, most))).collect();
    let to_ns = first.from_ns + first.step_ns * first.counts.len() as f64;
    let (from, to) = (time(Some(first.from_ns)), time(Some(to_ns)));
    let gap = first.counts.len().saturating_sub(from.chars().count());
    let axis = format!("  {:width$}  {from}{to:>gap$}", "");
    let legend = "Heights are logarithms of counts, one scale for all: the lowest bar is one sample. A point is none.";
    Some(format!("shapes\n{}\n{axis}\n{}", lines.join("\n"), paragraph(&format!("  {legend}"), "    ")))
}

/// Shares over time, from 0 to all.
pub fn shares(of: &[u64], all: u64) -> String {
    let bar = |part: &u64| {
        let step = *part as f64 / all.max(1) as f64 * (HEIGHTS.len() - 1) as f64;
        HEIGHTS[(step.round() as usize).min(HEIGHTS.len() - 1)]
    };
    of.iter().map(bar).collect()
}

fn line(counts: &[u64], most: u64) -> String {
    let whole = (most as f64).ln().max(f64::MIN_POSITIVE);
    let bar = |count: &u64| match count {
        0 => '·',
        count => {
            let share = (*count as f64).ln() / whole;
            HEIGHTS[((share * (HEIGHTS.len() - 1) as f64).round() as usize).min(HEIGHTS.len() - 1)]
        }
    };
    counts.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_samples_are_seen_beside_a_million() {
        // ln 1 / ln 1e6 = 0, ln 1e3 / ln 1e6 = 0.5 (3.5 of 7 rounds to 4), ln 1e6 / ln 1e6 = 1.
        assert_eq!(line(&[0, 1, 1_000, 1_000_000], 1_000_000), "·▁▅█");
        assert_eq!(line(&[1, 0], 1), "▁·");
    }

    #[test]
    fn a_share_of_nothing_is_the_lowest_bar_and_all_the_highest() {
        // 7 steps: 50 of 100 are 3.5, which rounds to 4.
        assert_eq!(shares(&[0, 50, 100], 100), "▁▅█");
    }
}
