//! Published and simulated figures of a run.

use serde_json::Value;

/// What a published figure is worth as evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing in the model was chosen after a look at it.
    Predicted,
    /// A parameter was chosen for it.
    Fitted,
    /// The model contains it.
    Imposed,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Predicted => "predicted",
            Self::Fitted => "fitted",
            Self::Imposed => "imposed",
        })
    }
}

/// A published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Name of the case.
    pub case: String,
    /// Key of the figure in a case of `run.json`, such as `max_ns`.
    pub metric: String,
    /// The figure.
    pub value: f64,
    /// What it is worth.
    pub kind: Kind,
}

/// The name of a figure: its case and its key there.
pub type Name = (String, String);

/// A statement about a run that the experiment makes, and whether it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// What the publication says.
    pub text: String,
    /// The statement about cases that stands for it.
    pub statement: String,
    /// `met`, `not met` or `cannot tell`.
    pub outcome: String,
    /// The figures behind the outcome.
    pub seen: String,
}

/// Keys of a reference that are no figures of a case.
const NO_FIGURES: [&str; 2] = ["run_length_s", "run_samples"];

/// The published figures that a run's cases carry.
pub fn published(run: &Value) -> Vec<Published> {
    let mut found = Vec::new();
    for case in cases(run) {
        let Some(reference) = case.get("reference").and_then(Value::as_object) else { continue };
        let lists = |list: &str, key: &str| {
            reference.get(list).and_then(Value::as_array).is_some_and(|keys| keys.iter().any(|k| k == key))
        };
        for (metric, value) in reference.iter().filter(|(key, _)| !NO_FIGURES.contains(&key.as_str())) {
            let Some(value) = value.as_f64() else { continue };
            let kind = match () {
                () if lists("imposed", metric) => Kind::Imposed,
                () if lists("fitted", metric) => Kind::Fitted,
                () => Kind::Predicted,
            };
            found.push(Published { case: name(case).to_owned(), metric: metric.clone(), value, kind });
        }
    }
    found
}

/// A figure of a case.
pub fn figure(run: &Value, case: &str, metric: &str) -> Option<f64> {
    cases(run).find(|found| name(found) == case)?.get(metric)?.as_f64()
}

/// The statements that the experiment makes, judged.
pub fn expected(run: &Value) -> Vec<Expected> {
    let text = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let list = run.get("expectations").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .map(|of| Expected {
            text: text(of, "says"),
            statement: text(of, "statement"),
            outcome: text(of, "kind").replace('_', " "),
            seen: text(of, "text"),
        })
        .collect()
}

fn cases(run: &Value) -> impl Iterator<Item = &Value> {
    run.get("cases").and_then(Value::as_array).into_iter().flatten()
}

fn name(case: &Value) -> &str {
    case.get("name").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_number_of_a_reference_is_a_figure_of_its_kind() {
        let run = json!({ "cases": [
            { "name": "a", "max_ns": 90.0, "reference": {
                "max_ns": 100.0, "min_ns": 5, "slowdown": 2.0, "run_length_s": 3600, "source": "S",
                "imposed": ["min_ns"], "fitted": ["slowdown"] } },
            { "name": "b", "max_ns": 7.0 },
        ] });
        let found: Vec<_> = published(&run).into_iter().map(|p| (p.metric, p.value, p.kind)).collect();
        let row = |metric: &str, value, kind| (metric.to_owned(), value, kind);
        assert!(found.contains(&row("max_ns", 100.0, Kind::Predicted)));
        assert!(found.contains(&row("min_ns", 5.0, Kind::Imposed)));
        assert!(found.contains(&row("slowdown", 2.0, Kind::Fitted)));
        assert_eq!(found.len(), 3);
        assert_eq!((figure(&run, "a", "max_ns"), figure(&run, "b", "slowdown")), (Some(90.0), None));
    }
}
