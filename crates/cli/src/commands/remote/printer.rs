//! What a command on a board prints, shown here. A board is a stranger: what a terminal would obey is shown as escapes.

use waykeeper_remote::{JobWatcher, RemoteChannel};
use waykeeper_report::shown;
use waykeeper_session::{Observer, Progress};

use crate::commands::output::{Kind, print_file, print_while_read, say};
use crate::failure::Failure;
use crate::progress::{Bar, Step};

/// A line that is longer is shown in parts, in bytes.
const LONGEST_LINE: usize = 1 << 20;

/// What a command's standard output is, which decides how control characters are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// JSON.
    Json,
    /// TOML.
    Toml,
}

impl Form {
    const ALL: [(Self, &'static str); 3] = [(Self::Text, "text"), (Self::Json, "json"), (Self::Toml, "toml")];

    /// Its name in the record of a run.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(form, _)| *form == self).map_or("text", |(_, name)| name)
    }

    /// The form of that name.
    pub fn named(name: &str) -> Self {
        Self::ALL.iter().find(|(_, known)| *known == name).map_or(Self::Text, |(form, _)| *form)
    }
}

/// Shows the output of a command.
pub struct Printer {
    form: Form,
    /// The tree of the run on the board: paths are shown without it, as they are here.
    tree: String,
    out: Lines,
    err: Lines,
    progress: Lines,
    bar: Bar,
    read: bool,
    failed: Option<Failure>,
}

impl Printer {
    /// For a command whose files are in this tree on the board.
    pub fn new(form: Form, tree: String) -> Self {
        let lines = Lines::default;
        Self { form, tree, out: lines(), err: lines(), progress: lines(), bar: Bar::new(), read: true, failed: None }
    }

    /// Shows what is left: the last lines without a break.
    ///
    /// # Errors
    /// Standard output that could not be written. The run went on meanwhile.
    pub fn ended(mut self) -> Result<(), Failure> {
        self.bar.ended();
        let (out, err) = (self.out.rest(), self.err.rest());
        self.print(out.into_iter());
        err.into_iter().for_each(|line| self.say(&line));
        self.failed.map_or(Ok(()), Err)
    }

    fn print(&mut self, lines: impl Iterator<Item = String>) {
        let text: String = lines.map(|line| line.replace(&self.tree, "")).collect();
        if text.is_empty() || !self.read {
            return;
        }
        let written = match self.form {
            Form::Text => print_while_read(&text),
            Form::Json => print_file(shown::json(&text).as_bytes()).map(|()| true),
            Form::Toml => print_file(shown::toml(&text).as_bytes()).map(|()| true),
        };
        match written {
            Ok(read) => self.read = read,
            // What is measured counts more than what is shown: the run is followed and fetched all the same.
            Err(failure) => (self.read, self.failed) = (false, Some(failure)),
        }
    }

    fn say(&self, line: &str) {
        let line = line.trim_end_matches('\n').replace(&self.tree, "");
        match (line.strip_prefix("error: "), line.strip_prefix("note: ")) {
            (Some(text), _) => say(Kind::Error, text),
            (None, Some(text)) => say(Kind::Note, text),
            (None, None) => say(Kind::Plain, &line),
        }
    }
}

impl JobWatcher for Printer {
    fn part(&mut self, channel: RemoteChannel, bytes: &[u8]) {
        match channel {
            RemoteChannel::Out => {
                let lines = self.out.add(bytes);
                self.print(lines.into_iter());
            }
            RemoteChannel::Err => self.err.add(bytes).iter().for_each(|line| self.say(line)),
            RemoteChannel::Progress => {
                let last = self.progress.add(bytes).pop();
                if let Some(Step { done, total, case, figure }) = last.and_then(|line| serde_json::from_str(&line).ok())
                {
                    self.bar.progress(Progress { case: &case, done, total, figure });
                }
            }
        }
    }

    fn note(&mut self, text: &str) {
        say(Kind::Note, text);
    }
}

/// Bytes that become lines.
#[derive(Debug, Default)]
struct Lines(Vec<u8>);

impl Lines {
    /// The lines that are whole now, each with its break.
    fn add(&mut self, bytes: &[u8]) -> Vec<String> {
        self.0.extend_from_slice(bytes);
        let end = match self.0.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if self.0.len() > LONGEST_LINE => self.0.len(),
            None => return Vec::new(),
        };
        let whole: Vec<u8> = self.0.drain(..end).collect();
        whole.split_inclusive(|byte| *byte == b'\n').map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }

    fn rest(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.0);
        (!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_come_in_two_parts_stay_whole() {
        let mut lines = Lines::default();
        assert_eq!(lines.add(b"5 \xc2"), [""; 0]);
        assert_eq!(lines.add(b"\xb5s\nrest\nx"), ["5 \u{b5}s\n", "rest\n"]);
        assert_eq!(lines.rest().as_deref(), Some("x"));
        assert_eq!(lines.rest(), None);
    }

    #[test]
    fn a_form_is_known_by_its_name() {
        for (form, name) in Form::ALL {
            assert_eq!((Form::named(name), form.name()), (form, name));
        }
        assert_eq!(Form::named("of a later version"), Form::Text);
    }
}
