//! From addresses to words, a block at a time.

use waykeeper_simulator::Refused;

use crate::access::{EMPTY, STORE, Word};
use crate::regions::{NEAR_LINES, Regions};
use crate::sample::neighbours_agree;

/// Accesses in a block: its words, and those of the outer levels, stay in the host's first or second level.
pub const BLOCK: usize = 2048;

/// The bits of an address.
const ADDRESS: u64 = u64::MAX >> 1;

/// How the addresses of a slice are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Loads.
    Loads,
    /// Stores.
    Stores,
    /// [`PackedAccess`](super::PackedAccess)es, whose highest bit marks stores.
    Both,
}

/// A block of words for the first level.
#[derive(Debug, Clone)]
pub struct Block {
    words: Vec<Word>,
    length: usize,
    /// Loads that the block stands for.
    pub loads: u64,
    /// Stores that the block stands for.
    pub stores: u64,
    /// The last word of the block before.
    before: Word,
    regions: Regions,
}

impl Block {
    /// An empty block.
    pub fn new() -> Self {
        Self { words: vec![0; BLOCK], length: 0, loads: 0, stores: 0, before: EMPTY, regions: Regions::default() }
    }

    /// The words.
    pub fn words(&self) -> &[Word] {
        &self.words[..self.length]
    }

    /// The word of an address, if any access could have had it.
    pub fn line(&self, address: u64, line_shift: u32) -> Option<Word> {
        self.regions.known((address & ADDRESS) >> line_shift)
    }

    /// Takes up to [`BLOCK`] addresses. If `repeats` may be left out, a word that repeats the one before is only counted:
    /// it hits, and changes nothing.
    ///
    /// # Errors
    /// Addresses that lie too far apart; then the block is empty.
    pub fn take(&mut self, raw: &[u64], meaning: Meaning, line_shift: u32, repeats: bool) -> Result<(), Refused> {
        let raw = &raw[..raw.len().min(BLOCK)];
        let words = &mut self.words[..raw.len()];
        (self.length, self.loads, self.stores) = (0, 0, 0);
        let (all, stores) = match meaning {
            Meaning::Loads => (near::<false, false>(raw, words, line_shift), 0),
            Meaning::Stores => (near::<false, true>(raw, words, line_shift), raw.len() as u64),
            Meaning::Both => (near::<true, false>(raw, words, line_shift), raw.iter().map(|raw| raw >> 63).sum()),
        };
        if all >> line_shift >= NEAR_LINES {
            for (word, raw) in words.iter_mut().zip(raw) {
                *word = self.regions.near((raw & ADDRESS) >> line_shift)? | *word & STORE;
            }
        }
        self.length = raw.len();
        (self.loads, self.stores) = (raw.len() as u64 - stores, stores);
        if repeats && neighbours_agree(words, Word::MAX) {
            self.length = without_repeats(words, self.before);
        }
        self.before = self.words().last().copied().unwrap_or(self.before);
        Ok(())
    }
}

/// Lines that need no other number, as words; returns all bits of all addresses.
fn near<const BOTH: bool, const STORES: bool>(raw: &[u64], words: &mut [Word], line_shift: u32) -> u64 {
    let mut all = 0;
    for (word, raw) in words.iter_mut().zip(raw) {
        let address = raw & ADDRESS;
        all |= address;
        let store = if BOTH {
            (raw >> 32) as Word & STORE
        } else if STORES {
            STORE
        } else {
            0
        };
        *word = (address >> line_shift) as Word & EMPTY | store;
    }
    all
}

/// Drops the words that repeat the one before them; returns how many are left.
fn without_repeats(words: &mut [Word], mut before: Word) -> usize {
    let mut kept = 0;
    for at in 0..words.len() {
        let word = words[at];
        words[kept] = word;
        kept += usize::from(word != before);
        before = word;
    }
    kept
}
