//! Journals that earlier versions wrote: the program puts back what they tell of.
//!
//! `journals-0.1.0` was written by version 0.1.0. Each folder has the journal and, where it is about resctrl, everything that
//! was done to the machine by then.

use std::path::{Path, PathBuf};

use waykeeper_control::{ApplyState, Restored, status};

use crate::cut::{Cut, Memory};
use crate::identity::restore;
use crate::killed;
use crate::model::{Acting, Model};
use crate::registers;

pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acting/journals-0.1.0").join(name)
}

pub fn journal(name: &str) -> String {
    std::fs::read_to_string(folder(name).join("journal")).unwrap()
}

/// The machine as version 0.1.0 left it, and as it was before.
pub fn machines(name: &str) -> (Model, Model) {
    if name != "registers-applied" {
        return (killed::machine(&folder(name)), killed::start());
    }
    let (mut left, before) = (registers::machine(), registers::machine());
    left.registers.extend([((0, 0xc90), 0x3f), ((0, 0xc91), 0xfc0), ((2, 0xc8f), 0x1_0000_0005)]);
    left.registers.insert((3, 0xc8f), 0x1_0000_0005);
    (left, before)
}

pub const ALL: [(&str, ApplyState); 5] = [
    ("registers-applied", ApplyState::Applied),
    ("resctrl-applied", ApplyState::Applied),
    ("resctrl-cut-before-effect-9", ApplyState::Applying),
    ("resctrl-cut-before-effect-14", ApplyState::Applying),
    ("resctrl-restoring", ApplyState::Restoring),
];

#[test]
fn what_version_0_1_0_applied_is_put_back() {
    for (name, phase) in ALL {
        let (left, mut before) = machines(name);
        let mut acting = Acting::on(left, &Cut::default());
        let mut store = Memory::holding(journal(name).as_bytes());
        let told = status(&mut acting.machine(), &mut store).unwrap().unwrap();
        assert_eq!((told.version.as_str(), told.phase, told.differences), ("0.1.0", phase, vec![]), "{name}");
        let restored = restore(&mut acting, &mut store, false);
        assert!(matches!(restored, Restored::Back { .. }), "{name}: {restored:?}");
        assert_eq!(acting.model.borrow_mut().everything(), before.everything(), "{name}");
        assert!(store.is_empty());
    }
}

/// A journal ends anywhere when the machine stops: whatever stands behind the last whole line is written over.
#[test]
fn a_journal_that_ends_within_a_line_is_gone_on_with() {
    let (left, mut before) = machines("resctrl-restoring");
    for torn in
        ["{\"undone\":2", "{\"undone\":2,\"a long rest of a line that was cut off, longer than the next\":", "\0\0\0\0"]
    {
        let mut acting = Acting::on(left.clone(), &Cut::default());
        let mut store = Memory::holding((journal("resctrl-restoring") + torn).as_bytes());
        let restored = restore(&mut acting, &mut store, false);
        assert!(matches!(restored, Restored::Back { .. }), "{restored:?}");
        assert_eq!(acting.model.borrow_mut().everything(), before.everything());
    }
}
