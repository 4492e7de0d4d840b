//! The latency plot: how many samples were how long, counts on a logarithmic axis, a line a case.

use serde::Serialize;

use super::Numbered;
use super::merged::Merged;

/// So many steps a linear axis has.
const STEPS: f64 = 240.0;

/// A step of a logarithmic axis is so much of the length where it begins, or one tick.
const RATIO: f64 = 1.0 / 24.0;

/// Where the longest sample is more than so many times the mean of the slowest case, a linear axis shows one column.
const LINEAR_UP_TO: f64 = 40.0;

/// How many samples were how long.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LatencyPlot {
    /// The same samples on two axes.
    pub scales: Vec<Scale>,
    /// The axis that shows more of it.
    pub first: ScaleKind,
}

impl LatencyPlot {
    /// The least length above 0 that a logarithmic axis needs: a first step that begins at 0 is shown from half of its end.
    pub fn least_ns(&self) -> f64 {
        let edges =
            self.scales.iter().find(|scale| scale.kind == ScaleKind::Log).map(|scale| scale.edges_ns.as_slice());
        match edges {
            Some([first, ..]) if *first > 0.0 => *first,
            Some([_, second, ..]) => second / 2.0,
            _ => 0.1,
        }
    }
}

/// The samples in steps that all cases share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scale {
    /// The axis.
    pub kind: ScaleKind,
    /// Where each step begins, and where the last one ends.
    pub edges_ns: Vec<f64>,
    /// The cases.
    pub lines: Vec<LatencyLine>,
}

/// A kind of axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaleKind {
    /// Steps of one length.
    Linear,
    /// Steps that grow with the length.
    Log,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LatencyLine {
    /// Its number.
    pub case: usize,
    /// Steps with samples in them, and how many.
    pub counts: Vec<(usize, u64)>,
    /// Samples beyond the histogram's range, in no step.
    pub beyond: u64,
}

pub(crate) fn latency(cases: &[Numbered<'_>], merged: &[Option<Merged>]) -> Option<LatencyPlot> {
    let shown: Vec<_> = cases.iter().zip(merged).filter_map(|(case, merged)| Some((case, merged.as_ref()?))).collect();
    let steps = || shown.iter().flat_map(|(_, merged)| &merged.steps).map(|(ns, _)| *ns);
    let (least, most) = (steps().reduce(f64::min)?, steps().reduce(f64::max)?);
    // Steps of less than a tick would be empty every now and then.
    let tick_ns = shown.iter().map(|(case, _)| case.source.run.clock.tick_ns).fold(0.0, f64::max);
    let slowest = shown.iter().filter_map(|(case, _)| case.case.mean_ns).fold(0.0, f64::max);
    let scale = |kind| {
        let edges_ns = edges(kind, least, most, tick_ns)?;
        let lines = shown.iter().map(|(case, merged)| LatencyLine {
            case: case.number,
            counts: counts(&edges_ns, merged),
            beyond: case.case.overflow,
        });
        Some(Scale { kind, lines: lines.collect(), edges_ns })
    };
    let scales: Vec<Scale> = [ScaleKind::Linear, ScaleKind::Log].into_iter().filter_map(scale).collect();
    let first = if most <= LINEAR_UP_TO * slowest { ScaleKind::Linear } else { ScaleKind::Log };
    (!scales.is_empty()).then_some(LatencyPlot { scales, first })
}

/// The edges of the steps, half a tick below whole ticks; none for figures that make no axis.
fn edges(kind: ScaleKind, least: f64, most: f64, tick_ns: f64) -> Option<Vec<f64>> {
    let usable = tick_ns > 0.0 && tick_ns.is_finite() && least >= 0.0 && most.is_finite();
    if !usable {
        return None;
    }
    let mut at = ((least / tick_ns).round() - 0.5) * tick_ns;
    let step_of_linear = ((most - least) / tick_ns / STEPS).ceil().max(1.0) * tick_ns;
    let mut edges = vec![at.max(0.0)];
    while at <= most {
        at += match kind {
            ScaleKind::Linear => step_of_linear,
            ScaleKind::Log => (at * RATIO / tick_ns).floor().max(1.0) * tick_ns,
        };
        edges.push(at);
    }
    Some(edges)
}

fn counts(edges_ns: &[f64], merged: &Merged) -> Vec<(usize, u64)> {
    let mut counts: Vec<(usize, u64)> = Vec::new();
    for (ns, count) in &merged.steps {
        let step = edges_ns.partition_point(|edge| edge <= ns).saturating_sub(1).min(edges_ns.len() - 2);
        match counts.last_mut() {
            Some((last, sum)) if *last == step => *sum += count,
            _ => counts.push((step, *count)),
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_whole_ticks_and_no_sample_is_lost() {
        let merged = Merged { steps: vec![(10.0, 5), (12.5, 3), (1000.0, 2), (5000.0, 1)], inside: 11 };
        for kind in [ScaleKind::Linear, ScaleKind::Log] {
            let edges = edges(kind, 10.0, 5000.0, 2.5).unwrap();
            // 8.75 = 3.5 ticks: 10 ns is 4 ticks.
            assert_eq!(edges[0], 8.75);
            assert!(edges.windows(2).all(|pair| ((pair[1] - pair[0]) / 2.5).fract() == 0.0), "{edges:?}");
            assert!(*edges.last().unwrap() > 5000.0);
            let counts = counts(&edges, &merged);
            assert_eq!(counts.iter().map(|(_, n)| n).sum::<u64>(), 11);
            let (last, n) = *counts.last().unwrap();
            assert!(n == 1 && edges[last] <= 5000.0 && 5000.0 < edges[last + 1]);
        }
        // (5000 - 10) / 2.5 = 1996 ticks over 240 steps: 8.3, so 9 ticks each.
        assert_eq!(edges(ScaleKind::Linear, 10.0, 5000.0, 2.5).unwrap()[1], 8.75 + 22.5);
    }

    #[test]
    fn figures_that_make_no_axis_make_no_picture() {
        for (least, most, tick) in
            [(1.0, f64::INFINITY, 1.0), (1.0, 2.0, 0.0), (1.0, f64::NAN, 1.0), (1.0, 2.0, f64::NAN)]
        {
            assert_eq!(edges(ScaleKind::Log, least, most, tick), None);
        }
    }
}
