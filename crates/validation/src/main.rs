//! `waykeeper-validate`: makes `docs/validation.md`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use waykeeper_platform::{Platform, find_bundled};
use waykeeper_validation::document::{Chapter, chapter};
use waykeeper_validation::ensemble::{ensemble, sensitivity};
use waykeeper_validation::figures::{Kind, expected, published};
use waykeeper_validation::made_from;
use waykeeper_validation::plan::{Part, Plan};
use waykeeper_validation::runner::Runner;

/// Compares simulated figures with published ones and writes docs/validation.md.
#[derive(Debug, Parser)]
struct Arguments {
    /// The root of the repository.
    #[arg(long, default_value = ".")]
    root: PathBuf,
    /// The `waykeeper` binary.
    #[arg(long)]
    program: PathBuf,
    /// A folder for runs.
    #[arg(long)]
    folder: PathBuf,
    /// The commit whose parameters these are.
    #[arg(long)]
    commit: String,
    /// Only these chapters, by title; the others stay as they are.
    #[arg(long)]
    only: Vec<String>,
    /// Parameter sets to draw, in place of the plan's number.
    #[arg(long)]
    members: Option<usize>,
    /// Take runs that the folder has from the same commands: for other words, or more parameter sets. The parameters must be
    /// those of the commit that made them.
    #[arg(long)]
    kept: bool,
}

fn main() -> ExitCode {
    match validate(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("waykeeper-validate: {why}");
            ExitCode::FAILURE
        }
    }
}

fn validate(arguments: &Arguments) -> Result<(), String> {
    let read = |file: &str| {
        let path = arguments.root.join(file);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let mut plan: Plan =
        toml::from_str(&read("validation.toml")?).map_err(|error| format!("validation.toml: {error}"))?;
    plan.members = arguments.members.unwrap_or(plan.members);
    std::fs::create_dir_all(&arguments.folder).map_err(|error| format!("{}: {error}", arguments.folder.display()))?;
    let runner = Runner { program: arguments.program.clone(), folder: arguments.folder.clone(), kept: arguments.kept };
    let wanted = |part: &&Part| arguments.only.is_empty() || arguments.only.iter().any(|only| only == part.title());
    let path = arguments.root.join("docs/validation.md");
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let mut chapters: BTreeMap<String, String> =
        made_from::chapters(&before).map(|(title, text)| (title.to_owned(), text.trim_end().to_owned())).collect();
    // Written after each chapter, so that an end in the middle loses one only.
    for part in plan.experiments.iter().filter(wanted) {
        let made = made_from::line(&arguments.root, part, &arguments.commit)?;
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
