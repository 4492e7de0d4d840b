//! Folders of runs that anybody may have changed: `show`, `compare` and `tail` never panic, always end, and each refusal is
//! one paragraph.
//!
//! Random inputs are tried for about a second each; `BOLERO_RANDOM_TEST_TIME_MS=30000` gives them 30 s (CI does). They start
//! from runs that the released versions left.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use bolero::{TypeGenerator, check};
use serde_json::{Value, json};
use tempfile::TempDir;
use waykeeper_experiment::InputError;
use waykeeper_report::{ComparedRun, Detail, RunComparison};
use waykeeper_run::{folder, longer};

/// The `run.json` and `excursions.hlog` of runs of released versions.
static KEPT: LazyLock<Vec<(Value, Vec<u8>)>> = LazyLock::new(|| {
    let kept = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/released/0.1.0").join(name);
        let run = serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap();
        (run, fs::read(folder.join("excursions.hlog")).unwrap())
    };
    ["simulated", "host"].map(kept).into()
});

/// A folder of a run that is written anew for each input.
struct Kept(TempDir);

impl Kept {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, run: &[u8], events: &[u8]) -> PathBuf {
        fs::write(self.0.path().join("run.json"), run).unwrap();
        fs::write(self.0.path().join("excursions.hlog"), events).unwrap();
        self.0.path().into()
    }
}

fn check_refusal(error: &InputError) {
    let shown = error.to_string();
    assert!(!error.message.is_empty() && !shown.contains(char::is_control), "{shown}");
}

/// What `show` and `compare` print of a kept run. Returns whether it was read.
fn show_and_compare(path: &Path) -> bool {
    let run = match folder::read(path) {
        Ok(run) => run,
        Err(error) => {
            check_refusal(&error);
            return false;
        }
    };
    for detail in [Detail::Ordinary, Detail::EveryCase] {
        assert!(!waykeeper_report::run(&run, detail).is_empty());
    }
    // A run without parameters has an empty list of them.
    let _ = waykeeper_report::parameters(&run);
    let side = ComparedRun {
        name: "a".into(),
        run: &run,
        definitions: None,
        least_neighbour_work: None,
        samples: Default::default(),
    };
    assert!(!waykeeper_report::compare(&RunComparison::new([&side, &side])).is_empty());
    true
}

/// What `tail` prints besides, which takes longer.
fn show_all(path: &Path) -> bool {
    match longer(path, None) {
        Ok(cases) => assert!(!waykeeper_report::longer(&cases).is_empty()),
        Err(error) => check_refusal(&error),
    }
    show_and_compare(path)
}

/// One change to a record.
#[derive(Debug, Clone, TypeGenerator)]
enum Edit {
    /// Writes another value over one of the record.
    Value { at: u16, value: u8 },
    /// Writes any number over one.
    Number { at: u16, number: f64 },
    /// Writes any text over one.
    Text { at: u16, text: String },
    /// Takes a member or an item out.
    Remove { at: u16 },
    /// Repeats an item.
    Repeat { at: u16 },
}

fn values() -> Vec<Value> {
    vec![
        json!(0),
        json!(1),
        json!(-1),
        json!(-0.5),
        json!(u32::MAX),
        json!(u64::MAX),
        json!(1e308),
        json!(1e-308),
        json!(5e-324),
        json!(null),
        json!(true),
        json!(""),
        json!("none"),
        json!("host"),
        json!("\u{1b}[2J\n\u{202e}"),
        json!([]),
        json!({}),
        json!([1, 2]),
        json!(["a", "b"]),
        json!({ "a": "b" }),
        json!({ "min_ns": 1.0, "max_ns": 0.5, "source": "x" }),
    ]
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => members.values().map(size).sum(),
        _ => 0,
    }
}

/// The value at a place in the order of writing.
fn place(value: &mut Value, mut at: usize) -> &mut Value {
    if at == 0 {
        return value;
    }
    at -= 1;
    let inner: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(members) => members.values_mut().collect(),
        _ => unreachable!("the place lies within the value"),
    };
    for member in inner {
        let length = size(member);
        if at < length {
            return place(member, at);
        }
        at -= length;
    }
    unreachable!("the place lies within the value")
}

fn apply(run: &mut Value, edit: &Edit, values: &[Value]) {
    let (Edit::Value { at, .. }
    | Edit::Number { at, .. }
    | Edit::Text { at, .. }
    | Edit::Remove { at }
    | Edit::Repeat { at }) = edit;
    let at = usize::from(*at) % size(run);
    let found = place(run, at);
    match edit {
        Edit::Value { value, .. } => *found = values[usize::from(*value) % values.len()].clone(),
        Edit::Number { number, .. } => *found = json!(number),
        Edit::Text { text, .. } => *found = json!(text),
        Edit::Remove { .. } => match found {
            Value::Array(items) => drop(items.pop()),
            Value::Object(members) => drop(members.keys().next().cloned().map(|key| members.remove(&key))),
            _ => *found = Value::Null,
        },
        Edit::Repeat { .. } => {
            if let Value::Array(items) = found {
                items.extend(items.first().cloned());
            }
        }
    }
}

#[test]
fn edited_records() {
    let (kept, values) = (Kept::new(), values());
    check!().with_type::<(bool, Vec<Edit>)>().for_each(|(which, edits)| {
        let (mut run, events) = KEPT[usize::from(*which)].clone();
        edits.iter().take(6).for_each(|edit| apply(&mut run, edit, &values));
        show_all(&kept.write(run.to_string().as_bytes(), &events));
    });
}

#[test]
fn each_value_of_a_record_changed_by_itself() {
    let (kept, values) = (Kept::new(), values());
    for (run, events) in KEPT.iter() {
        for at in 0..size(run) {
            // Some of the values at each place, others at the next: all of them take minutes.
            for value in values.iter().skip(at % 5).step_by(5) {
                let mut changed = run.clone();
                *place(&mut changed, at) = value.clone();
                show_and_compare(&kept.write(changed.to_string().as_bytes(), events));
            }
        }
    }
}

#[test]
fn any_bytes() {
    let kept = Kept::new();
    check!().for_each(|bytes: &[u8]| {
        show_all(&kept.write(bytes, b""));
    });
}

/// One change to a log.
#[derive(Debug, Clone, TypeGenerator)]
struct Overwritten {
    at: u16,
    bytes: Vec<u8>,
}

#[test]
fn edited_logs() {
    let kept = Kept::new();
    check!().with_type::<(bool, Vec<Overwritten>, Option<u16>)>().for_each(|(which, edits, end)| {
        let (run, mut events) = KEPT[usize::from(*which)].clone();
        for Overwritten { at, bytes } in edits.iter().take(4) {
            let at = usize::from(*at) % events.len();
            let end = (at + bytes.len()).min(events.len());
            events.splice(at..end, bytes.iter().copied());
        }
        events.truncate(end.map_or(events.len(), usize::from));
        assert!(show_all(&kept.write(run.to_string().as_bytes(), &events)));
    });
}
