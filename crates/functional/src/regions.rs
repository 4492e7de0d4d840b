//! Lines beyond the numbers that tables hold.
//!
//! A table keeps 31 bits of a line number. A program's addresses have more, but it uses few regions of them: those that
//! lie far get free numbers nearby. The lowest bits stay, and the set is taken from those, so no count changes.

use waykeeper_simulator::Refused;

use crate::access::Word;

/// Lines in a region, as a power of two: 1 GiB of 64-byte lines.
pub const REGION_BITS: u32 = 24;

/// Regions that keep their numbers.
const NEAR: u64 = 64;

/// Far regions at a time; the last number is left out, as its last line would be [`EMPTY`](super::access::EMPTY).
const MOST_FAR: usize = 63;

/// The line numbers below this one stay as they are.
pub const NEAR_LINES: u64 = NEAR << REGION_BITS;

/// The far regions seen so far.
#[derive(Debug, Clone, Default)]
pub struct Regions {
    far: Vec<u64>,
}

impl Regions {
    /// The number that tables use for a line.
    ///
    /// # Errors
    /// More far regions than there are numbers for.
    pub fn near(&mut self, line: u64) -> Result<Word, Refused> {
        if let Some(known) = self.known(line) {
            return Ok(known);
        }
        if self.far.len() == MOST_FAR {
            let why = format!(
                "more than {MOST_FAR} regions of 2^{REGION_BITS} lines each lie above line 2^{}; \
                 functional mode can tell no more apart",
                NEAR_LINES.trailing_zeros()
            );
            return Err(Refused::new("accesses", why));
        }
        self.far.push(line >> REGION_BITS);
        Ok(number(self.far.len() - 1, line))
    }

    /// The number of a line, unless it lies in a far region that was not seen.
    pub fn known(&self, line: u64) -> Option<Word> {
        let region = line >> REGION_BITS;
        if region < NEAR {
            return Some(line as Word);
        }
        self.far.iter().position(|far| *far == region).map(|at| number(at, line))
    }
}

fn number(far: usize, line: u64) -> Word {
    let within = line & ((1 << REGION_BITS) - 1);
    ((NEAR + far as u64) << REGION_BITS | within) as Word
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::EMPTY;

    #[test]
    fn far_regions_keep_their_lowest_bits_and_stay_apart() {
        let mut regions = Regions::default();
        assert_eq!(regions.near(NEAR_LINES - 1), Ok(NEAR_LINES as Word - 1));
        let far = [NEAR_LINES, u64::MAX >> 7, 1 << 50, u64::MAX >> 7, NEAR_LINES + 5];
        // Regions 64, 65 and 66, in the order in which they were seen.
        let [a, b, c] = [64u32, 65, 66].map(|region| region << 24);
        assert_eq!(far.map(|line| regions.near(line).unwrap()), [a, b + 0xff_ffff, c, b + 0xff_ffff, a + 5]);
    }

    #[test]
    fn the_last_region_is_refused_before_it_could_be_taken_for_an_empty_place() {
        let mut regions = Regions::default();
        let last = |region: u64| ((region + 1) << REGION_BITS) - 1;
        let most = (0..MOST_FAR as u64).map(|far| regions.near(last(NEAR + far)).unwrap()).max().unwrap();
        assert!(most < EMPTY);
        assert!(regions.near(last(1000)).is_err());
        assert_eq!(regions.near(last(NEAR)), Ok(last(NEAR) as Word));
    }
}
