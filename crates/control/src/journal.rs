//! The journal: what was there before, what is intended, and how far that has come. One JSON text a line; every line is on
//! disk before what it announces is done.

mod trust;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use waykeeper_platform::explain::read_json_text;
use waykeeper_policy::{MountSettings, Step};

use crate::change::Change;
use crate::remainder::{Remainder, Setting};
use crate::schemata::DomainShares;
use crate::settings::{CpuRegister, Settings};
use crate::snapshot::{Home, Snapshot};
use crate::store::Store;
use crate::tree::MountSeen;
use crate::undo::Action;

/// The number of this format. Another one is not understood, and says so.
pub const FORMAT: u32 = 1;

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of the program that wrote it.
    pub version: String,
    /// The name of the policy.
    pub policy: String,
    /// The boot that the settings belong to.
    pub boot: String,
    /// When it began, RFC 3339.
    pub began: String,
    /// The process that wrote it.
    pub pid: u32,
    /// The plan.
    pub steps: Vec<Step>,
    /// What resctrl was mounted with; `None` where it was not.
    pub mounted: Option<MountSettings>,
    /// What was there before; a later line holds that of resctrl that was not mounted.
    pub before: PriorState,
}

/// What was there before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorState {
    /// The groups of resctrl.
    pub tree: Snapshot,
    /// The tasks that the plan names.
    pub tasks: BTreeMap<i32, TaskBefore>,
    /// The registers that the plan names.
    pub registers: Vec<RegisterBefore>,
}

/// A task before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskBefore {
    /// When it began: a later task with its number began later.
    pub began: u64,
    /// Where it was.
    pub home: Home,
}

/// A register before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisterBefore {
    /// Which one.
    pub place: CpuRegister,
    /// Its whole value.
    pub value: u64,
}

/// What a step left behind, as read back.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Left {
    /// The shares of the group that it wrote to.
    pub schemata: Option<String>,
    /// The value of the register that it wrote.
    pub register: Option<u64>,
    /// What distinguishes the mount of resctrl from others.
    pub mount: Option<MountSeen>,
}

/// Any other line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Record {
    /// resctrl has been mounted, and this is what it showed.
    Before(PriorState),
    /// Registers are tried out: they may hold anything until the next line.
    Trying,
    /// They hold their old values again.
    Tried,
    /// A step is about to be done (its place in the plan, from 0).
    Begin(usize),
    /// It has been done.
    Done(usize, Left),
    /// These tasks of a cgroup are about to be put into its group, and this is where they come from.
    Moved(BTreeMap<i32, TaskBefore>),
    /// All steps have been done.
    Applied,
    /// These actions are about to put everything back.
    Undo {
        actions: Vec<Action>,
        findings: Vec<String>,
        /// What stays, because others have changed it since.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<Remainder>,
    },
    /// One of them has been done.
    Undone(usize),
    /// All of them have been done: only these settings are not back.
    Remains(Vec<Setting>),
}

/// A journal, read.
#[derive(Debug, Clone)]
pub struct Journal {
    /// Its head.
    pub head: Head,
    pub(crate) changes: Vec<Change>,
    /// How many steps have been begun, and how many done: the last may be in progress.
    pub(crate) begun: usize,
    pub(crate) done: usize,
    pub(crate) left: Vec<Left>,
    pub(crate) trying: bool,
    /// Tasks of cgroups that were put into a group, and where they come from; those that come from the root may be absent.
    pub(crate) moved: BTreeMap<i32, TaskBefore>,
    /// Whether all steps have been done.
    pub applied: bool,
    pub(crate) undo: Option<PendingUndo>,
    /// The only settings that are not back, after a restore that left some.
    pub(crate) remains: Option<Vec<Setting>>,
    /// Where the whole lines end, in bytes: an unfinished one behind them is written over.
    end: u64,
}

/// A restore that was begun.
#[derive(Debug, Clone)]
pub(crate) struct PendingUndo {
    /// Actions, and whether each has been done.
    pub actions: Vec<(Action, bool)>,
    pub findings: Vec<String>,
    pub left: Vec<Remainder>,
}

