//! Runs one pass of a program and says where its memory lies, so that somebody outside can compare the addresses that it
//! touches with those that the same source tells a probe.
//!
//! ```text
//! touch_images SPEC_JSON
//! ```
//!
//! A store of 1 to the word `marker` comes before the pass and a store of 0 after it.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use waykeeper_programs::{Spec, WholeProgram};

static MARKER: AtomicU64 = AtomicU64::new(0);

fn main() -> ExitCode {
    let Some(spec) = std::env::args().nth(1).and_then(|text| serde_json::from_str::<Spec>(&text).ok()) else {
        eprintln!("usage: touch_images SPEC_JSON");
        return ExitCode::from(2);
    };
    let mut program = WholeProgram::new(spec);
    let mut memory = vec![0u32; program.words() + 1024];
    let start = memory.as_ptr().align_offset(4096);
    let memory = &mut memory[start..start + program.words()];
    program.lay_out(memory);
    MARKER.swap(1, Ordering::SeqCst);
    program.run(memory);
    MARKER.swap(0, Ordering::SeqCst);
    println!("{} {}", MARKER.as_ptr().addr(), memory.as_ptr().addr());
    ExitCode::SUCCESS
}
