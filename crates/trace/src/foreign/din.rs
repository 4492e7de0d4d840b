//! Dinero's `din` text (Hill and Edler, Dinero IV, "traditional din"): `LABEL ADDRESS` on each line, the label 0 for a
//! read, 1 for a write, 2 for an instruction fetch (or `r`, `w`, `i`), the address hexadecimal. What follows is left out.

use std::io::BufRead;

use crate::error::TraceError;
use crate::foreign::text::{TextLines, hexadecimal};
use crate::foreign::{Events, ForeignEvent};
use crate::record::RecordKind;

/// The format says no sizes; Dinero takes a word of 4 bytes for granted.
const WORD: u32 = 4;

/// Reads `din` text.
pub struct Din {
    lines: TextLines,
}

impl Din {
    /// A reader of that text.
    pub fn new(input: Box<dyn BufRead>) -> Self {
        Self { lines: TextLines::new(input) }
    }
}

impl Events for Din {
    fn next_event(&mut self) -> Result<Option<ForeignEvent>, TraceError> {
        while let Some((line, _)) = self.lines.next()? {
            match parse(line) {
                Some(Some(event)) => return Ok(Some(event)),
                Some(None) => {}
                None => {
                    return Err(self.lines.error("a label (0 read, 1 write, 2 fetch) and a hexadecimal address"));
                }
            }
        }
        Ok(None)
    }
}

pub(super) fn looks_like(line: &[u8]) -> bool {
    parse(line).is_some()
}

/// None for what is no line of a `din`; an inner None for one that is no access: 3 (unknown), 4 (flush), an empty one.
fn parse(line: &[u8]) -> Option<Option<ForeignEvent>> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let Some(label) = words.next() else { return Some(None) };
    let address = hexadecimal(words.next()?)?;
    let access = |kind| Some(Some(ForeignEvent::Access { kind, address, bytes: WORD }));
    match label {
        b"0" | b"r" => access(RecordKind::Load),
        b"1" | b"w" => access(RecordKind::Store),
        b"2" | b"i" => Some(Some(ForeignEvent::Instruction { address, bytes: WORD })),
        b"3" | b"4" => Some(None),
        _ => None,
    }
}
