//! `cargo xtask validate`: simulated figures beside published ones.
//!
//! The platform files' assumed parameters are free choices. An *ensemble* of parameter sets is drawn from their ranges; the
//! sets that agree with the fitted figures are kept, and what they predict for the others is reported as an interval. What
//! each parameter matters is shown by setting it to the ends of its range. The result is `docs/validation.md`, with the
//! digests of the files that it was made from.

mod document;
mod ensemble;
mod figures;
mod listed;
mod made_from;
mod plan;
mod runner;
mod spread;
mod tails;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use clap::Parser;
use waykeeper_platform::{Platform, find_bundled};

use self::document::{Chapter, chapter};
use self::ensemble::{ensemble, sensitivity};
use self::figures::{Kind, expected, published};
use self::plan::{Part, Plan};
use self::runner::Runner;
use crate::step;

/// Compares simulated figures with published ones and writes docs/validation.md.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask validate")]
struct Arguments {
    /// Only these chapters, by title; the others stay as they are.
    #[arg(long)]
    only: Vec<String>,
    /// Parameter sets to draw, in place of the plan's number.
    #[arg(long)]
    members: Option<usize>,
    /// Take runs that `target/validation` has from the same commands: for other words, or more parameter sets. The parameters
    /// must be those of the commit that made them.
    #[arg(long)]
    kept: bool,
}

/// Builds the program and writes `docs/validation.md`, or the chapters of it that `--only` names.
///
/// # Errors
/// What cannot be built, run, read or written.
pub fn run_with(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let name = std::iter::once("cargo xtask validate".to_owned());
    let arguments = Arguments::parse_from(name.chain(arguments));
    step::run("release build", &mut step::cargo("build --release -p waykeeper"))?;
    validate(Path::new(step::root()), &arguments, &commit()?)
}

fn commit() -> Result<String, String> {
    let output = Command::new("git").current_dir(step::root()).args(["rev-parse", "--short", "HEAD"]).output();
    let output = output.map_err(|error| format!("git: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// `commit` is the one whose parameters these are.
fn validate(root: &Path, arguments: &Arguments, commit: &str) -> Result<(), String> {
    let read = |file: &str| {
        let path = root.join(file);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let mut plan: Plan =
        toml::from_str(&read("validation.toml")?).map_err(|error| format!("validation.toml: {error}"))?;
    plan.members = arguments.members.unwrap_or(plan.members);
    let folder = step::target().join("validation");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let runner = Runner { program: step::target().join("release/waykeeper"), folder, kept: arguments.kept };
    let wanted = |part: &&Part| arguments.only.is_empty() || arguments.only.iter().any(|only| only == part.title());
    let path = root.join("docs/validation.md");
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let mut chapters: BTreeMap<String, String> =
        made_from::chapters(&before).map(|(title, text)| (title.to_owned(), text.trim_end().to_owned())).collect();
    // Written after each chapter, so that an end in the middle loses one only.
    for part in plan.experiments.iter().filter(wanted) {
        let made = made_from::line(root, part, commit)?;
        let chapter = validate_one(&runner, part, &plan)?;
        chapters.insert(part.title().to_owned(), format!("{}\n\n{made}", chapter.trim_end()));
        let kept = plan.experiments.iter().filter_map(|part| chapters.get(part.title()));
        let text: Vec<_> = std::iter::once(HEAD.trim()).chain(kept.map(|chapter| chapter.trim_end())).collect();
        std::fs::write(&path, text.join("\n\n") + "\n").map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

const HEAD: &str = "
# Validation

Made by `cargo xtask validate`; do not edit. Each published figure stands beside the simulated one: the value with the platform
file as it is, its ratio to the published one, and the interval that an ensemble of parameter sets predicts. *Predicted*: no
parameter was chosen after a look at it. *Fitted*: one was, so it is no evidence. *Imposed*: the model contains it, so it earns
nothing. A maximum belongs to its run length: where the simulated runs are shorter than the published ones, it says so below. The last
line of a chapter names the commit whose parameters it was made with, and the files.
";

fn validate_one(runner: &Runner, part: &Part, plan: &Plan) -> Result<String, String> {
    eprintln!("{}", part.title());
    let base = runner.run(part, &part.base, &[], None, part.title())?;
    let (published, expected) = (published(&base), expected(&base));
    let tails = runner.tail(part.title())?;
    let bundled = find_bundled(&part.platform).ok_or_else(|| format!("no platform `{}`", part.platform))?;
    let platform = Platform::from_toml(bundled.text, bundled.name).map_err(|error| error.to_string())?;
    let members = part.members.unwrap_or(plan.members);
    let drawn = match members {
        0 => None,
        members => Some(ensemble(runner, part, &platform, &published, (members, plan.accept_within, plan.seed))?),
    };
    let figures: Vec<_> = published
        .iter()
        .filter(|published| published.kind != Kind::Imposed)
        .map(|published| (published.case.clone(), published.metric.clone()))
        .collect();
    let effects = match part.sensitivity && members > 0 {
        true => Some(sensitivity(runner, part, &platform, &figures)?),
        false => None,
    };
    Ok(chapter(&Chapter {
        part,
        base: &base,
        published: &published,
        tails: &tails,
        expected: &expected,
        ensemble: drawn.as_ref(),
        sensitivity: effects.as_deref().map(|effects| (figures.as_slice(), effects)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_belongs_to_these_experiments_and_platforms() {
        let root = Path::new(step::root());
        let read = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
        let plan: Plan = toml::from_str(&read("validation.toml")).unwrap();
        let changed = made_from::changed(root, &plan, &read("docs/validation.md")).unwrap();
        assert!(changed.is_empty(), "run `cargo xtask validate --only TITLE` for: {changed:#?}");
    }
}
