//! Traces as workloads: what their streams hold, and what is refused.

use std::io::Cursor;

use waykeeper_programs::{Probe, WholeProgram};
use waykeeper_trace::{Record, RecordKind, Writer};
use waykeeper_workload::{
    Access, CacheShape, CacheShapes, ImageSize, Operation, Pattern, ProgramName, Region, Spec, TraceSource, Workload,
    WorkloadStep,
};

fn resolve(toml: &str) -> Result<Pattern, String> {
    let caches = CacheShapes(vec![CacheShape { level: 1, size_bytes: 32 << 10, ways: 4, line_bytes: 64 }]);
    let workload: Workload = toml::from_str(&format!("kind = 'trace'\n{toml}")).map_err(|error| error.to_string())?;
    workload.resolve(&caches).map_err(|refused| format!("{}: {}", refused.key, refused.why))
}

fn program(spec: Spec, line_bytes: u64) -> Pattern {
    let data_bytes = 4 * WholeProgram::new(spec).words() as u64;
    Pattern::Trace {
        source: TraceSource::Program(spec),
        data_bytes,
        code_bytes: 0,
        line_bytes,
        phase: None,
        period_ns: None,
    }
}

fn small(name: ProgramName) -> Spec {
    Spec { shifts: 3, ..Spec::new(name, ImageSize::Sqcif, 1) }
}

/// The steps of one pass, without its start and end.
fn pass(stream: &mut impl Iterator<Item = WorkloadStep>) -> Vec<WorkloadStep> {
    assert_eq!(stream.next(), Some(WorkloadStep::Start));
    stream.take_while(|step| *step != WorkloadStep::End).collect()
}

/// What is accessed in a pass: the predictor remembers more than the lines do, and learns on.
fn accesses(pass: &[WorkloadStep]) -> Vec<Access> {
    let accesses = pass.iter().filter_map(|step| match step {
        WorkloadStep::Access(access) => Some(*access),
        _ => None,
    });
    accesses.collect()
}

#[test]
fn every_pass_is_a_sample_and_all_passes_are_the_same() {
    for name in [ProgramName::Disparity, ProgramName::Mser] {
        let pattern = program(small(name), 64);
        let mut stream = pattern.stream(7);
        let first = pass(&mut stream);
        assert!(first.len() > 100_000, "{name}: {}", first.len());
        let mut copy = stream.clone();
        // Lines that the first pass used last are remembered at the beginning of the second: only the third equals it.
        let second = pass(&mut stream);
        assert!(second == pass(&mut copy), "{name}: a copy goes on as its original does");
        assert!(accesses(&second) == accesses(&pass(&mut stream)), "{name}");
        assert!(first == pass(&mut pattern.stream(8)), "{name}: the stream's seed decides nothing");
        for step in first {
            if let WorkloadStep::Access(access) = step {
                assert!(access.region == Region::Data && access.offset < pattern.data_bytes(), "{access:?}");
            }
        }
    }
}

/// A first level that replaces its oldest line (32 KiB, 4 ways, lines of 64 bytes), and its misses.
struct Cache {
    sets: Vec<Vec<u64>>,
    misses: u64,
}

impl Cache {
    fn new() -> Self {
        Self { sets: vec![Vec::new(); 128], misses: 0 }
    }

    fn access(&mut self, offset: u64) {
        let line = offset / 64;
        let set = &mut self.sets[(line % 128) as usize];
        match set.iter().position(|at| *at == line) {
            Some(at) => _ = set.remove(at),
            None => {
                self.misses += 1;
                set.truncate(3);
            }
        }
        set.insert(0, line);
    }
}

/// Every single access, straight from the program.
struct All {
    cache: Cache,
    instructions: u64,
}

impl Probe for All {
    fn load(&mut self, word: usize) {
        self.cache.access(4 * word as u64);
        self.instructions += 1;
    }
    fn follow(&mut self, word: usize) {
        self.load(word);
    }
    fn store(&mut self, word: usize) {
        self.load(word);
    }
    fn compute(&mut self, instructions: u32) {
        self.instructions += u64::from(instructions);
    }
}

