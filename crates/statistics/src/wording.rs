//! How figures read in a sentence.

use waykeeper_workload::format_ns;

/// A p-value with two digits: `p = 0.0079`, or `p < 0.001`.
pub(super) fn p_value(p: f64) -> String {
    if p < 0.001 { "p < 0.001".into() } else { format!("p = {}", digits(p, 2)) }
}

/// A rate per second with three digits: `12.1/s`.
pub(super) fn per_second(rate: f64) -> String {
    format!("{}/s", digits(rate, 3))
}

/// The same of a bound from above.
pub(super) fn at_most_per_second(rate: f64) -> String {
    format!("{}/s", at_most(rate, 3))
}

/// Two durations as a range, or the one that both are.
pub(super) fn range_ns(low: f64, high: f64) -> String {
    let (low, high) = (format_ns(low), format_ns(high));
    if low == high { low } else { format!("{low} to {high}") }
}

/// The limits of an interval with so many significant digits, rounded outwards: `1.02 to 1.18`.
pub fn limits(low: f64, high: f64, significant: usize) -> String {
    format!("{} to {}", at_least(low, significant), at_most(high, significant))
}

/// Those of durations in nanoseconds, with three digits.
pub(super) fn limits_ns(low: f64, high: f64) -> String {
    // Numbers of many digits keep those before the point: rounded is what begins at the first digit.
    let scaled = |bound: f64, outwards: fn(f64, usize) -> String| {
        let scale = if bound == 0.0 { 1.0 } else { 10_f64.powi(bound.abs().log10().floor() as i32) };
        outwards(bound / scale, 3).parse().map_or(bound, |rounded: f64| rounded * scale)
    };
    range_ns(scaled(low, at_least), scaled(high, at_most))
}

/// A positive number with so many significant digits: plain from 0.0001 to below a million, else with an exponent.
pub fn digits(value: f64, significant: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    // Printing with an exponent rounds first, so that 9.996 with three digits knows it has become 10.0.
    let rounded = format!("{value:.*e}", significant - 1);
    let exponent: i32 = rounded.rsplit('e').next().and_then(|e| e.parse().ok()).unwrap_or(0);
    if !(-4..6).contains(&exponent) {
        return rounded;
    }
    let decimals = (significant as i32 - 1 - exponent).max(0) as usize;
    format!("{value:.decimals$}")
}

/// A bound from above with so many significant digits: never below it.
pub fn at_most(bound: f64, significant: usize) -> String {
    outwards(bound, significant, 1.0)
}

/// A bound from below with so many significant digits: never above it.
pub(super) fn at_least(bound: f64, significant: usize) -> String {
    outwards(bound, significant, -1.0)
}

/// A bound whose last digit is one further in this direction where rounding to the nearest would bring it nearer.
fn outwards(bound: f64, significant: usize, direction: f64) -> String {
    let nearest = digits(bound, significant);
    let rounded = nearest.parse().unwrap_or(bound);
    // What differs by the last bits only was rounded by nobody.
    if !bound.is_finite() || bound == 0.0 || (bound - rounded) * direction <= 1e-9 * bound.abs() {
        return nearest;
    }
    // Plain numbers show all digits before the point. Where they end, a step of one digit may be rounded back.
    let step = 10_f64.powi(bound.abs().log10().floor() as i32 - significant as i32 + 1);
    let steps = [step.min(1.0), step, 10.0 * step].map(|step| digits(rounded + direction * step, significant));
    let is_outwards = |text: &&String| text.parse::<f64>().is_ok_and(|shown| (shown - bound) * direction >= 0.0);
    steps.iter().find(is_outwards).unwrap_or(&nearest).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_significant_digits() {
        let cases = [(0.0079365, "0.00794"), (12.06, "12.1"), (9.996, "10.0"), (0.0, "0"), (123456.0, "123456")];
        for (value, text) in cases {
            assert_eq!(digits(value, 3), text);
        }
        assert_eq!(digits(2.9957e-6, 2), "3.0e-6");
        assert_eq!(digits(f64::INFINITY, 2), "inf");
    }

    #[test]
    fn limits_hold_what_they_are_limits_of() {
        // To the nearest both would exclude what lies at the ends: 1.00 to 1.02, and 75.1 ns to 75.9 ns.
        assert_eq!(limits(0.9951, 1.0249, 3), "0.995 to 1.03");
        assert_eq!(limits(-0.0012345, 123.4, 3), "-0.00124 to 124");
        assert_eq!(limits_ns(75.14, 1234.0), "75.1 ns to 1.24 us");
        assert_eq!(limits_ns(75.0, 75.0), "75 ns");
    }

    #[test]
    fn bounds_are_rounded_outwards() {
        for (bound, upper, lower) in [
            (0.04045, "0.041", "0.040"),
            (-0.04045, "-0.040", "-0.041"),
            (2734.3, "2735", "2734"),
            (999_999.5, "1.0e6", "990000"),
            (0.03996, "0.040", "0.039"),
            (0.9990, "1.0", "0.99"),
            (1.438e-6, "1.5e-6", "1.4e-6"),
            (9.96, "10", "9.9"),
            (0.25, "0.25", "0.25"),
            (0.1 + 0.2, "0.30", "0.30"),
            (0.0, "0", "0"),
            (f64::INFINITY, "inf", "inf"),
        ] {
            assert_eq!((&*at_most(bound, 2), &*at_least(bound, 2)), (upper, lower), "{bound}");
        }
        assert_eq!(p_value(0.0079365), "p = 0.0079");
        assert_eq!(p_value(1e-9), "p < 0.001");
        assert_eq!(range_ns(75.0, 75.0), "75 ns");
    }
}
