//! How often a verdict errs where nothing differs, and how often it finds what does.

use super::synthetic::Synthetic;
use crate::{Arms, Effect, VerdictKind, verdict};

const COMPARISONS: usize = 2000;

/// Repeats in each arm, rate per second and mean height of an excursion in each, and how rates spread over repeats.
struct Design {
    repeats: usize,
    unmitigated: (f64, f64),
    mitigated: (f64, f64),
    shape: Option<u32>,
}

/// How often the verdict was better, and how often worse.
fn verdicts(seed: u64, design: &Design) -> (usize, usize) {
    let mut data = Synthetic::new(seed);
    let effective = Effect::Effective(String::new());
    let mut arm = |(rate, scale_ns)| data.arm(design.repeats, rate, design.shape, scale_ns);
    let kinds: Vec<VerdictKind> = (0..COMPARISONS)
        .map(|_| {
            let (unmitigated, mitigated) = (arm(design.unmitigated), arm(design.mitigated));
            verdict(&Arms { unmitigated: &unmitigated, mitigated: &mitigated, threshold_ns: 1000.0 }, &effective).kind
        })
        .collect();
    let count = |wanted| kinds.iter().filter(|kind| **kind == wanted).count();
    (count(VerdictKind::Better), count(VerdictKind::Worse))
}

#[test]
fn where_nothing_differs_at_most_five_percent_say_so() {
    // 5 % of 2000 is 100, with a standard deviation of 9.7: 129 is three of them above. Rates spread over repeats as a
    // gamma: shape 2 has a standard deviation of 71 % of the mean, shape 10 of 32 %.
    let designs = [
        (5, 10.0, None),
        (5, 0.3, None),
        (5, 10.0, Some(2)),
        (8, 50.0, Some(2)),
        (10, 50.0, Some(10)),
        (30, 5.0, Some(2)),
    ];
    for (seed, (repeats, rate, shape)) in designs.into_iter().enumerate() {
        let same = (rate, 2000.0);
        let (better, worse) = verdicts(seed as u64, &Design { repeats, unmitigated: same, mitigated: same, shape });
        assert!(better + worse <= 129, "{repeats} x {rate}/s, shape {shape:?}: better {better}, worse {worse}");
    }
}

#[test]
fn real_effects_are_found_with_the_documented_power() {
    // The table of docs/statistics.md: repeats, the mitigated rate and mean height, and the percentage found.
    let unmitigated = (10.0, 2000.0);
    let designs = [
        (5, (1.0, 2000.0), 95),
        (5, (10.0, 400.0), 95),
        (5, (5.0, 2000.0), 40),
        (10, (5.0, 2000.0), 80),
        (15, (5.0, 2000.0), 95),
    ];
    for (seed, (repeats, mitigated, percentage)) in designs.into_iter().enumerate() {
        let (better, worse) = verdicts(100 + seed as u64, &Design { repeats, unmitigated, mitigated, shape: Some(10) });
        let what = format!("{repeats} repeats, {mitigated:?}: {better} better, {worse} worse of {COMPARISONS}");
        assert!(better * 100 >= percentage * COMPARISONS, "{what}");
        // Wrong by sign: far fewer than the 2.5 % that fall on each side where nothing differs.
        assert!(worse * 200 <= COMPARISONS, "{what}");
    }
}
