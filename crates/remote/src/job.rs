//! A command on a board, from its start to its results.

use std::ffi::{OsStr, OsString};
use std::io::BufReader;
use std::os::unix::ffi::OsStrExt;
use std::process::{ChildStdout, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::board::Board;
use crate::connection::{Connection, Failed, last_lines, refused};
use crate::error::RemoteError;
use crate::fetch::Fetched;
use crate::frames::{Frame, RemoteChannel, next};
use crate::parcel::Parcel;
use crate::program::BoardProgram;
use crate::record::JobRecord;
use crate::scripts::{FETCH, FOLLOW, GO, REMOVE, START, STOP, Script, UNPACK, quoted};

/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// The board says something every second; nothing for so long is a connection that is lost.
const LONGEST_SILENCE: Duration = Duration::from_secs(45);
/// How long the board may take to end after the second Ctrl-C.
const LONGEST_END: Duration = Duration::from_secs(10);
/// Between two attempts to connect again.
const PAUSE: Duration = Duration::from_secs(1);

/// In an argument of [`BoardCommand`]: the tree of the run on the board, where the files lie at the paths that they have here.
pub const TREE: &str = "{tree of the run}";

/// A command for a board.
#[derive(Debug)]
pub struct BoardCommand<'c> {
    /// Its arguments, as typed here.
    pub arguments: &'c [OsString],
    /// Absolute paths among them: on the board they are in the tree of the run.
    pub absolute: &'c [String],
    /// Variables of its environment.
    pub variables: &'c [(&'c str, OsString)],
}

/// A run on a board.
#[derive(Debug)]
pub struct RemoteJob {
    connection: Connection,
    record: JobRecord,
    /// How much of each output is known.
    known: [u64; 3],
    patience: Duration,
}

/// How a run on a board ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEnd {
    /// With this exit status.
    Status(u8),
    /// Nobody wrote down how: it was killed, or the board was started anew.
    Unseen,
    /// Its folder is not there.
    Gone,
}

/// Whoever watches a run.
pub trait JobWatcher {
    /// The next part of an output.
    fn part(&mut self, channel: RemoteChannel, bytes: &[u8]);
    /// Something happened that a reader should know: a connection that was lost, or is back.
    fn note(&mut self, text: &str);
}

impl RemoteJob {
    /// Sends the files of a command and starts it. It goes on without this connection from then on.
    ///
    /// # Errors
    /// Too little space; a board that does not take it.
    pub fn start(
        connection: Connection,
        board: &Board,
        program: &BoardProgram,
        parcel: &Parcel,
        command: &BoardCommand<'_>,
        record: JobRecord,
        patience: Duration,
    ) -> Result<Self, RemoteError> {
        let to = connection.destination().clone();
        board.check_space(&to, parcel.bytes(), "what the command names")?;
        let go = go(parcel, program, command, &record);
        let arguments = [OsStr::new(&record.cache), OsStr::new(&record.run)];
        connection
            .feed(UNPACK, &arguments, |stdin| parcel.write(stdin, go.as_bytes()))
            .map_err(|fed| fed.explain(&to, "what the command names"))?;
        let job = Self { connection, record, known: [0; 3], patience };
        let kept = job.record.keep();
        match job.connection.try_run(START, &[OsStr::new(&job.record.folder())])? {
            // It may have been started before the connection was lost: whoever follows sees.
            Ok(_) | Err(Failed { lost: true, .. }) => {}
            Err(failed) => {
                job.remove();
                return Err(refused(&to, &failed.said));
            }
        }
        kept.map_err(|error| {
            let run = &job.record.run;
            RemoteError::Board(format!(
                "the run {run} goes on on {to}, but where it is cannot be kept here: {error}; set XDG_STATE_HOME"
            ))
        })?;
        Ok(job)
    }

    /// A run that another process started.
    pub fn attach(connection: Connection, record: JobRecord, patience: Duration) -> Self {
        Self { connection, record, known: [0; 3], patience }
    }

    /// What is known of it here.
    pub fn record(&self) -> &JobRecord {
        &self.record
    }

    /// The tree of its files on the board; paths in its output begin with it.
    pub fn tree(&self) -> String {
        self.record.tree()
    }

    /// Passes on what it prints until it has ended; `presses` counts Ctrl-C. A connection that is lost is made again.
    ///
    /// # Errors
    /// A connection that does not come back; a run that does not end after two Ctrl-C.
    pub fn follow(&mut self, presses: &AtomicU32, watcher: &mut dyn JobWatcher) -> Result<JobEnd, RemoteError> {
        let mut stopping = Stopping { sent: 0, deadline: None };
        let mut heard = Instant::now();
        loop {
            let why = match self.listen(presses, watcher, &mut stopping, &mut heard)? {
                Ok(end) => return Ok(end),
                Err(why) => why,
            };
            watcher.note(&format!("the connection to {} was lost ({why}); the run goes on there", self.record.board));
            self.reconnect(presses, heard, why)?;
            watcher.note(&format!("connected to {} again", self.record.board));
        }
    }

