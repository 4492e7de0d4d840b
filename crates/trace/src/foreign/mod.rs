//! Traces of other programs.

mod assemble;
mod champsim;
mod din;
mod lackey;
mod text;

use std::io::{BufRead, BufReader, Read, Seek, Write};

pub use assemble::{Assembler, CODE_BLOCK};
pub use champsim::ChampSim;
pub use din::Din;
pub use lackey::Lackey;

use crate::error::TraceError;
use crate::record::RecordKind;
use crate::write::Writer;

/// An access of this many bytes is the widest that any machine makes in one piece, with room to spare.
pub const MOST_ACCESS_BYTES: u32 = 4096;

/// What a foreign trace holds, one thing after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignEvent {
    /// An instruction begins; its accesses follow.
    Instruction {
        /// Its address.
        address: u64,
        /// Its length in bytes.
        bytes: u32,
    },
    /// A data access.
    Access {
        /// What it does; never a fetch.
        kind: RecordKind,
        /// Its address.
        address: u64,
        /// Bytes touched.
        bytes: u32,
    },
}

/// A reader of a foreign format.
pub trait Events {
    /// The next event; None at the end.
    ///
    /// # Errors
    /// What cannot be read, with its place.
    fn next_event(&mut self) -> Result<Option<ForeignEvent>, TraceError>;
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Waykeeper's own.
    Waykeeper,
    /// The text of valgrind's lackey with `--trace-mem=yes`.
    Lackey,
    /// Dinero's `din` text.
    Din,
    /// ChampSim's records of 64 bytes, or CloudSuite's of 96.
    ChampSim,
}

/// A file's content, decompressed where it is gz or xz. (Waykeeper's own format compresses by itself.)
pub fn decompressed(input: impl Read + 'static) -> Result<Box<dyn BufRead>, TraceError> {
    let mut input = BufReader::with_capacity(1 << 18, input);
    let begin = input.fill_buf()?;
    Ok(match begin {
        [0x1f, 0x8b, ..] => Box::new(BufReader::with_capacity(1 << 18, flate2::bufread::MultiGzDecoder::new(input))),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            Box::new(BufReader::with_capacity(1 << 18, liblzma::bufread::XzDecoder::new_multi_decoder(input)))
        }
        _ => Box::new(input),
    })
}

/// What a content is, recognised by its beginning.
///
/// # Errors
/// A content that is none of the known ones.
pub fn format_of(begin: &[u8]) -> Result<Format, TraceError> {
    if begin.starts_with(&crate::header::MAGIC) {
        return Ok(Format::Waykeeper);
    }
    if begin.is_empty() {
        return Err(TraceError::Unknown("it is empty".into()));
    }
    let is_text = begin.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'));
    if is_text {
        // Not the last line, which may be cut off.
        let lines = begin.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        for line in lines.filter(|line| !line.is_empty()) {
            if lackey::looks_like(line) {
                return Ok(Format::Lackey);
            }
            if din::looks_like(line) {
                return Ok(Format::Din);
            }
        }
        return Err(TraceError::Unknown("it is a text, but neither lackey's nor Dinero's".into()));
    }
    match champsim::looks_like(begin) {
        true => Ok(Format::ChampSim),
        false => Err(TraceError::Unknown("its beginning is that of no known format".into())),
    }
}

/// A reader for a foreign content.
///
/// # Errors
/// A content that is none of the known foreign ones.
pub fn events(mut input: Box<dyn BufRead>) -> Result<(Format, Box<dyn Events>), TraceError> {
    let format = format_of(input.fill_buf()?)?;
    let events: Box<dyn Events> = match format {
        Format::Lackey => Box::new(Lackey::new(input)),
        Format::Din => Box::new(Din::new(input)),
        Format::ChampSim => Box::new(ChampSim::new(input)?),
        Format::Waykeeper => {
            return Err(TraceError::Unknown(
                "a trace of Waykeeper's within another compression: unpack it first".into(),
            ));
        }
    };
    Ok((format, events))
}

/// Writes foreign events as records until their end, or until `go_on`, asked after each access with the number of them,
/// says no.
///
/// # Errors
/// What cannot be read or written.
pub fn convert<W: Write + Seek>(
    events: &mut dyn Events,
    fetches: bool,
    writer: &mut Writer<W>,
    mut go_on: impl FnMut(u64) -> bool,
) -> Result<(), TraceError> {
    convert_wanted(events, fetches, writer, |_, _| Ok(EventUse::Record), &mut go_on)
}

/// What becomes of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventUse {
    /// It is recorded.
    Record,
    /// It is left out.
    LeaveOut,
    /// Neither it nor any after it is recorded.
    End,
}

/// As [`convert`], of the events that `wanted` takes; it is asked for each, with the number of records so far.
///
/// # Errors
/// What cannot be read or written, and what `wanted` reports.
pub fn convert_wanted<W: Write + Seek>(
    events: &mut dyn Events,
    fetches: bool,
    writer: &mut Writer<W>,
    mut wanted: impl FnMut(&ForeignEvent, u64) -> Result<EventUse, TraceError>,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<(), TraceError> {
    let mut assembler = Assembler::new(fetches);
    let mut instructions = 0;
    while let Some(event) = events.next_event()? {
        match wanted(&event, writer.records())? {
            EventUse::Record => {}
            EventUse::LeaveOut => continue,
            EventUse::End => break,
        }
        match event {
            ForeignEvent::Instruction { address, bytes } => {
                instructions += 1;
                if let Some(record) = assembler.instruction(address, bytes) {
                    writer.push(&record)?;
                }
            }
            ForeignEvent::Access { kind, address, bytes } => {
                writer.push(&assembler.access(kind, address, bytes))?;
                if !go_on(writer.accesses()) {
                    break;
                }
            }
        }
    }
    // Data alone (Dinero's without fetches) has no instructions to count.
    if instructions > 0 {
        writer.set_instructions(instructions);
    }
    Ok(())
}
