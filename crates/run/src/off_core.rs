//! Time that the scheduler gave the target's core to others, as far as samples hold it.

/// The name under which it stands among the disturbances, milliseconds.
pub const OFF_CORE_MS: &str = "off_core_ms";

/// The same of the time in which the quota of a control group kept the process off all cores, milliseconds.
pub const THROTTLED_MS: &str = "throttled_ms";

/// Samples that cover less of the time than this are those of a target that waits between them, also where the record does
/// not say so: earlier versions left that out.
const COVERED: f64 = 0.5;

/// How much of the milliseconds off the core lies within samples, in seconds: all of it where one sample follows the other.
/// Of a target that waits between its samples, such as a periodic one, most of it lies where no sample is, and which part
/// does not is not known: none is counted then. The samples have a mean; they were taken in `observed_s`.
pub fn within_samples_s(off_core_ms: f64, waits: bool, samples: u64, mean_ns: f64, observed_s: f64) -> f64 {
    let covers = !waits && samples as f64 * mean_ns / 1e9 >= COVERED * observed_s;
    if covers { (off_core_ms / 1e3).clamp(0.0, observed_s) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_where_samples_follow_each_other_is_it_in_them() {
        // A loop: 10 million samples of 100 ns in a second, 40 ms of it off the core.
        assert_eq!(within_samples_s(40.0, false, 10_000_000, 100.0, 1.0), 0.04);
        // 2525 passes of about 1 us in 5 s, while others had the core for half of the time.
        assert_eq!(within_samples_s(2500.0, false, 2525, 1030.0, 5.0), 0.0);
        // 650 wake-ups of 800 us in a second: each came late, and others had the core meanwhile and in between.
        assert_eq!(within_samples_s(700.0, true, 650, 800_500.0, 1.0), 0.0);
    }
}
