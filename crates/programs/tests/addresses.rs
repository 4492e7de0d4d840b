//! The addresses that the release object code touches, observed from outside by valgrind's lackey, are those that the same
//! source tells a probe.
//!
//! A compiler makes wider accesses of narrow ones and leaves out some that go to a line twice. So what is compared is, for
//! each array and for loads and stores apart, the sequence of lines of 64 bytes.
//!
//! The instructions are as many, too, but for the compiled program's checks of bounds; callgrind counts them.

use std::collections::BTreeMap;
use std::env;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use waykeeper_programs::{Array, ImageSize, Probe, ProgramName, Spec, WholeProgram};
use waykeeper_trace::RecordKind;
use waykeeper_trace::foreign::{Events, ForeignEvent, Lackey};

/// Loads or stores of an array, by its name.
type Stream = (&'static str, RecordKind);

/// The lines that a stream goes to, each counted from the array's first; the same line again and again is one entry.
#[derive(Default)]
struct Lines(BTreeMap<Stream, Vec<u64>>);

impl Lines {
    fn add(&mut self, arrays: &[(&'static str, Array)], kind: RecordKind, offset: u64, bytes: u64) {
        let word = (offset / 4) as usize;
        let Some((name, _)) = arrays.iter().find(|(_, array)| array.all().contains(&word)) else { return };
        let lines = self.0.entry((name, kind)).or_default();
        for line in offset / 64..=(offset + bytes - 1) / 64 {
            if lines.last() != Some(&line) {
                lines.push(line);
            }
        }
    }
}

/// What the source tells.
struct Told {
    arrays: Vec<(&'static str, Array)>,
    lines: Lines,
}

impl Probe for Told {
    fn load(&mut self, word: usize) {
        self.lines.add(&self.arrays, RecordKind::Load, 4 * word as u64, 4);
    }
    fn follow(&mut self, word: usize) {
        self.load(word);
    }
    fn store(&mut self, word: usize) {
        self.lines.add(&self.arrays, RecordKind::Store, 4 * word as u64, 4);
    }
    fn compute(&mut self, _: u32) {}
}

fn told(spec: Spec) -> Lines {
    let mut program = WholeProgram::new(spec);
    let mut memory = vec![0; program.words()];
    program.lay_out(&mut memory);
    let mut told = Told { arrays: program.arrays(), lines: Lines::default() };
    while !program.step(&mut memory, &mut told) {}
    told.lines
}

/// The release build of the example `touch`.
fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        // CARGO_TARGET_TMPDIR is `tmp` in the target directory of this build.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target directory");
        let build = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
            .args([
                "build",
                "--quiet",
                "--release",
                "-p",
                "waykeeper-programs",
                "--example",
                "touch_images",
                "--target-dir",
            ])
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo runs");
        assert!(build.success(), "the example `touch` could not be built in release");
        target.join("release/examples/touch_images")
    })
}

/// What lackey sees of one pass.
fn observed(spec: Spec) -> Lines {
    let mut child = Command::new("valgrind")
        .args(["--tool=lackey", "--trace-mem=yes", "--basic-counts=no"])
        .arg(binary())
        .arg(serde_json::to_string(&spec).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("valgrind is installed");
    let mut events = Lackey::new(Box::new(BufReader::new(child.stderr.take().unwrap())));
    // Where things lie is printed at the end: until then all data accesses are kept.
    let mut all = Vec::new();
    while let Some(event) = events.next_event().unwrap() {
        if let ForeignEvent::Access { kind, address, bytes } = event {
            all.push((kind, address, u64::from(bytes)));
        }
    }
    let mut places = String::new();
    child.stdout.take().unwrap().read_to_string(&mut places).unwrap();
    assert!(child.wait().unwrap().success());
    let places: Vec<u64> = places.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [marker, start] = places[..] else { panic!("{places:?}") };

    let arrays = WholeProgram::new(spec).arrays();
    let (mut lines, mut within) = (Lines::default(), false);
    for (kind, address, bytes) in all {
        if address == marker && kind != RecordKind::Load {
            within = !within;
        } else if within && address >= start {
            let offset = address - start;
            let kinds =
                if kind == RecordKind::Modify { &[RecordKind::Load, RecordKind::Store][..] } else { &[kind][..] };
            kinds.iter().for_each(|kind| lines.add(&arrays, *kind, offset, bytes));
        }
    }
    assert!(!within, "the marker was set and cleared");
    lines
}

/// A compiler may change the order of loads that do not depend on each other, and so how often a line follows another: what
/// is compared is where the sequences are, up to so many entries.
const REORDERED: usize = 32;

/// Where the first sequence goes to a line that the other does not go to thereabouts, or where it ends too early. An access
/// that the compiler made `wider` may begin on the line before.
fn differs(one: &[u64], other: &[u64], wider: bool) -> Option<usize> {
    let mut at = 0_usize;
    for (number, line) in one.iter().enumerate() {
        let window = at.saturating_sub(REORDERED)..(at + REORDERED).min(other.len());
        let nearest =
            |line: u64| window.clone().filter(|there| other[*there] == line).min_by_key(|there| there.abs_diff(at + 1));
        match nearest(*line).or_else(|| nearest(line + 1).filter(|_| wider)) {
            Some(there) => at = at.max(there),
            None => return Some(number),
        }
    }
    (at + REORDERED < other.len()).then_some(one.len())
}

fn assert_agree(spec: Spec) {
    let (told, observed) = (told(spec), observed(spec));
    assert_eq!(told.0.keys().collect::<Vec<_>>(), observed.0.keys().collect::<Vec<_>>(), "{spec}");
    for (stream, told) in &told.0 {
        let observed = &observed.0[stream];
        if let Some(at) = differs(told, observed, false).or_else(|| differs(observed, told, true)) {
            let about = at.saturating_sub(3)..(at + 6).min(told.len()).min(observed.len());
            panic!(
                "{spec}: {stream:?} differs at {at} of {}: told {:?}, observed {:?}",
                told.len(),
                &told[about.clone()],
                &observed[about]
            );
        }
    }
}

#[test]
fn disparity_touches_what_it_tells() {
    assert_agree(Spec { shifts: 3, ..Spec::new(ProgramName::Disparity, ImageSize::Sqcif, 1) });
}

#[test]
fn mser_touches_what_it_tells() {
    assert_agree(Spec::new(ProgramName::Mser, ImageSize::Sqcif, 1));
}

/// Instructions that the source tells, one for each access and all between.
#[derive(Default)]
struct Instructions(u64);

impl Probe for Instructions {
    fn load(&mut self, _: usize) {
        self.0 += 1;
    }
    fn follow(&mut self, _: usize) {
        self.0 += 1;
    }
    fn store(&mut self, _: usize) {
        self.0 += 1;
    }
    fn compute(&mut self, instructions: u32) {
        self.0 += u64::from(instructions);
    }
}

/// Instructions of one pass that callgrind counts.
fn executed(spec: Spec) -> u64 {
    let report = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*waykeeper_programs*run*"])
        .arg(binary())
        .arg(serde_json::to_string(&spec).unwrap())
        .output()
        .expect("valgrind is installed");
    let report = String::from_utf8(report.stderr).unwrap();
    let collected = report.lines().find_map(|line| line.split_once("Collected : ")).expect(&report).1;
    collected.trim().parse().unwrap()
}

#[test]
fn instructions_are_those_of_the_compiled_program_but_for_its_checks() {
    for program in [ProgramName::Mser, ProgramName::Disparity] {
        let spec = Spec::new(program, ImageSize::Qcif, 1);
        let mut told = Instructions::default();
        let mut program = WholeProgram::new(spec);
        let mut memory = vec![0; program.words()];
        program.lay_out(&mut memory);
        while !program.step(&mut memory, &mut told) {}
        let share = told.0 as f64 / executed(spec) as f64;
        // Checks of bounds are two instructions for most accesses: a sixth to a third of all.
        assert!((0.67..=1.0).contains(&share), "{spec}: {} instructions told, {share:.2} of those executed", told.0);
    }
}
