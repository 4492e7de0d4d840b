//! The published maxima beside those of simulated runs of the same length, as far as the tail shows.

use std::fmt::Write;

use serde_json::Value as Json;

use super::document::{Chapter, ratio, short};
use super::figures::Kind;

/// A table of the published maxima that name the length of their run; nothing where there are none.
pub fn tails(text: &mut String, of: &Chapter<'_>) {
    let cases = of.tails.as_array().map(Vec::as_slice).unwrap_or_default();
    let rows: Vec<_> = of
        .published
        .iter()
        .filter(|published| published.metric == "max_ns" && published.kind != Kind::Imposed)
        .filter_map(|published| {
            let case = cases.iter().find(|case| case["case"] == published.case.as_str())?;
            case.get("published_max_ns").map(|_| (published, case))
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    text.push_str(
        "The same maxima in runs as long as the published ones, by peaks over a threshold (see [statistics](statistics.md)):\n\n",
    );
    text.push_str(
        "| case | published | in | seen | in | in runs as long: median, 95 % | ratio | |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (published, case) in rows {
        let number = |key: &str| case[key].as_f64().map(short).unwrap_or_default();
        let _ = writeln!(
            text,
            "| {} | {} | {} s | {} | {} s | {} |",
            published.case,
            short(published.value),
            number("over_s"),
            number("seen_max_ns"),
            number("run_length_s"),
            told(case, published.value)
        );
    }
    text.push('\n');
}

/// What the peaks say, or why they say nothing: the last three cells.
fn told(case: &Json, published: f64) -> String {
    let Some(forecast) = case.get("forecast") else {
        return format!(" | | {}", case["unsettled"].as_str().unwrap_or_default());
    };
    let number = |key: &str| forecast[key].as_f64();
    let text = |key: &str| number(key).map(short).unwrap_or_default();
    let high = number("median_high_ns").map_or("no end".into(), short);
    let differ = if forecast["repeats_differ"] == true { "; seeds differ by more than chance" } else { "" };
    format!(
        "{}, {} to {high} | {} | the highest {} peaks, shape {}{differ}",
        text("median_ns"),
        text("median_low_ns"),
        number("median_ns").map(|median| ratio(median, published)).unwrap_or_default(),
        forecast["peaks"],
        text("shape")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_forecast_and_a_reason() {
        let forecast =
            json!({ "median_ns": 90.0, "median_low_ns": 80.0, "peaks": 120, "shape": 0.05, "repeats_differ": false });
        assert_eq!(
            told(&json!({ "forecast": forecast }), 100.0),
            "90, 80 to no end | x0.90 | the highest 120 peaks, shape 0.05"
        );
        assert_eq!(told(&json!({ "unsettled": "no excursions" }), 100.0), " | | no excursions");
    }
}
