//! Functions of a program that runs under a recorder: seen by the addresses of its instructions.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use waykeeper_linux::events::Function;
use waykeeper_markers::{Mark, Pairs};
use waykeeper_trace::RecordKind;
use waykeeper_trace::foreign::{EventUse, ForeignEvent};
use waykeeper_trace::recording::RecordingWatch;
use waykeeper_trace::{RecordedPass, RecordedPasses};

/// A call: where it returns to, and where on the stack that address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Call {
    returns_to: u64,
    stack: u64,
}

/// Follows calls and returns of x86-64: a call stores the address of the next instruction, a return loads it from there. Calls
/// of several threads are followed as those of one, which loses some where threads take turns within them.
#[derive(Debug, Default)]
struct Calls {
    /// The instruction in progress: its address and its end.
    now: (u64, u64),
    /// Its last store and load of 8 bytes.
    stored: Option<u64>,
    loaded: Option<u64>,
    /// Calls that have not returned, the last one last.
    open: Vec<Call>,
}

/// Calls that are open at the same time, at most: a deep recursion keeps its last ones.
const MOST_OPEN: usize = 4096;

impl Calls {
    /// An instruction begins. The call that has returned here, if one has.
    fn instruction(&mut self, address: u64, bytes: u32) -> Option<Call> {
        let is_jump = address != self.now.1;
        let (stored, loaded) = (self.stored.take().filter(|_| is_jump), self.loaded.take().filter(|_| is_jump));
        let returns_to = std::mem::replace(&mut self.now, (address, address.wrapping_add(bytes.into()))).1;
        if let Some(stack) = stored {
            // The stack grows downwards: calls below this one have ended without a return, as by longjmp.
            let dead = self.open.iter().rev().take_while(|open| open.stack <= stack).count();
            self.open.truncate(self.open.len() - dead);
            if self.open.len() == MOST_OPEN {
                self.open.drain(..MOST_OPEN / 2);
            }
            self.open.push(Call { returns_to, stack });
        }
        let returned = Call { returns_to: address, stack: loaded? };
        let depth = self.open.iter().rposition(|open| *open == returned)?;
        self.open.truncate(depth);
        Some(returned)
    }

    fn access(&mut self, kind: RecordKind, address: u64, bytes: u32) {
        match kind {
            RecordKind::Store if bytes == 8 => self.stored = Some(address),
            RecordKind::Load if bytes == 8 => self.loaded = Some(address),
            _ => {}
        }
    }
}

/// Code is loaded in pages of at least so many bytes.
const PAGE_BYTES: u64 = 4096;

/// Two functions of a recorded program.
#[derive(Debug)]
pub struct FunctionWatch {
    functions: [Function; 2],
    called: String,
    only_passes: Option<usize>,
    process: u32,
    /// Where they lie in the program's memory; none before the library of one is loaded.
    at: [Option<u64>; 2],
    /// The page of the instruction before.
    page: u64,
    /// Pages of instructions that were seen while a library was not loaded.
    seen: HashSet<u64>,
    calls: Calls,
    /// Calls of the second function that have not returned.
    open: Vec<Call>,
    pairs: Pairs,
    marks: u32,
    passes: Vec<RecordedPass>,
}

impl FunctionWatch {
    /// Passes from the entry of one function to the return of another.
    ///
    /// # Errors
    /// Another architecture, where a return is not seen in a recording.
    pub fn new(begin: Function, end: Function, called: String, only_passes: Option<usize>) -> Result<Self, String> {
        if !cfg!(target_arch = "x86_64") {
            return Err("functions are seen in recordings of x86-64 programs only; expected markers".into());
        }
        Ok(Self {
            functions: [begin, end],
            called,
            only_passes,
            process: 0,
            at: [None; 2],
            page: 0,
            seen: HashSet::new(),
            calls: Calls::default(),
            open: Vec::new(),
            pairs: Pairs::default(),
            marks: 0,
            passes: Vec::new(),
        })
    }

    /// What a user would want to know of the functions.
    pub fn remarks(&self) -> Vec<String> {
        let unpaired = self.pairs.unpaired();
        let counted = [
            (unpaired.begins, "entries of the first function before the second one returned"),
            (unpaired.ends, "returns without an entry before"),
        ];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        let mut remarks: Vec<String> = counted.map(|(count, what)| format!("{count} {what}")).collect();
        let missing = self.at.iter().zip(&self.functions).filter(|(at, _)| at.is_none());
        remarks.extend(missing.map(|(_, function)| format!("{} was not loaded", function.file.display())));
        remarks.dedup();
        remarks
    }

    fn mark(&mut self, begins: bool, records: u64) {
        let mark = Mark { thread: 0, phase: 0, begins, at: records, sequence: self.marks };
        self.marks = self.marks.wrapping_add(1);
        if let Some(pass) = self.pairs.take(mark) {
            self.passes.push(RecordedPass { first: pass.start, end: pass.end, phase: 0 });
        }
    }

    fn is_enough(&self) -> bool {
        self.only_passes.is_some_and(|most| self.passes.len() >= most)
    }

