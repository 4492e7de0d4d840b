//! Verdicts on arms whose answer is known by hand.

use proptest::prelude::*;

use crate::{Arms, Effect, Repeat, Verdict, VerdictKind, verdict};

fn repeat(clusters: u64, max_ns: f64) -> Repeat {
    Repeat {
        samples: 100_000,
        exposure_s: 2.0,
        off_core_s: 0.0,
        clusters,
        max_ns,
        resolution_ns: 1.0,
        cut_short: false,
    }
}

fn arm<const N: usize>(clusters: [u64; N], maxima_ns: [f64; N]) -> Vec<Repeat> {
    clusters.into_iter().zip(maxima_ns).map(|(clusters, max_ns)| repeat(clusters, max_ns)).collect()
}

fn judge(unmitigated: &[Repeat], mitigated: &[Repeat]) -> Verdict {
    let effective = Effect::Effective("moved the sentinel".into());
    verdict(&Arms { unmitigated, mitigated, threshold_ns: 1000.0 }, &effective)
}

const HIGH: [f64; 5] = [10_200.0, 11_000.0, 12_000.0, 12_500.0, 13_100.0];
const LOW: [f64; 5] = [1_100.0, 1_200.0, 1_300.0, 1_350.0, 1_400.0];
const MANY: [u64; 5] = [24, 20, 26, 22, 28];
const FEW: [u64; 5] = [1, 0, 2, 1, 0];

#[test]
fn fewer_excursions_and_lower_maxima_are_better() {
    let found = judge(&arm(MANY, HIGH), &arm(FEW, LOW));
    assert_eq!(found.kind, VerdictKind::Better);
    // 120 in 10 s and 4 in 10 s; Garwood's limits for 120 and 4 are 99.5, 143.5 and 1.09, 10.24 (tables); complete
    // separation is p = 2/252 = 0.0079.
    assert_eq!(
        found.text,
        "better in rate and maxima: excursions over 1 us 12.0/s (95 % interval 9.94 to 14.4) without \
         it, 0.400/s (95 % interval 0.108 to 1.03) with it, p = 0.0079 between repeats and p < 0.001 by count; largest of \
         each repeat 10.2 us to 13.1 us without it, 1.1 us to 1.4 us with it, p = 0.0079; 5 v 5 repeats of 2 s"
    );
}

#[test]
fn the_other_way_round_is_worse() {
    let found = judge(&arm(FEW, LOW), &arm(MANY, HIGH));
    assert_eq!(found.kind, VerdictKind::Worse);
    assert!(found.text.starts_with("worse in rate and maxima: "), "{}", found.text);
}

#[test]
fn one_question_is_enough_if_the_other_shows_nothing() {
    let found = judge(&arm([0; 5], HIGH), &arm([0; 5], LOW));
    assert!(found.text.starts_with("better in the maxima: "), "{}", found.text);
    assert!(found.text.contains("none in 10 s (below 0.300/s at 95 %) without it"), "{}", found.text);
    let found = judge(&arm(MANY, HIGH), &arm(FEW, HIGH));
    assert!(found.text.starts_with("better in the rate of excursions: "), "{}", found.text);
}

#[test]
fn rarer_excursions_with_higher_maxima_cannot_be_told() {
    let found = judge(&arm(MANY, LOW), &arm(FEW, HIGH));
    assert_eq!(found.kind, VerdictKind::CannotTell);
    assert!(found.text.starts_with("cannot tell, because excursions became rarer but the maxima rose: "));
    let found = judge(&arm(FEW, HIGH), &arm(MANY, LOW));
    assert!(found.text.starts_with("cannot tell, because excursions became more frequent but the maxima fell: "));
}

#[test]
fn equal_maxima_everywhere_are_no_difference() {
    let found = judge(&arm([0; 5], [75.0; 5]), &arm([0; 5], [75.0; 5]));
    assert_eq!(found.kind, VerdictKind::NoDifferenceShown);
    assert!(found.text.contains("largest of each repeat 75 ns without it, 75 ns with it, p = 1"), "{}", found.text);
}

#[test]
fn maxima_within_one_step_of_the_clock_are_equal() {
    let coarse = |max_ns| Repeat { resolution_ns: 40.0, ..repeat(0, max_ns) };
    let found = judge(&[coarse(1_000.0); 5], &[coarse(995.0); 5]);
    assert_eq!(found.kind, VerdictKind::NoDifferenceShown);
    let found = judge(&[repeat(0, 1_000.0); 5], &[repeat(0, 995.0); 5]);
    assert_eq!(found.kind, VerdictKind::Better, "a clock of 1 ns distinguishes them");
}

