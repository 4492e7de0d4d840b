//! The verdict of the capacity probe, from three sets of times.

use serde::Serialize;
use serde_with::skip_serializing_none;

/// Times of a walk through the chase, one a repeat, in nanoseconds an access.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ProbeSamples {
    /// Nobody streamed.
    pub positive: Vec<f64>,
    /// The neighbour streamed in the same class.
    pub negative: Vec<f64>,
    /// The neighbour streamed in the other class.
    pub treated: Vec<f64>,
}

/// The least number of repeats of each kind: with 9, the second and the eighth of the sorted times enclose the median with
/// 96 % confidence (1 - 2 (1 + 9) / 2^9).
pub const LEAST: usize = 9;
/// What the controls must be apart: the median times of the negative one over the positive one. Assumed: a miss costs twice a
/// hit and more in every cache that this is for, and noise of a fifth is common.
const APART: f64 = 1.3;
/// From this survival on a mask is in force: 75 % of the way. Assumed: a share of three quarters that the chase fills keeps
/// some lines less than all, because hashing spreads them unevenly.
const ENFORCED_FROM: f64 = 0.75;
/// Up to this survival it does nothing.
const INERT_UP_TO: f64 = 0.25;

/// How much of the chase survived: 0 as in the negative control, 1 as in the positive one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Survival {
    /// From the medians.
    pub estimate: f64,
    /// The least that the medians' 96 % intervals allow.
    pub at_least: f64,
    /// The most.
    pub at_most: f64,
}

/// What the probe says.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum ProbeVerdict {
    /// The neighbour cannot push the chase out: the mask is in force.
    Enforced {
        /// How much stayed.
        survival: Survival,
    },
    /// The neighbour pushes the chase out as if there were no mask.
    Inert {
        /// How much stayed.
        survival: Survival,
    },
    /// The measurement does not decide.
    Inconclusive {
        /// Why.
        reason: String,
        /// How much stayed, where the controls say what that means.
        survival: Option<Survival>,
    },
}

/// A median, and what encloses it with 96 % confidence or more.
#[derive(Debug, Clone, Copy)]
struct Median {
    low: f64,
    middle: f64,
    high: f64,
}

