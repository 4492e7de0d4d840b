//! The shards of a run become the run that one process would have left.
//!
//! Three things of a simulated run differ from one process to the next. When it began: the run began with its first shard. The
//! command line: that of a shard, without `--shard` and with the folder of the merged run. The wall time of a case: the sum
//! over its repeats, as always. `SOURCE_DATE_EPOCH` leaves nothing that differs.

use std::path::{Path, PathBuf};

use serde_json::Value;
use waykeeper_executor::Begun;
use waykeeper_experiment::InputError;
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_run::measurement::Measured;
use waykeeper_run::unfinished::{self, Header, Unfinished};
use waykeeper_run::{Run as Record, Shard, folder};

use crate::error::SessionError;
use crate::folder::RunFolder;
use crate::resume::{differing, other_clock};
use crate::start::{Concluded, write};

/// A shard in its folder.
struct Part {
    folder: PathBuf,
    shard: Shard,
    log: Unfinished,
}

/// Makes one run of the folders of all its shards, in a folder: this one, or a new one below `waykeeper-runs`. The shards stay.
///
/// # Errors
/// A folder that has no shard; shards that are missing, not complete, there twice, or not of the same run on the same platform
/// or machine; a folder that cannot be written or has something in it.
pub fn merge(folders: &[PathBuf], out: Option<&Path>) -> Result<Concluded, SessionError> {
    let mut parts = folders.iter().map(|folder| Part::read(folder)).collect::<Result<Vec<_>, _>>()?;
    parts.sort_by_key(|part| part.shard);
    if let Some((first, others)) = parts.split_first() {
        for other in others {
            same_run(first, other)?;
        }
    }
    once_each(&parts)?;
    complete(&parts)?;
    let thresholds_ns = thresholds(&parts)?;
    let Some(first) = parts.first() else {
        return Err(InputError::in_option("merge", "expected the folders of all shards of a run").into());
    };
    let base = base(first, &parts, out);
    let (loaded, budgets) = (first.log.experiment(&first.folder)?, first.log.budgets(&first.folder)?);
    let (plan, experiment_toml) = (first.log.header.plan.clone(), first.log.experiment_toml.clone());
    let folder = RunFolder::prepare(out, &loaded.name)?;
    let option = format!("--out {}", folder.path().display());
    let folder = folder.held(&option)?;
    let repeats = parts.into_iter().flat_map(|part| part.log.repeats).collect();
    let measured = by_case(Begun { thresholds_ns, repeats });
    let record = base.concluded(&loaded.experiment, &plan, &measured, &budgets);
    let kept = write(folder.path(), &record, &measured, &experiment_toml);
    Ok(Concluded { record, measured, failed: None, kept })
}

impl Part {
    fn read(folder: &Path) -> Result<Self, InputError> {
        let refuse = |message: &str| InputError::in_file(&folder.display().to_string(), message);
        if !folder.is_dir() {
            return Err(refuse(
                "this is no folder; expected the folder of a shard, as `waykeeper run --shard` left it",
            ));
        }
        let whole = "this is a whole run, and no shard; expected folders that `waykeeper run --shard` left";
        let log = match unfinished::read(folder)? {
            Some(log) => log,
            None if folder.join(folder::RUN_FILE).exists() => return Err(refuse(whole)),
            None => {
                return Err(refuse(
                    "it has no log of repeats (repeats.log); expected the folder of a shard of which a repeat is complete",
                ));
            }
        };
        let shard = log.header.shard.ok_or_else(|| refuse(whole))?;
        Ok(Self { folder: folder.to_owned(), shard, log })
    }

    /// How messages call it: `shard 2/3 in results/s2`.
    fn called(&self) -> String {
        format!("shard {} in {}", self.shard, self.folder.display())
    }

    fn header(&self) -> &Header {
        &self.log.header
    }
}

/// Refuses shards of different runs.
fn same_run(first: &Part, other: &Part) -> Result<(), InputError> {
    let (a, b) = (first.header(), other.header());
    let difference = if first.shard.of != other.shard.of {
        Some(format!("one run has {} shards, and the other {}", first.shard.of, other.shard.of))
    } else if first.log.experiment_toml != other.log.experiment_toml {
        Some(differing_experiments(first, other))
    } else {
        let machine = || (a.run.executor == ExecutorKind::Host).then(|| other_machine(a, b)).flatten();
        machine().or_else(|| differing_header(a, b))
    };
    let Some(difference) = difference else { return Ok(()) };
    let message = format!(
        "{} does not belong to {}: {difference}; expected shards of one run: the same experiment, options, version of the \
         program, and platform or machine",
        other.called(),
        first.called()
    );
    Err(InputError::in_file(&other.folder.display().to_string(), message))
}

