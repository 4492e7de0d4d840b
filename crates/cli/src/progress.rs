//! Progress with the time left, on a terminal; nothing in a pipe. On a board (`--remote`) it goes into a file, which is followed.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use waykeeper_linux::thread::spawn;
use waykeeper_report::figure::seconds;
use waykeeper_report::shown::one_line;
use waykeeper_session::{FigureOfRepeat, Note, Observer, Progress};
use waykeeper_workload::format_ns;

use crate::commands::output::{Kind, say};

/// So often the time left is shown anew.
const TICK: Duration = Duration::from_millis(200);

/// The file for a step a line, where somebody follows from elsewhere.
const STEPS: &str = "WAYKEEPER_PROGRESS";

/// A step, as a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct Step {
    /// Measurements that have ended.
    pub done: usize,
    /// All of them.
    pub total: usize,
    /// The case that is measured now.
    pub case: String,
    /// What its repeat shows, where one has just ended.
    #[serde(default)]
    pub figure: Option<FigureOfRepeat>,
}

/// A bar on standard error.
pub struct Bar {
    steps: Option<File>,
    bar: ProgressBar,
    /// What the last repeat showed that ended.
    seen: Mutex<String>,
    ended: Arc<AtomicBool>,
}

impl Bar {
    /// Hidden unless standard error is a terminal.
    pub fn new() -> Self {
        let bar = ProgressBar::new(0);
        // Nothing is known of the time left before the first measurement of a case: `show` brings the bar to light.
        bar.set_draw_target(ProgressDrawTarget::hidden());
        bar.set_style(style("{bar:24} {pos}/{len} measured: {wide_msg}"));
        let ended = Arc::new(AtomicBool::new(false));
        let (ticking, has_ended) = (bar.clone(), Arc::clone(&ended));
        let tick = move || {
            while !has_ended.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
                ticking.tick();
            }
        };
        // Where the system refuses a thread, the bar moves at each measurement only. `enable_steady_tick` would panic.
        let _ = spawn("progress", tick);
        let steps = std::env::var_os(STEPS).and_then(|path| OpenOptions::new().append(true).open(path).ok());
        Self { steps, bar, seen: Mutex::default(), ended }
    }
}

impl Observer for Bar {
    fn progress(&self, progress: Progress<'_>) {
        if let Some(mut steps) = self.steps.as_ref() {
            let step = Step {
                done: progress.done,
                total: progress.total,
                case: progress.case.into(),
                figure: progress.figure,
            };
            // Whoever follows does without what cannot be written.
            let _ = serde_json::to_string(&step).map(|line| steps.write_all((line + "\n").as_bytes()));
        }
        if self.bar.is_hidden() && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        // How long one takes is known after the first.
        if progress.done > 0 && self.bar.position() == 0 {
            self.bar.set_style(style("{bar:24} {pos}/{len} measured, {eta} left: {wide_msg}"));
        }
        self.bar.set_length(progress.total as u64);
        self.bar.set_position(progress.done as u64);
        let case = one_line(progress.case);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(figure) = progress.figure {
            *seen = seen_of(&case, figure);
        }
        self.bar.set_message(if seen.is_empty() { case.into_owned() } else { format!("{case}; {seen}") });
    }

    fn recording(&self, program: &str, accesses: u64) {
        if self.bar.is_hidden() && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_style(style("{spinner} recording {wide_msg}"));
        let done = match accesses {
            0 => "it has made no pass yet".to_owned(),
            accesses => format!("{} accesses", HumanCount(accesses)),
        };
        self.bar.set_message(format!("{}: {done}", one_line(program)));
    }

    fn note(&self, note: &Note) {
        say(Kind::Note, &note.to_string());
    }

    fn ended(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.bar.finish_and_clear();
    }
}

/// The first figures are on the screen long before the run ends.
fn seen_of(case: &str, figure: FigureOfRepeat) -> String {
    let FigureOfRepeat { mean_ns, max_ns, length_s } = figure;
    format!("last {case}: mean {}, max {} in {}", format_ns(mean_ns), format_ns(max_ns), seconds(length_s))
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.ended();
    }
}
