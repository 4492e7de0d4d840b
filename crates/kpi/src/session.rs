//! A session: a folder with a record and the runs of each boot, which goes on after a kill, a power cut or a reboot.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags, open};
use waykeeper_doctor::Examination;
use waykeeper_experiment::InputError;
use waykeeper_platform::explain::read_json_text;
use waykeeper_run::Run;
use waykeeper_run::folder::{self, RUN_FILE};
use waykeeper_run::unfinished::REPEATS_FILE;
use waykeeper_session::{Keep, Observer, Options, Resumption, Session, SessionError};

use crate::experiment::experiment;
use crate::record::{BootRecord, DoctorFinding, KpiRecord, MeasuredRun, SCHEMA};
use crate::settings::{KpiSettings, Measurand};

/// The record's name in the session's folder.
pub const RECORD_FILE: &str = "kpi.json";

/// Whether a path names a file of a run, or the record of a session: what writes results elsewhere must not replace it.
pub fn is_kept_record(path: &Path) -> bool {
    folder::is_file_of_run(path) || (path.ends_with(RECORD_FILE) && path.exists())
}

/// A record is some kilobytes.
const LONGEST_RECORD: u64 = 16 << 20;

/// Why a session does not go on.
#[derive(Debug, thiserror::Error)]
pub enum KpiError {
    /// A mistake of the user's.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A run that cannot go on.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The folder cannot be written.
    #[error("{}: the session cannot be written: {error}", folder.display())]
    Write {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// What a session does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Nothing was measured yet, or all of the last boot is: a boot begins.
    BeginBoot,
    /// The last boot goes on.
    GoOn,
}

/// A session in its folder.
#[derive(Debug)]
pub struct KpiSession {
    folder: PathBuf,
    record: KpiRecord,
    /// What cannot be measured or judged of a new session, known before it begins.
    foreseen: Vec<String>,
}

impl KpiSession {
    /// Begins a session in a new or empty folder. Nothing is written yet.
    ///
    /// # Errors
    /// A folder with something in it; mistakes in load, policies and budgets.
    pub fn begin(folder: &Path, settings: KpiSettings, options: &Options) -> Result<Self, KpiError> {
        let refuse = |why: &str| InputError::in_option(format!("--session {}", folder.display()), why);
        if folder.exists() && !folder.is_dir() {
            return Err(refuse("this is a file; expected a new folder, or that of a session").into());
        }
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(refuse(
                "the folder has something in it, and no session (kpi.json); expected a new or empty folder",
            )
            .into());
        }
        // Mistakes come before anything is made.
        let mut foreseen = Vec::new();
        for measurand in settings.measurands() {
            let session = planned(&settings, &measurand, options)?;
            if let Some(why) = session.impossible() {
                return Err(SessionError::from(why.clone()).into());
            }
            let refused = session.cases().refused.iter().map(|it| format!("Not measured: {}: {}", it.what, it.why));
            for text in refused.chain(session.budgets_out_of_reach()) {
                if !foreseen.contains(&text) {
                    foreseen.push(text);
                }
            }
        }
        let record =
            KpiRecord { schema: SCHEMA, version: env!("CARGO_PKG_VERSION").into(), settings, boots: Vec::new() };
        Ok(Self { folder: folder.to_owned(), record, foreseen })
    }

    /// Opens the session in a folder; none where there is none.
    ///
    /// # Errors
    /// A record that does not read, or is of a newer version.
    pub fn find(folder: &Path) -> Result<Option<Self>, KpiError> {
        let path = folder.join(RECORD_FILE);
        let bad = |why: String| InputError::in_file(&path.display().to_string(), why);
        let bytes = match read(&path) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(bad(format!("it cannot be read: {error}")).into()),
        };
        let record: KpiRecord =
            read_json_text(&bytes).map_err(|why| bad(format!("this is no record of a session: {why}")))?;
        if record.schema > SCHEMA {
            let schema = record.schema;
            return Err(bad(format!("found schema {schema}; this program reads {SCHEMA} and below")).into());
        }
        for run in record.boots.iter().flat_map(|boot| &boot.runs) {
            if run.folder.contains(['/', '\0']) || run.folder.starts_with('.') || run.folder.is_empty() {
                return Err(bad(format!("found the folder {:?}; expected one in the session's own", run.folder)).into());
            }
        }
        Ok(Some(Self { folder: folder.to_owned(), record, foreseen: Vec::new() }))
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What cannot be measured or judged, a sentence each: refused policies, and budgets that no length of this session meets. A session
    /// that goes on has it in its runs.
    pub fn foreseen(&self) -> &[String] {
        &self.foreseen
    }

