//! Budgets as people write them, and judgements whose answer is known by hand.

use proptest::prelude::*;

use crate::{Budget, Figures, Judgement, JudgementKind, LimitUnit, Metric, judge, judge_at};

fn budget(text: &str) -> Budget {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Judges on so many samples of 1 us and one of each duration in `large_ns`, over 10 s.
fn judge_samples(text: &str, small: u64, large_ns: &[f64]) -> Judgement {
    let max_ns = large_ns.iter().copied().fold(1000.0, f64::max);
    let figures = Figures {
        samples: small + large_ns.len() as u64,
        repeats_without_sample: 0,
        exposure_s: 10.0,
        min_ns: Some(1000.0),
        max_ns: Some(max_ns),
        rounded_down_ns: 0.0,
        tick_ns: 0.0,
        max_at_s: Some(4.2),
        repeat_means_ns: &[],
        repeat_misses: None,
        repeat_slowdowns: None,
        samples_above: &|limit_ns| {
            let small = if limit_ns < 1000.0 { small } else { 0 };
            small + large_ns.iter().filter(|ns| **ns > limit_ns).count() as u64
        },
        samples_surely_above: None,
        clusters_above: &|_| Some(2),
    };
    judge(&budget(text), &figures)
}

fn judge_means(text: &str, repeat_means_ns: &[f64]) -> Judgement {
    let figures = Figures {
        samples: 1000,
        repeats_without_sample: 0,
        exposure_s: 1.0,
        min_ns: Some(1.0),
        max_ns: Some(1e6),
        rounded_down_ns: 0.0,
        tick_ns: 0.0,
        max_at_s: None,
        repeat_means_ns,
        repeat_misses: None,
        repeat_slowdowns: None,
        samples_above: &|_| 0,
        samples_surely_above: None,
        clusters_above: &|_| None,
    };
    judge(&budget(text), &figures)
}

#[test]
fn a_budget_is_a_metric_a_limit_and_perhaps_a_rate_and_a_mitigation() {
    let plain = budget("max<=10us");
    assert_eq!((plain.mitigation.as_deref(), plain.metric, plain.limit, plain.rate), (None, Metric::Max, 1e4, None));
    let restricted = budget(" nl3a+cp: p99.9 <= 2us ");
    assert_eq!(restricted.mitigation.as_deref(), Some("nl3a+cp"));
    assert_eq!((restricted.metric, restricted.limit), (Metric::P99_9, 2000.0));
    assert_eq!(restricted.to_string(), "nl3a+cp: p99.9 <= 2us");
    assert_eq!(budget("max<=50us@1e-6").rate, Some(1e-6));
    for (name, metric) in Metric::NAMES {
        let limit = if metric.unit() == LimitUnit::Nanoseconds { "1ms" } else { "1.5" };
        assert_eq!(budget(&format!("{name}<={limit}")).metric, metric);
        assert_eq!(metric.to_string(), name);
    }
}

#[test]
fn a_budget_applies_to_its_mitigation_or_to_all() {
    assert!(budget("max<=10us").applies_to("none") && budget("max<=10us").applies_to("cp"));
    assert!(budget("cp:max<=10us").applies_to("cp") && !budget("cp:max<=10us").applies_to("nl3a+cp"));
}

#[test]
fn what_is_not_a_budget_is_refused_with_what_was_found_and_what_would_do() {
    for (text, found) in [
        ("", "there is no `<=`"),
        ("max", "there is no `<=`"),
        ("max<10us", "compares with `<`"),
        ("max=10us", "compares with `=`"),
        ("max>=10us", "compares with `>`"),
        ("maximum<=10us", "the metric `maximum` is not known, expected one of max, mean, min, jitter, p50"),
        ("p99.5<=10us", "the metric `p99.5`"),
        ("max<=10", "the unit is missing"),
        ("max<=", "`` is not a duration: it is empty"),
        ("max<=inf us", "is not a duration"),
        ("max<=NaN us", "is not a duration"),
        ("max<=-1us", "is not a duration"),
        ("max<=0us", "the limit `0us` is not over 0"),
        ("max<=1e9us", "is not a duration"),
        (":max<=10us", "no mitigation before the `:`"),
        ("max<=10us@", "the rate `` is not a share"),
        ("max<=10us@0", "the rate `0` is not a share"),
        ("max<=10us@1", "the rate `1` is not a share"),
        ("max<=10us@NaN", "the rate `NaN` is not a share"),
        ("p99<=10us@1e-3", "`p99` takes no rate"),
    ] {
        let error = text.parse::<Budget>().unwrap_err().to_string();
        assert!(error.contains(found), "{text}: {error}");
        assert!(error.contains("such as `max<=10us`"), "{error}");
    }
}

#[test]
fn one_sample_over_the_limit_breaks_a_maximum() {
    let found = judge_samples("max<=10us", 999_997, &[12_300.0, 11_000.0, 10_500.0]);
    assert_eq!(found.kind, JudgementKind::Broken);
    assert_eq!(
        found.text,
        "broken: 3 of 1000000 samples over 10 us, in 2 separate excursions; the largest was 12.3 us, 4.2 s into its repeat"
    );
    assert_eq!(judge_samples("max<=10us", 1, &[12_300.0]).kind, JudgementKind::Broken, "however few samples there are");
}

#[test]
fn the_exact_maximum_decides_where_the_histogram_is_too_coarse() {
    let coarse = Figures {
        samples: 10_000,
        repeats_without_sample: 0,
        exposure_s: 10.0,
        min_ns: Some(1.0),
        max_ns: Some(10_000.5),
        rounded_down_ns: 0.0,
        tick_ns: 0.0,
        max_at_s: None,
        repeat_means_ns: &[],
        repeat_misses: None,
        repeat_slowdowns: None,
        samples_above: &|_| 0,
        samples_surely_above: None,
        clusters_above: &|_| None,
    };
    let found = judge(&budget("max<=10us"), &coarse);
    assert_eq!(found.text, "broken: 1 of 10000 samples over 10 us; the largest was 10 us");
    let share = judge(&budget("p99.9<=10us"), &coarse);
    assert!(share.text.contains("1 of 10000 samples over 10 us"), "{}", share.text);
    // Of 2000 beyond the histogram one is known to be over the limit: the largest.
    let beyond = Figures { samples_above: &|_| 2000, samples_surely_above: Some(&|_| 0), ..coarse };
    let share = judge(&budget("p99<=10us"), &beyond);
    assert!(share.text.contains("1 of 10000 samples over 10 us, and 1999 more may be"), "{}", share.text);
    let within = Figures { max_ns: Some(9_999.5), samples_above: &|_| 3, ..coarse };
    assert_eq!(judge(&budget("max<=10us"), &within).kind, JudgementKind::NotSeenBroken);
}

/// Ten thousand samples from 1 us to `max_ns`, by a counter with a step of 40 ns.
fn judge_by_a_coarse_counter(text: &str, max_ns: f64) -> Judgement {
    let figures = Figures {
        samples: 10_000,
        repeats_without_sample: 0,
        exposure_s: 10.0,
        min_ns: Some(1000.0),
        max_ns: Some(max_ns),
        rounded_down_ns: 0.0,
        tick_ns: 40.0,
        max_at_s: None,
        repeat_means_ns: &[],
        repeat_misses: None,
        repeat_slowdowns: None,
        samples_above: &|limit_ns| if limit_ns < max_ns { 1 } else { 0 },
        samples_surely_above: None,
        clusters_above: &|_| None,
    };
    judge(&budget(text), &figures)
}

#[test]
fn a_limit_within_a_step_of_the_counter_is_neither_kept_nor_broken() {
    let kinds = |text: &str, maxima: [f64; 4]| maxima.map(|max_ns| judge_by_a_coarse_counter(text, max_ns).kind);
    let expected =
        [JudgementKind::NotSeenBroken, JudgementKind::TooThin, JudgementKind::TooThin, JudgementKind::Broken];
    assert_eq!(kinds("max<=10us", [9_960.0, 9_961.0, 10_039.0, 10_041.0]), expected);
    // The shortest sample may be off too, the other way.
    assert_eq!(kinds("jitter<=9us", [9_920.0, 9_921.0, 10_079.0, 10_081.0]), expected);
    // A share is as fine as the histogram, which is coarser.
    assert_eq!(judge_by_a_coarse_counter("p99<=10us", 9_990.0).kind, JudgementKind::NotSeenBroken);
    let text = judge_by_a_coarse_counter("max<=10us", 10_020.0).text;
    assert!(text.starts_with("too thin to say: the limit is nearer") && text.contains("40 ns"), "{text}");
}

#[test]
fn no_sample_over_the_limit_bounds_the_rate_and_nothing_else() {
    let found = judge_samples("max<=10us", 999_999, &[8_200.0]);
    assert_eq!(found.kind, JudgementKind::NotSeenBroken);
    // 2.9957 / 1e6 a sample, 2.9957 / 10 s a second.
    assert_eq!(
        found.text,
        "not seen broken in 1000000 samples (rate below 3.0e-6 a sample and 0.300/s at 95 %, if samples are independent); \
         the largest was 8.2 us"
    );
}

#[test]
fn too_few_samples_for_the_wanted_rate_are_too_thin() {
    assert_eq!(judge_samples("max<=10us", 2995, &[]).kind, JudgementKind::NotSeenBroken);
    let found = judge_samples("max<=10us", 2994, &[]);
    assert_eq!(found.kind, JudgementKind::TooThin);
    assert_eq!(
        found.text,
        "too thin to say: none of 2994 samples over 10 us, which shows only a rate below 0.0011 a sample at 95 %; 0.0010 \
         a sample takes 2995 samples"
    );
    assert_eq!(judge_samples("max<=10us@1e-6", 1_000_000, &[]).kind, JudgementKind::TooThin);
    assert_eq!(judge_samples("max<=10us@1e-6", 3_000_000, &[]).kind, JudgementKind::NotSeenBroken);
    assert_eq!(judge_samples("max<=10us@0.1", 29, &[]).kind, JudgementKind::NotSeenBroken, "ln 0.05 / ln 0.9 = 28.4");
    assert_eq!(judge_samples("max<=10us@0.1", 28, &[]).kind, JudgementKind::TooThin);
}

#[test]
fn no_samples_are_too_thin() {
    let nothing = Figures {
        samples: 0,
        repeats_without_sample: 0,
        exposure_s: 0.0,
        min_ns: None,
        max_ns: None,
        rounded_down_ns: 0.0,
        tick_ns: 0.0,
        max_at_s: None,
        repeat_means_ns: &[],
        repeat_misses: None,
        repeat_slowdowns: None,
        samples_above: &|_| 0,
        samples_surely_above: None,
        clusters_above: &|_| None,
    };
    for (name, metric) in Metric::NAMES {
        let limit = if metric.unit() == LimitUnit::Nanoseconds { "10us" } else { "10" };
        let found = judge(&budget(&format!("{name}<={limit}")), &nothing);
        assert_eq!(found.text, "too thin to say: there are no samples");
    }
}

#[test]
fn jitter_counts_from_the_minimum() {
    // The minimum is 1 us: 10.5 us is within a jitter of 10 us, 11.5 us is not.
    assert_eq!(judge_samples("jitter<=10us", 9_999, &[10_500.0]).kind, JudgementKind::NotSeenBroken);
    let found = judge_samples("jitter<=10us", 9_999, &[11_500.0]);
    assert!(found.text.starts_with("broken: 1 of 10000 samples over 10 us above the minimum"), "{}", found.text);
    // The largest sample is over 10 us, and its distance is not.
    let within = judge_samples("jitter<=10us", 9_999, &[10_500.0]).text;
    assert!(within.ends_with("the largest was 10.5 us, 9.5 us above the minimum"), "{within}");
}

#[test]
fn a_percentile_is_judged_by_the_share_above_the_limit() {
    // p99 of 1000 samples, of which 10 may be above. Clopper and Pearson, one-sided at 95 %, by the Poisson tables that
    // are close to it: at least 10.8 expected from 17 seen, 9.2 from 15; at most 9.15 from 4, 10.5 from 5.
    for (above, kind) in [
        (4, JudgementKind::NotSeenBroken),
        (5, JudgementKind::TooThin),
        (10, JudgementKind::TooThin),
        (15, JudgementKind::TooThin),
        (17, JudgementKind::Broken),
    ] {
        let found = judge_samples("p99<=2us", 1000 - above as u64, &vec![3_000.0; above]);
        assert_eq!(found.kind, kind, "{}", found.text);
    }
    let found = judge_samples("p99<=2us", 1000, &[]);
    assert_eq!(
        found.text,
        "not seen broken in 1000 samples (rate below 0.0030 a sample at 95 %, if samples are independent): 0 of 1000 \
         samples over 2 us; p99 allows 0.01 of them"
    );
    assert_eq!(judge_samples("p99.99<=2us", 1000, &[]).kind, JudgementKind::TooThin);
}

#[test]
fn a_mean_is_judged_beyond_the_spread_of_the_repeats() {
    // 9, 10, 11: mean 10, standard error 1/sqrt(3) = 0.577, t(0.95, 2) = 2.920: 8.31 to 11.69.
    let means = [9.0, 10.0, 11.0];
    let found = judge_means("mean<=8.3ns", &means);
    assert_eq!(found.text, "broken: mean 10 ns (8.31 ns to 11.7 ns from 3 repeats, each at 95 %), limit 8.3 ns");
    assert_eq!(judge_means("mean<=8.4ns", &means).kind, JudgementKind::TooThin);
    assert_eq!(judge_means("mean<=11.6ns", &means).kind, JudgementKind::TooThin);
    assert_eq!(judge_means("mean<=11.7ns", &means).kind, JudgementKind::NotSeenBroken);
    // Mean 40, s = 51.96: the t-interval begins far below 0, where no time is.
    let wide = judge_means("mean<=50ns", &[10.0, 10.0, 100.0]);
    assert!(wide.text.contains("mean 40 ns (0 ns to "), "{}", wide.text);
    assert_eq!(judge_means("mean<=10ns", &[10.0; 5]).kind, JudgementKind::NotSeenBroken, "the limit is within");
    let found = judge_means("mean<=9ns", &[10.0]);
    assert_eq!(found.text, "broken: mean 10 ns, limit 9 ns, from one repeat, whose spread is not known");
    assert_eq!(judge_means("mean<=9ns", &[]).kind, JudgementKind::TooThin);
}

#[test]
fn a_minimum_needs_one_sample_to_hold_and_many_to_be_broken() {
    assert_eq!(judge_samples("min<=1us", 1, &[]).kind, JudgementKind::NotSeenBroken);
    assert_eq!(judge_samples("min<=0.9us", 2994, &[]).kind, JudgementKind::TooThin);
    assert_eq!(judge_samples("min<=0.9us", 2995, &[]).kind, JudgementKind::Broken);
}

#[test]
fn kinds_are_written_in_snake_case() {
    let json = serde_json::to_value(judge_samples("max<=10us", 3000, &[])).unwrap();
    assert_eq!(json["kind"], "not_seen_broken");
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*|[a-z0-9.+]{0,4}:?(max|p99.9|jitter|mean) ?<?=? ?[0-9.e-]{0,5} ?(us|ns|s)?@?[0-9.e-]{0,6}") {
        if let Ok(budget) = text.parse::<Budget>() {
            prop_assert!(budget.limit > 0.0 && budget.limit.is_finite());
            prop_assert_eq!(budget.to_string().parse::<Budget>().unwrap(), budget);
        }
    }

    #[test]
    fn no_figures_panic(
        metric in 0..Metric::NAMES.len(),
        samples in any::<u64>(),
        above in any::<u64>(),
        clusters in any::<u64>(),
        numbers in prop::array::uniform4(prop::num::f64::ANY),
        means in prop::collection::vec(prop::num::f64::ANY, 0..4),
    ) {
        let figures = Figures {
            samples,
            repeats_without_sample: 0,
            exposure_s: numbers[0],
            min_ns: Some(numbers[1]),
            max_ns: Some(numbers[2]),
            rounded_down_ns: 0.0,
            tick_ns: 0.0,
            max_at_s: Some(numbers[3]),
            repeat_means_ns: &means,
            repeat_misses: Some(&[(above, samples)]),
            repeat_slowdowns: Some(&means),
            samples_above: &|_| above,
            samples_surely_above: None,
            clusters_above: &|_| Some(clusters),
        };
        let (name, metric) = Metric::NAMES[metric];
        let limit = if metric.unit() == LimitUnit::Nanoseconds { "10us" } else { "10" };
        let found = judge(&budget(&format!("{name}<={limit}")), &figures);
        prop_assert!(found.text.starts_with(&found.kind.to_string()));
    }
}