impl Median {
    /// From order statistics (the sign test's interval): the largest rank `k` for which both tails together keep less than
    /// 5 %: 2 P(Binomial(n, 1/2) < k) < 0.05.
    fn of(times: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = times.iter().copied().filter(|time| time.is_finite() && *time > 0.0).collect();
        if sorted.len() < LEAST || sorted.len() < times.len() {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let (mut rank, mut tail, mut term) = (0, 0.0, 0.5_f64.powi(n as i32));
        while rank < n / 2 && 2.0 * (tail + term) < 0.05 {
            tail += term;
            term *= (n - rank) as f64 / (rank + 1) as f64;
            rank += 1;
        }
        // `rank` values lie outside on each side, but for the last of them, which encloses.
        let low = rank.saturating_sub(1);
        let middle = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
        Some(Self { low: sorted[low], middle, high: sorted[n - 1 - low] })
    }
}

/// Judges. Pure: equal times give equal verdicts.
pub fn judge(samples: &ProbeSamples) -> ProbeVerdict {
    let inconclusive = |reason: String, survival| ProbeVerdict::Inconclusive { reason, survival };
    let all = [&samples.positive, &samples.negative, &samples.treated].map(|times| Median::of(times));
    let [Some(positive), Some(negative), Some(treated)] = all else {
        return inconclusive(format!("fewer than {LEAST} times of one kind, or times that are none"), None);
    };
    if negative.low < positive.high || negative.middle < positive.middle * APART {
        return inconclusive(
            format!(
                "the controls cannot be distinguished: {:.1} ns an access when nobody streams, {:.1} ns when the neighbour streams \
                 in the same class; the chase may lie in a private cache, \
                 the neighbour may not reach it, or other programs push the chase out all the time",
                positive.middle, negative.middle
            ),
            None,
        );
    }
    let survival = |treated: f64, positive: f64, negative: f64| (negative - treated) / (negative - positive);
    let share = Survival {
        estimate: survival(treated.middle, positive.middle, negative.middle),
        at_least: survival(treated.high, positive.low, negative.low).min(survival(
            treated.high,
            positive.low,
            negative.high,
        )),
        at_most: survival(treated.low, positive.high, negative.high).max(survival(
            treated.low,
            positive.high,
            negative.low,
        )),
    };
    if share.at_least >= ENFORCED_FROM {
        return ProbeVerdict::Enforced { survival: share };
    }
    if share.at_most <= INERT_UP_TO {
        return ProbeVerdict::Inert { survival: share };
    }
    let part = format!(
        "{:.0} % of the chase survives, somewhere between {:.0} and {:.0} %",
        share.estimate * 100.0,
        share.at_least * 100.0,
        share.at_most * 100.0
    );
    inconclusive(
        format!(
            "{part}: neither {:.0} % and more nor {:.0} % and less; hashing over slices, other programs, or noise can do that",
            ENFORCED_FROM * 100.0,
            INERT_UP_TO * 100.0
        ),
        Some(share),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eleven times around a middle, spread evenly over plus and minus `spread`.
    fn around(middle: f64, spread: f64) -> Vec<f64> {
        (-5..=5).map(|step| middle + spread * f64::from(step) / 5.0).collect()
    }

    fn verdict(positive: Vec<f64>, negative: Vec<f64>, treated: Vec<f64>) -> ProbeVerdict {
        judge(&ProbeSamples { positive, negative, treated })
    }

    #[test]
    fn the_interval_of_eleven_leaves_out_one_on_each_side() {
        // P(Binomial(11, 1/2) <= 1) = 12 / 2048 = 0.6 %, and of 2 or fewer 67 / 2048 = 3.3 %, twice which is above 5 %.
        let median = Median::of(&around(50.0, 5.0)).unwrap();
        assert_eq!((median.low, median.middle, median.high), (46.0, 50.0, 54.0));
        // Nine: P(X <= 1) = 10 / 512 = 2.0 %, P(X <= 2) = 46 / 512 = 9 %.
        let nine: Vec<f64> = (1..=9).map(f64::from).collect();
        let median = Median::of(&nine).unwrap();
        assert_eq!((median.low, median.middle, median.high), (2.0, 5.0, 8.0));
        assert!(Median::of(&nine[..8]).is_none());
    }

    #[test]
    fn a_mask_that_holds_and_one_that_does_not() {
        let (hit, miss) = (around(20.0, 1.0), around(90.0, 3.0));
        assert!(matches!(verdict(hit.clone(), miss.clone(), around(22.0, 2.0)), ProbeVerdict::Enforced { .. }));
        assert!(matches!(verdict(hit.clone(), miss.clone(), around(88.0, 4.0)), ProbeVerdict::Inert { .. }));
        // (90 - 22) / (90 - 20) = 0.971.
        let ProbeVerdict::Enforced { survival } = verdict(hit, miss, around(22.0, 2.0)) else { panic!("not in force") };
        assert!((survival.estimate - 68.0 / 70.0).abs() < 1e-9);
        assert!(survival.at_least < survival.estimate && survival.estimate < survival.at_most);
    }

    #[test]
    fn controls_that_agree_conclude_nothing() {
        // A chase that lies in a private cache: streaming changes nothing, whatever the mask.
        let told = verdict(around(4.0, 0.1), around(4.1, 0.1), around(4.0, 0.1));
        assert!(matches!(told, ProbeVerdict::Inconclusive { survival: None, .. }), "{told:?}");
        // Noise as large as the difference.
        let told = verdict(
            around(20.0, 40.0).into_iter().map(f64::abs).map(|t| t + 1.0).collect(),
            around(60.0, 58.0),
            around(30.0, 9.0),
        );
        assert!(matches!(told, ProbeVerdict::Inconclusive { survival: None, .. }), "{told:?}");
    }

    #[test]
    fn a_part_that_survives_is_told_and_not_judged() {
        let told = verdict(around(20.0, 1.0), around(90.0, 3.0), around(55.0, 2.0));
        let ProbeVerdict::Inconclusive { survival: Some(survival), reason } = told else { panic!("{told:?}") };
        // (90 - 55) / 70 = one half.
        assert!((survival.estimate - 0.5).abs() < 1e-9);
        assert!(reason.starts_with("50 % of the chase survives"), "{reason}");
    }

    #[test]
    fn a_wide_treatment_around_the_threshold_is_not_judged() {
        // Half of the repeats held, half did not: neither end is excluded.
        let mut treated = around(21.0, 1.0);
        treated[6..].fill(90.0);
        let told = verdict(around(20.0, 1.0), around(90.0, 3.0), treated);
        assert!(matches!(told, ProbeVerdict::Inconclusive { survival: Some(_), .. }), "{told:?}");
    }

    #[test]
    fn times_that_are_none_conclude_nothing() {
        for bad in [vec![], vec![f64::NAN; 11], vec![0.0; 11], around(20.0, 1.0)[..8].to_vec()] {
            assert!(matches!(
                verdict(bad.clone(), around(90.0, 1.0), around(20.0, 1.0)),
                ProbeVerdict::Inconclusive { .. }
            ));
            assert!(matches!(verdict(around(20.0, 1.0), around(90.0, 1.0), bad), ProbeVerdict::Inconclusive { .. }));
        }
    }
}
