//! What estimates of whole passes rest on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The windows in which the passes of a program were measured. Their samples are estimates: what the windows took, scaled
/// to the accesses of the whole pass.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampledRecord {
    /// Windows of all passes together.
    pub windows: u64,
    /// Accesses in these windows.
    pub accesses: u64,
    /// Their share of all accesses of the passes.
    pub share: f64,
    /// Standard error of the mean, from the spread between the windows of each pass, as if they had been drawn at random;
    /// what differs from repeat to repeat is not in it.
    pub standard_error_ns: Option<f64>,
    /// The shortest simulated time in full detail before a window, where there was any between it and the one before.
    pub shortest_warm_up_ns: Option<f64>,
    /// Time of each window, pass after pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub window_ns: Vec<f64>,
}

impl SampledRecord {
    /// Several repeats together, each with so many passes; none where there is none.
    pub fn merged<'a>(repeats: impl Iterator<Item = (&'a Self, u64)> + Clone) -> Option<Self> {
        let passes: u64 = repeats.clone().map(|(_, passes)| passes).sum();
        let (first, _) = repeats.clone().next()?;
        // Errors of sums add up as squares.
        let squares: Option<f64> =
            repeats.clone().map(|(one, passes)| Some((one.standard_error_ns? * passes as f64).powi(2))).sum();
        let mut all = first.clone();
        all.standard_error_ns = squares.map(|squares| squares.sqrt() / passes.max(1) as f64);
        for (one, _) in repeats.skip(1) {
            let total = all.accesses as f64 / all.share + one.accesses as f64 / one.share;
            all.windows += one.windows;
            all.accesses += one.accesses;
            all.share = all.accesses as f64 / total;
            let shortest = [all.shortest_warm_up_ns, one.shortest_warm_up_ns];
            all.shortest_warm_up_ns = shortest.into_iter().flatten().reduce(f64::min);
            all.window_ns.extend(&one.window_ns);
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_repeats_add_up_as_squares_and_shares_by_accesses() {
        let one = |share, error| SampledRecord {
            windows: 2,
            accesses: 100,
            share,
            standard_error_ns: Some(error),
            shortest_warm_up_ns: Some(error),
            window_ns: vec![1.0, 2.0],
        };
        let (a, b) = (one(0.5, 30.0), one(0.25, 40.0));
        let both = SampledRecord::merged([(&a, 1), (&b, 1)].into_iter()).unwrap();
        // The root of 900 + 1600, over two; 200 accesses of 200 + 400.
        assert_eq!((both.standard_error_ns, both.shortest_warm_up_ns), (Some(25.0), Some(30.0)));
        assert!((both.share - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!((both.windows, both.window_ns.len()), (4, 4));
        assert_eq!(SampledRecord::merged(std::iter::empty()), None);
    }
}
