//! Rows in registers of x86-64 with AVX2.
//!
//! Everything below this module is inlined into [`walk`], which alone is entered and alone asks for the instructions: no
//! other code may use these rows. That is the promise on which the `unsafe` blocks of its rows rest. There are no closures
//! in them: they would not ask for the instructions, and be called.

mod octets;
mod quad;

use super::loops::{Out, Table, TableLoop};
use super::row::RecencyRow;
use crate::access::Word;
use crate::counts::BlockMisses;

pub use octets::Octets;
pub use quad::Quad;

/// Takes a block of words through a table.
///
/// # Safety
/// The host must have AVX2 and BMI1.
#[target_feature(enable = "avx2,bmi1")]
pub unsafe fn walk<W: TableLoop, R: OnAvx2, const FULL: bool>(
    table: &mut Table<R, FULL>,
    words: &[Word],
    out: &mut Out,
) -> BlockMisses {
    W::walk(table, words, out)
}

/// The rows of this module.
pub trait OnAvx2: RecencyRow {}

impl OnAvx2 for Quad {}
impl OnAvx2 for Octets<1> {}
impl OnAvx2 for Octets<2> {}
impl OnAvx2 for Octets<3> {}
impl OnAvx2 for Octets<4> {}

/// For each place of a row: the order of its words in which that one comes first.
const fn raised<const N: usize>() -> [[u32; N]; N] {
    let mut orders = [[0; N]; N];
    let mut at = 0;
    while at < N {
        let mut to = 0;
        while to < N {
            let from = if to == 0 {
                at
            } else if to <= at {
                to - 1
            } else {
                to
            };
            orders[at][to] = from as u32;
            to += 1;
        }
        at += 1;
    }
    orders
}

/// A mask of the first `count` words of a row, of which `N` are wanted; `count` is at most 32.
#[inline(always)]
fn first<const N: usize>(count: u32) -> &'static [u32; N] {
    /// Set words, then others: where a piece begins decides how many set ones it has.
    const MASKS: [u32; 96] = {
        let mut masks = [0; 96];
        let mut at = 0;
        while at < 32 {
            masks[at] = u32::MAX;
            at += 1;
        }
        masks
    };
    let begin = 32u32.wrapping_sub(count) as usize % 64;
    MASKS[begin..].first_chunk().expect("no row is longer than 32 words")
}
