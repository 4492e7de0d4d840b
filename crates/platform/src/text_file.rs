//! Files of text that people write.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The longest file that is read: hundreds of times as long as any that a person writes.
const MOST_BYTES: u64 = 16 << 20;

/// The text of a file, or of a pipe. What has no end (`/dev/zero`) is not read for ever.
///
/// # Errors
/// What cannot be read, is no text, or is longer than 16 MiB.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = Vec::new();
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
        assert!(error.to_string().contains("longer than 16 MiB"), "{error}");
    }
}
