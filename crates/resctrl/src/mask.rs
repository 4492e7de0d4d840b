//! Masks of caches: which are taken, and whose they overlap with.

use crate::group::Mode;
use crate::number::unsigned;
use crate::pseudo_lock::Target;
use crate::resource::{DomainState, full_mask};
use crate::{Errno, Resctrl};

impl Resctrl {
    pub(crate) fn domain(&self, target: Target) -> &DomainState {
        &self.resources[self.schemas[target.schema].resource].domains[target.domain]
    }

    /// Parses a mask and checks its form.
    pub(crate) fn parse_mask(&mut self, target: Target, text: &[u8]) -> Result<u32, Errno> {
        let resource = &self.resources[self.schemas[target.schema].resource];
        let Some(cache) = resource.cache() else { return Err(Errno::EINVAL) };
        let (bits, min_bits) = (cache.mask_bits, cache.min_bits);
        let holes = self.allows_holes(cache);
        let Ok(value) = unsigned(text, 16) else {
            self.status.print(&[b"Non-hex character in the mask ", text, b"\n"]);
            return Err(Errno::EINVAL);
        };
        let mask = match u32::try_from(value) {
            Ok(mask) if mask <= full_mask(bits) && (mask != 0 || min_bits == 0) => mask,
            _ => return self.refuse("Mask out of range\n"),
        };
        let run = first_run(mask);
        if !holes && mask != run {
            let text = format!("The mask {mask:x} has non-consecutive 1-bits\n");
            self.status.print(&[text.as_bytes()]);
            return Err(Errno::EINVAL);
        }
        if run.count_ones() < min_bits {
            let text = format!("Need at least {min_bits} bits in the mask\n");
            self.status.print(&[text.as_bytes()]);
            return Err(Errno::EINVAL);
        }
        Ok(mask)
    }

    /// Whether a mask for a class overlaps with another class's, its peer's with CDP included; either with exclusive
    /// ones only, or with all and with the bits that the hardware shares.
    pub(crate) fn overlaps(&self, target: Target, mask: u32, closid: u32, exclusive_only: bool) -> bool {
        let schema = &self.schemas[target.schema];
        let resource = &self.resources[schema.resource];
        let shareable = resource.cache().map_or(0, |cache| cache.shareable);
        if !exclusive_only && mask & shareable != 0 {
            return true;
        }
        let domain = self.domain(target);
        let kinds = [Some(schema.kind), Resctrl::peer(schema.kind)];
        kinds.into_iter().flatten().any(|kind| {
            self.closids.all_taken().filter(|&other| other != closid).any(|other| {
                let mode = self.mode_of_class(other);
                let counts = match exclusive_only {
                    true => mode == Some(Mode::Exclusive),
                    false => mode != Some(Mode::PseudoLocksetup),
                };
                counts && mask & domain.control(other, kind) != 0
            })
        })
    }

    /// The bits of a domain that are pseudo-locked or about to be.
    pub(crate) fn locked_bits(&self, domain: &DomainState) -> u32 {
        let group = domain.locked_by.and_then(|group| self.groups.get(&group));
        group.and_then(|group| group.region.as_ref()).map_or(0, |region| region.mask)
    }

    /// The mask that a new class begins with in a domain: what shareable classes have and what no one has. Exclusive and
    /// locked bits are left out.
    ///
    /// # Errors
    /// ENOSPC when too few bits are left.
    pub(crate) fn default_mask(&mut self, target: Target, closid: u32) -> Result<u32, Errno> {
        let schema = &self.schemas[target.schema];
        let Some(cache) = self.resources[schema.resource].cache() else { return Err(Errno::EINVAL) };
        let domain = self.domain(target);
        let mut mask = cache.shareable;
        let mut used = cache.shareable | self.locked_bits(domain);
        for other in self.closids.all_taken().filter(|&other| other != closid) {
            let mode = self.mode_of_class(other);
            if mode == Some(Mode::PseudoLocksetup) {
                continue;
            }
            let peer = Resctrl::peer(schema.kind).map_or(0, |kind| domain.control(other, kind));
            let both = domain.control(other, schema.kind) | peer;
            used |= both;
            if mode == Some(Mode::Shareable) {
                mask |= both;
            }
        }
        mask |= !used & full_mask(cache.mask_bits);
        // The older kernels take the first run also where holes are allowed.
        if !(self.machine.kernel.knows_sparse_masks() && self.allows_holes(cache)) {
            mask = first_run(mask);
        }
        if mask.count_ones() < cache.min_bits {
            let text = format!("No space on {}:{}\n", schema.name, domain.id);
            self.status.print(&[text.as_bytes()]);
            return Err(Errno::ENOSPC);
        }
        Ok(mask)
    }
}

/// The lowest run of consecutive bits.
fn first_run(mask: u32) -> u32 {
    let zeros = mask.trailing_zeros();
    let ones = mask.checked_shr(zeros).unwrap_or(0).trailing_ones();
    full_mask(ones).checked_shl(zeros).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_run_is_the_lowest() {
        assert_eq!(first_run(0), 0);
        assert_eq!(first_run(0b1011_0110), 0b110);
        assert_eq!(first_run(u32::MAX), u32::MAX);
        assert_eq!(first_run(0xf000_0000), 0xf000_0000);
    }
}
