//! A look at a few words of a block, to choose a loop that suits the rest. It decides the speed and nothing else.

use crate::access::Word;

/// Pairs of neighbours that are looked at.
const PAIRS: usize = 16;

/// Whether at least a quarter of neighbouring words agree in the bits of `mask`.
pub fn neighbours_agree(words: &[Word], mask: Word) -> bool {
    let step = words.len() / PAIRS;
    if step < 2 {
        return false;
    }
    // An odd distance does not fall in with patterns of a power of two.
    let step = (step - 1) | 1;
    let agree = (0..PAIRS).filter(|pair| (words[pair * step] ^ words[pair * step + 1]) & mask == 0).count();
    agree >= PAIRS / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_noticed() {
        let blocks = |run: u32| (0..2048).map(|at| at / run).collect::<Vec<Word>>();
        assert!(!neighbours_agree(&blocks(1), u32::MAX));
        assert!(neighbours_agree(&blocks(8), u32::MAX));
        assert!(neighbours_agree(&blocks(1), !0xff));
        assert!(!neighbours_agree(&[1, 1, 1], u32::MAX));
    }
}
