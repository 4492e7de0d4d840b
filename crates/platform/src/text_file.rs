//! Files of text that people write.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// The longest file that is read: hundreds of times as long as any that a person writes.
const MOST_BYTES: u64 = 16 << 20;

/// Folders whose pipes are open already: standard input, and what a shell makes of `<(...)`.
const OPEN_ALREADY: [&str; 3] = ["/dev/fd", "/dev/stdin", "/proc"];

/// The text of a regular file, or of a pipe that is open already.
///
/// # Errors
/// What cannot be read, is a device, a socket or a named pipe (whose writer may never come), is no text, or is longer than 16 MiB.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref();
    let mut text = Vec::new();
    let kind = std::fs::metadata(path)?.file_type();
    if !(kind.is_file() || kind.is_dir() || OPEN_ALREADY.iter().any(|open| path.starts_with(open))) {
        let found = match kind {
            kind if kind.is_fifo() => "a named pipe",
            kind if kind.is_socket() => "a socket",
            _ => "a device",
        };
        let why = format!("it is {found}; expected a regular file, `/dev/stdin` or a shell's `<(...)`");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        let why = format!("it is longer than {} MiB, and so no file that somebody wrote", MOST_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    String::from_utf8(text).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + 1;
        io::Error::new(io::ErrorKind::InvalidData, format!("it is no text: byte {at} is not UTF-8"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused() {
        let error = read_text("/dev/zero").unwrap_err();
        assert!(error.to_string().contains("it is a device; expected a regular file"), "{error}");
        // Through a descriptor it may be anything, and ends all the same.
        let zero = File::open("/dev/zero").unwrap();
        let error = read_text(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&zero))).unwrap_err();
        assert!(error.to_string().contains("longer than 16 MiB"), "{error}");
    }
}
