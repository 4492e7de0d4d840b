//! Random data with a known distribution, from the project's own generator and a fixed seed.

use waykeeper_workload::Xorshift;

use crate::Repeat;

pub(super) struct Synthetic(Xorshift);

impl Synthetic {
    pub(super) fn new(seed: u64) -> Self {
        Self(Xorshift::new(seed))
    }

    /// Uniform on (0, 1): 53 bits, in the middle of their step.
    pub(super) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Exponential with mean 1, by inversion.
    pub(super) fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Standard normal, by Box and Muller.
    pub(super) fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Gamma with mean 1 and a whole `shape`: the mean of so many exponentials. Its variance is 1 / shape.
    pub(super) fn gamma(&mut self, shape: u32) -> f64 {
        (0..shape).map(|_| self.exponential()).sum::<f64>() / f64::from(shape)
    }

    /// Poisson: the events of a unit-rate process within `mean`.
    pub(super) fn poisson(&mut self, mean: f64) -> u64 {
        let mut events = 0;
        let mut time = self.exponential();
        while time < mean {
            events += 1;
            time += self.exponential();
        }
        events
    }

    pub(super) fn binomial(&mut self, trials: u64, p: f64) -> u64 {
        (0..trials).filter(|_| self.uniform() < p).count() as u64
    }

    /// One repeat of 2 s in which excursions come at `rate` per second, spread over repeats as a gamma of `shape` (or not
    /// at all), and rise above 1000 ns by exponentials of mean `scale_ns`; the maximum is the highest of them.
    pub(super) fn repeat(&mut self, rate: f64, shape: Option<u32>, scale_ns: f64) -> Repeat {
        let spread = shape.map_or(1.0, |shape| self.gamma(shape));
        let clusters = self.poisson(rate * spread * 2.0);
        let highest = (0..clusters).map(|_| self.exponential() * scale_ns).fold(0.0, f64::max);
        Repeat {
            samples: 100_000,
            exposure_s: 2.0,
            clusters,
            max_ns: 1000.0 + highest,
            resolution_ns: 1.0,
            off_core_s: 0.0,
            cut_short: false,
        }
    }

    pub(super) fn arm(&mut self, repeats: usize, rate: f64, shape: Option<u32>, scale_ns: f64) -> Vec<Repeat> {
        (0..repeats).map(|_| self.repeat(rate, shape, scale_ns)).collect()
    }
}
