//! Which neighbour of a run exercised which channel, and what that did to the target.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use waykeeper_experiment::InputError;
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_platform::format_cpulist;
use waykeeper_run::spread::{FigureSpread, alone, slowdowns};
use waykeeper_run::{CaseRecord, NeighbourRecord, RepeatRecord, Run, folder};

use crate::list::{ListedChannel, list};
use crate::pattern::NamedWorkload;
use crate::presence::{ChannelPlace, PlaceKind};
use crate::reach::CoreReach;
use crate::table::{ChannelAnswer, ChannelExercise, ChannelRun, CounterShift, Exercised};

/// Runs that were read, each checked to be of the table's place.
#[derive(Debug, Default)]
pub struct ChannelRuns {
    runs: Vec<RunSeen>,
}

/// A run, where it is, and the workloads that its experiment defines itself.
#[derive(Debug)]
struct RunSeen {
    called: String,
    run: Run,
    own: OwnWorkloads,
}

/// Keys and values of workloads, by name.
pub(crate) type OwnWorkloads = BTreeMap<String, BTreeMap<String, String>>;

impl ChannelRuns {
    /// Reads one more run.
    ///
    /// # Errors
    /// A run that cannot be read, or that is of another place.
    pub fn add(&mut self, path: &Path, place: &ChannelPlace) -> Result<(), InputError> {
        let run = folder::read(path)?;
        let called = path.display().to_string();
        is_of(&run, place).map_err(|why| InputError::in_file(&called, why))?;
        self.runs.push(RunSeen {
            called,
            run,
            own: folder::definitions(path).map(|[workloads, _]| workloads).unwrap_or_default(),
        });
        Ok(())
    }

    /// Adds a run that was just measured here.
    pub fn add_measured(&mut self, called: &str, run: Run) {
        self.runs.push(RunSeen { called: called.to_owned(), run, own: BTreeMap::new() });
    }

    /// The runs as the table names them.
    pub(crate) fn records(&self) -> Vec<ChannelRun> {
        let of = |RunSeen { called, run, .. }: &RunSeen| ChannelRun {
            run: called.clone(),
            experiment: run.experiment.clone(),
            started: run.started.clone(),
            repeats: run.repeats,
            duration_s: run.duration_s,
            is_simulated: run.executor == ExecutorKind::Sim,
            cut_short: run.cut_short,
        };
        self.runs.iter().map(of).collect()
    }

    /// What the runs show of each channel, by its id.
    pub(crate) fn exercised(&self, place: &ChannelPlace) -> BTreeMap<String, Exercised> {
        let (mut seen, mut unknown) = (Vec::new(), Vec::new());
        for RunSeen { called, run, own } in &self.runs {
            for case in run.cases.iter().filter(|case| !case.neighbours.is_empty()) {
                let looked = Looked { called, run, case, own, place };
                let (channels, reasons) = looked.channels();
                unknown.extend(reasons);
                seen.push((looked, channels));
            }
        }
        unknown.sort_unstable();
        unknown.dedup();
        let could = can_exercise(place);
        let of = |channel: &ListedChannel| {
            let own = seen.iter().filter(|(_, channels)| channels.contains(&channel.id));
            let by: Vec<ChannelExercise> = own.map(|(looked, channels)| looked.exercise(channel, channels)).collect();
            let (answer, why) = match (by.is_empty(), self.runs.is_empty(), unknown.is_empty()) {
                (false, ..) => judged(place, &channel.id, &by),
                (true, true, _) if place.is_absent(&channel.id) => {
                    (ChannelAnswer::No, "the channel is not there".to_owned())
                }
                (true, true, _) => (ChannelAnswer::NotSeen, NO_RUN.to_owned()),
                (true, false, true) => (ChannelAnswer::No, "no neighbour of the runs does".to_owned()),
                (true, false, false) => (ChannelAnswer::NotSeen, unknown.join("; ")),
            };
            let can: Vec<String> = could.get(&channel.id).cloned().unwrap_or_default();
            (channel.id.clone(), Exercised { answer, by, can, why })
        };
        list().channel.iter().map(of).collect()
    }
}