/// Why two shards of a host run are not known to be of one machine.
fn other_machine(a: &Header, b: &Header) -> Option<String> {
    match (&a.machine, &b.machine) {
        (Some(one), Some(other)) if one == other => other_clock(&a.run.clock, &b.run.clock),
        (Some(a), Some(b)) => Some(format!(
            "they were measured on different machines ({a} and {b}), whose figures stay apart; merge the shards of each machine"
        )),
        _ => Some("it is unknown on which machine one of them was measured (/etc/machine-id could not be read)".into()),
    }
}

/// What differs in the experiments of two shards: their first lines that do.
fn differing_experiments(first: &Part, other: &Part) -> String {
    let lines =
        |part: &Part| part.log.experiment_toml.lines().map(str::to_owned).chain([String::new()]).collect::<Vec<_>>();
    let pair = lines(first).into_iter().zip(lines(other)).find(|(one, other)| one != other);
    let shown = |line: &str| {
        if line.trim().is_empty() { "nothing there".into() } else { format!("`{}`", shortened(line.trim())) }
    };
    let (one, other) = pair.unwrap_or_default();
    format!("their experiments differ (experiment.toml: {} in one and {} in the other)", shown(&one), shown(&other))
}

fn shortened(value: &str) -> String {
    match value.char_indices().nth(100) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value.to_owned(),
    }
}

/// The first difference of two headers that would leave another run.
fn differing_header(a: &Header, b: &Header) -> Option<String> {
    let [one, other] = [a, b].map(what_is_run);
    let (key, one, other) = differing("", &one, &other)?;
    Some(format!("`{key}` is {} in one and {} in the other", shortened(&one), shortened(&other)))
}

/// A header without what differs from shard to shard.
fn what_is_run(header: &Header) -> Value {
    let mut header = serde_json::to_value(header).unwrap_or_default();
    // What is an excursion is decided for the cases of a shard only; copies of files lie elsewhere on other machines.
    take(&mut header, &["shard", "thresholds_ns", "machine"]);
    if let Some(files) = header.get_mut("files").and_then(Value::as_object_mut) {
        let by_name = std::mem::take(files).into_iter().map(|(path, sum)| {
            let name = Path::new(&path).file_name().map(|name| name.to_string_lossy().into_owned());
            (name.unwrap_or(path), sum)
        });
        *files = by_name.collect();
    }
    let is_host = header["run"]["executor"] == "host";
    take(&mut header["run"], &["started", "command_line"]);
    if is_host {
        // The clock is measured anew each time, and notes are about that time.
        take(&mut header["run"], &["clock", "notes"]);
    }
    header
}

