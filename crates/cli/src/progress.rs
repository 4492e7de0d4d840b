//! Progress with the time left, on a terminal; nothing in a pipe.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use waykeeper_executor::Progress;
use waykeeper_report::shown::one_line;

/// A bar on standard error.
pub struct Bar(ProgressBar);

impl Bar {
    /// Hidden unless standard error is a terminal.
    pub fn new() -> Self {
        let bar = ProgressBar::new(0);
        // Nothing is known of the time left before the first measurement of a case: `show` brings the bar to light.
        bar.set_draw_target(ProgressDrawTarget::hidden());
        bar.set_style(style("{bar:24} {pos}/{len} measured: {wide_msg}"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Shows where the run is.
    pub fn show(&self, progress: Progress<'_>) {
        if self.0.is_hidden() && std::io::stderr().is_terminal() {
            self.0.set_draw_target(ProgressDrawTarget::stderr());
        }
        // How long one takes is known after the first.
        if progress.done > 0 && self.0.position() == 0 {
            self.0.set_style(style("{bar:24} {pos}/{len} measured, {eta} left: {wide_msg}"));
        }
        self.0.set_length(progress.total as u64);
        self.0.set_position(progress.done as u64);
        self.0.set_message(one_line(progress.case).into_owned());
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
