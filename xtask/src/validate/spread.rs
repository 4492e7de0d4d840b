//! What a list of values says: its median and the interval that holds nine tenths of it.

/// Median and the 5th and 95th percentile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// 5th percentile.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub high: f64,
}

impl Spread {
    /// The spread of some values by linear interpolation between them (type 7 of Hyndman and Fan, The American
    /// Statistician 50, 1996); none of none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |share: f64| {
            let place = share * last as f64;
            let below = place.floor() as usize;
            let above = (below + 1).min(last);
            sorted[below] + (sorted[above] - sorted[below]) * place.fract()
        };
        Some(Self { low: at(0.05), median: at(0.5), high: at(0.95) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_between_their_neighbours() {
        // 21 values 0, 10, ..., 200: the 5th percentile is the second, the median the eleventh.
        let values: Vec<f64> = (0..21).rev().map(|i| f64::from(i) * 10.0).collect();
        assert_eq!(Spread::of(&values), Some(Spread { low: 10.0, median: 100.0, high: 190.0 }));
        // Two values: a twentieth of the way from either.
        assert_eq!(Spread::of(&[3.0, 1.0]), Some(Spread { low: 1.1, median: 2.0, high: 2.9 }));
        assert_eq!(Spread::of(&[]), None);
    }
}
