//! Platform files that anybody may have written: each is refused in one paragraph or simulated for a moment; none panics,
//! and none takes more memory than a machine has.
//!
//! Random inputs are tried for about a second each; `BOLERO_RANDOM_TEST_TIME_MS=30000` gives them 30 s (CI does).

use bolero::{TypeGenerator, check};
use toml::{Table, Value};
use waykeeper_platform::{Platform, bundled};
use waykeeper_simulator::{Engine, Program, Role, SampleReceiver};
use waykeeper_workload::{Loop, Operation, Pattern};

struct Nothing;

impl SampleReceiver for Nothing {
    fn record(&mut self, _: u64, _: u64, _: u64) {}
}

/// Reads a platform, and simulates a microsecond of a walk on its first core beside one on its last.
fn simulate(text: &str) {
    let platform = match Platform::from_toml(text, "any.toml") {
        Ok(platform) => platform,
        Err(error) => {
            let shown = error.to_string();
            return assert!(!error.message.is_empty() && !shown.contains("struct "), "{shown}");
        }
    };
    let cores = platform.core_ids();
    for core in &cores {
        let _ = platform.caches(*core);
    }
    let walk = |bytes: u64, operation| Pattern::Walk {
        operation,
        outer: Loop { count: 1, stride: bytes },
        inner: Loop { count: bytes / 64, stride: 64 },
    };
    let program = |core, pattern, role| Program { core, pattern, role };
    let mut programs = vec![program(cores[0], walk(16 << 10, Operation::Read), Role::Target)];
    if let [_, .., last] = cores[..] {
        programs.push(program(last, walk(1 << 20, Operation::Modify), Role::Neighbour));
    }
    match Engine::new(&platform, &programs, &[], 1) {
        Ok(mut engine) => engine.advance(1_000_000, &mut Nothing),
        Err(refused) => assert!(!refused.to_string().is_empty()),
    }
}

fn extremes() -> Vec<Value> {
    let integers = [0, -1, 1, 3, 1 << 20, u32::MAX.into(), 1 << 53, i64::MAX >> 10, (i64::MAX >> 10) + 1, i64::MAX];
    let floats = [0.0, -1.0, 1e-300, 0.5, 1e19, 1e308, f64::INFINITY, f64::NAN];
    let others = [Value::String(String::new()), Value::Array(Vec::new()), Value::Boolean(true)];
    integers.map(Value::Integer).into_iter().chain(floats.map(Value::Float)).chain(others).collect()
}

/// The numbers of a document, in its order.
fn numbers<'v>(value: &'v mut Value, found: &mut Vec<&'v mut Value>) {
    match value {
        Value::Integer(_) | Value::Float(_) => found.push(value),
        Value::Array(items) => items.iter_mut().for_each(|item| numbers(item, found)),
        Value::Table(table) => table.iter_mut().for_each(|(_, item)| numbers(item, found)),
        _ => {}
    }
}

/// A platform with another value at the place of one of its numbers; `None` behind the last of them.
fn with_number(platform: &Table, place: usize, value: &Value) -> Option<String> {
    let mut changed = Value::Table(platform.clone());
    let mut found = Vec::new();
    numbers(&mut changed, &mut found);
    **found.get_mut(place)? = value.clone();
    Some(toml::to_string(&changed).unwrap())
}

fn platforms() -> Vec<Table> {
    bundled().iter().map(|file| file.text.parse().unwrap()).collect()
}

#[test]
fn each_number_of_each_platform_at_its_extremes() {
    let extremes = extremes();
    for platform in platforms() {
        for place in 0.. {
            let text = |value: &Value| with_number(&platform, place, value);
            if text(&extremes[0]).is_none() {
                break;
            }
            // Some of them at each place, others at the next: all of them take a minute.
            extremes.iter().skip(place % 4).step_by(4).filter_map(text).for_each(|text| simulate(&text));
        }
    }
}

/// One number that becomes another.
#[derive(Debug, Clone, TypeGenerator)]
enum Edit {
    Extreme { place: u16, value: u8 },
    Integer { place: u16, value: i64 },
    Small { place: u16, value: u16 },
    Float { place: u16, value: f64 },
}

#[test]
fn edited_platforms() {
    let (platforms, extremes) = (platforms(), extremes());
    check!().with_type::<(u8, Vec<Edit>)>().for_each(|(which, edits)| {
        let mut platform = platforms[usize::from(*which) % platforms.len()].clone();
        for edit in edits.iter().take(4) {
            let (place, value) = match edit {
                Edit::Extreme { place, value } => (place, extremes[usize::from(*value) % extremes.len()].clone()),
                Edit::Integer { place, value } => (place, Value::Integer(*value)),
                Edit::Small { place, value } => (place, Value::Integer((*value).into())),
                Edit::Float { place, value } => (place, Value::Float(*value)),
            };
            let mut copy = Value::Table(platform.clone());
            let mut found = Vec::new();
            numbers(&mut copy, &mut found);
            let place = usize::from(*place) % found.len();
            platform = with_number(&platform, place, &value).unwrap().parse().unwrap();
        }
        simulate(&toml::to_string(&platform).unwrap());
    });
}

#[test]
fn any_text() {
    check!().for_each(|bytes: &[u8]| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            simulate(text);
        }
    });
}
