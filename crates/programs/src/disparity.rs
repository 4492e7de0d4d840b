//! Stereo disparity by block matching, after SD-VBS: for each of 64 shifts of the right image, the sums of squared
//! differences over windows of 7 x 7 pixels, from an integral image; for each pixel the shift with the least sum.
//!
//! Every element is 4 bytes wide, every array row-major. The windows alone are gone through column by column: four
//! streams through the integral image and one through the sums, each with the stride of a row. Along rows the loops take
//! some elements at a time, as compilers vectorize them.

use crate::image::Image;
use crate::memory::{Array, Layout, runs, spans};
use crate::probe::Probe;

/// The suite's window size. Sums go over one row and column less: from the integral image at `i + 1` to that at `i + 8`.
const WINDOW: usize = 8;

/// Width and height stand before the elements of an array.
const HANDLE_WORDS: usize = 2;

/// No sum is taken that is not below this: 255 squared, where the suite begins its search for the least.
const WORST: f32 = 255.0 * 255.0;

/// Instructions without memory access for one element, assumed: those of a scalar loop on a load-store machine, whose
/// accesses step their own address. Three of each are the loop's count, compare and branch.
mod instructions {
    pub const FILL: u32 = 3;
    pub const COPY: u32 = 3;
    /// And subtract, multiply, convert.
    pub const DIFFERENCE: u32 = 6;
    /// And add.
    pub const SUM: u32 = 4;
    /// And add, subtract, subtract, and the step of the row.
    pub const WINDOW: u32 = 7;
    /// And compare, branch.
    pub const LEAST: u32 = 5;
}

/// The branch that decides on what the images are like: a sum is less than the least so far.
const LESS: u32 = 0;

/// What the program is at. Each step is one row, in `Windows` one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    FillLeast,
    FillResult,
    ClearLeft,
    PadLeft,
    ClearRight,
    PadRight,
    FillDifferences,
    FillIntegral,
    FillMoved,
    ClearMoved,
    Shift,
    Differences,
    SumColumns,
    SumRows,
    Windows,
    Least,
}

/// The program, somewhere in a pass.
#[derive(Debug, Clone)]
pub struct Disparity {
    width: usize,
    height: usize,
    shifts: u32,
    arrays: Arrays,
    words: usize,
    stage: Stage,
    shift: u32,
    at: usize,
}

#[derive(Debug, Clone, Copy)]
struct Arrays {
    left: Array,
    right: Array,
    least: Array,
    result: Array,
    left_padded: Array,
    right_padded: Array,
    differences: Array,
    integral: Array,
    sums: Array,
    moved: Array,
}

impl Disparity {
    /// A program for images of this size that tries so many shifts.
    pub fn new(width: usize, height: usize, shifts: u32) -> Self {
        let mut layout = Layout::default();
        let (image, padded) = (width * height, (width + WINDOW) * (height + WINDOW));
        let mut array = |words| layout.array(HANDLE_WORDS, words);
        let arrays = Arrays {
            left: array(image),
            right: array(image),
            least: array(image),
            result: array(image),
            left_padded: array(padded),
            right_padded: array(padded),
            differences: array(padded),
            integral: array(padded),
            sums: array(image),
            moved: array(padded),
        };
        Self { width, height, shifts, arrays, words: layout.words(), stage: Stage::FillLeast, shift: 0, at: 0 }
    }

    /// Words of 4 bytes of the memory.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The arrays by name.
    pub fn arrays(&self) -> Vec<(&'static str, Array)> {
        let a = &self.arrays;
        vec![
            ("left", a.left),
            ("right", a.right),
            ("least", a.least),
            ("result", a.result),
            ("left_padded", a.left_padded),
            ("right_padded", a.right_padded),
            ("differences", a.differences),
            ("integral", a.integral),
            ("sums", a.sums),
            ("moved", a.moved),
        ]
    }

