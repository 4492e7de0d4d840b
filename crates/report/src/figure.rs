//! Figures as a table shows them. What is absent is blank.

use waykeeper_workload::format_ns;

/// A duration in nanoseconds.
pub fn time(ns: Option<f64>) -> String {
    ns.map(format_ns).unwrap_or_default()
}

/// A sample, in nanoseconds, of a counter whose smallest step is that long: one below it is known to be shorter, not to be 0.
pub fn sample(ns: Option<f64>, step_ns: f64) -> String {
    match ns {
        Some(ns) if ns < step_ns => format!("< {}", format_ns(step_ns)),
        other => time(other),
    }
}

/// A duration in seconds.
pub fn seconds(s: f64) -> String {
    format_ns(s * 1e9)
}

/// How long a case was measured; nothing where it was not, as in a run that was interrupted before.
pub fn run_length(s: f64) -> String {
    if s > 0.0 { seconds(s) } else { String::new() }
}

/// A ratio.
pub fn ratio(value: Option<f64>) -> String {
    value.map(|value| format!("x{}", three_digits(value))).unwrap_or_default()
}

/// A number with three significant digits.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        a if a >= 99.95 => format!("{value:.0}"),
        a if a >= 9.995 => format!("{value:.1}"),
        a if a >= 0.1 || a == 0.0 => format!("{value:.2}"),
        a if a >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:.2e}"),
    }
}

/// A count in thousands, millions and so on.
pub fn count(n: u64) -> String {
    scaled(n as f64, "")
}

/// A number of things, with the right word.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {many}", count(n)) }
}

/// A rate a second with its unit, such as `3.2 GB/s`.
pub fn scaled(value: f64, unit: &str) -> String {
    // A unit that is a word stands apart from the prefix: `40.9 M accesses/s`.
    let unit = if unit.starts_with(|c: char| c.is_lowercase()) { format!(" {unit}") } else { unit.to_owned() };
    let (scale, prefix) = match value.abs() {
        // What would be rounded to 1000 of a prefix is one of the next.
        a if a >= 999.5e6 => (1e9, "G"),
        a if a >= 999.5e3 => (1e6, "M"),
        a if a >= 1e4 => (1e3, "k"),
        _ => {
            return if value.fract() == 0.0 {
                format!("{value:.0} {}", unit.trim_start())
            } else {
                format!("{} {}", three_digits(value), unit.trim_start())
            }
            .trim_end()
            .to_owned();
        }
    };
    format!("{} {prefix}{unit}", three_digits(value / scale))
}

/// Core numbers, with the right word before them.
pub fn cores(list: &[u32]) -> String {
    let numbers: Vec<_> = list.iter().map(ToString::to_string).collect();
    match numbers.as_slice() {
        [] => "no core".into(),
        [one] => format!("core {one}"),
        [init @ .., last] => format!("cores {} and {last}", init.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_people_write_them() {
        assert_eq!(time(Some(57.5)), "57.5 ns");
        assert_eq!(time(None), "");
        // 24 MHz: a sample of no tick took less than one.
        assert_eq!(sample(Some(0.0), 1e3 / 24.0), "< 41.7 ns");
        assert_eq!(sample(Some(83.333), 1e3 / 24.0), "83.3 ns");
        assert_eq!(sample(None, 1.0), "");
        assert_eq!(ratio(Some(0.996)), "x1.00");
        assert_eq!((ratio(Some(9.996)), ratio(Some(99.96))), ("x10.0".to_owned(), "x100".to_owned()));
        assert_eq!((count(999_700_000), count(999_400)), ("1.00 G".to_owned(), "999 k".to_owned()));
        assert_eq!(count(56_200_000), "56.2 M");
        assert_eq!(count(9_999), "9999");
        assert_eq!(scaled(3.21e9, "B/s"), "3.21 GB/s");
        assert_eq!(scaled(40.9e6, "accesses/s"), "40.9 M accesses/s");
        assert_eq!(scaled(12.0, "accesses/s"), "12 accesses/s");
        assert_eq!(cores(&[2, 3, 5]), "cores 2, 3 and 5");
    }
}