#[test]
fn what_is_left_out_are_hits_of_the_first_level_and_the_time_stays() {
    for name in [ProgramName::Disparity, ProgramName::Mser] {
        let mut program = WholeProgram::new(small(name));
        let mut memory = vec![0; program.words()];
        program.lay_out(&mut memory);
        let mut all = All { cache: Cache::new(), instructions: 0 };
        while !program.step(&mut memory, &mut all) {}

        let mut shown = All { cache: Cache::new(), instructions: 0 };
        for step in pass(&mut self::program(small(name), 64).stream(0)) {
            match step {
                WorkloadStep::Access(access) => {
                    shown.cache.access(access.offset);
                    shown.instructions += 1;
                }
                WorkloadStep::Compute { instructions, .. } => shown.instructions += instructions,
                WorkloadStep::Mispredicted { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(shown.instructions, all.instructions, "{name}: one for each access, shown or not, and all between");
        // A line in constant use is a little older in the cache than in truth: a few other lines stay in its place.
        let (shown, all) = (shown.cache.misses as f64, all.cache.misses as f64);
        assert!((shown / all - 1.0).abs() < 0.001, "{name}: {shown} misses of what is shown, {all} of all");
    }
}

#[test]
fn a_machine_with_shorter_lines_is_shown_more() {
    let count = |line_bytes| pass(&mut program(small(ProgramName::Disparity), line_bytes).stream(0)).len();
    assert!(count(32) > count(64) + count(64) / 10);
}

fn record(kind: RecordKind, address: u64, bytes: u32, gap: u64) -> Record {
    Record { address, gap, bytes, kind, dependent: kind == RecordKind::Load }
}

fn written(records: &[Record]) -> tempfile::NamedTempFile {
    let mut writer = Writer::new(Cursor::new(Vec::new()), "by hand", true).unwrap();
    records.iter().for_each(|record| writer.push(record).unwrap());
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), writer.finish().unwrap().0.into_inner()).unwrap();
    file
}

#[test]
fn a_file_is_laid_out_without_gaps() {
    let file = written(&[
        record(RecordKind::Fetch, 0x40_0010, 4, 0),
        // The last word of page 0x10 and the first of page 0x11: two lines.
        record(RecordKind::Modify, 0x1_0ffc, 8, 5),
        record(RecordKind::Load, 0x7fff_0000_0040, 8, 0),
        record(RecordKind::Store, 0x7fff_0000_0048, 8, 2),
    ]);
    let pattern = resolve(&format!("file = '{}'", file.path().display())).unwrap();
    // Data on pages 0x10, 0x11 and 0x7fff00000; code on page 0x400.
    assert_eq!((pattern.data_bytes(), pattern.code_bytes()), (3 * 4096, 4096));
    let access =
        |region, offset, operation, dependent| WorkloadStep::Access(Access { region, offset, operation, dependent });
    let compute = |instructions| WorkloadStep::Compute { instructions, code_bytes: 0 };
    let expected = [
        WorkloadStep::Start,
        access(Region::Code, 0x10, Operation::Read, false),
        // Of the five instructions before the load a core takes the fetch for one.
        compute(4),
        access(Region::Data, 0xffc, Operation::Modify, false),
        access(Region::Data, 0x1000, Operation::Modify, false),
        access(Region::Data, 0x2040, Operation::Read, true),
        compute(2),
        access(Region::Data, 0x2048, Operation::Write, false),
        WorkloadStep::End,
        WorkloadStep::Start,
    ];
    assert_eq!(pattern.stream(0).take(10).collect::<Vec<_>>(), expected);
    // A pattern travels as text to the process that runs it.
    let copy: Pattern = toml::from_str(&toml::to_string(&pattern).unwrap()).unwrap();
    assert_eq!(copy, pattern);
}

#[test]
fn a_foreign_trace_is_a_workload_as_it_is() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "2 400\n0 1000\n2 404\n2 408\n1 5000\n").unwrap();
    let pattern = resolve(&format!("file = '{}'", file.path().display())).unwrap();
    assert_eq!((pattern.data_bytes(), pattern.code_bytes()), (2 * 4096, 4096));
}

#[test]
fn what_means_nothing_is_refused_with_its_key() {
    for (toml, told) in [
        ("", "program: it has neither"),
        ("program = 'mser'", "size: the key is missing; expected one of sqcif"),
        ("program = 'mser'\nsize = 'cif'\nshifts = 3", "shifts: mser has none"),
        ("program = 'disparity'\nsize = 'cif'\nshifts = 0", "shifts: found 0; expected 1 to 64"),
        ("program = 'mser'\nfile = 'x'", "file: it has a `program` too"),
        ("file = 'x'\nseed = 1", "seed: a trace in a file has none"),
        ("file = '/nowhere/x.wkt'", "file: `/nowhere/x.wkt`: No such file"),
        ("file = '/dev/zero'", "file: `/dev/zero`: this is no trace: it is no regular file"),
    ] {
        let refused = resolve(toml).unwrap_err();
        assert!(refused.contains(told), "{toml}: {refused}");
    }
}
