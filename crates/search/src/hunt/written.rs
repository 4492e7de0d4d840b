//! Neighbours that were found as files, and their way into experiments.

use toml::{Table, Value};
use waykeeper_experiment::{InputError, Loaded, OptionOverrides, Set};

use super::mixture::NeighbourMixture;

/// One pattern on all cores as a workload file. Whose buffer is accessed is no part of a workload.
pub(super) fn workload_file(mixture: &NeighbourMixture) -> Option<String> {
    let [pattern] = mixture.parts() else { return None };
    if pattern.shares_lines() {
        return None;
    }
    let mut table = pattern.workload();
    table.insert("title".into(), title(mixture));
    toml::to_string(&table).ok()
}

/// Different patterns, or ones in the target's buffer, as the part of an experiment that has neighbours and their workloads.
pub(super) fn neighbours_file(mixture: &NeighbourMixture, cores: &[u32]) -> Option<String> {
    if mixture.parts().len() < 2 && !mixture.shares_lines() {
        return None;
    }
    let mut table = as_table(mixture, cores, "found");
    table.insert("title".into(), title(mixture));
    toml::to_string(&table).ok()
}

fn title(mixture: &NeighbourMixture) -> Value {
    Value::String(format!("found by a hunt: {}", mixture.called()))
}

/// Different patterns as `workloads` and `neighbours` of an experiment; names begin so.
pub(super) fn as_table(mixture: &NeighbourMixture, cores: &[u32], name: &str) -> Table {
    let name = |part: usize| format!("{name}-{}", part + 1);
    let workloads = mixture.parts().iter().enumerate().map(|(at, part)| (name(at), Value::Table(part.workload())));
    let placed: Vec<(usize, u32)> = mixture.on_cores(cores.len()).zip(cores.iter().copied()).collect();
    let neighbour = |part: usize| {
        let own = placed.iter().filter(|(of, _)| *of == part).map(|(_, core)| Value::Integer(i64::from(*core)));
        let entry = [("workload", Value::String(name(part))), ("cores", Value::Array(own.collect()))];
        let buffer = mixture.parts()[part].shares_lines().then(|| ("buffer", Value::String("target".into())));
        Value::Table(entry.into_iter().chain(buffer).map(|(key, value)| (key.to_owned(), value)).collect())
    };
    let used = mixture.parts().len().min(cores.len());
    let neighbours = Value::Array((0..used).map(neighbour).collect());
    Table::from_iter([
        ("workloads".to_owned(), Value::Table(workloads.take(used).collect())),
        ("neighbours".to_owned(), neighbours),
    ])
}

/// The neighbours of a file in the place of all those of an experiment: a workload runs on the cores of each, and a file with
/// `neighbours` names its own cores. What sweeps vary of the neighbours that were there goes.
///
/// # Errors
/// No TOML; a workload for an experiment without neighbours, whose cores are not known; neighbours without workloads.
pub fn against(text: &str, option: &str, loaded: &Loaded) -> Result<OptionOverrides, InputError> {
    let refuse = |message: String| InputError::in_option(option, message);
    let table: Table =
        text.parse().map_err(|error: toml::de::Error| refuse(format!("this is not TOML: {}", error.message())))?;
    let set = |path: &[&str], value| Set {
        option: option.into(),
        path: path.iter().map(|part| (*part).to_owned()).collect(),
        value,
    };
    if table.contains_key("neighbours") {
        let (workloads, neighbours) = as_neighbours(&table, AGAINST)
            .ok_or_else(|| refuse("expected `[workloads.NAME]` and `[[neighbours]]` that name them".into()))?;
        let mut own: Vec<Set> =
            workloads.into_iter().map(|(name, workload)| set(&["workloads", &name], workload)).collect();
        own.push(set(&["neighbours"], Value::Array(neighbours)));
        let mut replacement = loaded.without_swept(option, |path| path[0] == "neighbours")?;
        replacement.sets.splice(0..0, own);
        return Ok(replacement);
    }
    let mut own = vec![set(&["workloads", AGAINST], Value::Table(table))];
    for (at, neighbour) in loaded.experiment.neighbours.iter().enumerate() {
        let at = at.to_string();
        if !neighbour.buffer.is_own() {
            own.push(set(&["neighbours", &at, "buffer"], Value::String("own".into())));
        }
        own.push(set(&["neighbours", &at, "workload"], Value::String(AGAINST.into())));
        own.push(set(&["neighbours", &at, "with"], Value::Table(Table::new())));
    }
    if own.len() == 1 {
        return Err(refuse(
            "the experiment has no neighbours, so their cores are not known; expected `[[neighbours]]` in it".into(),
        ));
    }
    let is_taken = |path: &[&str]| match path {
        ["neighbours", _, key, ..] => ["workload", "with", "buffer"].contains(key),
        ["neighbours", ..] => true,
        _ => false,
    };
    let mut replacement = loaded.without_swept(option, is_taken)?;
    replacement.sets.splice(0..0, own);
    Ok(replacement)
}