    /// Its record.
    pub fn record(&self) -> &KpiRecord {
        &self.record
    }

    /// Whether a boot begins, or the last one goes on.
    pub fn next_step(&self) -> NextStep {
        let complete = self.record.boots.last().is_none_or(|boot| self.is_complete(boot));
        if complete { NextStep::BeginBoot } else { NextStep::GoOn }
    }

    /// Whether all of a boot is measured.
    pub fn is_complete(&self, boot: &BootRecord) -> bool {
        boot.runs.len() == self.record.settings.measurands().len()
            && boot.runs.iter().all(|run| is_whole(&self.folder.join(&run.folder)))
    }

    /// The folder of a run.
    pub fn folder_of(&self, run: &MeasuredRun) -> PathBuf {
        self.folder.join(&run.folder)
    }

    /// A run as far as it is measured; none where nothing of it is.
    ///
    /// # Errors
    /// A folder that does not read.
    pub fn run_of(&self, run: &MeasuredRun) -> Result<Option<Run>, InputError> {
        let path = self.folder_of(run);
        let any = path.join(RUN_FILE).exists() || path.join(REPEATS_FILE).exists();
        any.then(|| folder::read(&path)).transpose()
    }

    /// Begins a boot.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn begin_boot(&mut self, labels: BTreeMap<String, String>, examination: &Examination) -> Result<(), KpiError> {
        let doctor = DoctorFinding::of(examination);
        self.record.boots.push(BootRecord {
            labels,
            started: now(),
            boot: waykeeper_linux::boot_id(),
            doctor,
            runs: Vec::new(),
        });
        self.write()
    }

    /// Measures what the last boot lacks; true where all of it is there then, false where a set `stop` ended it. Each measurement has
    /// an observer of its own, made with its title.
    ///
    /// # Errors
    /// A run that cannot go on.
    pub fn measure(
        &mut self,
        options: &Options,
        observe: &dyn Fn(&str) -> Box<dyn Observer>,
        stop: &AtomicBool,
    ) -> Result<bool, KpiError> {
        let settings = self.record.settings.clone();
        let number = self.record.boots.len();
        for (at, measurand) in settings.measurands().iter().enumerate() {
            let path = self.folder_for(number, at, measurand)?;
            if is_whole(&path) {
                continue;
            }
            let started = if path.join(REPEATS_FILE).exists() {
                Resumption::find(&path)?.start()?
            } else {
                planned(&settings, measurand, options)?.start(Keep::InFolder(Some(&path)))?
            };
            let concluded = match started.run(&*observe(&measurand.title(&settings)), stop) {
                // Nothing of this measurement, but the session and what it measured before are there.
                Err(error) if error.is_stopped() => return Ok(false),
                concluded => concluded?,
            };
            if let Some(error) = concluded.failed {
                return Err(SessionError::from(error).into());
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The folder of a boot's run; it is in the record from now on.
    fn folder_for(&mut self, number: usize, at: usize, measurand: &Measurand<'_>) -> Result<PathBuf, KpiError> {
        let boot = &mut self.record.boots[number - 1];
        if boot.runs.len() == at {
            boot.runs
                .push(MeasuredRun { measurand: measurand.name(), folder: format!("{number}-{}", measurand.name()) });
            let folder = self.folder.join(&self.record.boots[number - 1].runs[at].folder);
            self.write()?;
            return Ok(folder);
        }
        Ok(self.folder.join(&boot.runs[at].folder))
    }

    /// Writes the record: a reader sees the old one or the new one, also after a power cut.
    fn write(&self) -> Result<(), KpiError> {
        let failed = |error| KpiError::Write { folder: self.folder.clone(), error };
        let mut bytes = serde_json::to_vec_pretty(&self.record).map_err(|error| failed(error.into()))?;
        bytes.push(b'\n');
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let part = self.folder.join(format!(".{RECORD_FILE}.{}.part", std::process::id()));
        let written =
            File::create_new(&part).and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()));
        let renamed = written.and_then(|()| fs::rename(&part, self.folder.join(RECORD_FILE)));
        let synced = renamed.and_then(|()| File::open(&self.folder)?.sync_all());
        if synced.is_err() {
            let _ = fs::remove_file(&part);
        }
        synced.map_err(failed)
    }
}