#[test]
fn four_repeats_cannot_show_anything_and_five_can() {
    let found = judge(&arm(MANY, HIGH)[..4], &arm(FEW, LOW)[..4]);
    assert_eq!(found.kind, VerdictKind::CannotTell);
    assert!(
        found.text.starts_with(
            "cannot tell, because 4 v 4 repeats cannot reach p = 0.025 whatever they show (at best p = 0.029); use \
             --repeats 5 or more: "
        ),
        "{}",
        found.text
    );
    // 5 v 4: 2 / C(9, 4) = 0.016.
    assert_eq!(judge(&arm(MANY, HIGH), &arm(FEW, LOW)[..4]).kind, VerdictKind::Better);
}

#[test]
fn ranks_of_one_or_two_events_are_not_enough() {
    // By rank alone: every repeat 1 against every repeat 0, p = 2/252. By count: 5 of 5 in one arm, 2/2^5 = 0.0625.
    let found = judge(&arm([1; 5], [75.0; 5]), &arm([0; 5], [75.0; 5]));
    assert_eq!(found.kind, VerdictKind::NoDifferenceShown);
}

#[test]
fn one_wild_repeat_does_not_make_a_rate() {
    // By count: 1000 against 50, p < 0.001. By rank: four of five repeats are alike.
    let found = judge(&arm([960, 10, 10, 10, 10], [75.0; 5]), &arm([10; 5], [75.0; 5]));
    assert_eq!(found.kind, VerdictKind::NoDifferenceShown);
    assert!(found.text.contains("the intervals are too narrow"), "{}", found.text);
}

#[test]
fn fewer_excursions_among_fewer_samples_are_not_better() {
    // Every sample is an excursion: 2 s hold 2000 of 1 ms, and 200 of 10 ms.
    let all = |samples| Repeat { samples, ..repeat(samples, 75.0) };
    for (without, with) in [(2000, 200), (200, 2000)] {
        let found = judge(&[all(without); 5], &[all(with); 5]);
        assert_eq!(found.kind, VerdictKind::NoDifferenceShown);
        let why = "by count (not so per sample, p = 1.0: where samples are longer, fewer fit into a second); largest";
        assert!(found.text.contains(why), "{}", found.text);
    }
    // A task of 1 ms of which one pass in 100 is late: in 2 s it is late 20 times. With it, one pass of ten periods each is late
    // every 20 ms: 100 times among 1100 passes. Its maxima say nothing here.
    let late = |samples, clusters| Repeat { samples, ..repeat(clusters, 75.0) };
    assert!(judge(&[late(2000, 20); 5], &[late(1100, 100); 5]).text.starts_with("worse in the rate of excursions"));
    // Half as many a second, and as many of the samples.
    assert_eq!(judge(&[late(2000, 100); 5], &[late(1000, 50); 5]).kind, VerdictKind::NoDifferenceShown);
}

#[test]
fn repeats_in_which_no_sample_ended_do_not_make_their_arm_better() {
    let with_empty = |mut arm: Vec<Repeat>| {
        arm.push(Repeat { samples: 0, ..repeat(0, 0.0) });
        arm
    };
    let hidden = judge(&arm(MANY, HIGH), &with_empty(arm(FEW, LOW)));
    assert_eq!(hidden.kind, VerdictKind::CannotTell);
    assert!(
        hidden.text.starts_with("cannot tell, because no sample ended in 1 repeat with it, so "),
        "{}",
        hidden.text
    );
    let hidden = judge(&with_empty(arm(FEW, LOW)), &arm(MANY, HIGH));
    assert!(
        hidden.text.starts_with("cannot tell, because no sample ended in 1 repeat without it, so "),
        "{}",
        hidden.text
    );
    // The arm that looks worse is worse still.
    assert_eq!(judge(&with_empty(arm(MANY, HIGH)), &arm(FEW, LOW)).kind, VerdictKind::Better);
    assert_eq!(judge(&arm([0; 5], [75.0; 5]), &with_empty(arm([0; 5], [75.0; 5]))).kind, VerdictKind::CannotTell);
    // One that was cut short says nothing.
    let cut = |mut arm: Vec<Repeat>| {
        arm.push(Repeat { samples: 0, cut_short: true, ..repeat(0, 0.0) });
        arm
    };
    assert_eq!(judge(&arm(MANY, HIGH), &cut(arm(FEW, LOW))).kind, VerdictKind::Better);
}

#[test]
fn maxima_of_unequal_lengths_are_not_compared() {
    let short = |repeats: Vec<Repeat>| -> Vec<Repeat> {
        repeats.into_iter().map(|repeat| Repeat { exposure_s: 1.6, ..repeat }).collect()
    };
    let found = judge(&arm([10; 5], HIGH), &short(arm([8; 5], LOW)));
    assert_eq!(found.kind, VerdictKind::NoDifferenceShown);
    assert!(found.text.contains("not compared because repeats differ in length by more than 20 %"), "{}", found.text);
    // Nor is there anything else to go by: 2 excursions in all cannot reach p = 0.025 (2/2^2 is 0.5).
    let found = judge(&arm([0, 0, 1, 0, 0], HIGH), &short(arm([0, 1, 0, 0, 0], LOW)));
    assert_eq!(found.kind, VerdictKind::CannotTell);
    assert!(found.text.starts_with("cannot tell, because there are too few excursions"), "{}", found.text);
}

