//! `docs/validation.md`.

use std::fmt::Write;

use serde_json::Value as Json;

use super::ensemble::{Effect, Ensemble};
use super::figures::{Expected, Kind, Name, Published, expected, figure};
use super::listed::listed;
use super::plan::{Length, Part, repeats_of};
use super::spread::Spread;
use super::tails::tails;

/// Everything about one experiment.
#[derive(Debug)]
pub struct Chapter<'a> {
    /// What was asked.
    pub part: &'a Part,
    /// The run with the platform file as it is.
    pub base: &'a Json,
    /// The published figures.
    pub published: &'a [Published],
    /// What the base run says about runs of the published length.
    pub tails: &'a Json,
    /// The experiment's statements, judged on the base run.
    pub expected: &'a [Expected],
    /// The ensemble, where one was made.
    pub ensemble: Option<&'a Ensemble>,
    /// The sensitivities, where they were worked out, of these figures.
    pub sensitivity: Option<(&'a [Name], &'a [Effect])>,
}

/// Rows of the table of sensitivities.
const MOST_EFFECTS: usize = 12;

fn number(of: &Json, key: &str) -> f64 {
    of.get(key).and_then(Json::as_f64).unwrap_or_default()
}

/// How long each case was simulated: up to a time, or, where all cases ended before it, to a number of samples.
fn length(base: &Json) -> String {
    let (repeats, duration) = (number(base, "repeats"), number(base, "duration_s"));
    let of = repeats_of(repeats);
    let cases = base.get("cases").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let early = |case: &&Json| number(case, "run_length_s") < 0.99 * repeats * duration;
    let samples = cases.iter().map(|case| number(case, "samples")).reduce(f64::min);
    match samples.filter(|samples| *samples > 0.0 && cases.iter().all(|case| early(&case))) {
        Some(samples) if samples == repeats => format!("{repeats} {of} 1 sample or a few more for each case"),
        Some(samples) => format!("{repeats} {of} {} samples or a few more for each case", samples / repeats),
        None => format!("{repeats} {of} {duration} s simulated for each case"),
    }
}

/// The chapter as Markdown.
pub fn chapter(of: &Chapter<'_>) -> String {
    let mut text = format!("## {}\n\n", of.part.title());
    if !of.part.about.is_empty() {
        let _ = writeln!(text, "{}\n", of.part.about.trim());
    }
    let _ = writeln!(text, "{}, seed {}.\n", length(of.base), number(of.base, "seed"));
    figures(&mut text, of);
    if let Some(metric) = &of.part.listed {
        text.push_str(&listed(of.base, metric));
    }
    tails(&mut text, of);
    if !of.expected.is_empty() {
        text.push_str(
            "| expected | statement | outcome | seen | members in which it is met |\n|---|---|---|---|---|\n",
        );
        for expected in of.expected {
            let reason = of.part.reasons.get(&expected.text).map(|why| format!(" ({why})")).unwrap_or_default();
            let _ = writeln!(
                text,
                "| {} | `{}` | {} | {}{reason} | {} |",
                expected.text,
                expected.statement,
                expected.outcome,
                expected.seen,
                of.ensemble.map(|ensemble| met_in(ensemble, &expected.statement)).unwrap_or_default()
            );
        }
        text.push('\n');
    }
    if let Some(ensemble) = of.ensemble {
        let _ = writeln!(
            text,
            "Ensemble: {} parameter sets drawn from the ranges of the assumed parameters, each in {}; {}.\n",
            ensemble.drawn,
            of.part.member,
            kept(ensemble.kept.len())
        );
    }
    if let Some((names, effects)) = of.sensitivity {
        sensitivities(&mut text, of.part.end(), names, effects);
    }
    text
}

/// How many sets of parameters of an ensemble are kept.
fn kept(sets: usize) -> String {
    match sets {
        0 => "none agrees with every fitted figure, so none is kept".into(),
        1 => "1 kept because it agrees with every fitted figure".into(),
        many => format!("{many} kept because they agree with every fitted figure"),
    }
}

/// In how many of the members that tell a statement is met.
fn met_in(ensemble: &Ensemble, statement: &str) -> String {
    let outcomes: Vec<_> = ensemble.kept.iter().flat_map(expected).filter(|of| of.statement == statement).collect();
    let met = outcomes.iter().filter(|of| of.outcome == "met").count();
    let told = outcomes.iter().filter(|of| matches!(of.outcome.as_str(), "met" | "not met")).count();
    if told == 0 { String::new() } else { format!("{met} of {told}") }
}

