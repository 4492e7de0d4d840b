//! What receives a program's accesses.

/// Receives what a program does, access by access. All accesses are to words of 4 bytes; a word's number is its place in
/// the program's memory.
pub trait Probe {
    /// A load.
    fn load(&mut self, word: usize);
    /// A load whose value is the place of a later access, which cannot begin before.
    fn follow(&mut self, word: usize);
    /// A store.
    fn store(&mut self, word: usize);
    /// Loads of this many words that follow each other, as vector instructions make them.
    #[inline]
    fn load_run(&mut self, word: usize, words: usize) {
        (word..word + words).for_each(|word| self.load(word));
    }
    /// Stores of this many words that follow each other.
    #[inline]
    fn store_run(&mut self, word: usize, words: usize) {
        (word..word + words).for_each(|word| self.store(word));
    }
    /// This many instructions that touch no memory.
    fn compute(&mut self, instructions: u32);
    /// A branch that decides on the value of the last load, and whether it is taken. Each place in the source has a number
    /// of its own within its program. Branches that follow a pattern whatever the image, such as those that close the
    /// loops over its pixels, are not reported: any predictor knows them.
    #[inline]
    fn branch(&mut self, _place: u32, _taken: bool) {}
}

/// Nobody: the program as it runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    #[inline(always)]
    fn load(&mut self, _: usize) {}
    #[inline(always)]
    fn follow(&mut self, _: usize) {}
    #[inline(always)]
    fn store(&mut self, _: usize) {}
    #[inline(always)]
    fn load_run(&mut self, _: usize, _: usize) {}
    #[inline(always)]
    fn store_run(&mut self, _: usize, _: usize) {}
    #[inline(always)]
    fn compute(&mut self, _: u32) {}
}
