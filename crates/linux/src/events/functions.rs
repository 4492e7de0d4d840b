//! Entry of one function and return of another, by uprobes.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;

use perf_event::Builder;
use perf_event::events::Software;

use super::stream::{EventStream, Sample};
use super::{BoundaryEvent, Function};

/// Open uprobes.
pub struct Functions(EventStream);

impl Functions {
    /// Opens them on a core: at the entry of `begin` and at the return of `end`.
    ///
    /// # Errors
    /// What the kernel refuses: no uprobes, no permission, a file system without them.
    pub fn open(begin: &Function, end: &Function, core: u32) -> io::Result<Self> {
        let mut stream = EventStream::new();
        for (function, returns) in [(begin, false), (end, true)] {
            let file = CString::new(function.file.as_os_str().as_bytes())?;
            let mut builder = Builder::new(Software::DUMMY);
            let attributes = builder.attrs_mut();
            attributes.type_ = kind()?;
            attributes.config = u64::from(returns);
            // The kernel copies the path while the event is opened.
            attributes.kprobe_func = file.as_ptr() as u64;
            attributes.probe_offset = function.offset;
            stream.open(builder, core)?;
        }
        Ok(Self(stream))
    }

    /// Takes what has happened so far, in the order of time.
    pub fn drain(&mut self, mut each: impl FnMut(BoundaryEvent)) {
        self.0.drain(|sample| {
            let Sample { source, thread, process, at_ns } = sample;
            each(BoundaryEvent { thread, process, begins: source == 0, at_ns });
        });
    }

    /// Events that found a buffer full.
    pub fn lost(&self) -> u64 {
        self.0.lost()
    }
}

/// The number of the kernel's uprobes among the kinds of perf events. Bit 0 of `config` asks for the return
/// (`/sys/bus/event_source/devices/uprobe/format/retprobe`).
fn kind() -> io::Result<u32> {
    let text = std::fs::read_to_string("/sys/bus/event_source/devices/uprobe/type")?;
    text.trim().parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the kind of uprobes is no number"))
}
