//! Sweeps: settings that vary over lists, so that one file stands for one published figure.

use schemars::JsonSchema;
use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};

use crate::describe::OneOrMany;
use crate::point::{Point, PointLabel};

/// One dimension of an experiment. Several sweeps form a grid; each of its points makes cases of its own, but a case that
/// is the same at all points of a sweep is run once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Short name: it stands in the names of cases, and in `point` in run.json.
    pub name: String,
    /// The key that varies, as `--set` names it; several take each value together.
    #[serde(default, skip_serializing_if = "OneOrMany::is_empty")]
    pub key: OneOrMany<String>,
    /// The values of `key`. Each names its point.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_list")]
    #[schemars(with = "Vec<serde_json::Value>")]
    pub values: Vec<Value>,
    /// Points at which several keys differ: in place of `key` and `values`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<SweepPoint>,
    /// The points that are run, by name; all where absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_list")]
    pub only: Vec<PointLabel>,
}

/// A named point of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepPoint {
    /// Short name.
    pub name: PointLabel,
    /// What is set there: keys as `--set` names them (`targets.0.core = 1`).
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub set: Table,
}

/// A sweep as it was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepRecord {
    /// Its name.
    pub name: String,
    /// The names of the points that were run, in their order.
    pub points: Vec<String>,
}

impl Sweep {
    /// The names of its points, whichever are run.
    pub fn labels(&self) -> Vec<String> {
        let of_values = self.values.iter().filter_map(PointLabel::of);
        of_values.chain(self.points.iter().map(|point| point.name.clone())).map(|label| label.0).collect()
    }

    /// What a run keeps of it.
    pub fn record(&self) -> SweepRecord {
        let is_chosen = |label: &String| self.only.is_empty() || self.only.iter().any(|only| only.0 == *label);
        SweepRecord { name: self.name.clone(), points: self.labels().into_iter().filter(is_chosen).collect() }
    }
}

fn one_or_list<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let list = match Value::deserialize(deserializer)? {
        Value::Array(list) => list,
        one => vec![one],
    };
    list.into_iter().map(|value| T::deserialize(value).map_err(|error| de::Error::custom(error.message()))).collect()
}

/// The most points that the sweeps of an experiment may have together.
pub const MOST_POINTS: usize = 1000;

/// What stands at the beginning of a key that a sweep may vary: everything that decides what a case is.
const MAY_VARY: [&str; 5] = ["targets", "neighbours", "mitigations", "assignments", "workloads"];

/// A value that a point sets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Setting {
    /// Path of the key that is set.
    pub path: Vec<String>,
    /// Its value.
    pub value: Value,
    /// Path of the value in the sweep, such as `sweep.0.values.2`.
    pub stands_at: Vec<String>,
}

/// A key of the sweeps, and what is wrong with it.
pub(crate) type Mistake = (String, String);

/// A point of one sweep, or of all.
type Settings = Vec<Setting>;

/// The grid of all points of the sweeps, whichever are chosen.
pub(crate) fn grid_of_all(sweeps: &[Sweep]) -> Result<Vec<(Point, Settings)>, Mistake> {
    let all: Vec<Sweep> = sweeps.iter().map(|sweep| Sweep { only: Vec::new(), ..sweep.clone() }).collect();
    grid(&all)
}

/// The chosen points of all sweeps together, the last sweep fastest. One point with nothing set where there are none.
pub(crate) fn grid(sweeps: &[Sweep]) -> Result<Vec<(Point, Settings)>, Mistake> {
    let mut grid: Vec<(Point, Settings)> = vec![(Point::default(), Vec::new())];
    let mut varied: Vec<(String, Vec<String>)> = Vec::new();
    for (index, sweep) in sweeps.iter().enumerate() {
        let at = format!("sweep.{index}");
        check_name(sweeps, index)?;
        let points = points_of(sweep, &at)?;
        check_keys(&points, &sweep.name, &mut varied)?;
        let chosen = chosen(sweep, &at, points)?;
        if grid.len() * chosen.len() > MOST_POINTS {
            let message = format!("together the sweeps have more than {MOST_POINTS} points; fewer values would do");
            return Err((at, message));
        }
        grid = grid
            .iter()
            .flat_map(|(point, settings)| {
                chosen.iter().map(move |(label, more)| {
                    (point.and(&sweep.name, &label.0), settings.iter().chain(more).cloned().collect())
                })
            })
            .collect();
    }
    Ok(grid)
}

