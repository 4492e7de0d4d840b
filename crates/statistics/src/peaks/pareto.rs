//! The generalised Pareto distribution: what the excesses of independent peaks over a high threshold tend to (Pickands,
//! *Annals of Statistics* 3, 1975).

use waykeeper_workload::Xorshift;

/// The flattest end that is looked for. Below -0.5 the likelihood is no longer regular (Smith, *Biometrika* 72, 1985), and
/// below -1 it has no maximum.
const LEAST_SHAPE: f64 = -0.5;

/// Where the maximum of the likelihood is looked for: the logarithm of 1 + shape / scale x the largest excess.
const RANGE: (f64, f64) = (-9.0, 9.0);

/// Points of the first, coarse search.
const COARSE: usize = 60;

/// A rough search looks at every so many of them first.
const SKIPPED: usize = 4;

/// A generalised Pareto distribution of excesses: P(excess > y) = (1 + shape y / scale)^(-1 / shape).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pareto {
    /// Below 0: there is an end. 0: exponential. Above 0: heavier.
    pub shape: f64,
    /// In the unit of the excesses.
    pub scale: f64,
}

impl Pareto {
    /// The maximum likelihood fit to positive excesses, by a search along shape / scale (Grimshaw, *Technometrics* 35,
    /// 1993); none for fewer than two different excesses, or if the likelihood still rises at a shape of -0.5.
    pub fn fit(excesses: &[f64]) -> Option<Self> {
        Self::fit_by(excesses, 1, FINEST)
    }

    /// The same in a fifth of the time, with the shape exact to 1e-3 of the coarse search's step: for many fits of which each
    /// counts little.
    pub fn fit_roughly(excesses: &[f64]) -> Option<Self> {
        Self::fit_by(excesses, SKIPPED, 15)
    }

    /// By a look at every so many coarse points and at those around the best of them, and so many steps between two of them.
    fn fit_by(excesses: &[f64], every: usize, steps: u32) -> Option<Self> {
        let largest = excesses.iter().copied().fold(0.0, f64::max);
        let smallest = excesses.iter().copied().fold(f64::INFINITY, f64::min);
        if excesses.len() < 2 || !(largest > smallest && smallest >= 0.0 && largest.is_finite()) {
            return None;
        }
        let mean = excesses.iter().sum::<f64>() / excesses.len() as f64;
        let along = |at: f64| Self::along(excesses, mean, at.exp_m1() / largest);
        // The likelihood of the most likely one along a ratio, over the number of excesses: their logarithms add up to it.
        let height = |at: f64| along(at).map_or(f64::NEG_INFINITY, |fit| -fit.scale.ln() - fit.shape);
        let step = (RANGE.1 - RANGE.0) / COARSE as f64;
        let place = |point: usize| RANGE.0 + point as f64 * step;
        let best_of = |points: &mut dyn Iterator<Item = usize>| {
            let heights = points.map(|point| (point, height(place(point))));
            heights.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(point, _)| point)
        };
        let mut point = best_of(&mut (0..=COARSE).step_by(every))?;
        if every > 1 {
            point = best_of(&mut (point.saturating_sub(every - 1)..=(point + every - 1).min(COARSE)))?;
        }
        let best = place(point);
        let at = highest(best - step, best + step, steps, height);
        let fit = along(at)?;
        // Where the least shape ends the search, the best point is that end, not a maximum.
        (fit.shape > LEAST_SHAPE + 0.005 && (at - RANGE.0).abs() > step).then_some(fit)
    }

    /// The most likely distribution among those with this shape / scale, for excesses of this mean.
    fn along(excesses: &[f64], mean: f64, ratio: f64) -> Option<Self> {
        let count = excesses.len() as f64;
        if (ratio * mean).abs() < 1e-7 {
            return Some(Self { shape: 0.0, scale: mean });
        }
        let shape = excesses.iter().map(|excess| (ratio * excess).ln_1p()).sum::<f64>() / count;
        (shape.is_finite() && shape >= LEAST_SHAPE).then(|| Self { shape, scale: shape / ratio })
    }

    /// The logarithm of the likelihood of these excesses; minus infinity if one of them is impossible.
    pub fn log_likelihood(self, excesses: &[f64]) -> f64 {
        let Self { shape, scale } = self;
        if scale.is_nan() || scale <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let (least, factor) = (-scale.ln(), 1.0 + 1.0 / shape);
        let of = |excess: f64| {
            let reduced = excess / scale;
            let inner = 1.0 + shape * reduced;
            match () {
                () if shape.abs() < 1e-9 => least - reduced,
                () if inner <= 0.0 => f64::NEG_INFINITY,
                () => least - factor * inner.ln(),
            }
        };
        excesses.iter().map(|excess| of(*excess)).sum()
    }

    /// The excess that one in `among` excesses lies above.
    pub fn exceeded_by_one_in(self, among: f64) -> f64 {
        self.scale * growth(self.shape, among)
    }

    /// The share of excesses at or below this one.
    pub fn share_up_to(self, excess: f64) -> f64 {
        let reduced = excess / self.scale;
        match () {
            () if self.shape.abs() < 1e-9 => -(-reduced).exp_m1(),
            () => 1.0 - (1.0 + self.shape * reduced).max(0.0).powf(-1.0 / self.shape),
        }
    }

    /// An excess drawn from it.
    pub fn draw(self, random: &mut Xorshift) -> f64 {
        // 53 bits, never 0.
        let uniform = ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        self.exceeded_by_one_in(1.0 / uniform)
    }
}

/// (among^shape - 1) / shape, and its limit ln among: what a unit of scale grows to.
pub fn growth(shape: f64, among: f64) -> f64 {
    if shape.abs() < 1e-9 { among.ln() } else { (shape * among.ln()).exp_m1() / shape }
}

/// Steps of [`highest`] after which only rounding is left.
pub const FINEST: u32 = 45;

/// Where a function with one maximum between two points has it (golden section, in so many steps).
pub fn highest(mut low: f64, mut high: f64, steps: u32, height: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_left, mut at_right) = (height(left), height(right));
    for _ in 0..steps {
        if at_left > at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - GOLDEN * (high - low);
            at_left = height(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + GOLDEN * (high - low);
            at_right = height(right);
        }
    }
    (low + high) / 2.0
}
