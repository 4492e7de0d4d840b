//! How often filters take away lines of the target whose sets a neighbour passes.

/// What was seen in time, for the filter of a cluster and that of the interconnect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Steps of neighbours through the set of a line of the target.
    passes: [u64; 2],
    /// Lines of the target that the filters had taken by then, but for those that jumps took.
    lines: [u64; 2],
    /// Those that jumps took.
    by_jumps: [u64; 2],
}

impl Taken {
    /// Neighbours have made so many further steps through the sets of its lines; the filters have now taken so many lines,
    /// with those of jumps.
    pub fn seen(&mut self, passes: [u64; 2], lines: [u64; 2]) {
        for at in 0..2 {
            self.passes[at] += passes[at];
            self.lines[at] = lines[at] - self.by_jumps[at];
        }
    }

    /// A jump has taken so many.
    pub fn jumped(&mut self, lines: [u64; 2]) {
        (0..2).for_each(|at| self.by_jumps[at] += lines[at]);
    }

    /// With which probability a step takes a line that nobody brings back meanwhile, as if lines were taken at random times;
    /// 1 while nothing was seen.
    pub fn chances(&self) -> [f64; 2] {
        [0, 1].map(|at| match self.passes[at] {
            0 => 1.0,
            passes => 1.0 - falling(self.lines[at] as f64 / passes as f64),
        })
    }
}

/// The exponential of `-rate`, within a thousandth, from operations that give the same bits on every machine.
fn falling(rate: f64) -> f64 {
    (0..12).fold((1.0 - rate / 4096.0).max(0.0), |power, _| power * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_near_that_of_the_library() {
        for rate in [0.0, 0.01, 0.3, 1.0, 2.5, 10.0, 5000.0] {
            assert!((falling(rate) - (-rate).exp()).abs() < 1e-3, "{rate}");
        }
    }

    #[test]
    fn what_jumps_took_tells_nothing() {
        let mut taken = Taken::default();
        assert_eq!(taken.chances(), [1.0, 1.0]);
        taken.jumped([7, 0]);
        taken.seen([10, 0], [7 + 5, 3]);
        // Five lines in ten steps: 1 - 1 / sqrt(e).
        assert!((taken.chances()[0] - 0.3935).abs() < 1e-3 && taken.chances()[1] == 1.0);
        taken.seen([10, 4], [7 + 5, 3]);
        assert!((taken.chances()[0] - 0.2212).abs() < 1e-3 && (taken.chances()[1] - 0.5276).abs() < 1e-3);
    }
}
