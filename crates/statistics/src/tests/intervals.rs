//! Intervals and the comparison of rates: published values, independent programs (SciPy, mpmath), coverage by simulation.

use super::synthetic::Synthetic;
use crate::{
    Counted, clopper_pearson, compare_rates, garwood, is_overdispersed, rate_excluded_by_none, rate_interval,
    samples_to_exclude,
};

fn assert_near(got: f64, expected: f64, relative: f64, what: &str) {
    assert!((got - expected).abs() <= relative * expected.abs(), "{what}: got {got}, expected {expected}");
}

#[test]
fn garwoods_table() {
    // Garwood 1936, 95 %, also in Pearson & Hartley, Biometrika Tables, table 40.
    for (events, lower, upper) in [(0, 0.0, 3.689), (1, 0.0253, 5.572), (2, 0.242, 7.225), (10, 4.795, 18.39)] {
        let interval = garwood(events, 1.0, 0.95);
        assert_near(interval.lower, lower, 1e-3, "lower");
        assert_near(interval.upper, upper, 1e-3, "upper");
    }
}

#[test]
fn garwood_agrees_with_an_independent_program_up_to_huge_counts() {
    // SciPy: chi2.ppf(0.025, 2n) / 2 and chi2.ppf(0.975, 2n + 2) / 2, on both sides of the switch at 100000.
    for (events, lower, upper) in [
        (100, 81.36399125092315, 121.62679379242638),
        (99_999, 99_380.15576273036, 100_620.74164077373),
        (100_000, 99_381.15266374472, 100_621.74473974388),
        (100_001, 99_382.1495647746, 100_622.74783869852),
        (1_000_000_000, 999_938_021.4439279, 1_000_061_981.4504089),
    ] {
        let interval = garwood(events, 1.0, 0.95);
        assert_near(interval.lower, lower, 1e-8, "lower");
        assert_near(interval.upper, upper, 1e-8, "upper");
    }
}

#[test]
fn rates_are_per_second_of_exposure() {
    let (one, ten) = (garwood(7, 1.0, 0.95), garwood(7, 10.0, 0.95));
    assert_near(ten.lower * 10.0, one.lower, 1e-12, "lower");
    assert_near(ten.upper * 10.0, one.upper, 1e-12, "upper");
}

#[test]
fn no_event_excludes_three_in_the_exposure() {
    // -ln 0.05 = 2.9957, over 10 s.
    assert_near(rate_excluded_by_none(10.0, 0.95), 0.29957, 1e-4, "rule of three");
    assert_eq!(rate_interval(0, 10.0, 0.95).upper, rate_excluded_by_none(10.0, 0.95));
    assert_eq!(rate_interval(3, 10.0, 0.95), garwood(3, 10.0, 0.95));
}

#[test]
fn without_exposure_nothing_is_known() {
    for exposure_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let interval = garwood(3, exposure_s, 0.95);
        assert_eq!((interval.lower, interval.upper), (0.0, f64::INFINITY));
    }
    assert_eq!(rate_excluded_by_none(0.0, 0.95), f64::INFINITY);
}

#[test]
fn garwood_covers_the_true_rate_at_least_as_often_as_it_says() {
    let mut data = Synthetic::new(1);
    for mean in [0.5, 3.0, 12.0] {
        let covered = (0..4000)
            .filter(|_| {
                let interval = garwood(data.poisson(mean * 2.0), 2.0, 0.95);
                interval.lower <= mean && mean <= interval.upper
            })
            .count();
        // 95 % of 4000 is 3800, with a standard deviation of 13.8: 3758 is three of them below.
        assert!(covered >= 3758, "{covered} of 4000 at {mean}");
    }
}

#[test]
fn clopper_and_pearson_agree_with_an_independent_program() {
    // SciPy: beta.ppf(0.025, k, n - k + 1) and beta.ppf(0.975, k + 1, n - k); 5 of 10 is also in the tables: 0.187, 0.813.
    for (events, trials, lower, upper) in [
        (0, 10, 0.0, 0.3084971078187607),
        (1, 10, 0.0025285785444617865, 0.4450161170281954),
        (5, 10, 0.18708602844739855, 0.8129139715526015),
        (10, 10, 0.6915028921812392, 1.0),
        (7, 20, 0.1539092047845412, 0.5921885345328282),
        (50, 1000, 0.03733539760466178, 0.06539048791549364),
        (999, 2000, 0.47735129910881224, 0.5216501687609851),
        (30_000, 100_000, 0.29716057540056484, 0.30285102868107405),
        (500_000_000, 1_000_000_000, 0.4999690097484223, 0.5000309902515777),
        (999_999_995, 1_000_000_000, 0.999999988331668, 0.9999999983765137),
        // Both sides of each switch between methods: the binomial sums in 30 digits (mpmath).
        (199, 500, 0.354809256823, 0.442404137193),
        (200, 500, 0.35676137206, 0.444428200757),
        (199, 100_000, 0.00172332439566, 0.00228618826931),
        (200, 100_000, 0.0017326320866, 0.00229687829385),
        (199, 1_000_000, 0.000172312506845, 0.000228649350761),
        (199, 1_000_001, 0.00017231233453, 0.000228649122116),
        (200, 1_000_000, 0.000173243114081, 0.000229718567636),
        (200, 1_000_000_000, 1.73240884913e-7, 2.29721978252e-7),
        (999, 100_000_000, 9.38004299945e-6, 1.06292081151e-5),
        (3, 10_000_000_000, 6.18672122938e-11, 8.76727306721e-10),
    ] {
        let interval = clopper_pearson(events, trials, 0.95);
        let what = format!("{events} of {trials}");
        assert_near(interval.lower, lower, 3e-5, &what);
        assert_near(interval.upper, upper, 3e-5, &what);
    }
}

