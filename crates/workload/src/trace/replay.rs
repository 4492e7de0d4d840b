//! The steps of a trace, pass after pass.

use waykeeper_programs::{Probe, WholeProgram};
use waykeeper_trace::{Record, RecordKind, RecordedPass, StoredTrace, TracePasses};

use super::lines::{LineAccess, Lines};
use super::predictor::Predictor;
use super::{TraceSource, load};
use crate::stream::WorkloadStep;

/// Steps are made at least so many at a time; a step of a program, or a block of a file, may make more.
const BLOCK: usize = 4096;

/// Goes through a program or a file again and again.
#[derive(Debug, Clone)]
pub struct Replay {
    source: Source,
    passes: ReplayedPasses,
    lines: Lines,
    block: Vec<WorkloadStep>,
    at: usize,
}

/// Which passes of a recording are the samples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ReplayedPasses {
    /// Their phase; the whole recording is one pass where absent.
    pub phase: Option<u32>,
    /// Nanoseconds from one beginning to the next; without pauses where absent.
    pub period_ns: Option<f64>,
}

#[derive(Debug, Clone)]
enum Source {
    /// Nothing was asked for yet: many streams are made only to see whether they could be.
    NotBegun(TraceSource),
    Program(Box<WholeProgram>, Vec<u32>, Predictor),
    File(Box<File>),
    /// The file is gone since the workload was resolved.
    Gone,
}

#[derive(Debug, Clone)]
struct File {
    trace: StoredTrace,
    passes: TracePasses,
    records: Vec<Record>,
    /// The number of the first record among them.
    first: u64,
    /// The samples, one after the other; what lies between them runs too, and what lies before and after them does not.
    samples: Vec<RecordedPass>,
    /// The sample in progress, or the next one.
    next: usize,
    is_within: bool,
    period_ns: Option<f64>,
}

impl Replay {
    /// The steps of `source` as a machine with such lines sees them.
    pub fn new(source: &TraceSource, line_bytes: u64, passes: ReplayedPasses) -> Self {
        Self {
            source: Source::NotBegun(source.clone()),
            passes,
            lines: Lines::new(line_bytes),
            block: Vec::new(),
            at: 0,
        }
    }

    /// The next step; None only where a file is gone.
    #[inline]
    pub fn next_step(&mut self) -> Option<WorkloadStep> {
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
            self.source = begin(source, self.passes);
            if matches!(self.source, Source::Program(..)) {
                self.lines.mark(WorkloadStep::Start, &mut self.block);
            }
        }
        while self.block.len() < BLOCK {
            match &mut self.source {
                Source::Program(program, memory, predictor) => {
                    let mut probe = Telling { lines: &mut self.lines, predictor, out: &mut self.block };
                    if program.step(memory, &mut probe) {
                        self.lines.mark(WorkloadStep::End, &mut self.block);
                        self.lines.mark(WorkloadStep::Start, &mut self.block);
                    }
                }
                Source::File(file) => file.next_block(&mut self.lines, &mut self.block),
                Source::NotBegun(_) | Source::Gone => return,
            }
        }
    }
}

fn begin(source: &TraceSource, passes: ReplayedPasses) -> Source {
    match source {
        TraceSource::Program(spec) => {
            let program = WholeProgram::new(*spec);
            let mut memory = vec![0; program.words()];
            program.lay_out(&mut memory);
            Source::Program(Box::new(program), memory, Predictor::new())
        }
        TraceSource::File(path) => match load(path) {
            Ok(trace) => match File::new(trace, passes) {
                // Another file since the workload was resolved.
                File { samples, .. } if samples.is_empty() => Source::Gone,
                file => Source::File(Box::new(file)),
            },
            Err(_) => Source::Gone,
        },
    }
}

impl File {
    fn new(trace: StoredTrace, of: ReplayedPasses) -> Self {
        let whole = || vec![RecordedPass { first: 0, end: trace.header().total(), phase: 0 }];
        let samples = of.phase.map_or_else(whole, |phase| trace.recorded_passes().of(phase));
        let passes = trace.passes();
        let period_ns = of.period_ns;
        Self { trace, passes, records: Vec::new(), first: 0, samples, next: 0, is_within: false, period_ns }
    }

