//! The steps of a trace, pass after pass.

use waykeeper_programs::{Probe, Program};
use waykeeper_trace::{Kind, Passes, Record, Trace};

use super::lines::{Lines, What};
use super::predictor::Predictor;
use super::{TraceSource, load};
use crate::stream::Step;

/// Steps are made at least so many at a time; a step of a program, or a block of a file, may make more.
const BLOCK: usize = 4096;

/// Goes through a program or a file again and again.
#[derive(Debug, Clone)]
pub struct Replay {
    source: Source,
    lines: Lines,
    block: Vec<Step>,
    at: usize,
}

#[derive(Debug, Clone)]
enum Source {
    /// Nothing was asked for yet: many streams are made only to see whether they could be.
    NotBegun(TraceSource),
    Program(Box<Program>, Vec<u32>, Predictor),
    File(Box<File>),
    /// The file is gone since the workload was resolved.
    Gone,
}

#[derive(Debug, Clone)]
struct File {
    trace: Trace,
    passes: Passes,
    records: Vec<Record>,
    begins: bool,
}

impl Replay {
    /// The steps of `source` as a machine with such lines sees them.
    pub fn new(source: &TraceSource, line_bytes: u64) -> Self {
        Self { source: Source::NotBegun(source.clone()), lines: Lines::new(line_bytes), block: Vec::new(), at: 0 }
    }

    /// The next step; None only where a file is gone.
    #[inline]
    pub fn next_step(&mut self) -> Option<Step> {
        if self.at == self.block.len() {
            self.refill();
        }
        let step = self.block.get(self.at).copied();
        self.at += 1;
        step
    }

    #[cold]
    fn refill(&mut self) {
        self.block.clear();
        self.at = 0;
        if let Source::NotBegun(source) = &self.source {
            self.source = begin(source);
            if matches!(self.source, Source::Program(..)) {
                self.lines.mark(Step::Start, &mut self.block);
            }
        }
        while self.block.len() < BLOCK {
            match &mut self.source {
                Source::Program(program, memory, predictor) => {
                    let mut probe = Telling { lines: &mut self.lines, predictor, out: &mut self.block };
                    if program.step(memory, &mut probe) {
                        self.lines.mark(Step::End, &mut self.block);
                        self.lines.mark(Step::Start, &mut self.block);
                    }
                }
                Source::File(file) => file.next_block(&mut self.lines, &mut self.block),
                Source::NotBegun(_) | Source::Gone => return,
            }
        }
    }
}

fn begin(source: &TraceSource) -> Source {
    match source {
        TraceSource::Program(spec) => {
            let program = Program::new(*spec);
            let mut memory = vec![0; program.words()];
            program.lay_out(&mut memory);
            Source::Program(Box::new(program), memory, Predictor::new())
        }
        TraceSource::File(path) => match load(path) {
            Ok(trace) => {
                let passes = trace.passes();
                Source::File(Box::new(File { trace, passes, records: Vec::new(), begins: true }))
            }
            Err(_) => Source::Gone,
        },
    }
}

impl File {
    fn next_block(&mut self, lines: &mut Lines, out: &mut Vec<Step>) {
        if std::mem::take(&mut self.begins) {
            lines.mark(Step::Start, out);
        }
        self.passes.next_block(&mut self.records);
        for record in &self.records {
            lines.compute(record.gap);
            let (what, pages) = match record.kind {
                Kind::Load if record.dependent => (What::Follow, self.trace.data_pages()),
                Kind::Load => (What::Read, self.trace.data_pages()),
                Kind::Store => (What::Write, self.trace.data_pages()),
                Kind::Modify => (What::Modify, self.trace.data_pages()),
                Kind::Fetch => (What::Fetch, self.trace.code_pages()),
            };
            lines.span(what, pages.offset(record.address), record.bytes, out);
        }
        if self.records.is_empty() {
            lines.mark(Step::End, out);
            self.begins = true;
        }
    }
}

/// Tells a program's accesses to the lines.
struct Telling<'a> {
    lines: &'a mut Lines,
    predictor: &'a mut Predictor,
    out: &'a mut Vec<Step>,
}

impl Probe for Telling<'_> {
    #[inline]
    fn load(&mut self, word: usize) {
        self.lines.access(What::Read, 4 * word as u64, self.out);
    }
    #[inline]
    fn follow(&mut self, word: usize) {
        self.lines.access(What::Follow, 4 * word as u64, self.out);
    }
    #[inline]
    fn store(&mut self, word: usize) {
        self.lines.access(What::Write, 4 * word as u64, self.out);
    }
    #[inline]
    fn load_run(&mut self, word: usize, words: usize) {
        self.lines.run(What::Read, 4 * word as u64, 4 * words as u64, 4, self.out);
    }
    #[inline]
    fn store_run(&mut self, word: usize, words: usize) {
        self.lines.run(What::Write, 4 * word as u64, 4 * words as u64, 4, self.out);
    }
    #[inline]
    fn compute(&mut self, instructions: u32) {
        self.lines.compute(instructions.into());
    }
    #[inline]
    fn branch(&mut self, place: u32, taken: bool) {
        if !self.predictor.foresees(place, taken) {
            self.lines.mispredicted(self.out);
        }
    }
}
