//! Journals and plans of any text: none panics; what is refused writes nothing; what is applied is put back.
//!
//! Random inputs are tried for about a second each; `BOLERO_RANDOM_TEST_TIME_MS=30000` gives them 30 s.

#[path = "acting/cut.rs"]
#[allow(dead_code)]
mod cut;
#[path = "acting/model.rs"]
#[allow(dead_code)]
mod model;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use bolero::{TypeGenerator, check};
use cut::{Cut, Memory};
use model::{Acting, Model};
use waykeeper_control::{ApplyRequest, OthersChanges, apply_with, preview, restore_with, status};
use waykeeper_policy::Step;
use waykeeper_resctrl::{KernelRelease, MountOptions};

/// One change to a text.
#[derive(Debug, Clone, TypeGenerator)]
enum Edit {
    /// Takes a line out.
    Cut { line: u8 },
    /// Repeats a line somewhere else.
    Copy { from: u8, to: u8 },
    /// Writes a piece over a value.
    Value { at: u16, piece: u8 },
    /// Puts any bytes anywhere.
    Any { at: u16, bytes: Vec<u8> },
    /// Ends the text.
    End { at: u16 },
}

const PIECES: &[&str] = &[
    "0",
    "1",
    "-1",
    "3",
    "99",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "1e400",
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\"a\"",
    "\"x\"",
    "\"..\"",
    "\"x/../a\"",
    "\"a/mon_groups/m\"",
    "\"info\"",
    "\"schemata\"",
    "\"x/tasks\"",
    "\"x/mode\"",
    "\"exclusive\\n\"",
    "\"pseudo-locksetup\\n\"",
    "\"L3:0=1;1=3\\n\"",
    "\"L3:0=ffffffffffffffffff\\n\"",
    "\"\\u0000\"",
    "\"\u{1f980}\"",
    "\"unmount\"",
    "\"applied\"",
    "\"trying\"",
    "{\"begin\":1}",
    "{\"undone\":0}",
    "{\"remains\":[\"mount\"]}",
    "{\"cpus\":{\"group\":\"a\",\"cpus\":[0]}}",
    "{\"remove_group\":{\"group\":\"a\"}}",
    "{\"register\":{\"place\":{\"cpu\":0,\"register\":121},\"value\":1,\"mask\":1}}",
    "{\"register\":{\"cpu\":0,\"register\":3216,\"value\":1,\"mask\":1}}",
    "{\"make_group\":{\"group\":\"y\"}}",
    "{\"mounted\":{}}",
];

fn edited(start: &str, edits: &[Edit]) -> Vec<u8> {
    let mut text = start.as_bytes().to_vec();
    for edit in edits.iter().take(4) {
        let place = |at: u16, text: &[u8]| usize::from(at) % (text.len() + 1);
        let mut lines: Vec<Vec<u8>> = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let count = lines.len().max(1);
        match edit {
            Edit::Cut { line } if !lines.is_empty() => drop(lines.remove(usize::from(*line) % count)),
            Edit::Copy { from, to } if !lines.is_empty() => {
                let copy = lines[usize::from(*from) % count].clone();
                lines.insert(usize::from(*to) % count, copy);
            }
            Edit::Value { at, piece } => {
                // From behind a colon, bracket or comma to the next comma or bracket.
                let from = place(*at, &text);
                let is_before = |byte: &u8| b":[,".contains(byte);
                let Some(from) = text[from..].iter().position(is_before).map(|found| from + found + 1) else {
                    continue;
                };
                let to =
                    text[from..].iter().position(|byte| b",]}\n".contains(byte)).map_or(text.len(), |to| from + to);
                text.splice(from..to, PIECES[usize::from(*piece) % PIECES.len()].bytes());
                continue;
            }
            Edit::Any { at, bytes } => {
                let at = place(*at, &text);
                text.splice(at..at, bytes.iter().copied());
                continue;
            }
            Edit::End { at } => {
                text.truncate(place(*at, &text));
                continue;
            }
            Edit::Cut { .. } | Edit::Copy { .. } => {}
        }
        text = lines.concat();
    }
    text
}

/// A machine with groups of others, and with registers of the tables and outside of them.
fn machine() -> Model {
    let mut model = model::server(KernelRelease::V6_12, MountOptions::default());
    (1..=3).for_each(|tid| model.start(None, tid));
    model.start(Some(3), 5);
    model.mkdir("a").unwrap();
    model.mkdir("a/mon_groups/m").unwrap();
    model.write("a/cpus_list", "2-3\n").unwrap();
    for cpu in 0..4 {
        model.registers.extend([((cpu, 0x79), 0), ((cpu, 0xc90), 0xfff), ((cpu, 0xc91), 0xfff), ((cpu, 0xc8f), 5)]);
    }
    model
}

