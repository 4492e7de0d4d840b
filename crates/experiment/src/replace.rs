//! Options that put something else in the place of what sweeps vary: what the sweeps set there goes with it.

use toml::{Table, Value};
use waykeeper_platform::CoreId;

use crate::cores::TargetCore;
use crate::describe::{OneOrMany, Target};
use crate::error::InputError;
use crate::load::{Loaded, Variant};
use crate::point::Point;
use crate::set::Set;
use crate::sweep::{Sweep, SweepPoint, settings_of, split};

/// Overrides, and what a person should hear of them.
#[derive(Debug, Clone, Default)]
pub struct OptionOverrides {
    /// The overrides.
    pub sets: Vec<Set>,
    /// What of the experiment they leave out or change, in a sentence each.
    pub notes: Vec<String>,
}

impl OptionOverrides {
    /// Puts those of another option behind them.
    pub fn extend(&mut self, others: Self) {
        self.sets.extend(others.sets);
        self.notes.extend(others.notes);
    }
}

/// An entry of `targets` at one point of the sweeps.
struct Found<'a> {
    variant: &'a Variant,
    index: usize,
    target: &'a Target,
}

impl Loaded {
    /// Makes a workload on a core the only target. A target of the experiment that is this one keeps all its keys, and sweeps that vary
    /// its core or its workload keep the points where it is; one of the same workload on other cores keeps its keys on this core.
    ///
    /// # Errors
    /// A workload that is a target more than once with different keys, on other cores alone; a point that sets nothing any more.
    pub fn with_target(&self, option: &str, workload: &str, core: CoreId) -> Result<OptionOverrides, InputError> {
        let variants = self.variants()?;
        let all = variants.iter().flat_map(|variant| {
            let targets = variant.loaded.experiment.targets.iter().enumerate();
            targets.map(move |(index, target)| Found { variant, index, target })
        });
        let named: Vec<Found> = all.filter(|found| found.target.workload == workload).collect();
        let is_here = |found: &&Found| found.target.core == TargetCore::Number(core);
        let here: Vec<&Found> = named.iter().filter(is_here).collect();
        let mut replacement = OptionOverrides::default();
        let (kept, moved) = if here.is_empty() { (self.only_elsewhere(option, &named)?, true) } else { (here, false) };
        let mut indices: Vec<usize> = kept.iter().map(|found| found.index).collect();
        indices.sort_unstable();
        indices.dedup();
        let own = [("workload".to_owned(), Value::from(workload)), ("core".to_owned(), Value::from(core))];
        let entry = |index: &usize| {
            let written = self.document().get("targets").and_then(|list| list.get(*index)?.as_table().cloned());
            Value::Table(written.unwrap_or_default().into_iter().chain(own.clone()).collect())
        };
        let entries = if indices.is_empty() {
            vec![Value::Table(own.iter().cloned().collect())]
        } else {
            indices.iter().map(entry).collect()
        };
        replacement.sets.push(Set::from_option(option.into(), "targets", Value::Array(entries)));
        if moved && !indices.is_empty() {
            replacement.notes.push(format!(
                "`{workload}` is a target of the experiment {}: its keys are kept, on core {core}",
                elsewhere(&named)
            ));
        }
        let points: Vec<&Point> = kept.iter().map(|found| &found.variant.point).collect();
        let is_left =
            |sweep: &str, label: &str| points.is_empty() || points.iter().any(|at| at.label(sweep) == Some(label));
        let place = |path: &[String]| {
            if path.first().is_none_or(|first| first != "targets") {
                return Some(path.to_vec());
            }
            // What the entry says of the workload and the core is what the points say that are left.
            let (at, rest) = path.get(1..)?.split_first()?;
            let at = indices.iter().position(|index| index.to_string() == *at)?;
            let is_in_entry = rest.len() == 1 && ["workload", "core"].contains(&rest[0].as_str());
            (!is_in_entry)
                .then(|| ["targets".to_owned(), at.to_string()].into_iter().chain(rest.iter().cloned()).collect())
        };
        self.sweeps_with(option, is_left, place, &mut replacement)?;
        // What these say is of the experiment's own targets.
        for key in ["references", "expectations"] {
            replacement.sets.push(Set::from_option(option.into(), key, Value::Array(Vec::new())));
        }
        Ok(replacement)
    }

    /// Takes keys, by their parts, out of what sweeps vary: something else is put there. A sweep that varies nothing else goes.
    ///
    /// # Errors
    /// A point that sets nothing any more, beside others of its sweep that do.
    pub fn without_swept(
        &self,
        option: &str,
        is_taken: impl Fn(&[&str]) -> bool,
    ) -> Result<OptionOverrides, InputError> {
        let mut replacement = OptionOverrides::default();
        let place = |path: &[String]| {
            let parts: Vec<&str> = path.iter().map(String::as_str).collect();
            (!is_taken(&parts)).then(|| path.to_vec())
        };
        self.sweeps_with(option, |_, _| true, place, &mut replacement)?;
        Ok(replacement)
    }