/// A measurement, planned on this machine.
fn planned(settings: &KpiSettings, measurand: &Measurand<'_>, options: &Options) -> Result<Session, KpiError> {
    let budgets = match measurand {
        Measurand::Wakeups | Measurand::Cyclictest => &settings.budgets,
        Measurand::Packets(..) => &settings.packet_budgets,
    };
    let options = Options { budgets: budgets.clone(), ..options.clone() };
    Ok(Session::plan(experiment(settings, measurand)?, &options)?)
}

/// Whether a folder has a run that was measured to its end.
fn is_whole(path: &Path) -> bool {
    path.join(RUN_FILE).exists() && !path.join(REPEATS_FILE).exists()
}

/// A record may be anybody's: a pipe holds nobody up.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST_RECORD + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > LONGEST_RECORD {
        true => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 16 MiB")),
        false => Ok(bytes),
    }
}

fn now() -> String {
    let now = jiff::Timestamp::now();
    now.round(jiff::Unit::Second).unwrap_or(now).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> KpiSettings {
        KpiSettings {
            duration_s: 5.0,
            block_s: 1.0,
            rt_cores: vec![1],
            simultaneous: false,
            load_cores: vec![0],
            wakeup_period_ns: 250e3,
            cyclictest: false,
            packets: None,
            policies: Vec::new(),
            load: "[[neighbours]]\nworkload = 'stream_modify'\n".into(),
            load_name: "stream_modify".into(),
            budgets: Vec::new(),
            packet_budgets: Vec::new(),
        }
    }

    fn begun(folder: &Path) -> KpiSession {
        let mut session = KpiSession::begin(folder, settings(), &Options::default()).unwrap();
        session.record.boots.push(BootRecord { started: "2026-11-26T00:00:00Z".into(), ..BootRecord::default() });
        session.write().unwrap();
        session
    }

    #[test]
    fn a_session_is_found_again_and_a_folder_of_others_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let session = begun(folder.path());
        let found = KpiSession::find(folder.path()).unwrap().unwrap();
        assert_eq!(found.record, session.record);
        assert_eq!(found.next_step(), NextStep::GoOn);
        assert!(
            KpiSession::begin(folder.path(), settings(), &Options::default())
                .unwrap_err()
                .to_string()
                .contains("something in it")
        );
        assert!(KpiSession::find(&folder.path().join("none")).unwrap().is_none());
    }

    #[test]
    fn a_run_is_in_the_record_before_it_begins_and_complete_without_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = begun(folder.path());
        let path = session.folder_for(1, 0, &Measurand::Wakeups).unwrap();
        assert_eq!(path, folder.path().join("1-wakeup"));
        assert_eq!(KpiSession::find(folder.path()).unwrap().unwrap().record.boots[0].runs[0].folder, "1-wakeup");
        fs::create_dir(&path).unwrap();
        fs::write(path.join(RUN_FILE), "{}").unwrap();
        fs::write(path.join(REPEATS_FILE), "").unwrap();
        assert_eq!(session.next_step(), NextStep::GoOn);
        fs::remove_file(path.join(REPEATS_FILE)).unwrap();
        assert_eq!(session.next_step(), NextStep::BeginBoot);
    }

    #[test]
    fn a_record_leads_into_no_other_folder_and_a_pipe_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = begun(folder.path());
        for hostile in ["../other", "/etc", ".", "", "a/b"] {
            let run = MeasuredRun { measurand: "wakeup".into(), folder: hostile.into() };
            session.record.boots[0].runs = vec![run];
            session.write().unwrap();
            let refused = KpiSession::find(folder.path()).unwrap_err();
            assert!(refused.to_string().contains("expected one in the session's own"), "{hostile}: {refused}");
        }
        let other = tempfile::tempdir().unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            other.path().join(RECORD_FILE),
            rustix::fs::FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(KpiSession::find(other.path()).unwrap_err().to_string().contains("regular file"));
    }
}
