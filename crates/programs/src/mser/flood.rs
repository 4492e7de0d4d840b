//! The forest: pixel by pixel, from the darkest to the lightest, each is joined with those of its neighbours that had
//! their turn. Its roots are then the dark regions.

use super::{Mser, VOID, branches, instructions, node, pair};
use crate::memory::{Span, spans};
use crate::probe::Probe;

/// Columns and rows to the 8 neighbours, the columns running first.
const NEIGHBOURS: [(isize, isize); 8] = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];

impl Mser {
    pub(super) fn flood<P: Probe>(&mut self, memory: &mut [u32], probe: &mut P) {
        let a = &self.arrays;
        let [pairs, mut forest, mut joins, mut visited] =
            spans(memory, [a.pairs.all(), a.forest.all(), a.joins.all(), a.visited.all()]);
        for place in self.places() {
            let pixel = pairs.follow(probe, pair::WORDS * place + pair::INDEX) as usize;
            probe.compute(instructions::INDEXED);
            let to = node::WORDS * pixel;
            forest.store(probe, to + node::PARENT, pixel as u32);
            forest.store(probe, to + node::SHORTCUT, pixel as u32);
            forest.store(probe, to + node::AREA, 1);
            let (x, y) = (pixel % self.width, pixel / self.width);
            for (dx, dy) in NEIGHBOURS {
                probe.compute(instructions::NEIGHBOUR);
                let column = x.checked_add_signed(dx).filter(|column| *column < self.width);
                let row = y.checked_add_signed(dy).filter(|row| *row < self.height);
                let Some((column, row)) = column.zip(row) else { continue };
                let neighbour = row * self.width + column;
                let had_its_turn = forest.load(probe, node::WORDS * neighbour + node::PARENT) != VOID;
                probe.branch(branches::HAD_ITS_TURN, had_its_turn);
                if !had_its_turn {
                    continue;
                }
                // The pixel is the root of its tree, and stays it: the later one is at least as light.
                let root = find_root(&mut forest, &mut visited, neighbour, probe);
                probe.branch(branches::JOINED, root == pixel);
                if root == pixel {
                    continue;
                }
                let from = node::WORDS * root;
                forest.store(probe, from + node::PARENT, pixel as u32);
                forest.store(probe, from + node::SHORTCUT, pixel as u32);
                let area = forest.load(probe, from + node::AREA) + forest.load(probe, to + node::AREA);
                forest.store(probe, to + node::AREA, area);
                joins.store(probe, self.joins, root as u32);
                self.joins += 1;
            }
        }
    }
}

/// The root of a pixel's tree. All nodes on the way there point to it afterwards (path compression; Tarjan, "Efficiency of
/// a good but not linear set union algorithm", JACM 1975).
#[inline]
fn find_root<P: Probe>(forest: &mut Span<'_>, visited: &mut Span<'_>, pixel: usize, probe: &mut P) -> usize {
    let (mut root, mut length) = (pixel, 0);
    loop {
        let next = forest.follow(probe, node::WORDS * root + node::SHORTCUT) as usize;
        probe.compute(instructions::LINK);
        probe.branch(branches::ROOT, next == root);
        if next == root {
            break;
        }
        visited.store(probe, length, root as u32);
        length += 1;
        root = next;
    }
    for at in (0..length).rev() {
        let passed = visited.load(probe, at) as usize;
        probe.compute(instructions::LINK);
        probe.branch(branches::WAY_BACK, at == 0);
        forest.store(probe, node::WORDS * passed + node::SHORTCUT, root as u32);
    }
    root
}
