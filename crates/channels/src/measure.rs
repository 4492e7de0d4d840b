//! The run for the table: one target alone, and beside one neighbour for each channel that a workload can exercise here.

use toml::{Table, Value};
use waykeeper_experiment::{InputError, Loaded, Set};

use crate::list::list;
use crate::presence::ChannelPlace;
use crate::runs::can_exercise;

/// What is asked of the measurement.
#[derive(Debug, Clone, Default)]
pub struct MeasureRequest {
    /// The platform's name or file; none for this machine.
    pub platform: Option<String>,
    /// The target's workload; the chase over the last-level cache where absent.
    pub target: Option<String>,
    /// The target's core; the place's own choice where absent.
    pub core: Option<u32>,
    /// A policy that is measured beside none.
    pub policy: Option<String>,
    /// Overrides of the experiment.
    pub sets: Vec<Set>,
}

/// The target of the measurement: its time is that of loads from the shared caches and beyond.
const TARGET: &str = "chase_llc";

/// The experiment, and the channels that no workload exercises here.
///
/// # Errors
/// A place with one core, on which nothing can run beside the target; an override that does not fit.
pub fn experiment(place: &ChannelPlace, request: &MeasureRequest) -> Result<Loaded, InputError> {
    let neighbours = neighbours(place);
    if place.cores.len() < 2 || neighbours.is_empty() {
        let message = "no workload can exercise a channel here: a neighbour needs a second core";
        return Err(InputError::in_option("--measure", message));
    }
    let text = |text: &str| Value::String(text.to_owned());
    let mut target = Table::new();
    let workload = request.target.as_deref().unwrap_or(TARGET);
    let core = request.core.map_or_else(|| text("auto"), |core| Value::Integer(core.into()));
    target.extend([("workload".to_owned(), text(workload)), ("core".to_owned(), core)]);
    let neighbour = |workload: &String| {
        let entries = [("workload", text(workload)), ("cores", text("others")), ("group", text(workload))];
        Value::Table(entries.map(|(key, value)| (key.to_owned(), value)).into_iter().collect())
    };
    let mut document = Table::new();
    let mut put = |key: &str, value: Value| document.insert(key.to_owned(), value);
    put("title", text(&format!("interference channels of {}", place.place)));
    put("platform", text(request.platform.as_deref().unwrap_or("host")));
    put("duration", text("500 ms"));
    put("simulated_duration", text("1 ms"));
    put("warm_up", text("functional"));
    put("repeats", Value::Integer(5));
    put("sentinel", Value::Boolean(false));
    put("mitigations", Value::Array(request.policy.iter().map(|policy| text(policy)).collect()));
    put("targets", Value::Array(vec![Value::Table(target)]));
    put("neighbours", Value::Array(neighbours.iter().map(neighbour).collect()));
    Loaded::from_text("channels", "the experiment of --measure", &document.to_string(), request.sets.clone())
}

/// A workload for each channel that one can exercise, each once, in the order of the channels.
fn neighbours(place: &ChannelPlace) -> Vec<String> {
    let can = can_exercise(place);
    let mut chosen: Vec<String> = Vec::new();
    for channel in &list().channel {
        let Some(workloads) = can.get(&channel.id) else { continue };
        let preferred = channel.measured_with.as_ref().filter(|name| workloads.contains(name));
        let Some(name) = preferred.or_else(|| workloads.first()) else { continue };
        if !chosen.contains(name) {
            chosen.push(name.clone());
        }
    }
    chosen
}