#[test]
fn clopper_and_pearson_cover_the_true_share_at_least_as_often_as_they_say() {
    let mut data = Synthetic::new(2);
    for p in [0.02, 0.3] {
        let covered = (0..2000)
            .filter(|_| {
                let interval = clopper_pearson(data.binomial(100, p), 100, 0.95);
                interval.lower <= p && p <= interval.upper
            })
            .count();
        // 95 % of 2000 is 1900, with a standard deviation of 9.7: 1870 is three of them below.
        assert!(covered >= 1870, "{covered} of 2000 at {p}");
    }
}

#[test]
fn a_share_of_a_thousandth_takes_2995_samples_to_exclude() {
    // ln 0.05 / ln 0.999 = 2994.2.
    assert_eq!(samples_to_exclude(1e-3, 0.95), 2995);
    assert!(clopper_pearson(0, 2995, 0.9).upper <= 1e-3);
    assert!(clopper_pearson(0, 2994, 0.9).upper > 1e-3);
    // ln 0.05 / 1e-6 = 2995732.3; the second term of the logarithm takes off half a ln 0.05.
    assert_eq!(samples_to_exclude(1e-6, 0.95), 2_995_731);
}

#[test]
fn rates_compare_as_in_an_independent_program() {
    // SciPy: binom.cdf(a, a + b, T1 / (T1 + T2)) and binom.sf(a - 1, ...). 5 of 5 in one of two equal arms is 1/2^5.
    for (first, second, lower, higher) in [
        ((10, 1.0), (2, 1.0), 0.996826171875, 0.019287109375),
        ((10, 1.0), (25, 1.0), 0.008336923900060357, 0.9970059397164732),
        ((3, 2.0), (12, 5.0), 0.34017257722573246, 0.8470123329937183),
        ((0, 1.0), (5, 1.0), 0.03125, 1.0),
        ((7, 1.0), (0, 1.0), 1.0, 0.0078125),
        ((120, 10.0), (90, 9.0), 0.9162073632378623, 0.10727937065175892),
        ((50_000, 10.0), (50_800, 10.0), 0.00592425076498699, 0.9941808232388347),
        ((1_005_000, 1.0), (1_000_000, 1.0), 0.9997936532335752, 0.00020745163285915044),
    ] {
        let counted = |(events, exposure_s)| Counted { events, exposure_s };
        let tails = compare_rates(counted(first), counted(second));
        assert_near(tails.lower, lower, 1e-4, &format!("{first:?} v {second:?}, lower"));
        assert_near(tails.higher, higher, 1e-4, &format!("{first:?} v {second:?}, higher"));
    }
}

#[test]
fn rates_without_events_or_exposure_cannot_be_told_apart() {
    for (first, second) in [((0, 1.0), (0, 1.0)), ((5, 0.0), (3, 1.0)), ((5, 1.0), (3, 0.0))] {
        let counted = |(events, exposure_s)| Counted { events, exposure_s };
        assert_eq!(compare_rates(counted(first), counted(second)).two_sided(), 1.0);
    }
}

#[test]
fn counts_that_differ_by_more_than_chance_are_noticed() {
    let counts = |events: [u64; 4]| events.map(|events| Counted { events, exposure_s: 2.0 });
    // Index of dispersion, by hand, mean 100: (9 + 4 + 25 + 36) / 100 = 0.74; (1600 + 900 + 400 + 100) / 100 = 30. The
    // 1 % point of chi-square with 3 degrees of freedom is 11.34.
    assert!(!is_overdispersed(&counts([97, 102, 95, 106])));
    assert!(is_overdispersed(&counts([60, 130, 120, 90])));
    assert!(!is_overdispersed(&counts([0, 0, 0, 3])), "too few events for chi-square");
    assert!(!is_overdispersed(&[]));
}
