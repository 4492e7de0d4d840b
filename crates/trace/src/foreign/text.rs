//! Lines and hexadecimal numbers.

use std::io::BufRead;

use crate::error::TraceError;

/// A line of any trace is far shorter.
const MOST_LINE: u64 = 4096;

/// Lines of a text, without their ends.
pub struct TextLines {
    input: Box<dyn BufRead>,
    line: Vec<u8>,
    /// The number of the line read last, from 1.
    pub number: u64,
}

impl TextLines {
    /// The lines of a text.
    pub fn new(input: Box<dyn BufRead>) -> Self {
        Self { input, line: Vec::new(), number: 0 }
    }

    /// The next line, and whether it is whole: the last one may have been cut off.
    pub fn next(&mut self) -> Result<Option<(&[u8], bool)>, TraceError> {
        self.line.clear();
        std::io::Read::take(&mut self.input, MOST_LINE).read_until(b'\n', &mut self.line)?;
        if self.line.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        let whole = self.line.ends_with(b"\n");
        Ok(Some((self.line.trim_ascii_end(), whole)))
    }

    /// An error about the line read last.
    pub fn error(&self, expected: &'static str) -> TraceError {
        let found =
            String::from_utf8_lossy(&self.line[..self.line.len().min(60)]).trim_end().escape_debug().to_string();
        TraceError::Line { line: self.number, found, expected }
    }
}

/// A hexadecimal number of up to 64 bits, with or without `0x`.
pub fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0, |value, digit| Some(value << 4 | u64::from(char::from(*digit).to_digit(16)?)))
}

/// A decimal number of 1 to `most`.
pub fn size(text: &[u8], most: u32) -> Option<u32> {
    let number: u32 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (1..=most).contains(&number).then_some(number)
}
