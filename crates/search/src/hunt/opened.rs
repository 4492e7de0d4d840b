//! The experiment of a hunt with candidates in the place of its neighbours.

use toml::{Table, Value};
use waykeeper_experiment::{InputError, Loaded, Set};

use super::hunting::HuntRequest;
use super::pool::CandidateSource;
use super::written::as_table;

/// The experiment with these workloads as its neighbours, each in a group of its own.
pub(super) fn open(request: &HuntRequest, candidates: &[CandidateSource], cores: &[u32]) -> Result<Loaded, InputError> {
    let empty = || Value::Array(Vec::new());
    let mut sets = request.sets.clone();
    let own = |path: &[&str], value: Value| Set {
        option: "waykeeper hunt".into(),
        path: path.iter().map(|part| (*part).to_owned()).collect(),
        value,
    };
    let policies = request.policy.iter().map(|path| Value::String(path.display().to_string())).collect();
    let mut neighbours = Vec::new();
    for (number, candidate) in candidates.iter().enumerate() {
        let group = group(number);
        let mut add = |workload: String, cores: Value, buffer: Option<&Value>| {
            let mut entry = Table::from_iter([
                ("workload".to_owned(), Value::String(workload)),
                ("cores".to_owned(), cores),
                ("group".to_owned(), Value::String(group.clone())),
            ]);
            entry.extend(buffer.map(|buffer| ("buffer".to_owned(), buffer.clone())));
            neighbours.push(Value::Table(entry));
        };
        let all_cores = || Value::Array(cores.iter().map(|core| Value::Integer(i64::from(*core))).collect());
        match candidate {
            CandidateSource::Named(name) => add(name.clone(), all_cores(), None),
            CandidateSource::Found(mixture) => {
                let table = as_table(mixture, cores, &group);
                let workloads = table["workloads"].as_table().into_iter().flatten();
                sets.extend(workloads.map(|(name, workload)| own(&["workloads", name], workload.clone())));
                for neighbour in table["neighbours"].as_array().into_iter().flatten() {
                    let name = neighbour["workload"].as_str().unwrap_or_default();
                    add(name.to_owned(), neighbour["cores"].clone(), neighbour.get("buffer"));
                }
            }
            CandidateSource::Program(stressor) => {
                let argv = stressor.argv.iter().cloned().map(Value::String).collect();
                let table = [("kind", Value::String("command".into())), ("argv", Value::Array(argv))];
                let table = table.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
                sets.push(own(&["workloads", &group], Value::Table(table)));
                add(group.clone(), all_cores(), None);
            }
        }
    }
    sets.extend([
        own(&["neighbours"], Value::Array(neighbours)),
        own(&["mitigations"], Value::Array(policies)),
        own(&["combine"], Value::String("alone".into())),
        own(&["sentinel"], Value::Boolean(false)),
        own(&["budgets"], empty()),
        own(&["references"], empty()),
        own(&["expectations"], empty()),
    ]);
    Loaded::open(&request.experiment, sets)
}

pub(super) fn group(number: usize) -> String {
    format!("candidate-{number}")
}