fn check_name(sweeps: &[Sweep], index: usize) -> Result<(), Mistake> {
    let name = &sweeps[index].name;
    let key = || format!("sweep.{index}.name");
    let legal = name.starts_with(|c: char| c.is_alphabetic())
        && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c))
        && name != "mitigation";
    if !legal {
        let expected = "expected a letter, then letters, digits, `_` and `-`, and not `mitigation`";
        return Err((key(), format!("found {name:?}; {expected}")));
    }
    match sweeps[..index].iter().position(|other| other.name == *name) {
        Some(other) => Err((key(), format!("found `{name}` again, as in sweep.{other}; each needs a name of its own"))),
        None => Ok(()),
    }
}

fn points_of(sweep: &Sweep, at: &str) -> Result<Vec<(PointLabel, Settings)>, Mistake> {
    let (keys, values) = (sweep.key.as_slice(), &sweep.values);
    let points: Vec<(PointLabel, Settings)> = match (keys.is_empty(), values.is_empty(), sweep.points.is_empty()) {
        (false, false, true) => {
            let of_value = |(index, value): (usize, &Value)| {
                let stands_at = format!("{at}.values.{index}");
                let label = PointLabel::of(value)
                    .ok_or_else(|| (stands_at.clone(), "found a table; `points` can name such values".to_owned()))?;
                let settings = keys.iter().map(|key| setting(key, value, &stands_at)).collect();
                Ok((label, settings))
            };
            values.iter().enumerate().map(of_value).collect::<Result<_, Mistake>>()?
        }
        (true, true, false) => {
            let of_point = |(index, point): (usize, &SweepPoint)| {
                let mut settings = Vec::new();
                flatten(&point.set, &[], &format!("{at}.points.{index}.set"), &mut settings);
                (point.name.clone(), settings)
            };
            sweep.points.iter().enumerate().map(of_point).collect()
        }
        _ => return Err((at.into(), "expected `key` with a list of `values`, or `points`".into())),
    };
    for (index, (label, settings)) in points.iter().enumerate() {
        let place = if keys.is_empty() { format!("{at}.points.{index}") } else { format!("{at}.values.{index}") };
        if !label.is_legal() {
            let message =
                format!("found the name {:?}; expected up to 40 characters without `[`, `]` and `,`", label.0);
            return Err((place, message));
        }
        if settings.is_empty() {
            return Err((format!("{place}.set"), "it sets nothing; expected keys as `--set` names them".into()));
        }
        if points[..index].iter().any(|(other, _)| other == label) {
            return Err((place, format!("found `{}` again; each point needs a name of its own", label.0)));
        }
    }
    Ok(points)
}

fn setting(key: &str, value: &Value, stands_at: &str) -> Setting {
    Setting { path: split(key), value: value.clone(), stands_at: split(stands_at) }
}

pub(crate) fn split(key: &str) -> Vec<String> {
    key.split('.').map(str::to_owned).collect()
}

/// What a point sets: paths and values.
pub(crate) fn settings_of(set: &Table) -> Vec<(Vec<String>, Value)> {
    let mut settings = Vec::new();
    flatten(set, &[], "", &mut settings);
    settings.into_iter().map(|setting| (setting.path, setting.value)).collect()
}

/// The values in a table, each with its path: `targets.0.core = 1` is three tables deep, and so is `"targets.0".core`.
fn flatten(table: &Table, before: &[String], stands_at: &str, found: &mut Settings) {
    for (key, value) in table {
        let path: Vec<String> = before.iter().cloned().chain(split(key)).collect();
        match value {
            Value::Table(inner) => flatten(inner, &path, &format!("{stands_at}.{key}"), found),
            value => {
                found.push(Setting { path, value: value.clone(), stands_at: split(&format!("{stands_at}.{key}")) });
            }
        }
    }
}