/// Why nothing is known of any channel.
pub(crate) const NO_RUN: &str =
    "no run was named, so what exercises a channel was not seen; `--run` names one, `--measure` makes one";

/// Whether neighbours that can exercise a channel are seen to have done it.
fn judged(place: &ChannelPlace, id: &str, by: &[ChannelExercise]) -> (ChannelAnswer, String) {
    let is_there = place.presences.get(id).is_some_and(|presence| presence.answer == ChannelAnswer::Yes);
    match (is_there, by.iter().any(ChannelExercise::shows)) {
        (true, true) => (ChannelAnswer::Yes, String::new()),
        (false, _) => (ChannelAnswer::NotSeen, "the channel itself was not seen, so its share is not known".into()),
        (true, false) => {
            let why = "the neighbours can exercise it, and neither an effect nor a counter shows that they did";
            (ChannelAnswer::NotSeen, why.into())
        }
    }
}

/// Why a run is of another place than the table.
fn is_of(run: &Run, place: &ChannelPlace) -> Result<(), String> {
    let found = format!("this is a run of `{}` ({})", run.platform, run.executor);
    match &place.kind {
        PlaceKind::Platform => match run.executor == ExecutorKind::Sim && run.platform == place.place {
            true => Ok(()),
            false => Err(format!("{found}, and the table is about the platform `{}`{}", place.place, command_of(run))),
        },
        PlaceKind::Machine { processor } => match (run.executor, &run.machine.processor, processor) {
            (ExecutorKind::Sim, ..) => Err(format!("{found}, and the table is about a machine{}", command_of(run))),
            (ExecutorKind::Host, Some(ran), Some(here)) if ran != here => {
                Err(format!("it ran on the processor `{ran}`, and the table is about `{here}`"))
            }
            (ExecutorKind::Host, ..) => Ok(()),
        },
    }
}

/// The command that makes the table which a run is of.
fn command_of(run: &Run) -> String {
    let platform = if run.executor == ExecutorKind::Sim { format!(" {}", run.platform) } else { String::new() };
    format!("; `waykeeper channels{platform} --run ...` is about its place")
}

/// The bundled workloads that can exercise each channel of a place, on its last core.
pub(crate) fn can_exercise(place: &ChannelPlace) -> BTreeMap<String, Vec<String>> {
    let mut could: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let Some(reach) = place.cores.last() else { return could };
    let none = BTreeMap::new();
    // Programs of others need not be there.
    let own = waykeeper_workload::bundled().iter().filter(|it| !it.text.contains("kind = \"command\""));
    for bundled in own {
        let named = NamedWorkload { name: bundled.name, with: &none, own: &BTreeMap::new() };
        // Who else uses the machine was not asked.
        if named.is_unfair(reach) {
            continue;
        }
        for channel in named.channels(reach, None).unwrap_or_default() {
            if place.can_have(&channel) {
                could.entry(channel).or_default().push(bundled.name.to_owned());
            }
        }
    }
    could
}

/// A case with neighbours.
struct Looked<'r> {
    called: &'r str,
    run: &'r Run,
    case: &'r CaseRecord,
    own: &'r OwnWorkloads,
    place: &'r ChannelPlace,
}

