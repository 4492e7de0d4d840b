//! Disparity and mser as a program of its own: it runs passes over a generated image and prints the duration of each in
//! nanoseconds, one a line.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use waykeeper_programs::{ImageSize, ProgramName, Spec, WholeProgram};

/// Runs disparity or mser over a generated image and prints the duration of each pass in nanoseconds, one a line.
#[derive(Debug, Parser)]
#[command(name = "waykeeper-vision", version, about)]
#[command(after_help = "Example:\n  taskset -c 1 waykeeper-vision mser --size vga --repeats 100")]
struct Arguments {
    /// What to run.
    program: Name,
    /// The size of the image.
    #[arg(long, default_value = "vga")]
    size: Size,
    /// Passes that are timed, after one that is not.
    #[arg(long, default_value_t = 10)]
    repeats: u64,
    /// What the image is made from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For disparity: shifts that are tried.
    #[arg(long, default_value_t = Spec::SHIFTS, value_parser = clap::value_parser!(u32).range(1..=64))]
    shifts: u32,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Name {
    /// Stereo disparity by block matching.
    Disparity,
    /// Maximally stable extremal regions.
    Mser,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Size {
    /// 128 x 96.
    Sqcif,
    /// 176 x 154, mser 176 x 132.
    Qcif,
    /// 352 x 288, mser 352 x 264.
    Cif,
    /// 587 x 480, mser 640 x 480.
    Vga,
    /// 1920 x 1080.
    Fullhd,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut program = WholeProgram::new(spec(&arguments));
    let mut memory = vec![0; program.words()];
    program.lay_out(&mut memory);
    // The first pass also takes the page faults.
    program.run(&mut memory);
    let mut out = std::io::stdout().lock();
    for _ in 0..arguments.repeats {
        let start = Instant::now();
        program.run(&mut memory);
        let duration = start.elapsed();
        // Who reads no more wants no more.
        if writeln!(out, "{}", duration.as_nanos()).is_err() {
            return ExitCode::SUCCESS;
        }
    }
    ExitCode::SUCCESS
}

fn spec(arguments: &Arguments) -> Spec {
    let program = match arguments.program {
        Name::Disparity => ProgramName::Disparity,
        Name::Mser => ProgramName::Mser,
    };
    let size = match arguments.size {
        Size::Sqcif => ImageSize::Sqcif,
        Size::Qcif => ImageSize::Qcif,
        Size::Cif => ImageSize::Cif,
        Size::Vga => ImageSize::Vga,
        Size::Fullhd => ImageSize::Fullhd,
    };
    Spec { shifts: arguments.shifts, ..Spec::new(program, size, arguments.seed) }
}
