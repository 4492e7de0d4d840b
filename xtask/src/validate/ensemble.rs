//! Parameter sets that agree with the fitted figures, and what each of them predicts for the others.

use std::path::PathBuf;

use serde_json::Value as Json;
use toml::Value;
use waykeeper_platform::Platform;
use waykeeper_platform::knob::{Knob, knobs, with_values};
use waykeeper_workload::Xorshift;

use super::figures::{Kind, Name, Published, figure};
use super::plan::{Length, Part};
use super::runner::Runner;

/// What was drawn, and what came of it.
#[derive(Debug, Clone, Default)]
pub struct Ensemble {
    /// The runs of the sets that were kept.
    pub kept: Vec<Json>,
    /// Sets that were run.
    pub drawn: usize,
    /// Why drawn sets could not be run, the first few.
    pub unusable: Vec<String>,
}

/// Draws that may end in a platform that cannot be, for each member.
const TRIES: usize = 20;

/// Draws `members` sets and runs the experiment with each of them.
///
/// # Errors
/// None of a set that can be drawn can be run.
pub fn ensemble(
    runner: &Runner,
    part: &Part,
    platform: &Platform,
    published: &[Published],
    (members, within, seed): (usize, f64, u64),
) -> Result<Ensemble, String> {
    let knobs = knobs(platform);
    let mut random = Xorshift::new(seed);
    let mut found = Ensemble::default();
    for member in 0..members {
        let mut run = Err(format!("no usable set in {TRIES} draws"));
        for _ in 0..TRIES {
            let values: Vec<(&str, Value)> =
                knobs.iter().map(|k| (k.key.as_str(), k.draw(&mut || random.next_u64()))).collect();
            run = run_with(runner, (part, &part.member), platform, &values, &format!("member-{member}"));
            match &run {
                Ok(_) => break,
                Err(why) if found.unusable.len() < 3 => found.unusable.push(why.clone()),
                Err(_) => {}
            }
        }
        let run = run?;
        found.drawn += 1;
        eprintln!("  {}: member {} of {members}", part.title(), member + 1);
        if agrees(&run, published, within) {
            found.kept.push(run);
        }
    }
    Ok(found)
}

/// Whether every fitted figure that the run has is within a factor of the published one.
pub fn agrees(run: &Json, published: &[Published], within: f64) -> bool {
    published.iter().filter(|p| p.kind == Kind::Fitted).all(|p| {
        figure(run, &p.case, &p.metric).is_none_or(|value| {
            let ratio = value / p.value;
            (1.0 / within..=within).contains(&ratio)
        })
    })
}

/// Runs the experiment at a length, as members are run, with some parameters at other values.
///
/// # Errors
/// A platform that cannot be, or cannot be simulated.
pub fn run_with(
    runner: &Runner,
    (part, length): (&Part, &Length),
    platform: &Platform,
    values: &[(&str, Value)],
    name: &str,
) -> Result<Json, String> {
    let variant = with_values(platform, values).map_err(|error| error.to_string())?;
    let file: PathBuf = runner.folder.join(format!("{}.toml", platform.name));
    std::fs::write(&file, variant.to_toml()).map_err(|error| format!("{}: {error}", file.display()))?;
    runner.run(part, length, &part.member_set, Some(&file), name)
}

/// What one end of a range does to a figure: its ratio to the figure with the platform file as it is.
#[derive(Debug, Clone)]
pub struct Effect {
    /// The parameter and its ends.
    pub knob: Knob,
    /// By published figure, the ratios at both ends.
    pub ratios: Vec<[Option<f64>; 2]>,
}

/// Runs the experiment with each parameter at each end of its range, the others as they are.
///
/// # Errors
/// The experiment cannot be run with the platform file as it is.
pub fn sensitivity(runner: &Runner, part: &Part, platform: &Platform, figures: &[Name]) -> Result<Vec<Effect>, String> {
    let length = part.end();
    let base = run_with(runner, (part, length), platform, &[], "base-of-end-length")?;
    let mut effects = Vec::new();
    for knob in knobs(platform) {
        let mut ratios = vec![[None; 2]; figures.len()];
        for (end, value) in knob.ends.iter().enumerate() {
            eprintln!("  {}: {} = {value}", part.title(), knob.key);
            let Ok(run) = run_with(runner, (part, length), platform, &[(&knob.key, value.clone())], "end") else {
                continue;
            };
            for (at, (case, metric)) in figures.iter().enumerate() {
                let pair = (figure(&run, case, metric), figure(&base, case, metric));
                if let (Some(now), Some(before)) = pair
                    && before != 0.0
                {
                    ratios[at][end] = Some(now / before);
                }
            }
        }
        effects.push(Effect { knob, ratios });
    }
    let weight = |effect: &Effect| {
        let all = effect.ratios.iter().flatten().flatten();
        all.fold(0.0_f64, |most, ratio| most.max(ratio.ln().abs()))
    };
    effects.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
    Ok(effects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_fitted_figures_decide_whether_a_set_is_kept() {
        let run = json!({ "cases": [{ "name": "a", "max_ns": 130.0, "mean_ns": 1.0 }] });
        let of = |metric: &str, value, kind| Published { case: "a".into(), metric: metric.into(), value, kind };
        let published = [of("max_ns", 100.0, Kind::Fitted), of("mean_ns", 50.0, Kind::Predicted)];
        assert!(agrees(&run, &published, 1.3));
        assert!(!agrees(&run, &published, 1.29));
        assert!(agrees(&run, &published[1..], 1.0));
    }
}