fn check_keys(
    points: &[(PointLabel, Settings)],
    sweep: &str,
    varied: &mut Vec<(String, Vec<String>)>,
) -> Result<(), Mistake> {
    let before = varied.len();
    for setting in points.iter().flat_map(|(_, settings)| settings) {
        let (key, place) = (setting.path.join("."), setting.stands_at.join("."));
        if setting.path.iter().any(String::is_empty) || !MAY_VARY.contains(&setting.path[0].as_str()) {
            let message = format!("`{key}` is no key that a sweep can vary; expected one in {}", MAY_VARY.join(", "));
            return Err((place, message));
        }
        if let Some((other, _)) = varied[..before].iter().find(|(_, path)| overlaps(path, &setting.path)) {
            return Err((place, format!("`{key}` is varied by the sweep `{other}` too; one sweep varies a key")));
        }
        varied.push((sweep.to_owned(), setting.path.clone()));
    }
    Ok(())
}

/// Whether one path leads to the other, or through it.
pub(crate) fn overlaps(a: &[String], b: &[String]) -> bool {
    let shared = a.len().min(b.len());
    a[..shared] == b[..shared]
}

fn chosen(
    sweep: &Sweep,
    at: &str,
    points: Vec<(PointLabel, Settings)>,
) -> Result<Vec<(PointLabel, Settings)>, Mistake> {
    let only = &sweep.only;
    if let Some(unknown) = only.iter().find(|label| points.iter().all(|(known, _)| known != *label)) {
        let known: Vec<_> = points.iter().map(|(label, _)| label.0.as_str()).collect();
        let message = format!("found `{}`, which no point is called; expected some of {}", unknown.0, known.join(", "));
        return Err((format!("{at}.only"), message));
    }
    Ok(points.into_iter().filter(|(label, _)| only.is_empty() || only.contains(label)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweeps(text: &str) -> Vec<Sweep> {
        #[derive(Deserialize)]
        struct File {
            sweep: Vec<Sweep>,
        }
        toml::from_str::<File>(text).unwrap().sweep
    }

    fn names(text: &str) -> Vec<String> {
        grid(&sweeps(text)).unwrap().iter().map(|(point, _)| point.to_string()).collect()
    }

    const TWO: &str = "
        [[sweep]]
        name = 'cluster'
        points = [{ name = 'little', set.targets.0.core = 1 }, { name = 'big', set = { 'targets.0.core' = 2 } }]
        [[sweep]]
        name = 'size'
        key = ['neighbours.0.with.size', 'neighbours.1.with.size']
        values = ['8 KiB', '1 MiB']
        ";

    #[test]
    fn several_sweeps_form_a_grid_the_last_one_fastest() {
        assert_eq!(
            names(TWO),
            [
                "cluster little, size 8 KiB",
                "cluster little, size 1 MiB",
                "cluster big, size 8 KiB",
                "cluster big, size 1 MiB"
            ]
        );
        let (_, last) = grid(&sweeps(TWO)).unwrap().pop().unwrap();
        let set: Vec<_> = last.iter().map(|s| (s.path.join("."), s.value.to_string(), s.stands_at.join("."))).collect();
        let expected = [
            ("targets.0.core", "2", "sweep.0.points.1.set.targets.0.core"),
            ("neighbours.0.with.size", "\"1 MiB\"", "sweep.1.values.1"),
            ("neighbours.1.with.size", "\"1 MiB\"", "sweep.1.values.1"),
        ];
        assert_eq!(set, expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
        assert_eq!(grid(&[]).unwrap(), [(Point::default(), Vec::new())]);
    }

    #[test]
    fn only_some_points_are_chosen_by_name() {
        let stride = "[[sweep]]\nname = 'stride'\nkey = 'assignments.s.set.bandwidth.others'\nvalues = [0, 1, 63]\n";
        assert_eq!(names(&format!("{stride}only = [0, '63']\n")), ["stride 0", "stride 63"]);
        assert_eq!(names(&format!("{stride}only = 1\n")), ["stride 1"]);
        let (key, message) = grid(&sweeps(&format!("{stride}only = [2]\n"))).unwrap_err();
        assert!(key == "sweep.0.only" && message.contains("0, 1, 63"), "{key}: {message}");
    }
}
