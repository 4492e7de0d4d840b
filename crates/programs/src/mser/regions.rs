//! The regions of the forest: which there are, what is around them, how stable they are.

use super::{DELTA, Mser, VOID, branches, instructions, node, pair, region};
use crate::memory::{Span, spans};
use crate::probe::Probe;

impl Mser {
    /// A node is a region where its parent is lighter, or where it is the last root: of the pixels of one shade the last
    /// one is on top.
    pub(super) fn find_regions<P: Probe>(&mut self, memory: &mut [u32], probe: &mut P) {
        let a = &self.arrays;
        let [image, pairs, mut forest, mut regions] =
            spans(memory, [a.image.all(), a.pairs.all(), a.forest.all(), a.regions.all()]);
        for place in self.places() {
            let from = pair::WORDS * place;
            let value = pairs.load(probe, from + pair::VALUE);
            let pixel = pairs.follow(probe, from + pair::INDEX) as usize;
            let parent = forest.follow(probe, node::WORDS * pixel + node::PARENT) as usize;
            let shade = image.load(probe, parent);
            probe.compute(instructions::INDEXED + 2);
            let is_region = shade > value || parent == pixel;
            probe.branch(branches::REGION, is_region);
            if !is_region {
                continue;
            }
            let area = forest.load(probe, node::WORDS * pixel + node::AREA);
            forest.store(probe, node::WORDS * pixel + node::REGION, self.regions as u32);
            let to = region::WORDS * self.regions;
            regions.store(probe, to + region::PARENT, self.regions as u32);
            regions.store(probe, to + region::INDEX, pixel as u32);
            regions.store(probe, to + region::VALUE, value);
            regions.store(probe, to + region::AREA, area);
            regions.store(probe, to + region::AREA_TOP, area);
            regions.store(probe, to + region::AREA_BOTTOM, 0);
            regions.store(probe, to + region::IS_STABLE, 1);
            self.regions += 1;
        }
    }

    /// From the last join to the first, so that a parent's region is known before its child's.
    pub(super) fn connect<P: Probe>(&self, memory: &mut [u32], probe: &mut P) {
        let a = &self.arrays;
        let [joins, mut forest, mut regions] = spans(memory, [a.joins.all(), a.forest.all(), a.regions.all()]);
        for place in self.places() {
            let child = node::WORDS * joins.follow(probe, self.joins - 1 - place) as usize;
            let parent = node::WORDS * forest.follow(probe, child + node::PARENT) as usize;
            let around = forest.load(probe, parent + node::REGION);
            let own = forest.follow(probe, child + node::REGION);
            probe.compute(instructions::INDEXED + 3);
            probe.branch(branches::HAS_REGION, own != VOID);
            if own == VOID {
                forest.store(probe, child + node::REGION, around);
            } else {
                regions.store(probe, region::WORDS * own as usize + region::PARENT, around);
            }
        }
    }

    /// The area at the lighter threshold: that of the largest region around it that is not lighter.
    pub(super) fn tops<P: Probe>(&self, memory: &mut [u32], probe: &mut P) {
        let [mut regions] = spans(memory, [self.arrays.regions.all()]);
        for number in self.places() {
            let value = regions.load(probe, region::WORDS * number + region::VALUE);
            let mut top = number;
            loop {
                let next = regions.follow(probe, region::WORDS * top + region::PARENT) as usize;
                let next_value = regions.load(probe, region::WORDS * next + region::VALUE);
                probe.compute(instructions::LINK + 2);
                let is_last = next == top || next_value > value + DELTA;
                probe.branch(branches::TOP, is_last);
                if is_last {
                    break;
                }
                top = next;
            }
            let area = regions.load(probe, region::WORDS * top + region::AREA);
            regions.store(probe, region::WORDS * number + region::AREA_TOP, area);
        }
    }

    /// The area at the darker threshold: each region reports its own to the first one around it for which it is dark
    /// enough; what was reported to a region also holds for the one around it.
    pub(super) fn bottoms<P: Probe>(&self, memory: &mut [u32], probe: &mut P) {
        let [mut regions] = spans(memory, [self.arrays.regions.all()]);
        for number in self.places() {
            let from = region::WORDS * number;
            let value = regions.load(probe, from + region::VALUE);
            let area = regions.load(probe, from + region::AREA);
            let told = regions.load(probe, from + region::AREA_BOTTOM);
            let around = regions.follow(probe, from + region::PARENT) as usize;
            tell(&mut regions, around, told, probe);
            let (mut lower, mut upper) = (number, around);
            while upper != lower {
                probe.compute(instructions::LINK + 2);
                let is_dark = regions.load(probe, region::WORDS * upper + region::VALUE) >= value + DELTA;
                probe.branch(branches::BOTTOM, is_dark);
                if is_dark {
                    tell(&mut regions, upper, area, probe);
                    break;
                }
                lower = upper;
                upper = regions.follow(probe, region::WORDS * upper + region::PARENT) as usize;
            }
        }
    }

    pub(super) fn variations<P: Probe>(&self, memory: &mut [u32], probe: &mut P) {
        let [mut regions] = spans(memory, [self.arrays.regions.all()]);
        for number in self.places() {
            let from = region::WORDS * number;
            let area = regions.load(probe, from + region::AREA);
            let top = regions.load(probe, from + region::AREA_TOP);
            let bottom = regions.load(probe, from + region::AREA_BOTTOM);
            probe.compute(instructions::VARIATION);
            regions.store_f32(probe, from + region::VARIATION, (top - bottom) as f32 / area as f32);
        }
    }

    /// Of a region and the one around it, the one with the larger variation is not stable; the outer one if they are equal.
    pub(super) fn stability<P: Probe>(&self, memory: &mut [u32], probe: &mut P) {
        let [mut regions] = spans(memory, [self.arrays.regions.all()]);
        for number in self.places() {
            let from = region::WORDS * number;
            let around = region::WORDS * regions.follow(probe, from + region::PARENT) as usize;
            probe.branch(branches::OUTERMOST, around == from);
            if around == from {
                continue;
            }
            let own = regions.load_f32(probe, from + region::VARIATION);
            let other = regions.load_f32(probe, around + region::VARIATION);
            probe.compute(instructions::VARIATION);
            probe.branch(branches::LOSER, own <= other);
            let loser = if own <= other { around } else { from };
            regions.store(probe, loser + region::IS_STABLE, 0);
        }
    }

    /// The list of stable regions, in place of the joins, which nobody needs any more.
    pub(super) fn collect<P: Probe>(&mut self, memory: &mut [u32], probe: &mut P) {
        let [regions, mut list] = spans(memory, [self.arrays.regions.all(), self.arrays.joins.all()]);
        for number in self.places() {
            let is_stable = regions.load(probe, region::WORDS * number + region::IS_STABLE) != 0;
            probe.compute(instructions::LOOP + 1);
            probe.branch(branches::STABLE, is_stable);
            if is_stable {
                let pixel = regions.load(probe, region::WORDS * number + region::INDEX);
                list.store(probe, self.stable, pixel);
                self.stable += 1;
            }
        }
    }
}

/// A region learns of a dark one in it.
#[inline]
fn tell<P: Probe>(regions: &mut Span<'_>, to: usize, area: u32, probe: &mut P) {
    let place = region::WORDS * to + region::AREA_BOTTOM;
    let is_larger = area > regions.load(probe, place);
    probe.branch(branches::LARGER, is_larger);
    if is_larger {
        regions.store(probe, place, area);
    }
}