    /// Writes the two images into the memory.
    pub fn lay_out(&self, left: &Image, right: &Image, memory: &mut [u32]) {
        for (array, image) in [(self.arrays.left, left), (self.arrays.right, right)] {
            assert_eq!((image.width, image.height), (self.width, self.height), "images have the size of the program");
            memory[array.all()].iter_mut().zip(&image.pixels).for_each(|(word, pixel)| *word = u32::from(*pixel));
        }
    }

    /// The disparity of each pixel after a pass, row after row; the number of shifts where no sum was small enough.
    pub fn result<'m>(&self, memory: &'m [u32]) -> &'m [u32] {
        &memory[self.arrays.result.all()]
    }

    /// Works on one row or column. True where that ended the pass.
    #[expect(clippy::too_many_lines, reason = "a state machine, one arm a stage of the published program")]
    #[inline]
    pub fn step<P: Probe>(&mut self, memory: &mut [u32], probe: &mut P) -> bool {
        let a = self.arrays;
        let (at, padded_width, shift) = (self.at, self.width + WINDOW, self.shift as usize);
        let [row, padded_row] = [self.width, padded_width].map(|width| move |array: Array| array.row(at, width));
        // The images lie in the middle of their padded copies.
        let inner = |array: Array| {
            let start = array.row(at + WINDOW / 2, padded_width).start + WINDOW / 2;
            start..start + self.width
        };
        match self.stage {
            Stage::FillLeast => fill(memory, row(a.least), WORST.to_bits(), probe),
            Stage::FillResult => fill(memory, row(a.result), self.shifts, probe),
            Stage::ClearLeft => fill(memory, padded_row(a.left_padded), 0, probe),
            Stage::PadLeft => copy(memory, row(a.left), inner(a.left_padded), probe),
            Stage::ClearRight => fill(memory, padded_row(a.right_padded), 0, probe),
            Stage::PadRight => copy(memory, row(a.right), inner(a.right_padded), probe),
            Stage::FillDifferences => fill(memory, padded_row(a.differences), 255.0f32.to_bits(), probe),
            Stage::FillIntegral => fill(memory, padded_row(a.integral), 0, probe),
            Stage::FillMoved | Stage::ClearMoved => fill(memory, padded_row(a.moved), 0, probe),
            Stage::Shift => {
                let (from, to) = (padded_row(a.right_padded), padded_row(a.moved));
                copy(
                    memory,
                    from.start..from.end - shift.min(padded_width),
                    to.start + shift.min(padded_width)..to.end,
                    probe,
                );
            }
            Stage::Differences => {
                let rows = [padded_row(a.left_padded), padded_row(a.moved), padded_row(a.differences)];
                let [left, moved, mut differences] = spans(memory, rows);
                for run in runs(left.start(), padded_width) {
                    probe.compute(instructions::DIFFERENCE * run.len() as u32);
                    let (left, moved) = (left.load_run(probe, run.clone()), moved.load_run(probe, run.clone()));
                    for ((to, left), moved) in differences.store_run(probe, run).iter_mut().zip(left).zip(moved) {
                        let difference = *left as i32 - *moved as i32;
                        *to = ((difference * difference) as f32).to_bits();
                    }
                }
            }
            Stage::SumColumns if at == 0 => {
                copy(memory, padded_row(a.differences), padded_row(a.integral), probe);
            }
            Stage::SumColumns => {
                let above = a.integral.row(at - 1, padded_width);
                let [above, differences, mut sums] =
                    spans(memory, [above, padded_row(a.differences), padded_row(a.integral)]);
                for run in runs(sums.start(), padded_width) {
                    probe.compute(instructions::SUM * run.len() as u32);
                    let above = above.load_run(probe, run.clone());
                    let differences = differences.load_run(probe, run.clone());
                    for ((to, above), difference) in sums.store_run(probe, run).iter_mut().zip(above).zip(differences) {
                        *to = (f32::from_bits(*above) + f32::from_bits(*difference)).to_bits();
                    }
                }
            }
            Stage::SumRows => {
                let [mut sums] = spans(memory, [padded_row(a.integral)]);
                // The sum so far stays in a register.
                let mut sum = 0.0;
                for run in runs(sums.start(), padded_width) {
                    probe.compute(instructions::SUM * run.len() as u32);
                    sums.load_run(probe, run.clone());
                    for to in sums.store_run(probe, run) {
                        sum += f32::from_bits(*to);
                        *to = sum.to_bits();
                    }
                }
            }
            Stage::Windows => self.windows(memory, probe),
            Stage::Least => {
                let [sums, mut least, mut result] = spans(memory, [row(a.sums), row(a.least), row(a.result)]);
                for run in runs(sums.start(), self.width) {
                    probe.compute(instructions::LEAST * run.len() as u32);
                    let new = sums.load_run(probe, run.clone());
                    least.load_run(probe, run.clone());
                    for (x, sum) in run.zip(new) {
                        let is_less = f32::from_bits(*sum) < f32::from_bits(least.words()[x]);
                        probe.branch(LESS, is_less);
                        if is_less {
                            least.store(probe, x, *sum);
                            result.store(probe, x, self.shift);
                        }
                    }
                }
            }
        }
        self.go_on()
    }

    /// One column of window sums.
    #[inline]
    fn windows<P: Probe>(&self, memory: &mut [u32], probe: &mut P) {
        let (x, width, padded_width) = (self.at, self.width, self.width + WINDOW);
        let [integral, mut sums] = spans(memory, [self.arrays.integral.all(), self.arrays.sums.all()]);
        for y in 0..self.height {
            let (top, bottom) = ((y + 1) * padded_width + x, (y + WINDOW) * padded_width + x);
            let sum = integral.load_f32(probe, bottom + WINDOW) + integral.load_f32(probe, top + 1)
                - integral.load_f32(probe, top + WINDOW)
                - integral.load_f32(probe, bottom + 1);
            probe.compute(instructions::WINDOW);
            sums.store_f32(probe, y * width + x, sum);
        }
    }

    /// Goes to the next row or column, stage, shift or pass. True where a pass ended.
    fn go_on(&mut self) -> bool {
        use Stage::{
            ClearLeft, ClearMoved, ClearRight, Differences, FillDifferences, FillIntegral, FillLeast, FillMoved,
            FillResult, Least, PadLeft, PadRight, Shift, SumColumns, SumRows, Windows,
        };
        self.at += 1;
        let steps = match self.stage {
            FillLeast | FillResult | PadLeft | PadRight | Least => self.height,
            Windows => self.width,
            _ => self.height + WINDOW,
        };
        if self.at < steps {
            return false;
        }
        self.at = 0;
        self.stage = match self.stage {
            FillLeast => FillResult,
            FillResult => ClearLeft,
            ClearLeft => PadLeft,
            PadLeft => ClearRight,
            ClearRight => PadRight,
            PadRight => FillDifferences,
            FillDifferences => FillIntegral,
            FillIntegral => FillMoved,
            FillMoved => ClearMoved,
            ClearMoved => Shift,
            Shift => Differences,
            Differences => SumColumns,
            SumColumns => SumRows,
            SumRows => Windows,
            Windows => Least,
            Least if self.shift + 1 < self.shifts => {
                self.shift += 1;
                ClearMoved
            }
            Least => {
                self.shift = 0;
                FillLeast
            }
        };
        self.stage == FillLeast
    }
}

#[inline]
fn fill<P: Probe>(memory: &mut [u32], range: std::ops::Range<usize>, value: u32, probe: &mut P) {
    let [mut row] = spans(memory, [range]);
    for run in runs(row.start(), row.len()) {
        probe.compute(instructions::FILL * run.len() as u32);
        row.store_run(probe, run).fill(value);
    }
}

#[inline]
fn copy<P: Probe>(memory: &mut [u32], from: std::ops::Range<usize>, to: std::ops::Range<usize>, probe: &mut P) {
    let [from, mut to] = spans(memory, [from, to]);
    for run in runs(from.start(), from.len().min(to.len())) {
        probe.compute(instructions::COPY * run.len() as u32);
        let words = from.load_run(probe, run.clone());
        to.store_run(probe, run).copy_from_slice(words);
    }
}