    /// Moves all targets to one core; those that differ in their core alone are one then. Sweeps do not vary the core any more.
    ///
    /// # Errors
    /// A sweep that varies nothing any more.
    pub fn with_targets_on(&self, option: &str, core: CoreId) -> Result<OptionOverrides, InputError> {
        let mut replacement = self.without_swept(option, |path| matches!(path, ["targets", _, "core"]))?;
        let written = self.document().get("targets").and_then(Value::as_array).into_iter().flatten();
        let mut moved: Vec<Value> = Vec::new();
        for target in written.filter_map(Value::as_table) {
            let target: Table = target.clone().into_iter().chain([("core".to_owned(), Value::from(core))]).collect();
            if !moved.contains(&Value::Table(target.clone())) {
                moved.push(Value::Table(target));
            }
        }
        replacement.sets.push(Set::from_option(option.into(), "targets", Value::Array(moved)));
        Ok(replacement)
    }

    /// The sweeps with the points that are left, and their keys in other places or, where there is none, left out.
    fn sweeps_with(
        &self,
        option: &str,
        is_left: impl Fn(&str, &str) -> bool,
        place: impl Fn(&[String]) -> Option<Vec<String>>,
        replacement: &mut OptionOverrides,
    ) -> Result<(), InputError> {
        let sweeps = &self.experiment.sweep;
        let mut kept: Vec<Sweep> = Vec::new();
        for sweep in sweeps {
            let labels = sweep.record().points;
            let labels: Vec<String> = labels.into_iter().filter(|label| is_left(&sweep.name, label)).collect();
            kept.extend(sweep_with(option, sweep, &labels, &place)?);
        }
        if kept == *sweeps {
            return Ok(());
        }
        let gone: Vec<&str> = sweeps
            .iter()
            .map(|sweep| sweep.name.as_str())
            .filter(|name| kept.iter().all(|it| it.name != *name))
            .collect();
        let set = |key: &str, value| Set::from_option(option.into(), key, value);
        let written = |sweep: &Sweep| Value::try_from(sweep).expect("every sweep that was read can be written");
        replacement.sets.push(set("sweep", Value::Array(kept.iter().map(written).collect())));
        if gone.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = gone.iter().map(|name| format!("`{name}`")).collect();
        let what = if names.len() == 1 { "this sweep" } else { "these sweeps" };
        replacement.notes.push(format!(
            "{option} is in the place of what {what} of the experiment would vary: {}",
            names.join(", ")
        ));
        let table = self.document().get("table").and_then(Value::as_table).cloned();
        let is_shown = |(_, value): &(String, Value)| !value.as_str().is_some_and(|name| gone.contains(&name));
        replacement
            .sets
            .extend(table.map(|table| set("table", Value::Table(table.into_iter().filter(is_shown).collect()))));
        for key in ["references", "expectations"] {
            replacement.sets.push(set(key, Value::Array(Vec::new())));
        }
        Ok(())
    }

    /// The targets of a workload that has this core nowhere: those of one entry, or of entries that have the same keys.
    fn only_elsewhere<'f>(&self, option: &str, named: &'f [Found<'f>]) -> Result<Vec<&'f Found<'f>>, InputError> {
        let Some(first) = named.first() else { return Ok(Vec::new()) };
        let keys = |found: &Found| {
            let target = self.experiment.targets[found.index].clone();
            Target { core: TargetCore::Auto, workload: String::new(), ..target }
        };
        if named.iter().all(|found| keys(found) == keys(first)) {
            return Ok(named.iter().filter(|found| found.index == first.index).collect());
        }
        let message = format!(
            "`{}` is a target of the experiment {}, with different keys; expected one of these cores, or the whole target, such as `--set \
             'targets=[{{ workload = {:?}, core = 1, with = {{ }} }}]'`",
            first.target.workload,
            elsewhere(named),
            first.target.workload
        );
        Err(InputError::in_option(option, message))
    }
}

/// The cores of targets, as a sentence has them.
fn elsewhere(named: &[Found]) -> String {
    let mut cores: Vec<String> = Vec::new();
    for found in named {
        let core = match found.target.core {
            TargetCore::Number(core) => format!("on core {core}"),
            TargetCore::Auto => "on a core that the machine chooses".to_owned(),
        };
        if !cores.contains(&core) {
            cores.push(core);
        }
    }
    cores.join(" and ")
}