/// Judges 5 repeats of 20 samples with so many misses each, and with these slowdowns.
fn judge_counts(text: &str, misses: &[u64], slowdowns: &[f64], confidence: f64) -> Judgement {
    let repeat_misses: Vec<(u64, u64)> = misses.iter().map(|misses| (*misses, 20)).collect();
    let figures = Figures {
        samples: 20 * misses.len() as u64,
        repeats_without_sample: 0,
        exposure_s: 1.0,
        min_ns: Some(1.0),
        max_ns: Some(100.0),
        rounded_down_ns: 0.0,
        tick_ns: 0.0,
        max_at_s: None,
        repeat_means_ns: &[],
        repeat_misses: Some(&repeat_misses),
        repeat_slowdowns: Some(slowdowns),
        samples_above: &|_| 0,
        samples_surely_above: None,
        clusters_above: &|_| None,
    };
    judge_at(&budget(text), &figures, confidence)
}

#[test]
fn misses_and_slowdowns_are_judged_by_repeat() {
    // No miss in 100 samples: 1 - 0.05^(1/100) = 0.0295.
    let none = judge_counts("misses==0", &[0; 5], &[], 0.95);
    assert_eq!(none.kind, JudgementKind::NotSeenBroken);
    assert!(none.text.contains("100 samples") && none.text.contains("below 0.030 a sample at 95 %"), "{}", none.text);
    // 1 - 0.025^(1/100) = 0.0362, rounded outwards.
    let stricter = judge_counts("misses==0", &[0; 5], &[], 0.975);
    assert!(stricter.text.contains("below 0.037 a sample at 97.5 %"), "{}", stricter.text);
    // ln 0.05 / ln (1 - 0.01) = 298.07.
    let thin = judge_counts("misses==0@0.01", &[0; 5], &[], 0.95);
    assert_eq!(thin.kind, JudgementKind::TooThin);
    assert!(thin.text.contains("takes 299 samples"), "{}", thin.text);
    let one = judge_counts("misses==0", &[0, 0, 1, 0, 0], &[], 0.95);
    assert_eq!(one.kind, JudgementKind::Broken);
    assert!(one.text.contains("1 misses in 100 samples, 0.0100 a sample, in 1 of 5 repeats"), "{}", one.text);
    // Means 1, 1, 2, 2, 1.5: 1.5, s = 0.5, t(0.95, 4) = 2.132: 1.5 -+ 0.477.
    let kind = |text: &str| judge_counts(text, &[20, 20, 40, 40, 30], &[1.0, 1.02, 1.04, 1.06, 1.08], 0.95).kind;
    assert_eq!(kind("misses<=1"), JudgementKind::Broken);
    assert_eq!(kind("misses<=1.5"), JudgementKind::TooThin);
    assert_eq!(kind("misses<=1.98"), JudgementKind::NotSeenBroken);
    // Mean 1.04, s = 0.0316, half a width 0.0301.
    assert_eq!(kind("slowdown<=1.05"), JudgementKind::TooThin);
    assert_eq!(kind("slowdown<=1.071"), JudgementKind::NotSeenBroken);
    assert_eq!(kind("slowdown<=1.009"), JudgementKind::Broken);
}

