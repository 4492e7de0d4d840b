//! Budgets: a metric, a limit and, where one is wanted, the rate below which exceeding it must be shown to lie.

use std::fmt;
use std::str::FromStr;

use waykeeper_workload::parse_duration_ns;

/// The metric that a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// The largest sample.
    Max,
    /// The mean of all samples.
    Mean,
    /// The smallest sample.
    Min,
    /// The largest sample less the smallest.
    Jitter,
    /// The median.
    P50,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P99_9,
    /// The 99.99th percentile.
    P99_99,
    /// Lines that the target reads from memory, a sample.
    Misses,
    /// The mean beside neighbours over the mean alone, under the same mitigation.
    Slowdown,
}

/// What the limit of a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitUnit {
    /// A time.
    Nanoseconds,
    /// A count, which may be 0.
    Count,
    /// A ratio.
    Ratio,
}

impl Metric {
    /// Every metric, with the name it has in a budget.
    pub const NAMES: [(&'static str, Self); 10] = [
        ("max", Self::Max),
        ("mean", Self::Mean),
        ("min", Self::Min),
        ("jitter", Self::Jitter),
        ("p50", Self::P50),
        ("p99", Self::P99),
        ("p99.9", Self::P99_9),
        ("p99.99", Self::P99_99),
        ("misses", Self::Misses),
        ("slowdown", Self::Slowdown),
    ];

    /// What its limit is.
    pub fn unit(self) -> LimitUnit {
        match self {
            Self::Misses => LimitUnit::Count,
            Self::Slowdown => LimitUnit::Ratio,
            _ => LimitUnit::Nanoseconds,
        }
    }

    /// Whether one sample decides it, so that a budget can ask for a rate or an exposure.
    fn is_extreme(self) -> bool {
        matches!(self, Self::Max | Self::Jitter)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, metric)| metric == self).map_or("", |(name, _)| name);
        f.pad(name)
    }
}

/// A limit on a metric: `[MITIGATION:]METRIC<=LIMIT[@RATE][ over TIME]`. Printed as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// The mitigation whose cases it is for; every case if absent.
    pub mitigation: Option<String>,
    /// What is limited.
    pub metric: Metric,
    /// The limit, in the unit of the metric: nanoseconds over 0, misses a sample, or a ratio over 0.
    pub limit: f64,
    /// For `max`, `jitter` and `misses==0`: the share of samples, between 0 and 1, under which exceeding the limit is to be shown.
    pub rate: Option<f64>,
    /// For `max` and `jitter`: the time in which the limit is not to be exceeded, in seconds.
    pub over_s: Option<f64>,
    text: String,
}

impl Budget {
    /// Whether it limits the largest sample, so that one sample breaks it.
    pub fn is_on_largest(&self) -> bool {
        self.metric.is_extreme()
    }

    /// Whether it allows none of what it counts, so that one event breaks it.
    pub fn allows_none(&self) -> bool {
        self.metric == Metric::Misses && self.limit == 0.0
    }

    /// The same with a lower limit.
    pub(crate) fn lowered_by(&self, by: f64) -> Self {
        Self { limit: self.limit - by, ..self.clone() }
    }

    /// Whether it says the same, however it is written.
    pub fn is_the_same(&self, other: &Self) -> bool {
        *self == Self { text: self.text.clone(), ..other.clone() }
    }

    /// Whether the budget is for cases with this mitigation (`none` where there is none).
    pub fn applies_to(&self, mitigation: &str) -> bool {
        self.mitigation.as_ref().is_none_or(|only| only == mitigation)
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// Why a text is not a budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a budget: {why}; write [MITIGATION:]METRIC<=LIMIT[@RATE][ over TIME], such as `max<=10us`, \
     `nl3a+cp: p99.9 <= 2us`, `max<=50us@1e-6`, `max<=50us over 1h`, `misses==0` or `slowdown<=1.05`"
)]
pub struct BadBudget {
    text: String,
    why: String,
}

impl FromStr for Budget {
    type Err = BadBudget;

    fn from_str(text: &str) -> Result<Self, BadBudget> {
        parse(text).map_err(|why| BadBudget { text: text.into(), why })
    }
}

fn parse(text: &str) -> Result<Budget, String> {
    let (mitigation, limit) = match text.split_once(':') {
        Some((name, _)) if name.trim().is_empty() => return Err("there is no mitigation before the `:`".into()),
        Some((name, limit)) => (Some(name.trim().to_owned()), limit),
        None => (None, text),
    };
    let (name, bound, is_zero) = match (limit.split_once("<="), limit.split_once("==")) {
        (Some((name, bound)), _) => (name, bound, false),
        (None, Some((name, bound))) => (name, bound, true),
        (None, None) => return Err(no_comparison(limit)),
    };
    let metric = parse_metric(name.trim())?;
    let (bound, over_s) = match bound.split_once(" over ") {
        Some((bound, time)) => (bound, Some(parse_time(time.trim(), metric)?)),
        None => (bound, None),
    };
    let (bound, rate) = match bound.split_once('@') {
        Some((bound, rate)) => (bound, Some(rate.trim())),
        None => (bound, None),
    };
    let limit = parse_limit(bound.trim(), metric)?;
    if is_zero && (metric != Metric::Misses || limit != 0.0) {
        return Err("`==` is for `misses==0` alone, expected `<=`".into());
    }
    let rate = rate.map(|rate| parse_rate(rate, metric, limit)).transpose()?;
    Ok(Budget { mitigation, metric, limit, rate, over_s, text: text.trim().to_owned() })
}

fn no_comparison(limit: &str) -> String {
    match limit.chars().find(|c| "<>=≤≥".contains(*c)) {
        Some(found) => format!("it compares with `{found}`, expected `<=`"),
        None => "there is no `<=` in it".into(),
    }
}

fn parse_metric(name: &str) -> Result<Metric, String> {
    Metric::NAMES.iter().find(|(known, _)| *known == name).map(|(_, metric)| *metric).ok_or_else(|| {
        let known: Vec<&str> = Metric::NAMES.iter().map(|(name, _)| *name).collect();
        format!("the metric `{name}` is not known, expected one of {}", known.join(", "))
    })
}

fn parse_limit(text: &str, metric: Metric) -> Result<f64, String> {
    let number = |least: &str| {
        let number: Option<f64> = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| format!("the limit `{text}` of {metric} is not a number {least}"))
    };
    let limit = match metric.unit() {
        LimitUnit::Nanoseconds => parse_duration_ns(text).map_err(|why| why.to_string())?,
        LimitUnit::Count => return number("from 0"),
        LimitUnit::Ratio => number("over 0")?,
    };
    if limit > 0.0 { Ok(limit) } else { Err(format!("the limit `{text}` is not over 0")) }
}

fn parse_time(text: &str, metric: Metric) -> Result<f64, String> {
    if !metric.is_extreme() {
        return Err(format!("`{metric}` takes no time, only max and jitter do"));
    }
    let ns = parse_duration_ns(text).map_err(|why| why.to_string())?;
    if ns > 0.0 { Ok(ns / 1e9) } else { Err(format!("the time `{text}` is not over 0")) }
}

fn parse_rate(rate: &str, metric: Metric, limit: f64) -> Result<f64, String> {
    if !metric.is_extreme() && (metric != Metric::Misses || limit != 0.0) {
        return Err(format!("`{metric}` takes no rate, only max, jitter and misses==0 do"));
    }
    let share: Option<f64> = rate.parse().ok().filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| format!("the rate `{rate}` is not a share of samples between 0 and 1"))
}
