//! What the board's side prints while a run is followed.

use std::io::{self, BufRead, Read};

/// The longest line of a frame, and the longest part of a file in one, in bytes.
const LONGEST_LINE: u64 = 64;
const LONGEST_PART: u64 = 1 << 18;

/// Which of a command's outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteChannel {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
    /// How far it is: a line of JSON a step.
    Progress,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The next part of an output.
    Part(RemoteChannel, Vec<u8>),
    /// The run goes on.
    Alive,
    /// It ended with this status.
    Ended(u8),
    /// It ended, and nobody wrote down how.
    EndedUnseen,
    /// There is no such run.
    Gone,
}

/// Reads the next one; none at the end.
///
/// # Errors
/// What is no frame.
pub(crate) fn next(input: &mut impl BufRead) -> io::Result<Option<Frame>> {
    let mut line = Vec::new();
    if input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "the board's answer is none that Waykeeper knows");
    let line = String::from_utf8(line).map_err(|_| bad())?;
    // A line that was cut off is not one.
    let line = line.strip_suffix('\n').ok_or_else(bad)?;
    let (word, number) = line.split_once(' ').unwrap_or((line, ""));
    let channel = match word {
        "alive" => return Ok(Some(Frame::Alive)),
        "gone" => return Ok(Some(Frame::Gone)),
        "ended" if number == "unknown" => return Ok(Some(Frame::EndedUnseen)),
        "ended" => return number.parse().map(|status| Some(Frame::Ended(status))).map_err(|_| bad()),
        "stdout" => RemoteChannel::Out,
        "stderr" => RemoteChannel::Err,
        "progress" => RemoteChannel::Progress,
        _ => return Err(bad()),
    };
    let length = number.parse().ok().filter(|length| *length <= LONGEST_PART).ok_or_else(bad)?;
    let mut part = Vec::new();
    input.by_ref().take(length).read_to_end(&mut part)?;
    match part.len() as u64 == length {
        true => Ok(Some(Frame::Part(channel, part))),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_one_after_the_other() {
        let mut input = &b"stdout 5\na\nb\n\nalive\nstderr 0\nprogress 2\n{}ended 130\ngone\nended unknown\n"[..];
        let mut frames = Vec::new();
        while let Some(frame) = next(&mut input).unwrap() {
            frames.push(frame);
        }
        assert_eq!(
            frames,
            [
                Frame::Part(RemoteChannel::Out, b"a\nb\n\n".into()),
                Frame::Alive,
                Frame::Part(RemoteChannel::Err, Vec::new()),
                Frame::Part(RemoteChannel::Progress, b"{}".into()),
                Frame::Ended(130),
                Frame::Gone,
                Frame::EndedUnseen
            ]
        );
    }

    #[test]
    fn what_is_cut_off_or_strange_is_an_error() {
        for bad in
            ["aliv", "stdout 5\nabc", "stdout -1\n", "stdout 99999999999\n", "ended 256\n", "ended\n", "x\n", "\n"]
        {
            assert!(next(&mut bad.as_bytes()).is_err(), "{bad:?}");
        }
        let long = "x".repeat(1000);
        assert!(next(&mut long.as_bytes()).is_err());
    }
}
