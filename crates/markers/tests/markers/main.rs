//! The files that users copy, compiled and run by their own compilers, beside the reader.

mod program;

use program::Program;
use waykeeper_markers::{CLOCK_COUNTER, CLOCK_MONOTONIC_RAW, Mark, MarkingThread, Pairs, Pass, Rings, Unpaired};

fn paired(marks: &[Mark]) -> (Vec<Pass>, Unpaired) {
    let mut pairs = Pairs::default();
    let passes = marks.iter().filter_map(|mark| pairs.take(*mark)).collect();
    (passes, pairs.unpaired())
}

/// A hundred passes of phase 1 in the first thread, five of phase 2 in the second, whatever the language.
fn two_threads(program: &Program, clock: u32) {
    let mut rings = Rings::create().unwrap();
    let marks = program.run(&mut rings);
    let (passes, unpaired) = paired(&marks);
    assert_eq!(unpaired, Unpaired::default());
    let of = |thread, phase| passes.iter().filter(|pass| (pass.thread, pass.phase) == (thread, phase)).count();
    assert_eq!((of(0, 1), of(1, 2), passes.len()), (100, 5, 105));
    assert!(passes.iter().all(|pass| pass.end >= pass.start && pass.start > 0), "{passes:?}");
    let writers = rings.writers();
    let [first, second] = writers[..] else { panic!("{writers:?}") };
    assert_eq!((first.process, first.clock, second.clock), (second.process, clock, clock));
    assert!(first.thread == first.process && second.thread != first.thread, "{writers:?}");
    assert_eq!(rings.phase_name(1).as_deref(), Some("control"));
    assert_eq!((rings.phase_name(2), rings.phase_name(64)), (None, None));
    assert_eq!(program.run_alone().stdout, b"done\n");
}

#[test]
fn c_marks_passes_across_source_files_and_threads() {
    two_threads(&Program::c(&["passes.c", "other.c"]), CLOCK_COUNTER);
}

#[test]
fn cpp_compiles_the_same_header() {
    two_threads(&Program::cpp(&["passes.c", "other.c"]), CLOCK_COUNTER);
}

#[test]
fn rust_marks_passes() {
    two_threads(&Program::rust("passes.rs"), CLOCK_COUNTER);
}

#[test]
fn python_marks_passes() {
    two_threads(&Program::python("passes.py"), CLOCK_MONOTONIC_RAW);
}

#[test]
fn the_header_has_the_layout_of_the_reader() {
    // Of the layout in the header's comments: 64 bytes a line, names from 1024, 64 of 32 bytes; slots of two lines.
    let printed = String::from_utf8(Program::c(&["offsets.c"]).run_alone().stdout).unwrap();
    assert_eq!(printed, "64 1024 3072 24\n20 28 32 64 128\n8 12 16\n");
}

#[test]
fn a_full_ring_drops_markers_and_counts_them() {
    let mut rings = Rings::create().unwrap();
    let marks = Program::c(&["full.c"]).run(&mut rings);
    // 20,000 markers into 16,384 places.
    assert_eq!(marks.len(), 16_384);
    assert!(matches!(rings.writers()[..], [MarkingThread { lost: 3616, .. }]), "{:?}", rings.writers());
    let (passes, unpaired) = paired(&marks);
    assert_eq!((passes.len(), unpaired), (8192, Unpaired::default()));
}

#[test]
fn a_child_and_what_it_becomes_have_rings_of_their_own() {
    let mut rings = Rings::create().unwrap();
    let marks = Program::c(&["forks.c"]).run(&mut rings);
    let (passes, unpaired) = paired(&marks);
    assert_eq!(unpaired, Unpaired::default());
    let phases: Vec<_> = passes.iter().map(|pass| (pass.thread, pass.phase)).collect();
    assert_eq!(phases, [(0, 1), (1, 2), (2, 3)]);
    let writers = rings.writers();
    assert_ne!(writers[0].process, writers[1].process);
    assert_eq!(writers[1].process, writers[2].process);
}

#[test]
fn a_program_that_closes_all_descriptors_is_still_heard() {
    let mut rings = Rings::create().unwrap();
    let (passes, _) = paired(&Program::c(&["closes.c"]).run(&mut rings));
    assert_eq!(passes.len(), 1);
}

#[test]
fn a_program_that_gives_up_root_after_its_first_marker_is_still_heard() {
    let mut rings = Rings::create().unwrap();
    let (passes, _) = paired(&Program::c(&["privileges.c"]).run(&mut rings));
    assert_eq!(passes.len(), 1);
}

#[test]
fn a_statically_linked_program_marks_as_any_other() {
    two_threads(&Program::static_c(&["passes.c", "other.c"]), CLOCK_COUNTER);
}
