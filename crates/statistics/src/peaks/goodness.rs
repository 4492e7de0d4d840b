//! Whether excesses look like draws from the distribution that was fitted to them.

use waykeeper_workload::Xorshift;

use super::pareto::Pareto;

/// Sets of excesses that are drawn.
const DRAWS: usize = 199;

/// The statistic of Anderson & Darling (*Annals of Mathematical Statistics* 23, 1952): large if the excesses are not drawn
/// from the distribution; it looks at the ends more than at the middle.
pub fn anderson_darling(sorted: &[f64], of: Pareto) -> f64 {
    let count = sorted.len();
    let share = |at: usize| of.share_up_to(sorted[at]).clamp(1e-12, 1.0 - 1e-12);
    let terms = (0..count).map(|at| {
        let weight = (2 * at + 1) as f64;
        weight * (share(at).ln() + (1.0 - share(count - 1 - at)).ln())
    });
    -(count as f64) - terms.sum::<f64>() / count as f64
}

/// Whether each drawn set fits as badly as the excesses: sets of as many are drawn from the distribution, each is fitted, and
/// compared (the parametric bootstrap; Stute, Gonzales Manteiga & Presedo Quindimil, *Metrika* 40, 1993). `sorted` is in
/// rising order.
fn worse_ones(sorted: &[f64], fit: Pareto, seed: u64) -> impl Iterator<Item = bool> {
    let seen = anderson_darling(sorted, fit);
    let mut random = Xorshift::new(seed);
    (0..DRAWS).map(move |_| {
        let mut drawn: Vec<f64> = sorted.iter().map(|_| fit.draw(&mut random)).collect();
        drawn.sort_by(f64::total_cmp);
        // A set without a fit is as bad as any.
        Pareto::fit_roughly(&drawn).is_none_or(|refit| anderson_darling(&drawn, refit) >= seen)
    })
}

/// The probability of excesses that fit as badly, if they are drawn from the distribution.
pub fn probability_of_worse(sorted: &[f64], fit: Pareto, seed: u64) -> f64 {
    probability(worse_ones(sorted, fit, seed).filter(|worse| *worse).count())
}

/// Whether that probability is at least this: it draws no more sets than that takes.
pub fn is_worse_as_often_as(least: f64, sorted: &[f64], fit: Pareto, seed: u64) -> bool {
    let mut worse = 0;
    worse_ones(sorted, fit, seed).any(|is_worse| {
        worse += usize::from(is_worse);
        probability(worse) >= least
    })
}

fn probability(worse: usize) -> f64 {
    (worse + 1) as f64 / (DRAWS + 1) as f64
}
