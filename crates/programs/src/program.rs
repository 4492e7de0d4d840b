//! A program on a generated image.

use crate::disparity::Disparity;
use crate::image::Image;
use crate::memory::Array;
use crate::mser::Mser;
use crate::probe::{NoProbe, Probe};
use crate::spec::{ProgramName, Spec};

/// A program on a generated image, somewhere in a pass.
#[derive(Debug, Clone)]
pub struct WholeProgram {
    spec: Spec,
    kernel: Kernel,
}

#[derive(Debug, Clone)]
enum Kernel {
    Disparity(Disparity),
    Mser(Mser),
}

impl WholeProgram {
    /// A program at the beginning of a pass.
    pub fn new(spec: Spec) -> Self {
        let (width, height) = spec.program.pixels(spec.size);
        let kernel = match spec.program {
            ProgramName::Disparity => Kernel::Disparity(Disparity::new(width, height, spec.shifts)),
            ProgramName::Mser => Kernel::Mser(Mser::new(width, height)),
        };
        Self { spec, kernel }
    }

    /// Words of 4 bytes of the memory that it works in, a whole number of pages.
    pub fn words(&self) -> usize {
        match &self.kernel {
            Kernel::Disparity(disparity) => disparity.words(),
            Kernel::Mser(mser) => mser.words(),
        }
    }

    /// Its arrays, by name.
    pub fn arrays(&self) -> Vec<(&'static str, Array)> {
        match &self.kernel {
            Kernel::Disparity(disparity) => disparity.arrays(),
            Kernel::Mser(mser) => mser.arrays(),
        }
    }

    /// Writes the generated image into the memory, once before the first pass.
    ///
    /// # Panics
    /// Where the memory has fewer than [`words`](Self::words).
    pub fn lay_out(&self, memory: &mut [u32]) {
        let (width, height) = self.spec.program.pixels(self.spec.size);
        match &self.kernel {
            Kernel::Disparity(disparity) => {
                let [left, right] = Image::stereo(self.spec.seed, width, height);
                disparity.lay_out(&left, &right, memory);
            }
            Kernel::Mser(mser) => mser.lay_out(&Image::scene(self.spec.seed, width, height), memory),
        }
    }

    /// Does a little work, at most some ten thousand accesses. True where that ended the pass: the next step begins the
    /// next one.
    #[inline]
    pub fn step<P: Probe>(&mut self, memory: &mut [u32], probe: &mut P) -> bool {
        match &mut self.kernel {
            Kernel::Disparity(disparity) => disparity.step(memory, probe),
            Kernel::Mser(mser) => mser.step(memory, probe),
        }
    }

    /// Runs to the end of the pass.
    pub fn run(&mut self, memory: &mut [u32]) {
        while !self.step(memory, &mut NoProbe) {}
    }
}