fn take(value: &mut Value, keys: &[&str]) {
    if let Some(map) = value.as_object_mut() {
        map.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

/// Refuses a shard that is there twice, and shards that are missing.
fn once_each(parts: &[Part]) -> Result<(), InputError> {
    if let Some([one, other]) = parts.windows(2).find(|pair| pair[0].shard == pair[1].shard) {
        let message =
            format!("this is shard {}, and so is {}; expected each shard once", other.shard, one.folder.display());
        return Err(InputError::in_file(&other.folder.display().to_string(), message));
    }
    let of = parts.first().map_or(0, |part| part.shard.of);
    let here = |number: &u32| parts.binary_search_by_key(number, |part| part.shard.number).is_ok();
    let missing = (1..=of).filter(|number| !here(number));
    let count = of as usize - parts.len();
    if count == 0 {
        return Ok(());
    }
    const MOST_NAMED: usize = 20;
    let mut names: Vec<String> = missing.take(MOST_NAMED).map(|number| format!("{number}/{of}")).collect();
    names.extend((count > MOST_NAMED).then(|| format!("and {} more", count - MOST_NAMED)));
    let message = format!(
        "{count} of {of} shards {} missing: {}; expected the folders of all of them",
        if count == 1 { "is" } else { "are" },
        names.join(", ")
    );
    Err(InputError::in_option("merge", message))
}

/// Refuses shards whose repeats are not all measured.
fn complete(parts: &[Part]) -> Result<(), InputError> {
    let unfinished = parts.iter().filter(|part| part.log.repeats.len() < part.log.planned());
    let said: Vec<String> = unfinished
        .map(|part| {
            let (complete, planned, folder) = (part.log.repeats.len(), part.log.planned(), part.folder.display());
            format!(
                "{} has {complete} of its {planned} repeats (`waykeeper run --resume {folder}` goes on)",
                part.called()
            )
        })
        .collect();
    match said.is_empty() {
        true => Ok(()),
        false => Err(InputError::in_option("merge", format!("{}; expected complete shards", said.join("; ")))),
    }
}

/// What is an excursion in each case: as the shards decided that measure it.
fn thresholds(parts: &[Part]) -> Result<Vec<Option<f64>>, InputError> {
    let mut decided: Vec<Option<(Option<f64>, &Part)>> = Vec::new();
    for part in parts {
        decided.resize(part.header().thresholds_ns.len(), None);
        let share = part.log.share.as_ref();
        for (case, threshold) in part.header().thresholds_ns.iter().enumerate() {
            if share.is_none_or(|share| !share.has_case(case)) {
                continue;
            }
            match decided[case] {
                None => decided[case] = Some((*threshold, part)),
                Some((other, _)) if other == *threshold => {}
                Some((_, first)) => {
                    let name = &part.header().plan.cases[case].name;
                    let message = format!(
                        "{} and {} decided differently what is an excursion in the case `{name}`, which equal programs on \
                         equal platforms do not; expected shards of one program",
                        first.called(),
                        part.called()
                    );
                    return Err(InputError::in_file(&part.folder.display().to_string(), message));
                }
            }
        }
    }
    Ok(decided.into_iter().map(|decided| decided.and_then(|(threshold, _)| threshold)).collect())
}

/// The record before anything is concluded.
fn base(first: &Part, parts: &[Part], out: Option<&Path>) -> Record {
    let mut base = first.header().run.clone();
    base.started = parts.iter().map(|part| part.header().run.started.clone()).min().unwrap_or_default();
    base.command_line = of_one_process(&base.command_line, out);
    if base.executor == ExecutorKind::Host {
        base.notes.extend(parts.iter().flat_map(on_machine));
    }
    base
}

/// When and beside what a shard was measured on a machine.
fn on_machine(part: &Part) -> Vec<String> {
    let (shard, run) = (part.shard, &part.header().run);
    let until = part.log.last_at.as_deref().unwrap_or("an unknown time");
    let share = part.log.share.as_ref();
    let cases = part.header().plan.cases.iter().enumerate();
    let own = cases.filter(|(case, _)| share.is_some_and(|share| share.has_case(*case)));
    let names: Vec<String> = own.map(|(_, case)| format!("`{}`", case.name)).collect();
    let said = format!(
        "Shard {shard} was measured from {} to {until}, its cases in turns with each other only: {}.",
        run.started,
        names.join(", ")
    );
    std::iter::once(said).chain(part.log.gap_notes()).collect()
}

/// The command line of the one process that would have left the run.
fn of_one_process(of_shard: &[String], out: Option<&Path>) -> Vec<String> {
    let own = of_shard.iter().position(|argument| argument == "--").unwrap_or(of_shard.len());
    let (options, program) = of_shard.split_at(own);
    let mut whole: Vec<String> = Vec::new();
    let mut options = options.iter();
    let mut at = None;
    while let Some(option) = options.next() {
        let (name, value) = option.split_once('=').map_or((option.as_str(), None), |(name, _)| (name, Some(())));
        if !["--shard", "--out"].contains(&name) {
            whole.push(option.clone());
            continue;
        }
        if name == "--out" {
            at = Some((whole.len(), value.is_some()));
        }
        if value.is_none() {
            options.next();
        }
    }
    if let Some(out) = out.map(|out| out.display().to_string()) {
        let (at, is_one_word) = at.unwrap_or((whole.len(), false));
        let words = if is_one_word { vec![format!("--out={out}")] } else { vec!["--out".into(), out] };
        whole.splice(at..at, words);
    }
    whole.extend(program.iter().cloned());
    whole
}

/// The repeats of each case, in order.
fn by_case(Begun { thresholds_ns, repeats }: Begun) -> Vec<Measured> {
    let empty = |excursion_above_ns| Measured { excursion_above_ns, repeats: Vec::new() };
    let mut measured: Vec<Measured> = thresholds_ns.into_iter().map(empty).collect();
    for ((case, _), repeat) in repeats {
        measured[case].repeats.push(repeat);
    }
    measured
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_that_of_one_process() {
        let line = |words: &str| words.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let of = |shard: &str, out: Option<&str>| of_one_process(&line(shard), out.map(Path::new)).join(" ");
        let whole = Some("whole");
        assert_eq!(of("w run x --shard 1/3 --out s1 --seed 4", whole), "w run x --out whole --seed 4");
        assert_eq!(of("w run --out=s1 --shard=1/3 x", whole), "w run --out=whole x");
        assert_eq!(of("w run --shard 1/3 x", whole), "w run x --out whole");
        assert_eq!(of("w run --shard 1/3 x --out s1", None), "w run x");
        // What stands behind `--` is not Waykeeper's.
        assert_eq!(
            of("w run --shard 1/3 -- ./p --out o --shard=2/3", whole),
            "w run --out whole -- ./p --out o --shard=2/3"
        );
    }
}