fn figures(text: &mut String, of: &Chapter<'_>) {
    if of.published.is_empty() {
        return;
    }
    text.push_str("| case | figure | published | simulated | ratio | ensemble: 5 %, median, 95 % | kind | |\n");
    text.push_str("|---|---|---|---|---|---|---|---|\n");
    for published in of.published {
        let key = format!("{} {}", published.case, published.metric);
        let value = figure(of.base, &published.case, &published.metric);
        let spread = of.ensemble.filter(|_| published.kind != Kind::Imposed).and_then(|ensemble| {
            let all = ensemble.kept.iter().filter_map(|run| figure(run, &published.case, &published.metric));
            Spread::of(&all.collect::<Vec<_>>())
        });
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            published.case,
            published.metric,
            short(published.value),
            value.map(short).unwrap_or_default(),
            value.map(|value| ratio(value, published.value)).unwrap_or_default(),
            spread.map(|s| format!("{}, {}, {}", short(s.low), short(s.median), short(s.high))).unwrap_or_default(),
            published.kind,
            of.part.reasons.get(&key).map(String::as_str).unwrap_or_default()
        );
    }
    text.push('\n');
}

/// A figure over the published one.
pub fn ratio(value: f64, published: f64) -> String {
    if value == published { "equal".into() } else { format!("x{:.2}", value / published) }
}

fn sensitivities(text: &mut String, length: &Length, names: &[Name], effects: &[Effect]) {
    let _ = writeln!(
        text,
        "What the free choices matter: each parameter at the ends of its range, the others as they are, in {length}; ratios \
         to the figure with the file as it is. The {MOST_EFFECTS} that matter most of {}.\n",
        effects.len()
    );
    let heads: Vec<_> = names.iter().map(|(case, metric)| format!("{case} {metric}")).collect();
    let _ = writeln!(text, "| parameter | file | ends | {} |", heads.join(" | "));
    let _ = writeln!(text, "|---|---|---|{}", "---|".repeat(names.len()));
    for effect in effects.iter().take(MOST_EFFECTS) {
        let ratio = |ratio: Option<f64>| ratio.map_or("-".into(), |ratio| format!("x{ratio:.2}"));
        let cells: Vec<_> =
            effect.ratios.iter().map(|[low, high]| format!("{} {}", ratio(*low), ratio(*high))).collect();
        let knob = &effect.knob;
        let [low, high] = &knob.ends;
        let _ = writeln!(text, "| `{}` | {} | {low}, {high} | {} |", knob.key, knob.value, cells.join(" | "));
    }
    text.push('\n');
}

/// A number with four digits.
pub fn short(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { (3 - value.abs().log10().floor() as i32).clamp(0, 4) };
    let text = format!("{value:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        assert_eq!(
            [0.0, 0.01234, 1.5, 57.5, 10780.0, 3.8e9].map(short),
            ["0", "0.0123", "1.5", "57.5", "10780", "3800000000"]
        );
    }

    #[test]
    fn a_run_that_ends_with_its_samples_is_told_by_them() {
        let run = |lengths: [f64; 2]| {
            let cases = lengths.map(|length| serde_json::json!({ "run_length_s": length, "samples": 5000.0 + length }));
            length(&serde_json::json!({ "repeats": 2, "duration_s": 60.0, "cases": cases }))
        };
        assert_eq!(run([4.0, 6.0]), "2 repeats of 2502 samples or a few more for each case");
        // Whatever ends early, such as a last pass, all cases must.
        assert_eq!(run([4.0, 120.0]), "2 repeats of 60 s simulated for each case");
        assert_eq!(run([119.9, 120.0]), "2 repeats of 60 s simulated for each case");
        let once = serde_json::json!({ "repeats": 1, "duration_s": 0.5, "cases": [] });
        assert_eq!(length(&once), "1 repeat of 0.5 s simulated for each case");
    }

    #[test]
    fn kept_sets_are_counted_in_words_that_agree() {
        assert!(kept(0).starts_with("none agrees ") && kept(1).contains("because it agrees "));
        assert!(kept(24).starts_with("24 kept because they agree "));
    }
}
