//! What a session comes to: the guide's table, what each boot was, and what a reader must know.

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use waykeeper_experiment::InputError;
use waykeeper_run::Run;

use crate::record::{KpiRecord, SCHEMA};
use crate::rows::{KpiRow, rows};
use crate::session::KpiSession;

/// The result of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KpiReport {
    /// Version of this report.
    pub schema: u32,
    /// The session's folder.
    pub folder: String,
    /// Whether all boots are measured to their end.
    pub complete: bool,
    /// The session: settings and boots.
    pub session: KpiRecord,
    /// A row for each measurement under each setting.
    pub rows: Vec<KpiRow>,
    /// What could not be measured, and why.
    pub refused: Vec<String>,
    /// What is not the same at later boots as at the first one, beside the labels.
    pub changed: Vec<String>,
    /// What a reader of the figures must know.
    pub notes: Vec<String>,
}

/// The JSON Schema of a session's result.
pub fn schema() -> Schema {
    schema_for!(KpiReport)
}

impl KpiReport {
    /// What a session comes to so far.
    ///
    /// # Errors
    /// A run that does not read.
    pub fn new(session: &KpiSession) -> Result<Self, InputError> {
        let record = session.record().clone();
        let settings = &record.settings;
        let (mut all, mut refused, mut changed, mut notes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut of_place = Vec::new();
        let mut first: Option<Run> = None;
        for (number, boot) in (1..).zip(&record.boots) {
            let mut differs = Vec::new();
            for (measurand, kept) in settings.measurands().iter().zip(&boot.runs) {
                let Some(run) = session.run_of(kept)? else { continue };
                all.extend(rows(settings, number, boot, measurand, &run));
                let not_done = run.refused.iter().map(|refusal| format!("{}: {}", refusal.what, refusal.why));
                add_new(&mut refused, not_done);
                if run.cut_short {
                    notes.push(format!("Boot {number}, {}: not measured to its end.", measurand.title(settings)));
                }
                let titled = |note: &String| format!("Boot {number}, {}: {note}", measurand.title(settings));
                notes.extend(run.notes.iter().filter(|note| is_of_one_run(note)).map(titled));
                let place = run.notes.iter().filter(|note| !is_of_one_run(note) && !is_of_one_repeat(note));
                add_new(&mut of_place, place.cloned());
                match &first {
                    Some(first) => add_new(&mut differs, differences(first, &run)),
                    None => first = Some(run),
                }
            }
            changed.extend(differs.into_iter().map(|text| format!("boot {number}: {text}")));
        }
        notes.extend(in_blocks(&record));
        // What throttling, hypervisor and the like do to a maximum is often the whole of it.
        add_new(&mut notes, of_place);
        let complete = !record.boots.is_empty() && record.boots.iter().all(|boot| session.is_complete(boot));
        Ok(Self {
            schema: SCHEMA,
            folder: session.folder().display().to_string(),
            complete,
            session: record,
            rows: all,
            refused,
            changed,
            notes,
        })
    }
}

/// Gaps of a run that was resumed, and repeats that do not count.
fn is_of_one_run(note: &str) -> bool {
    note.contains("resumed") || note.contains("nothing was measured") || note.contains("does not count")
}

/// Remarks on repeats: what the largest samples are listed with says more.
fn is_of_one_repeat(note: &str) -> bool {
    note.starts_with("Repeat ")
}

/// That a row is no uninterrupted run; nothing where it is one.
fn in_blocks(record: &KpiRecord) -> Option<String> {
    let settings = &record.settings;
    let between = if settings.policies.is_empty() { "with gaps" } else { "with the other settings" };
    (settings.blocks() > 1).then(|| {
        format!(
            "Each row is {} of {}, {between} between them: no row is an uninterrupted run of that length.",
            waykeeper_report::figure::counted(settings.blocks().into(), "block", "blocks"),
            waykeeper_workload::format_ns(settings.block_s * 1e9)
        )
    })
}

fn add_new(list: &mut Vec<String>, new: impl IntoIterator<Item = String>) {
    for text in new {
        if !list.contains(&text) {
            list.push(text);
        }
    }
}

/// What of the machine is not as it was.
fn differences(first: &Run, later: &Run) -> Vec<String> {
    let value = |run: &Run| serde_json::to_value(&run.machine).unwrap_or_default();
    let (Value::Object(was), Value::Object(is)) = (value(first), value(later)) else { return Vec::new() };
    let keys = was.keys().chain(is.keys().filter(|key| !was.contains_key(*key)));
    let shown = |value: Option<&Value>| match value {
        Some(Value::String(text)) => format!("`{text}`"),
        Some(value) => value.to_string(),
        None => "not known".into(),
    };
    keys.filter(|key| was.get(*key) != is.get(*key))
        .map(|key| format!("{key} was {}, and is {}", shown(was.get(key)), shown(is.get(key))))
        .collect()
}
