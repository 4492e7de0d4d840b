//! A program's accesses into a file, reported by its own source.

use std::io::{Seek, Write};

use waykeeper_programs::{Probe, Spec, WholeProgram};
use waykeeper_trace::{Record, RecordKind, TraceError, Writer};

/// Writes one pass of a program, access by access: words of 4 bytes at their places in the program's memory. Ends before,
/// where `go_on`, asked after each access with their number, says no.
///
/// # Errors
/// What cannot be written.
pub fn record_program<W: Write + Seek>(
    spec: Spec,
    writer: &mut Writer<W>,
    go_on: impl FnMut(u64) -> bool,
) -> Result<(), TraceError> {
    let mut program = WholeProgram::new(spec);
    let mut memory = vec![0; program.words()];
    program.lay_out(&mut memory);
    let mut recorder = Recorder { writer, go_on, gap: 0, ended: Ok(true) };
    while !program.step(&mut memory, &mut recorder) && matches!(recorder.ended, Ok(true)) {}
    recorder.ended.map(|_| ())
}

struct Recorder<'w, W: Write + Seek, G> {
    writer: &'w mut Writer<W>,
    go_on: G,
    gap: u64,
    /// Whether more is wanted.
    ended: Result<bool, TraceError>,
}

impl<W: Write + Seek, G: FnMut(u64) -> bool> Recorder<'_, W, G> {
    fn record(&mut self, kind: RecordKind, word: usize, dependent: bool) {
        if !matches!(self.ended, Ok(true)) {
            return;
        }
        let gap = std::mem::take(&mut self.gap);
        let record = Record { address: 4 * word as u64, gap, bytes: 4, kind, dependent };
        self.ended = self.writer.push(&record).map(|()| (self.go_on)(self.writer.accesses()));
    }
}

impl<W: Write + Seek, G: FnMut(u64) -> bool> Probe for Recorder<'_, W, G> {
    fn load(&mut self, word: usize) {
        self.record(RecordKind::Load, word, false);
    }
    fn follow(&mut self, word: usize) {
        self.record(RecordKind::Load, word, true);
    }
    fn store(&mut self, word: usize) {
        self.record(RecordKind::Store, word, false);
    }
    fn compute(&mut self, instructions: u32) {
        self.gap += u64::from(instructions);
    }
}
