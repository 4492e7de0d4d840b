//! The pixels in the order of their shades, by counting.

use super::{Mser, VOID, instructions, node, pair};
use crate::memory::spans;
use crate::probe::Probe;

impl Mser {
    pub(super) fn clear_buckets<P: Probe>(&self, memory: &mut [u32], probe: &mut P) {
        let [mut buckets] = spans(memory, [self.arrays.buckets.all()]);
        for shade in self.places() {
            probe.compute(instructions::LOOP);
            buckets.store(probe, shade, 0);
        }
    }

    pub(super) fn count<P: Probe>(&self, memory: &mut [u32], probe: &mut P) {
        let [image, mut buckets] = spans(memory, [self.arrays.image.all(), self.arrays.buckets.all()]);
        for pixel in self.places() {
            let shade = image.load(probe, pixel) as usize;
            let count = buckets.load(probe, shade);
            probe.compute(instructions::INDEXED);
            buckets.store(probe, shade, count + 1);
        }
    }

    pub(super) fn add_up<P: Probe>(&self, memory: &mut [u32], probe: &mut P) {
        let [mut buckets] = spans(memory, [self.arrays.buckets.all()]);
        for shade in self.places().filter(|shade| *shade > 0) {
            let sum = buckets.load(probe, shade - 1) + buckets.load(probe, shade);
            probe.compute(instructions::LOOP + 1);
            buckets.store(probe, shade, sum);
        }
    }

    /// From the last pixel to the first, so that pixels of one shade keep their order.
    pub(super) fn sort<P: Probe>(&self, memory: &mut [u32], probe: &mut P) {
        let a = &self.arrays;
        let [image, mut buckets, mut pairs] = spans(memory, [a.image.all(), a.buckets.all(), a.pairs.all()]);
        for place in self.places() {
            let pixel = self.pixels() - 1 - place;
            let shade = image.load(probe, pixel);
            let to = buckets.load(probe, shade as usize) - 1;
            probe.compute(instructions::INDEXED + 1);
            buckets.store(probe, shade as usize, to);
            let to = pair::WORDS * to as usize;
            pairs.store(probe, to + pair::VALUE, shade);
            pairs.store(probe, to + pair::INDEX, pixel as u32);
        }
    }

    pub(super) fn clear_forest<P: Probe>(&self, memory: &mut [u32], probe: &mut P) {
        let [mut forest] = spans(memory, [self.arrays.forest.all()]);
        for pixel in self.places() {
            probe.compute(instructions::LOOP);
            let to = node::WORDS * pixel;
            forest.store(probe, to + node::PARENT, VOID);
            forest.store(probe, to + node::SHORTCUT, VOID);
            forest.store(probe, to + node::REGION, VOID);
            forest.store(probe, to + node::AREA, 0);
        }
    }
}
