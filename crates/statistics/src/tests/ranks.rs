//! The rank-sum test: published and enumerated values.

use proptest::prelude::*;

use crate::{Tails, least_p_of_ranks, rank_sum};

fn assert_tails(got: Tails, lower: f64, higher: f64) {
    assert!((got.lower - lower).abs() < 1e-12, "lower: got {}, expected {lower}", got.lower);
    assert!((got.higher - higher).abs() < 1e-12, "higher: got {}, expected {higher}", got.higher);
}

#[test]
fn complete_separation_of_five_and_five_is_one_arrangement_of_252() {
    let tails = rank_sum(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]);
    assert_tails(tails, 1.0 / 252.0, 1.0);
    assert!((tails.two_sided() - 2.0 / 252.0).abs() < 1e-12);
    assert!(tails.first_is_lower() && !tails.first_is_higher());
}

#[test]
fn the_published_critical_values_are_critical() {
    // Mann & Whitney 1947 as tabulated since (for example Siegel, Nonparametric Statistics, 1956, table K): two-sided 5 %
    // critical values of U are 2 for 5 v 5, 5 for 6 v 6 and 23 for 10 v 10. U is the number of pairs in the wrong order:
    // moving the k-th highest of the first arm past k values of the second adds k.
    for (n, critical) in [(5_usize, 2_usize), (6, 5), (10, 23)] {
        for (inversions, is_significant) in [(critical, true), (critical + 1, false)] {
            let second: Vec<f64> = (1..=n).map(|i| i as f64).collect();
            let mut first = vec![0.5; n];
            let mut left = inversions;
            for value in &mut first {
                let past = left.min(n);
                *value = past as f64 + 0.5;
                left -= past;
            }
            // Distinct values within each gap, so that there are no ties.
            for (i, value) in first.iter_mut().enumerate() {
                *value += i as f64 * 1e-3;
            }
            assert_eq!(rank_sum(&first, &second).two_sided() <= 0.05, is_significant, "{n} v {n}, U = {inversions}");
        }
    }
}

#[test]
fn ties_count_every_arrangement_of_the_mid_ranks() {
    // Enumerated by an independent program: all choices of a first arm, by the sum of their mid-ranks.
    assert_tails(rank_sum(&[1.0, 2.0, 2.0, 3.0], &[2.0, 3.0, 4.0, 4.0]), 7.0 / 70.0, 69.0 / 70.0);
    assert_tails(rank_sum(&[0.0, 0.0, 0.0, 1.0, 2.0], &[0.0, 1.0, 3.0, 3.0, 5.0]), 18.0 / 252.0, 243.0 / 252.0);
    assert_tails(rank_sum(&[5.0, 1.0, 3.0], &[2.0, 2.0, 2.0, 9.0]), 20.0 / 35.0, 19.0 / 35.0);
    // By hand: {1, 1} v {1, 2} has mid-ranks 2, 2, 2, 4; three of the six pairs sum to 4, three to 6.
    assert_tails(rank_sum(&[1.0, 1.0], &[1.0, 2.0]), 0.5, 1.0);
}

#[test]
fn arms_without_ties_agree_with_an_independent_program() {
    // Enumerated; and SciPy's mannwhitneyu(method="exact") for 12 v 15.
    let tails = rank_sum(&[1.5, 2.5, 9.0, 4.0], &[3.0, 8.0, 7.0, 1.0, 6.0, 5.0]);
    assert_tails(tails, 80.0 / 210.0, 146.0 / 210.0);
    let first: Vec<f64> = (0..12).map(|i| f64::from((i * 37) % 101)).collect();
    let second: Vec<f64> = (0..15).map(|i| f64::from((i * 53) % 101) + 8.5).collect();
    assert_tails(rank_sum(&first, &second), 0.32415159809156313, 0.6929639907362346);
}

#[test]
fn large_arms_agree_with_the_normal_approximation_of_an_independent_program() {
    // SciPy: mannwhitneyu(method="asymptotic"), with continuity and tie corrections; the second has many ties.
    let values = |n: i32, step: i32, modulus: i32, add: i32| -> Vec<f64> {
        (0..n).map(|i| f64::from((i * step) % modulus + add)).collect()
    };
    let tails = rank_sum(&values(30, 37, 101, 0), &values(28, 53, 101, 8));
    assert!((tails.lower - 0.30650549839502783).abs() < 1e-9 && (tails.higher - 0.6989359397204373).abs() < 1e-9);
    let tails = rank_sum(&values(30, 7, 10, 0), &values(28, 3, 10, 1));
    assert!((tails.lower - 0.1269195532455547).abs() < 1e-9 && (tails.higher - 0.8763035893404331).abs() < 1e-9);
}

#[test]
fn equal_values_and_empty_arms_show_nothing() {
    assert_eq!(rank_sum(&[75.0; 5], &[75.0; 5]).two_sided(), 1.0);
    assert_eq!(rank_sum(&[75.0; 40], &[75.0; 40]).two_sided(), 1.0);
    assert_eq!(rank_sum(&[], &[1.0]), Tails::NOTHING);
}

#[test]
fn the_least_p_is_that_of_complete_separation() {
    for (n, m, expected) in [(4, 4, 2.0 / 70.0), (5, 5, 2.0 / 252.0), (5, 4, 2.0 / 126.0), (1, 1, 1.0), (0, 3, 1.0)] {
        assert!((least_p_of_ranks(n, m) - expected).abs() < 1e-12, "{n} v {m}");
    }
    let (low, high): (Vec<f64>, Vec<f64>) = ((0..7).map(f64::from).collect(), (10..19).map(f64::from).collect());
    assert!((rank_sum(&low, &high).two_sided() - least_p_of_ranks(7, 9)).abs() < 1e-12);
}

proptest! {
    #[test]
    fn swapping_the_arms_swaps_the_tails(
        first in prop::collection::vec(0_u8..6, 0..30),
        second in prop::collection::vec(0_u8..6, 0..30),
    ) {
        let (first, second): (Vec<f64>, Vec<f64>) =
            (first.into_iter().map(f64::from).collect(), second.into_iter().map(f64::from).collect());
        let (one, other) = (rank_sum(&first, &second), rank_sum(&second, &first));
        prop_assert!((one.lower - other.higher).abs() < 1e-12 && (one.higher - other.lower).abs() < 1e-12);
    }
}
