//! Which program, on which image.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgramName {
    /// Stereo disparity by block matching.
    Disparity,
    /// Maximally stable extremal regions.
    Mser,
}

/// The size of an image, by its name in the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImageSize {
    /// 128 x 96.
    Sqcif,
    /// 176 x 154 for disparity, 176 x 132 for mser.
    Qcif,
    /// 352 x 288 for disparity, 352 x 264 for mser.
    Cif,
    /// 587 x 480 for disparity, 640 x 480 for mser.
    Vga,
    /// 1920 x 1080.
    Fullhd,
}

impl ImageSize {
    /// All sizes, from the smallest.
    pub const ALL: [Self; 5] = [Self::Sqcif, Self::Qcif, Self::Cif, Self::Vga, Self::Fullhd];

    /// The name, as in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqcif => "sqcif",
            Self::Qcif => "qcif",
            Self::Cif => "cif",
            Self::Vga => "vga",
            Self::Fullhd => "fullhd",
        }
    }
}

impl fmt::Display for ImageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ProgramName {
    /// The name, as in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disparity => "disparity",
            Self::Mser => "mser",
        }
    }

    /// Width and height of its images: those that come with the suite (the headers of its BMP files), and 1920 x 1080.
    pub fn pixels(self, size: ImageSize) -> (usize, usize) {
        match (self, size) {
            (_, ImageSize::Sqcif) => (128, 96),
            (Self::Disparity, ImageSize::Qcif) => (176, 154),
            (Self::Mser, ImageSize::Qcif) => (176, 132),
            (Self::Disparity, ImageSize::Cif) => (352, 288),
            (Self::Mser, ImageSize::Cif) => (352, 264),
            (Self::Disparity, ImageSize::Vga) => (587, 480),
            (Self::Mser, ImageSize::Vga) => (640, 480),
            (_, ImageSize::Fullhd) => (1920, 1080),
        }
    }
}

impl fmt::Display for ProgramName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A program and its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Spec {
    /// The program.
    pub program: ProgramName,
    /// The size of its image.
    pub size: ImageSize,
    /// What the image is made from.
    pub seed: u64,
    /// For disparity: how many shifts are tried, from 0 on, 1 to [`Spec::SHIFTS`]. Each does the same to the memory.
    pub shifts: u32,
}

impl Spec {
    /// The shifts that the suite's program tries.
    pub const SHIFTS: u32 = 64;

    /// A program as the suite runs it.
    pub fn new(program: ProgramName, size: ImageSize, seed: u64) -> Self {
        Self { program, size, seed, shifts: Self::SHIFTS }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of seed {}", self.program, self.size, self.seed)?;
        match (self.program, self.shifts) {
            (ProgramName::Mser, _) | (_, Self::SHIFTS) => Ok(()),
            (_, 1) => f.write_str(", 1 shift"),
            (_, shifts) => write!(f, ", {shifts} shifts"),
        }
    }
}