/// What the workloads of a file are called in an experiment.
const AGAINST: &str = "against";

/// The workloads of a file with neighbours under names that begin so, and its neighbours with these names.
pub fn as_neighbours(table: &Table, prefix: &str) -> Option<(Table, Vec<Value>)> {
    let renamed = |name: &str| format!("{prefix}-{name}");
    let workloads = table.get("workloads")?.as_table()?;
    let mut neighbours = Vec::new();
    for neighbour in table.get("neighbours")?.as_array()? {
        let mut neighbour = neighbour.as_table()?.clone();
        let name = neighbour.get("workload")?.as_str()?;
        if workloads.contains_key(name) {
            neighbour.insert("workload".into(), Value::String(renamed(name)));
        }
        neighbours.push(Value::Table(neighbour));
    }
    let workloads = workloads.iter().map(|(name, workload)| (renamed(name), workload.clone())).collect();
    Some((workloads, neighbours))
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use waykeeper_workload::{CacheShape, CacheShapes, Operation};

    use super::super::geometry::Geometry;
    use super::super::pattern::NeighbourPattern;
    use super::*;

    #[test]
    fn a_pattern_in_the_targets_buffer_is_written_with_it() {
        let shape = CacheShape { level: 1, size_bytes: 32 << 10, ways: 4, line_bytes: 64 };
        let geometry = Geometry::of(&CacheShapes(vec![shape])).sharing(Some(4096));
        let pass = NeighbourMixture::from(NeighbourPattern::through_target(&geometry).remove(0));
        // A workload file could not say whose buffer it is.
        assert!(workload_file(&pass).is_none());
        let text = neighbours_file(&pass, &[2, 3]).unwrap();
        let (workloads, neighbours) = as_neighbours(&text.parse().unwrap(), "x").unwrap();
        assert_eq!(workloads.len(), 1);
        let neighbour = &neighbours[0];
        assert_eq!(neighbours.len(), 1);
        assert_eq!((neighbour["buffer"].as_str(), neighbour["cores"].to_string()), (Some("target"), "[2, 3]".into()));
    }

    #[test]
    fn neighbours_of_a_workload_file_have_buffers_of_their_own() {
        let text = "title = 'x'\nplatform = 'agilex5'\n[[targets]]\nworkload = 'rta_128k'\ncore = 1\n[[neighbours]]\n\
                    workload = 'stream_modify'\nwith.size = '64 KiB'\nbuffer = 'target'\ncores = [2]\n";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("shared.toml");
        std::fs::write(&file, text).unwrap();
        let open = |sets| Loaded::open(file.to_str().unwrap(), sets).unwrap();
        let replaced = against("kind = 'stream'\noperation = 'read'\nsize = '1 MiB'", "--against", &open(Vec::new()));
        let neighbours = open(replaced.unwrap().sets).experiment.neighbours;
        assert!(neighbours[0].workload == "against" && neighbours[0].buffer.is_own(), "{neighbours:?}");
    }

    #[test]
    fn a_mixture_is_written_core_by_core() {
        let [a, b] = [Operation::Read, Operation::Write].map(NeighbourPattern::smallest);
        let shape = CacheShape { level: 1, size_bytes: 32 << 10, ways: 4, line_bytes: 64 };
        let geometry = Geometry::of(&CacheShapes(vec![shape])).on_cores(3);
        let (one, other) = (NeighbourMixture::from(a), NeighbourMixture::from(b));
        let mut random = Rng::with_seed(1);
        let mixture = std::iter::repeat_with(|| one.crossed(&other, &geometry, &mut random));
        let mixture = mixture.take(100).find(|mixture| mixture.parts().len() == 2).unwrap();
        assert!(workload_file(&mixture).is_none() && neighbours_file(&one, &[4]).is_none());
        let table: Table = neighbours_file(&mixture, &[4, 5, 7]).unwrap().parse().unwrap();
        let (workloads, neighbours) = as_neighbours(&table, "x").unwrap();
        assert_eq!(workloads["x-found-1"]["operation"].as_str(), Some("read"));
        assert_eq!(workloads["x-found-2"]["operation"].as_str(), Some("write"));
        let placed: Vec<String> =
            neighbours.iter().map(|entry| format!("{} on {}", entry["workload"], entry["cores"])).collect();
        assert_eq!(placed, ["\"x-found-1\" on [4, 7]", "\"x-found-2\" on [5]"]);
        // On fewer cores than patterns, nothing is written that no core runs.
        let alone = as_table(&mixture, &[4], "found");
        assert_eq!(
            (alone["workloads"].as_table().unwrap().len(), alone["neighbours"].as_array().unwrap().len()),
            (1, 1)
        );
    }
}
