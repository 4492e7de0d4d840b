//! A session as other commands use it: without a command line.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use waykeeper_executor::ExecutorError;
use waykeeper_experiment::Loaded;
use waykeeper_run::{CaseRecord, folder};
use waykeeper_session::{Keep, Kept, Note, Observer, Options, Progress, Resumption, Session, SessionError, Unobserved};

const EXPERIMENT: &str = r#"
title = "Two cases"
platform = "agilex5"
mitigations = ["none"]
repeats = 2
duration = "1ms"
targets = [{ workload = "latency_loop", core = 1 }]
neighbours = [{ workload = "stream_modify", cores = [2] }]
"#;

fn session(options: &Options) -> Result<Session, SessionError> {
    Session::plan(Loaded::from_text("two-cases", "two-cases.toml", EXPERIMENT, Vec::new())?, options)
}

/// What was seen of a run while it went on.
#[derive(Default)]
struct Seen {
    cases: Mutex<BTreeSet<String>>,
    /// Most repeats done, of how many.
    most: Mutex<(usize, usize)>,
    ended: AtomicBool,
}

impl Observer for Seen {
    fn progress(&self, progress: Progress<'_>) {
        assert!(!self.ended.load(std::sync::atomic::Ordering::Relaxed), "progress after the end");
        self.cases.lock().unwrap().insert(progress.case.to_owned());
        let mut most = self.most.lock().unwrap();
        *most = (most.0.max(progress.done), progress.total);
    }

    fn note(&self, note: &Note) {
        panic!("{note}");
    }

    fn ended(&self) {
        self.ended.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn a_run_that_is_kept_nowhere_has_the_figures_of_one_in_a_folder() {
    let seen = Seen::default();
    let nowhere = session(&Options::default()).unwrap().start(Keep::Nowhere).unwrap();
    let nowhere = nowhere.run(&seen, &AtomicBool::new(false)).unwrap();
    let cases: BTreeSet<String> =
        session(&Options::default()).unwrap().cases().cases.iter().map(|c| c.name.clone()).collect();
    assert_eq!(*seen.cases.lock().unwrap(), cases);
    let repeats = 2 * cases.len();
    assert_eq!(*seen.most.lock().unwrap(), (repeats, repeats));
    assert!(matches!(nowhere.kept, Kept::Nowhere));
    assert!(nowhere.measured.iter().all(|measured| measured.repeats.len() == 2));

    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("kept");
    let kept = session(&Options::default()).unwrap().start(Keep::InFolder(Some(&path))).unwrap();
    let kept = kept.run(&Unobserved, &AtomicBool::new(false)).unwrap();
    assert!(matches!(&kept.kept, Kept::Whole(folder) if *folder == path));
    let read = folder::read(&path).unwrap();
    // Only how long it took differs.
    let figures = |record: &waykeeper_run::Run| {
        let cases = record.cases.iter().cloned().map(|case| CaseRecord { wall_s: None, ..case });
        serde_json::to_value(cases.collect::<Vec<_>>()).unwrap()
    };
    assert_eq!(figures(&read), figures(&kept.record));
    assert_eq!(figures(&nowhere.record), figures(&kept.record));
}

#[test]
fn a_stop_before_the_first_sample_leaves_no_folder() {
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("below/kept");
    let started = session(&Options::default()).unwrap().start(Keep::InFolder(Some(&path))).unwrap();
    assert!(path.is_dir());
    let error = started.run(&Unobserved, &AtomicBool::new(true)).unwrap_err();
    assert!(matches!(error, SessionError::Executor(ExecutorError::Stopped)), "{error}");
    assert!(!desk.path().join("below").exists());
}

#[test]
fn two_sessions_cannot_keep_in_one_folder() {
    let desk = tempfile::tempdir().unwrap();
    let _first = session(&Options::default()).unwrap().start(Keep::InFolder(Some(desk.path()))).unwrap();
    let second = session(&Options::default()).unwrap().start(Keep::InFolder(Some(desk.path())));
    assert!(second.err().unwrap().to_string().contains("another process measures into this folder"));
}

#[test]
fn options_that_the_place_cannot_do_are_refused_before_anything_is_measured() {
    let refusal = |options| session(&options).err().map(|error| error.to_string()).unwrap_or_default();
    let budgets = |budget: &str| Options { budgets: vec![budget.into()], ..Options::default() };
    assert!(refusal(budgets("nl3a: max<=1us")).contains("covers no case"));
    assert!(refusal(budgets("max<=")).contains("--budget 'max<='"));
    assert_eq!(refusal(Options { explain: Some(1), fast: true, ..Options::default() }), "");
}

#[test]
fn a_folder_without_a_log_is_not_resumed() {
    let desk = tempfile::tempdir().unwrap();
    let error = Resumption::find(desk.path()).err().unwrap().to_string();
    assert!(error.contains("it has no log of repeats"), "{error}");
}
