//! The experiment of each measurement.

use toml::{Table, Value};
use waykeeper_experiment::{InputError, Loaded, Set};
use waykeeper_workload::{PacketWait, PathKind};

use crate::settings::{Cycle, KpiSettings, Measurand, PacketSettings};

/// What the target's workload is called.
const TARGET: &str = "kpi_target";

/// The experiment of a measurement. What comes from the user's files and options is set over a text of our own, so that errors name
/// their option.
///
/// # Errors
/// A mistake in the load, or a policy that cannot be read.
pub fn experiment(settings: &KpiSettings, measurand: &Measurand<'_>) -> Result<Loaded, InputError> {
    let name = format!("kpi-{}", measurand.name());
    Loaded::from_text(&name, "the experiment of `kpi`", &text(settings, measurand), sets(settings)?)
}

fn text(settings: &KpiSettings, measurand: &Measurand<'_>) -> String {
    let (workload, cores) = match measurand {
        Measurand::Wakeups => (wakeup(settings.wakeup_period_ns), settings.rt_cores.clone()),
        Measurand::Cyclictest => (cyclictest(settings.wakeup_period_ns), settings.rt_cores.clone()),
        Measurand::Packets(packets, cycle) => (packet_loop(packets, cycle), vec![packets.core]),
    };
    let target = |core: u32| {
        Value::Table(Table::from_iter([
            ("workload".to_owned(), TARGET.into()),
            ("core".to_owned(), i64::from(core).into()),
        ]))
    };
    let mut document = Table::new();
    let mut put = |key: &str, value: Value| document.insert(key.to_owned(), value);
    put("title", format!("{} beside {}", measurand.title(settings), settings.load_name).into());
    put("platform", "host".into());
    put("duration", nanoseconds(settings.block_s * 1e9));
    put("repeats", i64::from(settings.blocks()).into());
    // The guide measures beside load only.
    put("solo", false.into());
    if settings.is_simultaneous(measurand) {
        put("simultaneous", true.into());
    }
    put("sentinel", false.into());
    put("targets", Value::Array(cores.into_iter().map(target).collect()));
    put("workloads", Value::Table(Table::from_iter([(TARGET.to_owned(), Value::Table(workload))])));
    document.to_string()
}

fn wakeup(period_ns: f64) -> Table {
    Table::from_iter([("kind".to_owned(), "wakeup".into()), ("period".to_owned(), nanoseconds(period_ns))])
}

/// With the guide's options: locked memory and the highest priority. Its period is in microseconds.
fn cyclictest(period_ns: f64) -> Table {
    let interval = format!("--interval={}", (period_ns / 1e3).round().max(1.0));
    let argv = ["cyclictest".to_owned(), "--mlockall".into(), "--priority=99".into(), interval];
    let argv = argv.into_iter().map(Value::String).collect();
    Table::from_iter([
        ("kind".to_owned(), "command".into()),
        ("passes".to_owned(), "cyclictest".into()),
        ("argv".to_owned(), Value::Array(argv)),
    ])
}

fn packet_loop(packets: &PacketSettings, cycle: &Cycle) -> Table {
    let mut table = Table::new();
    let mut put = |key: &str, value: Value| table.insert(key.to_owned(), value);
    put("kind", "packets".into());
    put("interface", packets.interface.clone().into());
    put("path", if packets.path == PathKind::AfXdp { "af_xdp" } else { "af_packet" }.into());
    put("wait", if packets.wait == PacketWait::BusyPoll { "busy_poll" } else { "interrupt" }.into());
    put("period", nanoseconds(cycle.period_ns));
    if let Some(queue) = packets.queue {
        put("queue", i64::from(queue).into());
    }
    if let Some(compute) = &cycle.compute {
        put("instructions", compute.clone().into());
    }
    let generator = packets.generator.iter().map(|part| Value::String(part.clone())).collect();
    put("generator", Value::Array(generator));
    table
}

fn nanoseconds(ns: f64) -> Value {
    format!("{} ns", ns.round()).into()
}

/// The user's part: load and policies.
fn sets(settings: &KpiSettings) -> Result<Vec<Set>, InputError> {
    let option = format!("--load {}", settings.load_name);
    let refuse = |why: String| InputError::in_option(&option, why);
    let load: Table = settings
        .load
        .parse()
        .map_err(|error: toml::de::Error| refuse(format!("this is not TOML: {}", error.message())))?;
    let mut sets = Vec::new();
    for (key, value) in load {
        match (key.as_str(), value) {
            ("neighbours", Value::Array(neighbours)) => {
                let on_load_cores = neighbours.into_iter().map(|neighbour| on_load_cores(neighbour, settings));
                sets.push(Set::from_option(option.clone(), "neighbours", Value::Array(on_load_cores.collect())));
            }
            ("workloads", Value::Table(workloads)) => {
                for (name, workload) in workloads {
                    let path = vec!["workloads".to_owned(), name];
                    sets.push(Set { option: option.clone(), path, value: workload });
                }
            }
            // Best-effort load may vary by more than a neighbour of an experiment does.
            ("least_neighbour_work", share) => {
                sets.push(Set::from_option(option.clone(), "least_neighbour_work", share));
            }
            (key, _) => {
                return Err(refuse(format!(
                    "found `{key}`; expected `[[neighbours]]`, `[workloads.NAME]` and `least_neighbour_work` only"
                )));
            }
        }
    }
    if !sets.iter().any(|set| set.path == ["neighbours"]) {
        return Err(refuse("it names no load; expected `[[neighbours]]` with a `workload`".into()));
    }
    let policies = settings.policies.iter().map(|policy| Value::String(policy.clone())).collect();
    let typed = format!("--policy {}", settings.policies.join(" --policy "));
    sets.push(Set::from_option(typed, "mitigations", Value::Array(policies)));
    Ok(sets)
}

/// The load runs on the cores that are neither of those that are to answer in time, unless it names cores itself.
fn on_load_cores(neighbour: Value, settings: &KpiSettings) -> Value {
    let Value::Table(mut table) = neighbour else { return neighbour };
    let cores = settings.load_cores.iter().map(|core| Value::Integer((*core).into())).collect();
    if table.get("cores").is_none_or(|cores| cores.as_str() == Some("others")) {
        table.insert("cores".into(), Value::Array(cores));
    }
    Value::Table(table)
}
