//! Scripts of the board's side, and how they are passed through the login shell there.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What stands before the output of a script: a login shell may print something of its own.
pub(crate) const BEGINS: &str = "waykeeper-board-1";

/// A script.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script(&'static str);

pub(crate) const ASK: Script = Script(include_str!("scripts/ask.sh"));
pub(crate) const CHECK: Script = Script(include_str!("scripts/check.sh"));
pub(crate) const PUT: Script = Script(include_str!("scripts/put.sh"));
pub(crate) const UNPACK: Script = Script(include_str!("scripts/unpack.sh"));
pub(crate) const START: Script = Script(include_str!("scripts/start.sh"));
pub(crate) const FOLLOW: Script = Script(include_str!("scripts/follow.sh"));
pub(crate) const STOP: Script = Script(include_str!("scripts/stop.sh"));
pub(crate) const FETCH: Script = Script(include_str!("scripts/fetch.sh"));
pub(crate) const REMOVE: Script = Script(include_str!("scripts/remove.sh"));
pub(crate) const CLEAN: Script = Script(include_str!("scripts/clean.sh"));
/// Goes to the board as a file: it outlives the connection.
pub(crate) const GO: &str = include_str!("scripts/go.sh");

impl Script {
    /// The command line for the login shell.
    pub(crate) fn command_line(self, arguments: &[&OsStr]) -> OsString {
        let text = format!("echo {BEGINS}\n{}", self.0);
        let words = [OsStr::new(&text), OsStr::new("waykeeper")].into_iter().chain(arguments.iter().copied());
        let mut line = OsString::from("exec sh -c");
        for word in words {
            line.push(" ");
            line.push(quoted(word));
        }
        line
    }
}

/// A word that a shell takes as it is.
pub(crate) fn quoted(word: &OsStr) -> OsString {
    let mut bytes = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => bytes.extend_from_slice(b"'\\''"),
            byte => bytes.push(*byte),
        }
    }
    bytes.push(b'\'');
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_takes_quoted_words_as_they_are() {
        for word in ["", "a b", "it's", "$HOME `id` \\ \" !", "two\nlines", "*"] {
            let mut line = OsString::from("printf %s ");
            line.push(quoted(word.as_ref()));
            let output = Command::new("sh").arg("-c").arg(line).output().unwrap();
            assert_eq!(output.stdout, word.as_bytes());
        }
    }
}