#[test]
fn unequal_exposure_alone_makes_no_rate_differ() {
    // 1 excursion in every 100 s and one in every tenth repeat of 10 s are the same rate.
    let long = Repeat { exposure_s: 100.0, ..repeat(1, 75.0) };
    let mut short = vec![Repeat { exposure_s: 10.0, ..repeat(0, 75.0) }; 10];
    short[3].clusters = 1;
    assert_ne!(judge(&[long; 10], &short).kind, VerdictKind::Better);
}

#[test]
fn repeats_that_were_cut_short_or_hold_nothing_are_left_out_and_counted() {
    let (mut unmitigated, mut mitigated) = (arm(MANY, HIGH), arm(FEW, LOW));
    mitigated.push(Repeat { cut_short: true, ..repeat(500, 1e9) });
    unmitigated.push(Repeat { samples: 0, ..repeat(0, 0.0) });
    let found = judge(&unmitigated, &mitigated);
    assert_eq!(found.kind, VerdictKind::Better);
    assert!(found.text.ends_with("5 v 5 repeats of 2 s, 2 cut short or empty left out"), "{}", found.text);
    let found = judge(&arm(MANY, HIGH), &mitigated[5..]);
    assert_eq!(found.text, "cannot tell, because there is no complete repeat with the mitigation");
    assert_eq!(judge(&[], &mitigated).text, "cannot tell, because there is no complete repeat without the mitigation");
}

#[test]
fn without_an_effective_neighbour_there_is_no_verdict() {
    let (unmitigated, mitigated) = (arm(MANY, HIGH), arm(FEW, LOW));
    let arms = Arms { unmitigated: &unmitigated, mitigated: &mitigated, threshold_ns: 1000.0 };
    let found = verdict(&arms, &Effect::Ineffective("moved nothing".into()));
    assert_eq!(found.kind, VerdictKind::CannotTell);
    assert_eq!(found.text, "cannot tell, because the neighbours had no effect to mitigate: moved nothing");
    let found = verdict(&arms, &Effect::Unknown("no solo run".into()));
    assert_eq!(found.text, "cannot tell, because it is not known whether the neighbours had an effect: no solo run");
}

#[test]
fn kinds_are_written_in_snake_case() {
    let found = judge(&arm([0; 5], [75.0; 5]), &arm([0; 5], [75.0; 5]));
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["kind"], "no_difference_shown");
    assert_eq!(serde_json::from_value::<Verdict>(json).unwrap(), found);
}

fn any_repeat() -> impl Strategy<Value = Repeat> {
    let number = || prop_oneof![Just(0.0), Just(f64::INFINITY), Just(f64::MAX), 0.0..1e6_f64, -1.0..1.0_f64];
    let count = || prop_oneof![0..4_u64, 0..2_000_u64, any::<u64>()];
    (count(), number(), count(), number(), number(), prop::bool::weighted(0.1)).prop_map(
        |(samples, exposure_s, clusters, max_ns, resolution_ns, cut_short)| Repeat {
            samples,
            exposure_s,
            // Also more than the whole time, which only a broken clock would give.
            off_core_s: max_ns / 1e9,
            clusters,
            max_ns,
            resolution_ns,
            cut_short,
        },
    )
}

fn plausible_repeat() -> impl Strategy<Value = Repeat> {
    (0..40_u64, 100.0..5_000.0_f64).prop_map(|(clusters, max_ns)| repeat(clusters, max_ns))
}

fn assert_antisymmetric(one: &[Repeat], other: &[Repeat]) -> Result<(), TestCaseError> {
    let (found, swapped) = (judge(one, other), judge(other, one));
    let mirrored = match found.kind {
        VerdictKind::Better => VerdictKind::Worse,
        VerdictKind::Worse => VerdictKind::Better,
        same => same,
    };
    prop_assert_eq!(swapped.kind, mirrored, "{} | {}", found.text, swapped.text);
    prop_assert!(found.text.starts_with(&found.kind.to_string()) && !found.text.contains("NaN"), "{}", found.text);
    Ok(())
}

proptest! {
    #[test]
    fn any_arms_get_a_verdict_that_mirrors_when_they_are_swapped(
        one in prop::collection::vec(any_repeat(), 0..12),
        other in prop::collection::vec(any_repeat(), 0..12),
    ) {
        assert_antisymmetric(&one, &other)?;
    }

    #[test]
    fn plausible_arms_get_a_verdict_that_mirrors_when_they_are_swapped(
        one in prop::collection::vec(plausible_repeat(), 3..8),
        mut other in prop::collection::vec(plausible_repeat(), 3..8),
        fewer in 1..20_u64,
        lower in 1.0..5.0_f64,
    ) {
        for repeat in &mut other {
            repeat.clusters /= fewer;
            repeat.max_ns /= lower;
        }
        assert_antisymmetric(&one, &other)?;
    }
}