    /// The steps of the next block; those of the last one end with the last sample, after which the first one comes again.
    fn next_block(&mut self, lines: &mut Lines, out: &mut Vec<WorkloadStep>) {
        self.first += self.records.len() as u64;
        self.passes.next_block(&mut self.records);
        if self.records.is_empty() {
            self.again();
            return;
        }
        let end = self.first + self.records.len() as u64;
        let mut at = self.first;
        while let Some(sample) = self.samples.get(self.next).copied().filter(|sample| sample.first < end) {
            if !self.is_within {
                let between = if self.next == 0 { sample.first } else { at.max(self.first) };
                self.replay(between, sample.first, lines, out);
                begin_sample(self.period_ns, lines, out);
                at = sample.first;
                self.is_within = true;
            }
            let until = sample.end.min(end);
            self.replay(at, until, lines, out);
            at = until;
            if until < sample.end {
                return;
            }
            lines.mark(WorkloadStep::End, out);
            self.is_within = false;
            self.next += 1;
            if self.next == self.samples.len() {
                self.again();
                return;
            }
        }
        if self.next > 0 {
            self.replay(at, end, lines, out);
        }
    }

    /// Goes back to the first record.
    fn again(&mut self) {
        if self.first + self.records.len() as u64 != self.trace.header().total() {
            self.passes = self.trace.passes();
        } else if !self.records.is_empty() {
            // The end, after which the records come again.
            self.passes.next_block(&mut self.records);
        }
        self.records.clear();
        (self.first, self.next, self.is_within) = (0, 0, false);
    }

    /// The steps of some records of the block.
    fn replay(&self, from: u64, until: u64, lines: &mut Lines, out: &mut Vec<WorkloadStep>) {
        for record in &self.records[(from - self.first) as usize..(until - self.first) as usize] {
            lines.compute(record.gap);
            let (what, pages) = match record.kind {
                RecordKind::Load if record.dependent => (LineAccess::Follow, self.trace.data_pages()),
                RecordKind::Load => (LineAccess::Read, self.trace.data_pages()),
                RecordKind::Store => (LineAccess::Write, self.trace.data_pages()),
                RecordKind::Modify => (LineAccess::Modify, self.trace.data_pages()),
                RecordKind::Fetch => (LineAccess::Fetch, self.trace.code_pages()),
            };
            lines.span(what, pages.offset(record.address), record.bytes, out);
        }
    }
}

/// A sample begins, at its period where it has one.
fn begin_sample(period_ns: Option<f64>, lines: &mut Lines, out: &mut Vec<WorkloadStep>) {
    if let Some(period_ns) = period_ns {
        lines.mark(WorkloadStep::Wait(period_ns), out);
    }
    lines.mark(WorkloadStep::Start, out);
}

/// Reports a program's accesses to the lines.
struct Telling<'a> {
    lines: &'a mut Lines,
    predictor: &'a mut Predictor,
    out: &'a mut Vec<WorkloadStep>,
}

impl Probe for Telling<'_> {
    #[inline]
    fn load(&mut self, word: usize) {
        self.lines.access(LineAccess::Read, 4 * word as u64, self.out);
    }
    #[inline]
    fn follow(&mut self, word: usize) {
        self.lines.access(LineAccess::Follow, 4 * word as u64, self.out);
    }
    #[inline]
    fn store(&mut self, word: usize) {
        self.lines.access(LineAccess::Write, 4 * word as u64, self.out);
    }
    #[inline]
    fn load_run(&mut self, word: usize, words: usize) {
        self.lines.run(LineAccess::Read, 4 * word as u64, 4 * words as u64, 4, self.out);
    }
    #[inline]
    fn store_run(&mut self, word: usize, words: usize) {
        self.lines.run(LineAccess::Write, 4 * word as u64, 4 * words as u64, 4, self.out);
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