/// A sweep with these of its points and its keys elsewhere; none where no point sets anything.
fn sweep_with(
    option: &str,
    sweep: &Sweep,
    labels: &[String],
    place: &impl Fn(&[String]) -> Option<Vec<String>>,
) -> Result<Option<Sweep>, InputError> {
    let is_left = |label: &str| labels.iter().any(|left| left == label);
    let of_points = sweep.points.iter().flat_map(|point| settings_of(&point.set)).map(|(path, _)| path);
    let mut paths = sweep.key.as_slice().iter().map(|key| split(key)).chain(of_points);
    if labels == sweep.record().points && paths.all(|path| place(&path).as_ref() == Some(&path)) {
        return Ok(Some(sweep.clone()));
    }
    let placed = |path: &[String]| place(path).map(|path| path.join("."));
    let keys: Vec<String> = sweep.key.as_slice().iter().filter_map(|key| placed(&split(key))).collect();
    let mut points = Vec::new();
    for point in sweep.points.iter().filter(|point| is_left(&point.name.0)) {
        let settings = settings_of(&point.set).into_iter();
        let set: Table = settings.filter_map(|(path, value)| Some((placed(&path)?, value))).collect();
        points.push(SweepPoint { name: point.name.clone(), set });
    }
    if keys.is_empty() && points.iter().all(|point| point.set.is_empty()) {
        return Ok(None);
    }
    if let Some(empty) = points.iter().find(|point| point.set.is_empty()) {
        let (name, empty) = (&sweep.name, &empty.name.0);
        let others: Vec<&str> = labels.iter().map(String::as_str).filter(|label| label != empty).collect();
        let message = format!(
            "the point `{empty}` of the sweep `{name}` sets nothing else than what this option replaces; expected `--set \
             'sweep.{name}.only={}'`, which leaves it out, or `--set 'sweep.{name}.only={empty}'`",
            others.join(",")
        );
        return Err(InputError::in_option(option, message));
    }
    let values = sweep.values.iter().zip(sweep.labels()).filter(|(_, label)| is_left(label));
    let values = values.map(|(value, _)| value.clone()).collect();
    Ok(Some(Sweep { name: sweep.name.clone(), key: OneOrMany::Many(keys), values, points, only: Vec::new() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::Experiment;

    /// Two targets on the same cores, which a sweep varies with those of the neighbours; the keys of one are varied too.
    const LOOPS: &str = "
        title = 'x'
        platform = 'agilex5'
        targets = [{ workload = 'a', core = 1 }, { workload = 'b', core = 1, with = { batch = 16, size = '1 KiB' } }]
        neighbours = [{ workload = 'n', cores = [2, 3] }]
        table = { rows = 'size' }
        [[sweep]]
        name = 'core'
        points = [
            { name = 'one', set.targets.0.core = 1, set.targets.1.core = 1, set.neighbours.0.cores = [2, 3] },
            { name = 'three', set.targets.0.core = 3, set.targets.1.core = 3, set.neighbours.0.cores = [1, 2] },
        ]
        [[sweep]]
        name = 'size'
        key = 'targets.1.with.size'
        values = ['8 KiB', '1 MiB']
        [[sweep]]
        name = 'hammer'
        key = 'neighbours.0.workload'
        values = ['n', 'm']
        [[expectations]]
        says = 'x'
        metric = 'max'
        point = { size = '8 KiB' }
        order = ['cp < none']
        ";

    fn open(text: &str, sets: Vec<Set>) -> Result<Loaded, InputError> {
        Loaded::from_text("x", "x.toml", text, sets)
    }

    /// The cases of the experiment with a target: `WORKLOAD@CORE WITH beside CORES [POINT]`, and the notes.
    fn chosen(text: &str, workload: &str, core: CoreId) -> (Vec<String>, Vec<String>) {
        let option = format!("--target {workload}@{core}");
        let OptionOverrides { sets, notes } =
            open(text, Vec::new()).unwrap().with_target(&option, workload, core).unwrap();
        let loaded = open(text, sets).unwrap();
        // A run keeps the experiment as it was run.
        let kept = open(&loaded.to_toml(), Vec::new()).unwrap();
        assert_eq!(Experiment { name: None, ..kept.experiment }, loaded.experiment);
        let case = |variant: Variant| {
            let experiment = &variant.loaded.experiment;
            let [target] = experiment.targets.as_slice() else { panic!("{:?}", experiment.targets) };
            let TargetCore::Number(core) = target.core else { panic!("{target:?}") };
            let neighbour = &experiment.neighbours[0];
            let with = toml::to_string(&target.with).unwrap().trim().replace('\n', ", ");
            let crate::NeighbourCores::Numbers(cores) = &neighbour.cores else { panic!("{neighbour:?}") };
            format!("{}@{core} {with} beside {}@{cores:?} [{}]", target.workload, neighbour.workload, variant.point)
        };
        (loaded.variants().unwrap().into_iter().map(case).collect(), notes)
    }

    #[test]
    fn a_target_chooses_the_points_at_which_it_has_its_core() {
        let (cases, notes) = chosen(LOOPS, "a", 3);
        // The size of the other target means nothing to this one.
        assert_eq!(
            cases,
            ["a@3  beside n@[1, 2] [core three, hammer n]", "a@3  beside m@[1, 2] [core three, hammer m]"]
        );
        assert_eq!(notes, ["--target a@3 is in the place of what this sweep of the experiment would vary: `size`"]);
    }

    #[test]
    fn a_target_keeps_its_keys_and_the_sweeps_that_vary_them() {
        let (cases, notes) = chosen(LOOPS, "b", 1);
        let with = |size: &str| format!("batch = 16, size = \"{size}\"");
        assert_eq!(cases[0], format!("b@1 {} beside n@[2, 3] [core one, size 8 KiB, hammer n]", with("8 KiB")));
        assert_eq!(cases[3], format!("b@1 {} beside m@[2, 3] [core one, size 1 MiB, hammer m]", with("1 MiB")));
        assert!(cases.len() == 4 && notes.is_empty(), "{cases:?}, {notes:?}");
    }

    #[test]
    fn a_target_on_another_core_keeps_its_keys_which_is_said() {
        let (cases, notes) = chosen(LOOPS, "b", 0);
        assert_eq!(cases.len(), 8);
        assert!(cases.iter().all(|case| case.starts_with("b@0 batch = 16, size = ")), "{cases:?}");
        assert_eq!(notes, ["`b` is a target of the experiment on core 1 and on core 3: its keys are kept, on core 0"]);
    }

    #[test]
    fn another_workload_is_a_target_without_what_the_sweeps_vary_of_the_others() {
        let (cases, notes) = chosen(LOOPS, "c", 0);
        assert_eq!(cases.len(), 4);
        assert!(cases.iter().all(|case| case.starts_with("c@0  beside ")), "{cases:?}");
        assert!(notes.len() == 1 && notes[0].ends_with("`size`"), "{notes:?}");
    }

    #[test]
    fn targets_that_differ_in_their_keys_are_not_chosen_between() {
        let twice = "title = 'x'\ntargets = [{ workload = 'a', core = 1, with = { size = '1 KiB' } }, { workload = 'a', core = 2 }]";
        let loaded = open(twice, Vec::new()).unwrap();
        let error = loaded.with_target("--target a@5", "a", 5).unwrap_err().to_string();
        assert!(error.contains("on core 1 and on core 2, with different keys"), "{error}");
        let kept = loaded.with_target("--target a@1", "a", 1).unwrap();
        assert_eq!(open(twice, kept.sets).unwrap().experiment.targets[0].with.len(), 1);
    }

    #[test]
    fn what_replaces_neighbours_takes_what_sweeps_vary_of_them() {
        let loaded = open(LOOPS, Vec::new()).unwrap();
        let replacement = loaded.without_swept("--against w.toml", |path| path[0] == "neighbours").unwrap();
        let left = open(LOOPS, replacement.sets).unwrap();
        let points: Vec<String> = left.variants().unwrap().iter().map(|variant| variant.point.to_string()).collect();
        assert_eq!(
            points,
            ["core one, size 8 KiB", "core one, size 1 MiB", "core three, size 8 KiB", "core three, size 1 MiB"]
        );
        assert!(left.experiment.expectations.is_empty() && replacement.notes[0].ends_with("`hammer`"));
        // One point would set nothing, and another one would.
        let uneven = LOOPS.replace("set.targets.0.core = 1, set.targets.1.core = 1, ", "");
        let uneven = open(&uneven, Vec::new()).unwrap();
        let error = uneven.without_swept("--against w.toml", |path| path[0] == "neighbours").unwrap_err().to_string();
        assert!(error.contains("the point `one` of the sweep `core`"), "{error}");
        assert!(error.contains("--set 'sweep.core.only=three'"), "{error}");
    }

    #[test]
    fn an_option_that_sets_what_a_sweep_varies_is_refused() {
        let refused = |text: &str| open(LOOPS, vec![Set::parse(text).unwrap()]).unwrap_err().to_string();
        for text in ["targets=[{ workload = 'a', core = 1 }]", "targets.0={ workload = 'a', core = 1 }"] {
            let error = refused(text);
            assert!(error.contains("the sweep `core` varies `targets.0.core`, which this option sets"), "{error}");
        }
        let error = refused("targets.0.core=1");
        assert!(error.contains("the sweep `core` varies this key"), "{error}");
        // Without what is varied it is a target at each point.
        let set = Set::parse("targets.0={ workload = 'c' }").unwrap();
        assert_eq!(open(LOOPS, vec![set]).unwrap().variants().unwrap().len(), 8);
    }
}