/// A journal that cannot be used. Nothing has been written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read or written.
    #[error("the journal: {0}")]
    Io(#[from] std::io::Error),
    /// Another version wrote it, in a form that this one does not know.
    #[error(
        "the journal was written by Waykeeper {version} in format {found}, and this is {}, which reads format {FORMAT}: \
         `waykeeper restore` of that version undoes what is applied, and so does a reboot; nothing was written",
        env!("CARGO_PKG_VERSION")
    )]
    OtherFormat {
        /// Its format.
        found: u32,
        /// The version that wrote it.
        version: String,
    },
    /// It says what this program does not write.
    #[error(
        "the journal, line {line}{}: {reason}; it was damaged or tampered with, so all of it is refused, and nothing was \
         written{}; set the machine back by hand or start it again, then remove the file `journal` from the state directory",
        in_record(record),
        of_version(version)
    )]
    Damaged {
        /// The line, from 1.
        line: usize,
        /// What the line is about.
        record: String,
        /// What is wrong.
        reason: String,
        /// The version that wrote it, as far as it says so.
        version: String,
    },
}

/// A reason may quote the journal, which may hold anything.
fn in_one_line(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

fn in_record(record: &str) -> String {
    if record.is_empty() { String::new() } else { format!(" ({record})") }
}

fn of_version(version: &str) -> String {
    match version {
        "" | env!("CARGO_PKG_VERSION") => String::new(),
        other => format!("; Waykeeper {} wrote it, and may read it", other.escape_debug()),
    }
}

/// What every format has.
#[derive(Deserialize)]
struct Cover {
    format: u32,
    #[serde(default)]
    version: String,
}

pub(crate) fn line(record: &impl Serialize) -> Result<Vec<u8>, JournalError> {
    let mut bytes = serde_json::to_vec(record).map_err(std::io::Error::from)?;
    bytes.push(b'\n');
    Ok(bytes)
}

impl Journal {
    /// Begins a journal, with space for everything that it may come to hold.
    pub(crate) fn begin(store: &mut dyn Store, head: Head) -> Result<Self, JournalError> {
        let changes = Change::all_of(&head.steps).map_err(std::io::Error::other)?;
        let bytes = line(&head)?;
        let journal = Self::new(head, changes, bytes.len() as u64);
        store.create(&bytes, journal.still_to_come(bytes.len()))?;
        Ok(journal)
    }

    fn new(head: Head, changes: Vec<Change>, end: u64) -> Self {
        Self {
            head,
            changes,
            begun: 0,
            done: 0,
            left: Vec::new(),
            trying: false,
            moved: BTreeMap::new(),
            applied: false,
            undo: None,
            remains: None,
            end,
        }
    }

    /// The most that the lines of all steps and of two restores take, in bytes. What was there before is repeated by
    /// each, with a sentence about each setting that others have changed.
    fn still_to_come(&self, head: usize) -> u64 {
        /// Lines that do not grow.
        const FIXED: usize = 16 << 10;
        /// A setting in an action, a finding and a remainder: two names of groups (255 bytes each) and a sentence.
        const SETTING: usize = 2048;
        let planned = Settings::of(&self.changes);
        let settings = planned.cpus.len() + planned.tasks.len() + planned.registers.len() + planned.groups.len();
        let shares: usize = planned.shares.values().map(DomainShares::len).sum();
        let schemata = self.head.before.tree.groups.values().filter_map(|group| group.schemata.as_ref());
        let schemata = schemata.map(String::len).max().unwrap_or(0);
        let steps = self.changes.len() * (256 + 2 * schemata);
        (FIXED + steps + 2 * (head + SETTING * (settings + shares + 1))) as u64
    }

    /// Reads the journal, if there is one. It is believed as a whole or not at all.
    ///
    /// # Errors
    /// Where it cannot be read, or says what this program does not write.
    pub fn load(store: &mut dyn Store) -> Result<Option<Self>, JournalError> {
        let Some(bytes) = store.read()? else { return Ok(None) };
        // What stands behind the last newline was being written when the machine or the program stopped: what it
        // announces has not been done.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut lines = bytes[..whole].split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
        let (at, first) = lines.next().unwrap_or((0, b""));
        let mut journal = Self::of_head(first, whole as u64, at + 1)?;
        for (at, line) in lines {
            let damaged = |record: String, reason: String| {
                let version = journal.head.version.clone();
                JournalError::Damaged { line: at + 1, record, reason: in_one_line(&reason), version }
            };
            let record: Record = read_json_text(line).map_err(|why| damaged(String::new(), why))?;
            trust::record(&journal, &record).map_err(|(record, reason)| damaged(record, reason))?;
            journal.take(record);
        }
        Ok(Some(journal))
    }

    fn of_head(line: &[u8], end: u64, at: usize) -> Result<Self, JournalError> {
        let damaged = |record: &str, reason: String, version: &str| JournalError::Damaged {
            line: at,
            record: record.into(),
            reason: in_one_line(&reason),
            version: version.into(),
        };
        let cover: Cover = read_json_text(line).map_err(|why| damaged("", why, ""))?;
        if cover.format != FORMAT {
            return Err(JournalError::OtherFormat {
                found: cover.format,
                version: cover.version.escape_debug().to_string(),
            });
        }
        let version = &cover.version;
        let head: Head = read_json_text(line).map_err(|why| damaged("", why, version))?;
        let changes = Change::all_of(&head.steps).map_err(|step| damaged("the plan", step.to_string(), version))?;
        trust::head(&head, &changes).map_err(|(record, reason)| damaged(&record, reason, version))?;
        Ok(Self::new(head, changes, end))
    }

    /// Adds a line, and takes note of it once it is on disk.
    pub(crate) fn note(&mut self, store: &mut dyn Store, record: Record) -> Result<(), JournalError> {
        let bytes = line(&record)?;
        store.append(self.end, &bytes)?;
        self.end += bytes.len() as u64;
        let is_before = matches!(record, Record::Before(_));
        self.take(record);
        if is_before {
            // Only now it is known how much there may be to say.
            store.reserve(self.end, self.still_to_come(bytes.len()))?;
        }
        Ok(())
    }

    /// Adds a line that the space for a restore was not reckoned with, where space for both is there.
    pub(crate) fn note_more(&mut self, store: &mut dyn Store, record: Record) -> Result<(), JournalError> {
        let bytes = line(&record)?.len() as u64;
        let head = line(&self.head)?.len();
        store.reserve(self.end, bytes + self.still_to_come(head))?;
        self.note(store, record)
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Before(before) => self.head.before = before,
            Record::Trying => self.trying = true,
            Record::Tried => self.trying = false,
            Record::Begin(step) => self.begun = (step + 1).min(self.changes.len()),
            Record::Done(step, left) => {
                self.done = (step + 1).min(self.changes.len());
                self.left.push(left);
            }
            Record::Moved(tasks) => self.moved.extend(tasks),
            Record::Applied => self.applied = true,
            Record::Undo { actions, findings, left } => {
                let actions = actions.into_iter().map(|it| (it, false)).collect();
                self.undo = Some(PendingUndo { actions, findings, left });
            }
            Record::Undone(action) => {
                if let Some((_, done)) = self.undo.as_mut().and_then(|undo| undo.actions.get_mut(action)) {
                    *done = true;
                }
            }
            Record::Remains(settings) => {
                self.remains = Some(settings);
                self.undo = None;
            }
        }
    }

    /// Whether a setting was being written when the journal ended.
    pub(crate) fn is_under_way(&self) -> bool {
        self.begun > self.done
    }

    /// What the whole plan comes to, as far as it is not back.
    pub(crate) fn planned_settings(&self) -> Settings {
        self.not_back(&self.changes)
    }

    /// What the steps that were begun come to, as far as it is not back.
    pub(crate) fn begun_settings(&self) -> Settings {
        self.not_back(&self.changes[..self.begun])
    }

    /// What the steps that were done come to, as far as it is not back.
    pub(crate) fn done_settings(&self) -> Settings {
        self.not_back(&self.changes[..self.done])
    }

    fn not_back(&self, changes: &[Change]) -> Settings {
        let settings = Settings::of(changes);
        match &self.remains {
            Some(remains) => settings.only(remains),
            None => settings,
        }
    }

    /// Whether the plan made a group, and a restore has removed it: one of that name is somebody else's.
    pub(crate) fn has_removed(&self, group: &str) -> bool {
        let makes = |change: &Change| matches!(change, Change::Group(made) if made == group);
        self.remains.is_some() && self.changes.iter().any(makes)
    }

    /// The root's shares as the steps left them.
    pub(crate) fn root_shares_left(&self) -> DomainShares {
        let mut shares = DomainShares::new();
        for (change, left) in self.changes.iter().zip(&self.left) {
            let (Change::Shares { group, shares: written }, Some(text)) = (change, &left.schemata) else { continue };
            let read = crate::schemata::parse(text).unwrap_or_default();
            if group.is_empty() {
                shares.extend(read.into_iter().filter(|(domain, _)| written.contains_key(domain)));
            }
        }
        shares
    }

    /// The mount of resctrl that the plan was carried out in, where that is known.
    pub(crate) fn mount_left(&self) -> Option<&MountSeen> {
        self.left.first()?.mount.as_ref()
    }

    /// The registers as the steps left them.
    pub(crate) fn registers_left(&self) -> BTreeMap<CpuRegister, u64> {
        let mut values = BTreeMap::new();
        for (change, left) in self.changes.iter().zip(&self.left) {
            if let (Change::Register { cpu, register, .. }, Some(value)) = (change, left.register) {
                values.insert(CpuRegister { cpu: *cpu, register: *register }, value);
            }
        }
        values
    }
}
