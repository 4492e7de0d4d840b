//! The text of valgrind's lackey with `--trace-mem=yes` (valgrind manual, chapter 16): `I  ADDRESS,BYTES` for an
//! instruction, ` L`, ` S` and ` M` for a load, a store and a modify.

use std::io::BufRead;

use crate::error::TraceError;
use crate::foreign::text::{TextLines, hexadecimal, size};
use crate::foreign::{Events, ForeignEvent, MOST_ACCESS_BYTES};
use crate::record::RecordKind;

/// Reads lackey's text. Lines of valgrind itself (`==1234== ...`) are left out, a last line that was cut off too.
pub struct Lackey {
    lines: TextLines,
}

impl Lackey {
    /// A reader of that text.
    pub fn new(input: Box<dyn BufRead>) -> Self {
        Self { lines: TextLines::new(input) }
    }
}

const EXPECTED: &str = "`I  ADDRESS,BYTES` or ` L`, ` S`, ` M` with the same, the address hexadecimal, 1 to 4096 bytes";

impl Events for Lackey {
    fn next_event(&mut self) -> Result<Option<ForeignEvent>, TraceError> {
        while let Some((line, whole)) = self.lines.next()? {
            if is_valgrinds(line) || line.is_empty() {
                continue;
            }
            match event(line) {
                Some(event) => return Ok(Some(event)),
                None if !whole => return Ok(None),
                None => return Err(self.lines.error(EXPECTED)),
            }
        }
        Ok(None)
    }
}

/// What valgrind says itself: `==PID== ...` and `--PID-- ...`.
fn is_valgrinds(line: &[u8]) -> bool {
    line.starts_with(b"==") || line.starts_with(b"--")
}

pub(super) fn looks_like(line: &[u8]) -> bool {
    is_valgrinds(line) || event(line).is_some()
}

fn event(line: &[u8]) -> Option<ForeignEvent> {
    let (head, place) = line.split_at_checked(3)?;
    let comma = place.iter().position(|byte| *byte == b',')?;
    let address = hexadecimal(&place[..comma])?;
    let bytes = size(&place[comma + 1..], MOST_ACCESS_BYTES)?;
    let kind = match head {
        b"I  " => return Some(ForeignEvent::Instruction { address, bytes }),
        b" L " => RecordKind::Load,
        b" S " => RecordKind::Store,
        b" M " => RecordKind::Modify,
        _ => return None,
    };
    Some(ForeignEvent::Access { kind, address, bytes })
}
