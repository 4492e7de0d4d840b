//! Neighbours whose effect is known.

use super::synthetic::Synthetic;
use crate::{Effect, Observed, SoloAndLoaded, effect};

fn sentinel(solo: &[f64], loaded: &[f64]) -> Effect {
    effect(&SoloAndLoaded { sentinel_solo_ns: solo, sentinel_loaded_ns: loaded, ..SoloAndLoaded::default() })
}

fn observed(mean_ns: f64, max_ns: f64) -> Observed {
    Observed { mean_ns, p99_ns: None, max_ns, clusters_per_s: 0.0, exposure_s: 2.0 }
}

#[test]
fn a_sentinel_far_outside_its_solo_spread_shows_the_effect() {
    let found = sentinel(&[12.1, 11.9, 12.6], &[48.0, 47.0, 49.0]);
    assert_eq!(found.is_effective(), Some(true));
    // 48.0 / 12.1 = 3.97.
    assert_eq!(
        found.text(),
        "moved the sentinel's mean from 12.1 ns to 48 ns (x3.97), outside the solo spread 11.9 ns to 12.6 ns"
    );
}

#[test]
fn within_the_solo_spread_there_is_none() {
    let found = sentinel(&[12.1, 11.9, 12.6], &[12.3, 12.0, 12.5]);
    assert_eq!(
        found,
        Effect::Ineffective(
            "nothing was shown to move beyond its solo spread: the sentinel's mean 12 ns to 12.5 ns loaded, 11.9 ns to \
             12.6 ns solo".into()
        )
    );
}

#[test]
fn few_repeats_must_clear_the_solo_values_by_more_than_their_range() {
    // The solo range is 2: from 12, the lowest loaded value must be above 14.
    assert_eq!(sentinel(&[10.0, 11.0, 12.0], &[13.9, 20.0, 21.0]).is_effective(), Some(false));
    assert_eq!(sentinel(&[10.0, 11.0, 12.0], &[14.1, 14.2, 14.3]).is_effective(), Some(true));
    assert_eq!(sentinel(&[10.0, 11.0, 12.0], &[11.9, 50.0, 60.0]).is_effective(), Some(false), "one is within");
}

#[test]
fn many_repeats_are_tested_by_rank_and_one_outlier_hides_nothing() {
    // 6 v 6 with the loaded ones above five of the solo ones and all but one above the sixth.
    let solo = [10.0, 10.1, 10.2, 10.3, 10.4, 15.5];
    assert_eq!(sentinel(&solo, &[15.0, 16.0, 16.1, 16.2, 16.3, 16.4]).is_effective(), Some(true));
    // The median must be above the largest solo value all the same.
    assert_eq!(sentinel(&solo, &[15.0, 15.1, 15.2, 15.3, 15.4, 16.4]).is_effective(), Some(false));
}

#[test]
fn a_regular_shift_of_less_than_a_percent_is_no_effect() {
    assert_eq!(sentinel(&[100.0; 6], &[100.5; 6]).is_effective(), Some(false));
    assert_eq!(sentinel(&[100.0; 6], &[102.0; 6]).is_effective(), Some(true));
}

#[test]
fn a_faster_target_is_not_an_effect() {
    assert_eq!(sentinel(&[48.0, 47.0, 49.0], &[12.1, 11.9, 12.6]).is_effective(), Some(false));
}

#[test]
fn every_figure_that_moved_is_named() {
    let solo = [observed(10.0, 100.0), observed(10.2, 110.0), observed(10.1, 105.0)];
    let loaded = [observed(20.2, 1050.0), observed(20.2, 1050.0), observed(20.2, 1050.0)];
    let found = effect(&SoloAndLoaded { target_solo: &solo, target_loaded: &loaded, ..SoloAndLoaded::default() });
    assert_eq!(
        found.text(),
        "moved the target's mean from 10.1 ns to 20.2 ns (x2.00), outside the solo spread 10 ns to 10.2 ns; also the \
         target's maximum x10.0"
    );
    // Another mean than that of the samples is called so.
    let found = effect(&SoloAndLoaded {
        target_solo: &solo,
        target_loaded: &loaded,
        off_core_left_out: true,
        sentinel_off_core_left_out: true,
        ..SoloAndLoaded::default()
    });
    assert!(
        found.text().starts_with("moved the target's mean without the time off its core from 10.1 ns"),
        "{}",
        found.text()
    );
    // A loaded run ten times as long may well have a higher maximum; its mean is as good as before.
    let longer = loaded.map(|repeat| Observed { exposure_s: 20.0, mean_ns: 10.1, ..repeat });
    let found = effect(&SoloAndLoaded { target_solo: &solo, target_loaded: &longer, ..SoloAndLoaded::default() });
    assert_eq!(found.is_effective(), Some(false), "{}", found.text());
}

#[test]
fn without_repeats_nothing_is_known() {
    let found = sentinel(&[12.0, 12.1], &[48.0, 47.0, 49.0]);
    assert_eq!(found.is_effective(), None);
    assert!(
        found.text().ends_with("the target was seen 0 and 0 times, the sentinel 2 and 3 times"),
        "{}",
        found.text()
    );
    assert_eq!(sentinel(&[f64::NAN, 12.0, 12.1], &[48.0, 47.0, 49.0]).is_effective(), None);
}

#[test]
fn neighbours_without_effect_are_seldom_called_effective() {
    let mut data = Synthetic::new(11);
    // 5 % of 2000 is 100, with a standard deviation of 9.7: 129 is three of them above.
    for repeats in [3_usize, 4, 5, 8] {
        let effective = (0..2000)
            .filter(|_| {
                let mut seen = || -> Vec<Observed> {
                    (0..repeats)
                        .map(|_| Observed {
                            mean_ns: 100.0 + 5.0 * data.normal(),
                            p99_ns: Some(200.0 + 20.0 * data.normal()),
                            max_ns: 1000.0 + 500.0 * data.exponential(),
                            clusters_per_s: data.poisson(10.0) as f64 / 2.0,
                            exposure_s: 2.0,
                        })
                        .collect()
                };
                let (solo, loaded) = (seen(), seen());
                let mut sentinel = || -> Vec<f64> { (0..repeats).map(|_| 12.0 + 0.4 * data.normal()).collect() };
                let (sentinel_solo, sentinel_loaded) = (sentinel(), sentinel());
                let seen = SoloAndLoaded {
                    target_solo: &solo,
                    target_loaded: &loaded,
                    sentinel_solo_ns: &sentinel_solo,
                    sentinel_loaded_ns: &sentinel_loaded,
                    off_core_left_out: false,
                    sentinel_off_core_left_out: false,
                };
                effect(&seen).is_effective() == Some(true)
            })
            .count();
        assert!(effective <= 129, "{repeats} v {repeats}: {effective} of 2000");
    }
}