impl Looked<'_> {
    /// The channels that its neighbours exercise, and why that is not known of some.
    fn channels(&self) -> (BTreeSet<String>, Vec<String>) {
        let (mut channels, mut unknown) = (BTreeSet::new(), Vec::new());
        for neighbour in &self.case.neighbours {
            let named = NamedWorkload { name: &neighbour.workload, with: &neighbour.with, own: self.own };
            for core in &neighbour.cores {
                let Some(reach) = self.place.cores.iter().find(|reach| reach.core == *core) else {
                    unknown.push(format!("core {core} of a neighbour is not seen here"));
                    continue;
                };
                match named.channels(reach, Some(self.case.core)) {
                    Ok(found) => channels.extend(found),
                    Err(why) => unknown.push(format!("{}: {why}", neighbour.workload)),
                }
                channels.extend(self.shares_core(reach).then(|| "smt".to_owned()));
            }
        }
        channels.retain(|channel| self.place.can_have(channel));
        (channels, unknown)
    }

    fn shares_core(&self, reach: &CoreReach) -> bool {
        reach.core != self.case.core && reach.siblings.contains(&self.case.core)
    }

    fn exercise(&self, channel: &ListedChannel, channels: &BTreeSet<String>) -> ChannelExercise {
        let Self { called, run, case, .. } = self;
        let alone = alone(run, case);
        let ratios = alone.map(|alone| slowdowns(case, alone)).unwrap_or_default();
        let (interval, no_interval) = interval(case, &ratios);
        let effective: Vec<Option<bool>> = case.neighbours.iter().map(|neighbour| neighbour.effective).collect();
        ChannelExercise {
            run: (*called).to_owned(),
            case: case.name.clone(),
            target: format!("{}@{}", case.target, case.core),
            neighbours: case.neighbours.iter().map(named).collect(),
            mitigation: case.mitigation.clone(),
            also: channels.iter().filter(|id| **id != channel.id).cloned().collect(),
            effective: effective
                .first()
                .copied()
                .flatten()
                .filter(|first| effective.iter().all(|it| *it == Some(*first))),
            bytes_per_s: case.neighbours.iter().map(|neighbour| neighbour.bytes_per_s).sum(),
            counters: alone.map(|alone| shifts(channel, alone, case)).unwrap_or_default(),
            slowdown: case.slowdown,
            interval,
            no_interval,
            repeats: ratios.len(),
        }
    }
}

fn named(neighbour: &NeighbourRecord) -> String {
    let with: Vec<String> = neighbour.with.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let with = if with.is_empty() { String::new() } else { format!("[{}]", with.join(" ")) };
    format!("{}{with}@{}", neighbour.workload, format_cpulist(&neighbour.cores))
}

/// The interval of the mean slowdown at 95 %, or why there is none.
fn interval(case: &CaseRecord, ratios: &[f64]) -> (Option<[f64; 2]>, Option<String>) {
    if case.slowdown.is_none() {
        return (None, Some("the target was not measured alone".into()));
    }
    if ratios.len() < 2 {
        return (None, Some(format!("{} repeats have no spread", ratios.len())));
    }
    match FigureSpread::of(ratios) {
        Some(FigureSpread { low, high, .. }) => (Some([low, high]), None),
        None => (None, Some("the spread is not finite".into())),
    }
}

/// Fewer repeats show no spread.
const FEWEST_REPEATS: usize = 3;

/// Counters of a channel, a second, alone and beside the neighbours.
fn shifts(channel: &ListedChannel, alone: &CaseRecord, beside: &CaseRecord) -> Vec<CounterShift> {
    // One that counted nothing is among them: nothing counted is not the same as not counted.
    let shift = |name: &String| {
        let (alone, beside) = (Counted::of(alone, name)?, Counted::of(beside, name)?);
        let rose = alone.rates.len().min(beside.rates.len()) >= FEWEST_REPEATS
            && beside.rates.iter().all(|rate| alone.rates.iter().all(|other| rate > other));
        let (alone_per_s, beside_per_s) = (alone.per_s, beside.per_s);
        Some(CounterShift { name: name.clone(), alone_per_s, beside_per_s, rose })
    };
    channel.counters.iter().filter_map(shift).collect()
}

/// A counter in a case.
struct Counted {
    /// A second, over all repeats that count.
    per_s: f64,
    /// A second, by repeat.
    rates: Vec<f64>,
}

impl Counted {
    /// None where the case does not have it.
    fn of(case: &CaseRecord, name: &str) -> Option<Self> {
        let counted = case.repeats.iter().filter(|repeat| repeat.not_counted.is_none() && repeat.run_length_s > 0.0);
        let of = |repeat: &RepeatRecord| {
            let counter = repeat.counters.get(name).map(|count| *count as f64);
            Some((counter.or_else(|| repeat.disturbances.get(name).copied())?, repeat.run_length_s))
        };
        let all: Vec<(f64, f64)> = counted.filter_map(of).collect();
        let (count, time) = all.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        (time > 0.0)
            .then(|| Self { per_s: count / time, rates: all.iter().map(|(count, time)| count / time).collect() })
    }
}
