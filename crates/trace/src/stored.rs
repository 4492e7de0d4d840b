//! A whole trace in memory, as compressed as in its file, and any number of readers that go through it.

use std::fmt;
use std::fs::File;
use std::io::{Cursor as Bytes, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use crate::error::TraceError;
use crate::foreign::{self, Format};
use crate::header::TraceHeader;
use crate::marked::RecordedPasses;
use crate::pages::PageMap;
use crate::read::{Reader, has_accesses};
use crate::record::Record;
use crate::write::Writer;

/// A trace in memory.
#[derive(Clone)]
pub struct StoredTrace {
    format: Format,
    bytes: Arc<[u8]>,
    header: TraceHeader,
    data: PageMap,
    code: PageMap,
    passes: Arc<RecordedPasses>,
}

impl StoredTrace {
    /// Reads a file of any known format; a foreign one is converted, with its instruction fetches where it has them. The
    /// whole file is checked, so that nothing is wrong with it later.
    ///
    /// # Errors
    /// A file that cannot be read, is damaged, or holds no access.
    pub fn load(path: &Path) -> Result<Self, TraceError> {
        // Before it is opened: a pipe would wait for a writer.
        if !std::fs::metadata(path)?.is_file() {
            return Err(TraceError::Unknown("it is no regular file".into()));
        }
        let mut file = File::open(path)?;
        let mut begin = Vec::new();
        (&mut file).take(8).read_to_end(&mut begin)?;
        file.seek(SeekFrom::Start(0))?;
        if begin == crate::header::MAGIC {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            return Self::from_bytes(bytes);
        }
        let (format, mut events) = foreign::events(foreign::decompressed(file)?)?;
        let mut writer = Writer::new(Bytes::new(Vec::new()), &path.display().to_string(), true)?;
        foreign::convert(events.as_mut(), true, &mut writer, |_| true)?;
        Ok(Self { format, ..Self::from_bytes(writer.finish()?.0.into_inner())? })
    }

    /// A trace from the content of a file in Waykeeper's format.
    ///
    /// # Errors
    /// As for [`StoredTrace::load`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, TraceError> {
        let bytes: Arc<[u8]> = bytes.into();
        let mut reader = Reader::new(Bytes::new(Arc::clone(&bytes)))?;
        let mut block = Vec::new();
        while reader.next_block(&mut block)? {}
        if !has_accesses(reader.header()) {
            return Err(TraceError::Empty);
        }
        let (header, data, code) = (reader.header().clone(), reader.data_pages().clone(), reader.code_pages().clone());
        let passes = Arc::new(reader.recorded_passes().clone());
        Ok(Self { format: Format::Waykeeper, bytes, header, data, code, passes })
    }

    /// The format of the file that it was read from.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What it holds.
    pub fn header(&self) -> &TraceHeader {
        &self.header
    }

    /// The pages of its data.
    pub fn data_pages(&self) -> &PageMap {
        &self.data
    }

    /// The pages of its instruction fetches.
    pub fn code_pages(&self) -> &PageMap {
        &self.code
    }

    /// Where its passes begin and end; empty where that was not recorded.
    pub fn recorded_passes(&self) -> &RecordedPasses {
        &self.passes
    }

    /// Bytes that it takes in memory.
    pub fn stored_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// A reader that goes through the trace again and again.
    pub fn passes(&self) -> TracePasses {
        TracePasses { trace: self.clone(), reader: None, blocks: 0, only: None }
    }
}

impl fmt::Debug for StoredTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredTrace").field("header", &self.header).field("stored_bytes", &self.bytes.len()).finish()
    }
}

/// Goes through a trace again and again, block by block.
pub struct TracePasses {
    trace: StoredTrace,
    reader: Option<Reader<Bytes<Arc<[u8]>>>>,
    /// Blocks read in this pass.
    blocks: u64,
    /// The records of a trace that has one block: to open it anew for each pass takes longer than a short pass does.
    only: Option<Arc<[Record]>>,
}

impl TracePasses {
    /// Puts the next records in place of what `records` holds; none at the end of a pass, after which the next one
    /// begins.
    pub fn next_block(&mut self, records: &mut Vec<Record>) {
        if let Some(only) = &self.only {
            records.clear();
            if self.blocks == 0 {
                records.extend_from_slice(only);
            }
            self.blocks = 1 - self.blocks;
            return;
        }
        let read = match self.reader() {
            Some(reader) => reader.next_block(records).unwrap_or(false),
            None => false,
        };
        self.blocks += 1;
        if !read {
            records.clear();
            self.reader = None;
            self.blocks = 0;
        } else if records.len() as u64 == self.trace.header.total() {
            self.only = Some(records.as_slice().into());
            self.reader = None;
        }
    }

    /// Whatever could fail was tried when the trace was loaded, and its bytes are the same since.
    fn reader(&mut self) -> Option<&mut Reader<Bytes<Arc<[u8]>>>> {
        if self.reader.is_none() {
            let mut reader = Reader::new(Bytes::new(Arc::clone(&self.trace.bytes))).ok()?;
            let mut skipped = Vec::new();
            for _ in 0..self.blocks {
                reader.next_block(&mut skipped).ok()?;
            }
            self.reader = Some(reader);
        }
        self.reader.as_mut()
    }
}

/// The copy stands where the original does.
impl Clone for TracePasses {
    fn clone(&self) -> Self {
        Self { trace: self.trace.clone(), reader: None, blocks: self.blocks, only: self.only.clone() }
    }
}

impl fmt::Debug for TracePasses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracePasses").field("trace", &self.trace).field("blocks", &self.blocks).finish()
    }
}
