//! What a pair of markers costs beyond the two readings of the counter that it contains, in C and in Rust.
//!
//! `cargo bench -p waykeeper-markers`: the loops run in turns; each figure is the least and the median of the turns.

use std::hint::black_box;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use waykeeper_markers::{Rings, SOURCES, VARIABLE};

#[path = "../user/waykeeper.rs"]
mod waykeeper;

/// Fewer pairs than a ring holds, so that no marker is dropped.
const PAIRS: u32 = 8000;
/// Each turn of the C program takes one of the 64 rings.
const TURNS: usize = 60;

fn main() {
    let rings = Rings::create().expect("a memory file");
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var(VARIABLE, rings.variable()) };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path());
    let mut rust = Vec::new();
    let mut c = Vec::new();
    let mut reader = rings;
    for _ in 0..TURNS {
        rust.push(rust_turn());
        reader.drain(|_| ());
        c.push(c_turn(&program));
        reader.drain(|_| ());
    }
    for (language, turns) in [("Rust", rust), ("C", c)] {
        let mut beyond: Vec<f64> = turns.iter().map(|(pair, readings)| pair - readings).collect();
        let mut readings: Vec<f64> = turns.iter().map(|(_, readings)| *readings).collect();
        beyond.sort_by(f64::total_cmp);
        readings.sort_by(f64::total_cmp);
        let (least, median) = (beyond[0], beyond[beyond.len() / 2]);
        let readings = readings[readings.len() / 2];
        println!(
            "{language}: a pair takes {least:.1} ns (least), {median:.1} ns (median) beyond two readings of {readings:.1} ns"
        );
    }
}

fn rust_turn() -> (f64, f64) {
    assert!(waykeeper::open(), "no ring");
    let begun = Instant::now();
    for _ in 0..PAIRS {
        waykeeper::begin(0);
        waykeeper::end(0);
    }
    let pair = begun.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS);
    let begun = Instant::now();
    for _ in 0..PAIRS {
        black_box(waykeeper::now());
        black_box(waykeeper::now());
    }
    (pair, begun.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS))
}

fn compile(folder: &Path) -> std::path::PathBuf {
    let program = folder.join("cost");
    std::fs::write(folder.join(SOURCES[0].file), SOURCES[0].text).expect("a file");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/cost.c");
    let status = Command::new("cc").args(["-O2", "-o"]).arg(&program).arg("-I").arg(folder).arg(source).status();
    assert!(status.is_ok_and(|status| status.success()), "cc failed");
    program
}

fn c_turn(program: &Path) -> (f64, f64) {
    let output = Command::new(program).arg(PAIRS.to_string()).output().expect("the program runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut numbers = text.split_whitespace().map(|number| number.parse::<f64>().expect("a number"));
    (numbers.next().expect("two numbers"), numbers.next().expect("two numbers"))
}