fn journals() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acting/journals-0.1.0");
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names.iter().map(|name| std::fs::read_to_string(name.join("journal")).unwrap()).collect()
}

/// Looks at a journal, and restores from it.
fn take_journal(bytes: &[u8]) {
    let mut acting = Acting::on(machine(), &Cut::default());
    let before = acting.model.borrow_mut().everything();
    let mut store = Memory::holding(bytes);
    let told = status(&mut acting.machine(), &mut store);
    assert_eq!(acting.model.borrow_mut().everything(), before, "status writes nothing");
    let restored = restore_with(&mut acting.machine(), &mut store, OthersChanges::Overwrite);
    if let (Err(error), Err(_)) = (restored, told) {
        let error = error.to_string();
        assert!(!error.is_empty() && !error.contains(['\n', '\r', '\0', '\u{1b}']), "{error:?}");
        assert_eq!(acting.model.borrow_mut().everything(), before, "{error}");
        assert_eq!(store.bytes().as_deref(), Some(bytes), "{error}");
    }
    // Whatever it says, it never reaches beyond the tables.
    let model = acting.model.borrow();
    assert!((0..4).all(|cpu| model.registers[&(cpu, 0x79)] == 0));
}

#[test]
fn journals_of_any_bytes() {
    check!().for_each(|bytes: &[u8]| take_journal(bytes));
}

#[test]
fn edited_journals() {
    let starts = journals();
    check!().with_type::<(u8, Vec<Edit>)>().for_each(|(start, edits)| {
        take_journal(&edited(&starts[usize::from(*start) % starts.len()], edits));
    });
}

const PLANS: [&str; 2] = [
    r#"[
{"mounted":{"cdp":false}},
{"write":{"path":"schemata","text":"L3:0=ffc00;1=ffc00\nMB:0=33\n"}},
{"make_group":{"group":"x"}},
{"write":{"path":"x/schemata","text":"L3:0=3ff;1=3ff\n"}},
{"write":{"path":"x/cpus_list","text":"0,2-3\n"}},
{"write":{"path":"x/tasks","text":"1\n"}},
{"write":{"path":"x/mode","text":"exclusive\n"}}
]"#,
    r#"[
{"register":{"cpu":0,"register":1908,"value":63,"mask":4095}},
{"register":{"cpu":3,"register":1568,"value":257,"mask":32639}}
]"#,
];

/// Previews, applies and restores a plan, if it is one.
fn take_plan(text: &[u8]) {
    let Ok(steps) = serde_json::from_slice::<Vec<Step>>(text) else { return };
    let mut start = machine();
    start.registers.extend((0..4).flat_map(|cpu| [((cpu, 0x774), 0x8000_2a04), ((cpu, 0x620), 0x828)]));
    let before = start.everything();
    let mut acting = Acting::on(start, &Cut::default());
    let mut store = Memory::with(&Cut::default());
    let previewed = preview(&mut acting.machine(), &steps);
    assert_eq!(acting.model.borrow_mut().everything(), before, "a preview writes nothing");
    let request = ApplyRequest { policy: "any", version: "0", steps: &steps };
    let applied = apply_with(&mut acting.machine(), &mut store, &request, &AtomicBool::new(false));
    assert!(previewed.is_ok() || applied.is_err());
    if applied.is_ok() {
        restore_with(&mut acting.machine(), &mut store, OthersChanges::Leave).unwrap();
    }
    assert_eq!(acting.model.borrow_mut().everything(), before);
    assert!(store.is_empty());
}

#[test]
fn plans_of_any_bytes() {
    check!().for_each(|bytes: &[u8]| take_plan(bytes));
}

#[test]
fn edited_plans() {
    check!().with_type::<(bool, Vec<Edit>)>().for_each(|(which, edits)| {
        take_plan(&edited(PLANS[usize::from(*which)], edits));
    });
}

#[test]
fn what_the_edits_begin_with_is_taken() {
    PLANS.iter().for_each(|plan| assert!(serde_json::from_str::<Vec<Step>>(plan).is_ok(), "{plan}"));
    for journal in journals() {
        let mut store = Memory::holding(journal.as_bytes());
        assert!(waykeeper_control::Journal::load(&mut store).unwrap().is_some());
    }
}