#[test]
fn a_budget_over_a_time_wants_that_time() {
    let (short, long) = (judge_samples("max<=2us over 1min", 5000, &[]), judge_samples("max<=2us over 10s", 5, &[]));
    assert_eq!(short.kind, JudgementKind::TooThin);
    assert!(short.text.contains("in 10 s; the budget is over 60 s"), "{}", short.text);
    assert_eq!(long.kind, JudgementKind::NotSeenBroken);
    assert_eq!(judge_samples("max<=2us over 1min", 5000, &[3000.0]).kind, JudgementKind::Broken);
    assert_eq!(judge_samples("max<=2us@1e-3 over 10s", 5, &[]).kind, JudgementKind::TooThin);
}

#[test]
fn limits_are_in_the_unit_of_their_metric() {
    let parsed = |text: &str| budget(text);
    assert_eq!((parsed("misses==0").limit, parsed("misses<=2.5").limit), (0.0, 2.5));
    assert_eq!((parsed("slowdown<=1.05").limit, parsed("max<=50us over 24h").over_s), (1.05, Some(86400.0)));
    for text in [
        "misses==1",
        "max==0",
        "misses<=-1",
        "misses<=x",
        "slowdown<=0",
        "slowdown<=nan",
        "mean<=1us over 1h",
        "max<=1us over 0s",
        "max<=1us over x",
        "misses<=2@0.1",
        "slowdown<=1@0.1",
    ] {
        assert!(text.parse::<Budget>().is_err(), "{text}");
    }
}

/// A sample that did not end was longer than its repeat: that none was seen above the limit says little then.
#[test]
fn repeats_without_a_sample_leave_a_budget_too_thin_unless_it_is_broken() {
    let judged = |max_ns, repeats_without_sample| {
        let figures = Figures {
            samples: 1_000_000,
            repeats_without_sample,
            exposure_s: 10.0,
            min_ns: Some(50.0),
            max_ns: Some(max_ns),
            rounded_down_ns: 0.0,
            tick_ns: 0.0,
            max_at_s: None,
            repeat_means_ns: &[60.0; 5],
            repeat_misses: None,
            repeat_slowdowns: None,
            samples_above: &|limit| u64::from(max_ns > limit),
            samples_surely_above: None,
            clusters_above: &|_| None,
        };
        judge(&"max<=1us".parse().unwrap(), &figures)
    };
    let kinds = [(900.0, 0), (900.0, 1), (1100.0, 1)].map(|(max_ns, without)| judged(max_ns, without).kind);
    assert_eq!(kinds, [JudgementKind::NotSeenBroken, JudgementKind::TooThin, JudgementKind::Broken]);
    assert!(judged(900.0, 2).text.contains("no sample ended in 2 repeats"), "{}", judged(900.0, 2).text);
}
