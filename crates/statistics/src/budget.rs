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
}

impl Metric {
    /// Every metric, with the name it has in a budget.
    pub const NAMES: [(&'static str, Self); 8] = [
        ("max", Self::Max),
        ("mean", Self::Mean),
        ("min", Self::Min),
        ("jitter", Self::Jitter),
        ("p50", Self::P50),
        ("p99", Self::P99),
        ("p99.9", Self::P99_9),
        ("p99.99", Self::P99_99),
    ];
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, metric)| metric == self).map_or("", |(name, _)| name);
        f.pad(name)
    }
}

/// A limit on a metric: `[MITIGATION:]METRIC<=DURATION[@RATE]`. Printed as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// The mitigation whose cases it is for; every case if absent.
    pub mitigation: Option<String>,
    /// What is limited.
    pub metric: Metric,
    /// The limit in nanoseconds, over 0.
    pub limit_ns: f64,
    /// For `max` and `jitter`: the share of samples, between 0 and 1, under which exceeding the limit is to be shown.
    pub rate: Option<f64>,
    text: String,
}

impl Budget {
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
    "`{text}` is not a budget: {why}; write [MITIGATION:]METRIC<=DURATION[@RATE], such as `max<=10us`, \
     `nl3a+cp: p99.9 <= 2us` or `max<=50us@1e-6`"
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
    let (metric, bound) = limit.split_once("<=").ok_or_else(|| no_comparison(limit))?;
    let metric = parse_metric(metric.trim())?;
    let (duration, rate) = match bound.split_once('@') {
        Some((duration, rate)) => (duration, Some(parse_rate(rate.trim(), metric)?)),
        None => (bound, None),
    };
    let limit_ns = parse_duration_ns(duration).map_err(|why| why.to_string())?;
    if limit_ns <= 0.0 {
        return Err(format!("the limit `{}` is not over 0", duration.trim()));
    }
    Ok(Budget { mitigation, metric, limit_ns, rate, text: text.trim().to_owned() })
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

fn parse_rate(rate: &str, metric: Metric) -> Result<f64, String> {
    if !matches!(metric, Metric::Max | Metric::Jitter) {
        return Err(format!("`{metric}` takes no rate, only max and jitter do"));
    }
    let share: Option<f64> = rate.parse().ok().filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| format!("the rate `{rate}` is not a share of samples between 0 and 1"))
}
