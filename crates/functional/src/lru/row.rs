//! What a loop needs of a row of words.

use crate::access::Word;

/// A set's words in registers, the most recently used first. The surplus ones of a row that is longer than the set are
/// anything.
pub trait RecencyRow: Copy {
    /// Words of a row.
    const LENGTH: usize;

    /// A row in memory.
    type Words;
    /// One word beside each word of a row.
    type Beside: Copy;

    /// Words in memory as rows.
    fn rows(words: &mut [Word]) -> &mut [Self::Words];

    /// The words of a row in memory.
    fn words(row: &mut Self::Words) -> &mut [Word];

    /// Reads a row.
    fn read(words: &Self::Words) -> Self;

    /// Writes a row.
    fn write(self, words: &mut Self::Words);

    /// A word beside each.
    fn beside(word: Word) -> Self::Beside;

    /// Which words have this line, one bit each. With `CLEAN`, neither the row nor the word has a bit for stores.
    fn find<const CLEAN: bool>(self, word: Self::Beside) -> u32;

    /// Which words are dirty, one bit each.
    fn dirty(self) -> u32;

    /// The word at a place.
    fn word(self, at: usize) -> Word;

    /// All words move on by one, and this one comes first.
    fn push(self, word: Self::Beside) -> Self;

    /// The first `count` words move on by one, which drops the last of them, and this one comes first; 0 changes nothing.
    fn push_within(self, count: u32, word: Self::Beside) -> Self;

    /// The word at place `at`, which has the line of `word`, moves to the front and keeps its bit if it is dirty.
    fn raise<const CLEAN: bool>(self, at: u32, word: Self::Beside) -> Self;
}