    /// Looks for the functions that are not found yet.
    fn locate(&mut self) {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.process)).unwrap_or_default();
        for (at, function) in self.at.iter_mut().zip(&self.functions) {
            *at = at.or_else(|| address_of(&maps, &function.file, function.offset));
        }
    }

    /// A library was loaded before its code runs, and nothing of it can have been seen on a page that was seen before.
    fn locate_where_new(&mut self, address: u64) {
        let page = address / PAGE_BYTES;
        if page != std::mem::replace(&mut self.page, page) && self.at.contains(&None) && self.seen.insert(page) {
            self.locate();
        }
    }

    fn instruction(&mut self, address: u64, bytes: u32, records: u64) {
        self.locate_where_new(address);
        let returned = self.calls.instruction(address, bytes);
        if let Some(depth) = returned.and_then(|call| self.open.iter().rposition(|open| *open == call)) {
            self.open.truncate(depth);
            self.mark(false, records);
        }
        if self.at[0] == Some(address) {
            self.mark(true, records);
        }
        if self.at[1] == Some(address) {
            // A function that is reached by a jump returns for the one that was called.
            self.open.extend(self.calls.open.last());
        }
    }
}

impl RecordingWatch for FunctionWatch {
    fn prepare(&mut self, _: &mut Command) {}

    fn started(&mut self, process: u32) -> Result<(), String> {
        self.process = process;
        self.locate();
        Ok(())
    }

    fn sees(&mut self, event: &ForeignEvent, records: u64) -> Result<EventUse, String> {
        match *event {
            ForeignEvent::Instruction { address, bytes } => self.instruction(address, bytes, records),
            ForeignEvent::Access { kind, address, bytes } => self.calls.access(kind, address, bytes),
        }
        let begun = self.marks > 0 || self.only_passes.is_none();
        Ok(match begun {
            _ if self.is_enough() => EventUse::End,
            true => EventUse::Record,
            false => EventUse::LeaveOut,
        })
    }

    fn finish(&mut self) -> RecordedPasses {
        let mut passes = RecordedPasses::new(std::mem::take(&mut self.passes));
        passes.names.insert(0, self.called.clone());
        passes
    }
}

/// Where a byte of a file lies in a process, by its list of mappings (`/proc/PID/maps`).
fn address_of(maps: &str, file: &Path, offset: u64) -> Option<u64> {
    let file = std::fs::canonicalize(file).ok()?;
    maps.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (range, access, from) = (fields.next()?, fields.next()?, fields.next()?);
        let path = fields.nth(2)?;
        let (first, end) = range.split_once('-')?;
        let [first, end, from] = [first, end, from].map(|number| u64::from_str_radix(number, 16).ok());
        let (first, end, from) = (first?, end?, from?);
        let within = offset.checked_sub(from).filter(|within| *within < end - first)?;
        (access.contains('x') && line.ends_with(file.to_str()?) && path.starts_with('/')).then_some(first + within)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_lies_in_the_mapping_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a program");
        std::fs::write(&file, "").unwrap();
        let shown = file.display();
        let maps = format!(
            "00108000-00109000 r--p 00000000 fe:00 12 {shown}\n00109000-0010b000 r-xp 00001000 fe:00 12 {shown}\n\
             0010b000-0010c000 r-xp 00001000 fe:00 13 /lib/libc.so.6\n"
        );
        assert_eq!(address_of(&maps, &file, 0x1040), Some(0x10_9040));
        // The first mapping holds no code, and none goes on to here.
        assert_eq!((address_of(&maps, &file, 0x40), address_of(&maps, &file, 0x3000)), (None, None));
    }

    /// A pass is what lies between the entry of the function and the instruction after its call, whatever is called in
    /// between.
    #[test]
    fn a_return_belongs_to_its_own_call() {
        let function = |offset| Function { file: "x".into(), offset };
        let mut watch = FunctionWatch::new(function(0), function(0), "f".into(), None).unwrap();
        watch.at = [Some(0x500); 2];
        let mut records = 0;
        let mut see = |event| {
            watch.sees(&event, records).unwrap();
            records += u64::from(matches!(event, ForeignEvent::Access { .. }));
        };
        let instruction = |address, bytes| ForeignEvent::Instruction { address, bytes };
        let access = |kind, address| ForeignEvent::Access { kind, address, bytes: 8 };
        for event in [
            // Calls f at 0x500, through a stub.
            instruction(0x100, 5),
            access(RecordKind::Store, 0xff8),
            instruction(0x400, 6),
            access(RecordKind::Load, 0x3000),
            instruction(0x500, 4),
            access(RecordKind::Load, 0x4000),
            // f calls another function, which returns.
            instruction(0x504, 5),
            access(RecordKind::Store, 0xff0),
            instruction(0x600, 1),
            access(RecordKind::Load, 0xff0),
            instruction(0x509, 1),
            access(RecordKind::Load, 0xff8),
            instruction(0x105, 3),
        ] {
            see(event);
        }
        // Before the entry: the call's store and the stub's load.
        assert_eq!(watch.passes, [RecordedPass { first: 2, end: 6, phase: 0 }]);
        assert!(watch.remarks().is_empty());
    }
}