    /// Follows over one connection: how the run ended, or why no more is heard.
    fn listen(
        &mut self,
        presses: &AtomicU32,
        watcher: &mut dyn JobWatcher,
        stopping: &mut Stopping,
        heard: &mut Instant,
    ) -> Result<Result<JobEnd, String>, RemoteError> {
        let folder = self.record.folder();
        let known = self.known.map(|bytes| bytes.to_string());
        let mut arguments = vec![OsStr::new(&folder)];
        arguments.extend(known.iter().map(OsStr::new));
        let (mut child, output, said) = self.connection.start(FOLLOW, &arguments, Stdio::null())?.child();
        let frames = frames(output)?;
        let mut last = Instant::now();
        let ended = loop {
            match frames.recv_timeout(LOOK) {
                Ok(frame) => {
                    (*heard, last) = (Instant::now(), Instant::now());
                    match frame {
                        Frame::Part(channel, bytes) => {
                            self.known[channel as usize] += bytes.len() as u64;
                            watcher.part(channel, &bytes);
                        }
                        Frame::Alive => {}
                        Frame::Ended(status) => break Ok(JobEnd::Status(status)),
                        Frame::EndedUnseen => break Ok(JobEnd::Unseen),
                        Frame::Gone => break Ok(JobEnd::Gone),
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break Err("it ended".to_owned()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            stopping.pass_on(presses, &self.connection, &self.record)?;
            if last.elapsed() > LONGEST_SILENCE {
                break Err(format!("nothing was heard for {} s", LONGEST_SILENCE.as_secs()));
            }
        };
        let _ = child.kill();
        let _ = child.wait();
        Ok(ended.map_err(|why| Some(last_lines(&said())).filter(|said| !said.is_empty()).unwrap_or(why)))
    }

    /// Connects again, for as long as there is patience since something was heard.
    fn reconnect(&mut self, presses: &AtomicU32, heard: Instant, why: String) -> Result<(), RemoteError> {
        let mut why = why;
        let before = presses.load(Ordering::Relaxed);
        let JobRecord { board, run, .. } = &self.record;
        let lost = |why: String| {
            let patience_s = self.patience.as_secs();
            RemoteError::GoesOn(format!(
                "the connection to {board} did not come back within {patience_s} s: {why}; the run goes on there, and `waykeeper \
                 --remote {board} --attach={run}` follows and fetches it"
            ))
        };
        let begun = Instant::now();
        loop {
            // Silence was part of the wait; but one attempt is always made.
            let waited = begun.elapsed().max(heard.elapsed().saturating_sub(LONGEST_SILENCE));
            match Connection::open(self.connection.destination()) {
                Ok(connection) => {
                    self.connection = connection;
                    // One that fails again at once is not tried without a pause.
                    std::thread::sleep(PAUSE);
                    return if heard.elapsed() > self.patience + LONGEST_SILENCE { Err(lost(why)) } else { Ok(()) };
                }
                Err(error) => why = error.to_string(),
            }
            if waited > self.patience || presses.load(Ordering::Relaxed) > before {
                return Err(lost(why));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Fetches the results and puts them in their places. Returns what was left out of the board's archive.
    ///
    /// # Errors
    /// A connection that is lost meanwhile, a place that cannot be written: the run stays on the board.
    pub fn fetch(&self) -> Result<Vec<String>, RemoteError> {
        let JobRecord { board, run, results, .. } = &self.record;
        if results.is_empty() {
            return Ok(Vec::new());
        }
        let again = |why: String| {
            RemoteError::Board(format!(
                "{board}: what the run left could not be fetched: {why}; `waykeeper --remote {board} --attach={run}` tries again"
            ))
        };
        let tree = self.tree();
        let places: Vec<OsString> = results
            .iter()
            .map(|wanted| {
                let mut place = OsString::from("./");
                place.push(&wanted.place);
                place
            })
            .collect();
        let mut arguments = vec![OsStr::new(&tree)];
        arguments.extend(places.iter().map(OsString::as_os_str));
        let mut running = self.connection.start(FETCH, &arguments, Stdio::null())?;
        if !running.begin() {
            return Err(again(running.end().err().map(|failed| last_lines(&failed.said)).unwrap_or_default()));
        }
        let read = Fetched::read(&mut running.output, results, run);
        let ended = running.end();
        let mut fetched = read.map_err(|error| again(error.to_string()))?;
        if let Err(failed) = ended {
            fetched.discard();
            return Err(again(last_lines(&failed.said)));
        }
        let left_out = std::mem::take(&mut fetched.left_out);
        fetched.put().map_err(RemoteError::Board)?;
        Ok(left_out)
    }

    /// Removes what the run left on the board, and forgets it here. What cannot be removed goes with `--remote-clean`.
    pub fn remove(self) {
        let removed = self.connection.run(REMOVE, &[OsStr::new(&self.record.folder())]);
        if removed.is_ok() {
            self.record.forget();
        }
    }

    /// Forgets a run that is not on the board any more.
    pub fn forget(self) {
        self.record.forget();
    }
}

/// Ctrl-C on its way to the board.
#[derive(Debug)]
struct Stopping {
    /// How many were passed on.
    sent: u32,
    /// When the run should have ended.
    deadline: Option<Instant>,
}

impl Stopping {
    fn pass_on(&mut self, presses: &AtomicU32, connection: &Connection, record: &JobRecord) -> Result<(), RemoteError> {
        if presses.load(Ordering::Relaxed) > self.sent {
            self.sent += 1;
            pass_on(connection, STOP, &record.folder());
            if self.sent > 1 {
                self.deadline.get_or_insert(Instant::now() + LONGEST_END);
            }
        }
        match self.deadline {
            Some(deadline) if Instant::now() > deadline => Err(RemoteError::GoesOn(format!(
                "interrupted twice, and the run on {board} has not ended after {} s; `waykeeper --remote {board} --attach={}` fetches \
                 what there is",
                LONGEST_END.as_secs(),
                record.run,
                board = record.board
            ))),
            _ => Ok(()),
        }
    }
}

/// Runs a script without waiting for it: the connection may hang.
fn pass_on(connection: &Connection, script: Script, folder: &str) {
    if let Ok(running) = connection.start(script, &[OsStr::new(folder)], Stdio::null()) {
        let _ = std::thread::Builder::new().name("ssh".into()).spawn(move || running.end());
    }
}

/// Reads frames in a thread of its own, so that Ctrl-C is seen meanwhile.
fn frames(mut output: BufReader<ChildStdout>) -> Result<Receiver<Frame>, RemoteError> {
    let (send, receive) = channel();
    let read = move || {
        let mut begun = false;
        while !begun {
            let mut line = Vec::new();
            let limited = &mut std::io::Read::take(&mut output, 1 << 20);
            match std::io::BufRead::read_until(limited, b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => begun = line.trim_ascii_end() == crate::scripts::BEGINS.as_bytes(),
            }
        }
        while let Ok(Some(frame)) = next(&mut output) {
            if send.send(frame).is_err() {
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().name("board".into()).spawn(read);
    thread.map_err(|error| RemoteError::Board(format!("no thread for the connection: {error}")))?;
    Ok(receive)
}

/// The script that runs the command on the board.
fn go(parcel: &Parcel, program: &BoardProgram, command: &BoardCommand<'_>, record: &JobRecord) -> OsString {
    let mut text = OsString::from("#!/bin/sh\n");
    let mut set = |name: &str, value: &OsStr| {
        text.push(name);
        text.push("=");
        text.push(quoted(value));
        text.push("\n");
    };
    let tree = record.tree();
    let mut folder = OsString::from(&tree);
    folder.push(parcel.working_directory());
    set("run", record.folder().as_ref());
    set("tree", &folder);
    set("program", format!("{}/bin/{}", record.cache, program.sha256).as_ref());
    command.variables.iter().for_each(|(name, value)| set(name, value));
    for (name, _) in command.variables {
        text.push(format!("export {name}\n"));
    }
    text.push("set --");
    for argument in command.arguments {
        text.push(" ");
        text.push(quoted(&there(argument, command.absolute, &tree)));
    }
    text.push("\n");
    text.push(GO);
    text
}

/// An argument with the path that it has on the board.
fn there(argument: &OsStr, absolute: &[String], tree: &str) -> OsString {
    let Some(text) = argument.to_str() else { return argument.to_owned() };
    if text.contains(TREE) {
        return text.replace(TREE, tree).into();
    }
    // `--out=PATH` and `--set key=PATH` end with it; `load` and `watch` have a core behind it.
    let changed = absolute.iter().find_map(|path| {
        let before = match text.strip_suffix(path.as_str()) {
            Some(before) => before.is_empty() || before.ends_with('='),
            None => false,
        };
        if before {
            return Some(format!("{}{tree}{path}", &text[..text.len() - path.len()]));
        }
        text.strip_prefix(path.as_str())
            .filter(|after| after.starts_with('@'))
            .map(|after| format!("{tree}{path}{after}"))
    });
    changed.map_or_else(|| argument.to_owned(), OsString::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_are_in_the_tree_on_the_board() {
        let absolute = ["/a/x.toml".to_owned(), "/a/box".to_owned()];
        let changed = |text: &str| there(OsStr::new(text), &absolute, "/c/tree").into_string().unwrap();
        assert_eq!(changed("/a/x.toml"), "/c/tree/a/x.toml");
        assert_eq!(changed("--out=/a/box"), "--out=/c/tree/a/box");
        assert_eq!(changed("platform=/a/box"), "platform=/c/tree/a/box");
        assert_eq!(changed("/a/x.toml@1-3"), "/c/tree/a/x.toml@1-3");
        assert_eq!(changed(&format!("k = '{TREE}/y'")), "k = '/c/tree/y'");
        for same in ["/a/x.toml2", "b/a/x.toml", "run", "/a", "x/a/box"] {
            assert_eq!(changed(same), same);
        }
    }
}
