//! What the generated programs have in common.

use waykeeper_programs::{ImageSize, Probe, ProgramName, Spec, WholeProgram};

/// Counts and digests what it is told.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    loads: u64,
    stores: u64,
    instructions: u64,
    digest: u64,
    largest: usize,
    since_step: u64,
}

impl Tally {
    fn add(&mut self, word: usize, salt: u64) {
        // FNV-1a over 64-bit values.
        self.digest = (self.digest ^ (word as u64 * 4 + salt)).wrapping_mul(0x0100_0000_01b3);
        self.largest = self.largest.max(word);
        self.since_step += 1;
    }
}

impl Probe for Tally {
    fn load(&mut self, word: usize) {
        self.loads += 1;
        self.add(word, 0);
    }
    fn follow(&mut self, word: usize) {
        self.loads += 1;
        self.add(word, 1);
    }
    fn store(&mut self, word: usize) {
        self.stores += 1;
        self.add(word, 2);
    }
    fn compute(&mut self, instructions: u32) {
        self.instructions += u64::from(instructions);
    }
}

fn pass(spec: Spec) -> (Tally, Vec<u32>) {
    let mut program = WholeProgram::new(spec);
    let mut memory = vec![0; program.words()];
    program.lay_out(&mut memory);
    let mut tally = Tally::default();
    loop {
        tally.since_step = 0;
        let ended = program.step(&mut memory, &mut tally);
        assert!(tally.since_step <= 20_000, "a step made {} accesses", tally.since_step);
        if ended {
            return (tally, memory);
        }
    }
}

#[test]
fn the_stream_is_decided_by_the_seed() {
    for program in [ProgramName::Disparity, ProgramName::Mser] {
        let of = |seed| pass(Spec { shifts: 4, ..Spec::new(program, ImageSize::Sqcif, seed) }).0;
        assert_eq!(of(1), of(1));
        assert_ne!(of(1).digest, of(2).digest, "{program}");
    }
}

#[test]
fn a_watched_program_does_what_an_unwatched_one_does() {
    for program in [ProgramName::Disparity, ProgramName::Mser] {
        let spec = Spec { shifts: 5, ..Spec::new(program, ImageSize::Sqcif, 1) };
        let mut plain = WholeProgram::new(spec);
        let mut memory = vec![0; plain.words()];
        plain.lay_out(&mut memory);
        plain.run(&mut memory);
        assert!(pass(spec).1 == memory, "{program}");
    }
}

/// Disparity does the same whatever the image shows, but for new least sums.
#[test]
fn disparity_makes_as_many_accesses_as_one_counts() {
    let (width, height, shifts) = (128u64, 96u64, 3u64);
    let (tally, _) = pass(Spec { shifts: 3, ..Spec::new(ProgramName::Disparity, ImageSize::Sqcif, 1) });
    let (image, padded) = (width * height, (width + 8) * (height + 8));
    let (rows, columns) = (height + 8, width + 8);
    // Copies of both images; then for each shift k: the shifted copy (k columns less), two loads for the differences,
    // sums down the columns (the first row only one), sums along the rows, four for each window, two for the least.
    let shifted: u64 = (0..shifts).map(|k| rows * (columns - k)).sum();
    let loads = 2 * image + shifted + shifts * (2 * padded + (2 * padded - columns) + padded + 4 * image + 2 * image);
    assert_eq!(tally.loads, loads);
    // Least and result, both padded images cleared and filled, three more arrays filled; then for each shift: cleared,
    // shifted, differences, two sums, windows; and twice for each new least.
    let fixed = 2 * image + 2 * (padded + image) + 3 * padded + shifted + shifts * (4 * padded + image);
    let least = tally.stores - fixed;
    assert!(least.is_multiple_of(2) && least >= 2 * image && least <= 2 * image * shifts, "{least}");
}

#[test]
fn all_memory_is_said_beforehand() {
    for program in [ProgramName::Disparity, ProgramName::Mser] {
        let spec = Spec { shifts: 2, ..Spec::new(program, ImageSize::Qcif, 1) };
        let (tally, memory) = pass(spec);
        assert!(tally.largest < memory.len() && memory.len() % 1024 == 0);
        let arrays = WholeProgram::new(spec).arrays();
        for pair in arrays.windows(2) {
            assert!(pair[0].1.all().end <= pair[1].1.start, "{pair:?}");
        }
    }
}

/// The sizes that the published programs have (8 arrays of 4 bytes, padded or not, and two inputs; 64 bytes a pixel).
#[test]
fn the_memory_is_as_large_as_that_of_the_published_programs() {
    let mib = |program, size| WholeProgram::new(Spec::new(program, size, 1)).words() as f64 * 4.0 / (1 << 20) as f64;
    // vga: 587 x 480 x 4 bytes = 1.075 MiB, five of them; 595 x 488 x 4 = 1.108 MiB, five of them: 10.9 MiB.
    assert!((mib(ProgramName::Disparity, ImageSize::Vga) - 10.9).abs() < 0.1);
    // vga: 640 x 480 x (4 + 8 + 16 + 4 + 4 + 32) bytes = 19.9 MiB.
    assert!((mib(ProgramName::Mser, ImageSize::Vga) - 19.9).abs() < 0.1);
}
