//! Sequences as text: one step a line, for people and for files that are kept.

use std::fmt::Write as _;

use waykeeper_resctrl::{FileOperation, MonitorEvent, MountOptions, Reading};

use crate::step::{Answer, Outcome, Step};

/// Bytes between quotes, with escapes for all that does not print.
pub fn quote(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for &byte in bytes {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'"' | b'\\' => {
                text.push('\\');
                text.push(byte.into());
            }
            b' '..=b'~' => text.push(byte.into()),
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
    text.push('"');
    text
}

/// A step as a line, without a newline.
pub fn write_step(step: &Step) -> String {
    match step {
        Step::Mount(options) => format!("mount{}", mount_options(options)),
        Step::Unmount => "unmount".into(),
        Step::Do(operation) => write_operation(operation),
        Step::Start { threads } => format!("start {threads}"),
        Step::End(index) => format!("end {index}"),
        Step::Count(event, Reading::Value(value)) => format!("count {} {value}", event.name()),
        Step::Count(event, Reading::Error) => format!("count {} error", event.name()),
        Step::Count(event, Reading::Unavailable) => format!("count {} unavailable", event.name()),
        Step::Settle => "settle".into(),
        Step::Groups(tid) => format!("groups {tid}"),
    }
}

fn mount_options(options: &MountOptions) -> String {
    let all =
        [(options.cdp, " cdp"), (options.cdpl2, " cdpl2"), (options.mba_mbps, " mba_MBps"), (options.debug, " debug")];
    all.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect()
}

fn write_operation(operation: &FileOperation) -> String {
    match operation {
        FileOperation::Read { path } => format!("read {}", quote(path)),
        FileOperation::Write { path, data } => format!("write {} {}", quote(path), quote(data)),
        FileOperation::Mkdir { path, mode } => format!("mkdir {} {mode:o}", quote(path)),
        FileOperation::Rmdir { path } => format!("rmdir {}", quote(path)),
        FileOperation::Rename { from, to } => format!("rename {} {}", quote(from), quote(to)),
        FileOperation::Readdir { path } => format!("readdir {}", quote(path)),
        FileOperation::Getattr { path } => format!("getattr {}", quote(path)),
        FileOperation::Chmod { path, mode } => format!("chmod {} {mode:o}", quote(path)),
        FileOperation::Unlink { path } => format!("unlink {}", quote(path)),
        FileOperation::Create { path } => format!("create {}", quote(path)),
    }
}

/// What came of a step, as a line without a newline.
pub fn write_outcome(outcome: &Outcome) -> String {
    let answer = match &outcome.answer {
        Err(errno) => format!("errno {errno}"),
        Ok(Answer::Done) => "done".into(),
        Ok(Answer::Bytes(bytes)) => format!("bytes {}", quote(bytes)),
        Ok(Answer::Entries(entries)) => {
            let entry = |entry: &waykeeper_resctrl::DirectoryEntry| {
                format!("{}{}", if entry.directory { "d" } else { "f" }, quote(&entry.name))
            };
            format!("entries {}", entries.iter().map(entry).collect::<Vec<_>>().join(" "))
        }
        Ok(Answer::Attributes { directory, mode, links, uid, gid, size }) => {
            format!("attributes {} {mode:o} {links} {uid} {gid} {size}", if *directory { "d" } else { "f" })
        }
        Ok(Answer::Started(tids)) => {
            format!("started {}", tids.iter().map(i32::to_string).collect::<Vec<_>>().join(" "))
        }
    };
    match &outcome.status {
        Some(status) => format!("{answer} status {}", quote(status)),
        None => answer,
    }
}

/// Reads a step.
///
/// # Errors
/// What the line should have been.
pub fn read_step(line: &str) -> Result<Step, String> {
    let words = words(line)?;
    let bytes = |at: usize| words.get(at).cloned().ok_or_else(|| format!("{line}: word {at} is missing"));
    let string = |at: usize| bytes(at).map(|word| String::from_utf8_lossy(&word).into_owned());
    let number = |at: usize, base: u32| {
        string(at).and_then(|word| i64::from_str_radix(&word, base).map_err(|error| format!("{line}: {error}")))
    };
    let mode = |at| number(at, 8).map(|mode| mode as u32);
    let step = match string(0)?.as_str() {
        "mount" => Step::Mount(read_options(line)?),
        "unmount" => Step::Unmount,
        "start" => Step::Start { threads: number(1, 10)? as u32 },
        "end" => Step::End(number(1, 10)? as usize),
        "settle" => Step::Settle,
        "groups" => Step::Groups(number(1, 10)? as i32),
        "count" => {
            let name = string(1)?;
            let event = MonitorEvent::ALL.into_iter().find(|event| event.name() == name);
            let reading = match string(2)?.as_str() {
                "error" => Reading::Error,
                "unavailable" => Reading::Unavailable,
                _ => Reading::Value(number(2, 10)? as u64),
            };
            Step::Count(event.ok_or_else(|| format!("{line}: no event"))?, reading)
        }
        "read" => Step::Do(FileOperation::Read { path: bytes(1)? }),
        "write" => Step::Do(FileOperation::Write { path: bytes(1)?, data: bytes(2)? }),
        "mkdir" => Step::Do(FileOperation::Mkdir { path: bytes(1)?, mode: mode(2)? }),
        "rmdir" => Step::Do(FileOperation::Rmdir { path: bytes(1)? }),
        "rename" => Step::Do(FileOperation::Rename { from: bytes(1)?, to: bytes(2)? }),
        "readdir" => Step::Do(FileOperation::Readdir { path: bytes(1)? }),
        "getattr" => Step::Do(FileOperation::Getattr { path: bytes(1)? }),
        "chmod" => Step::Do(FileOperation::Chmod { path: bytes(1)?, mode: mode(2)? }),
        "unlink" => Step::Do(FileOperation::Unlink { path: bytes(1)? }),
        "create" => Step::Do(FileOperation::Create { path: bytes(1)? }),
        other => return Err(format!("{other}: no such step")),
    };
    Ok(step)
}

fn read_options(line: &str) -> Result<MountOptions, String> {
    let mut options = MountOptions::default();
    for word in line.split_whitespace().skip(1) {
        match word {
            "cdp" => options.cdp = true,
            "cdpl2" => options.cdpl2 = true,
            "mba_MBps" => options.mba_mbps = true,
            "debug" => options.debug = true,
            _ => return Err(format!("{word}: no such mount option")),
        }
    }
    Ok(options)
}

/// Words, where one between quotes may hold anything.
fn words(line: &str) -> Result<Vec<Vec<u8>>, String> {
    let mut words = Vec::new();
    let mut rest = line.trim().as_bytes();
    while let [first, ..] = rest {
        if *first == b'"' {
            let (word, after) = quoted(&rest[1..]).ok_or_else(|| format!("{line}: a quote is open"))?;
            words.push(word);
            rest = after;
        } else {
            let end = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
            words.push(rest[..end].to_vec());
            rest = &rest[end..];
        }
        rest = rest.trim_ascii_start();
    }
    Ok(words)
}

fn quoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    let mut rest = text;
    loop {
        match rest {
            [b'"', after @ ..] => return Some((word, after)),
            [b'\\', b'n', after @ ..] => {
                word.push(b'\n');
                rest = after;
            }
            [b'\\', b'x', high, low, after @ ..] => {
                let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
                word.push(digit(*high)? << 4 | digit(*low)?);
                rest = after;
            }
            [b'\\', byte, after @ ..] | [byte, after @ ..] => {
                word.push(*byte);
                rest = after;
            }
            [] => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_read_back_as_they_were_written() {
        let steps = [
            Step::Mount(MountOptions { cdp: true, debug: true, ..MountOptions::default() }),
            Step::Do(FileOperation::Write { path: b"a b/tasks".to_vec(), data: b"\"1\\\n\0\xff".to_vec() }),
            Step::Do(FileOperation::Mkdir { path: b"".to_vec(), mode: 0o700 }),
            Step::Count(MonitorEvent::LlcOccupancy, Reading::Error),
            Step::Groups(-1),
        ];
        for step in steps {
            assert_eq!(read_step(&write_step(&step)), Ok(step));
        }
    }
}
