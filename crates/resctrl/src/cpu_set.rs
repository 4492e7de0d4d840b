//! Sets of CPUs, as the kernel prints and parses them (lib/bitmap-str.c).

use std::fmt::Write as _;

use crate::Errno;
use crate::number::{Digits, digits};
use crate::text::is_space;

/// A set of CPU numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CpuSet {
    /// Ascending words of 64 CPUs; the last one is not 0.
    words: Vec<u64>,
}

impl CpuSet {
    /// No CPU.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there is no CPU.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether a CPU is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.words.get(cpu as usize / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    /// Adds a CPU.
    pub fn insert(&mut self, cpu: u32) {
        let word = cpu as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (cpu % 64);
    }

    /// The CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.words.len() as u32 * 64).filter(|&cpu| self.contains(cpu))
    }

    /// The CPUs of both.
    pub fn union(&self, other: &CpuSet) -> CpuSet {
        self.combine(other, |a, b| a | b)
    }

    /// The CPUs that both have.
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        self.combine(other, |a, b| a & b)
    }

    /// The CPUs that the other does not have.
    pub fn difference(&self, other: &CpuSet) -> CpuSet {
        self.combine(other, |a, b| a & !b)
    }

    fn combine(&self, other: &CpuSet, with: impl Fn(u64, u64) -> u64) -> CpuSet {
        let length = self.words.len().max(other.words.len());
        let word = |set: &CpuSet, index: usize| set.words.get(index).copied().unwrap_or(0);
        let mut words: Vec<u64> = (0..length).map(|index| with(word(self, index), word(other, index))).collect();
        while words.last() == Some(&0) {
            words.pop();
        }
        CpuSet { words }
    }

    /// As `cpus` shows it: groups of 32 bits in hexadecimal, the first as wide as `possible` needs (`%*pb`).
    pub fn mask(&self, possible: u32) -> String {
        let groups = possible.div_ceil(32).max(1);
        let mut text = String::new();
        for group in (0..groups).rev() {
            let bits = (possible - group * 32).min(32);
            let value = self.words.get(group as usize / 2).map_or(0, |word| (word >> (group % 2 * 32)) as u32);
            let width = bits.div_ceil(4) as usize;
            let separator = if group + 1 == groups { "" } else { "," };
            let _ = write!(text, "{separator}{value:0width$x}");
        }
        text
    }

    /// As `cpus_list` shows it: ranges in decimal (`%*pbl`).
    pub fn list(&self) -> String {
        let mut text = String::new();
        let mut cpus = self.iter().peekable();
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if(|&next| next == last + 1) {
                last = next;
            }
            let separator = if text.is_empty() { "" } else { "," };
            let _ = match first == last {
                true => write!(text, "{separator}{first}"),
                false => write!(text, "{separator}{first}-{last}"),
            };
        }
        text
    }

    /// Parses what `cpus` takes: groups of at most 8 hexadecimal digits, separated by commas or spaces, read from the
    /// end (bitmap_parse).
    pub(crate) fn parse_mask(text: &[u8], bits: u32) -> Result<CpuSet, Errno> {
        let mut rest = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let mut groups = Vec::new();
        loop {
            while let [before @ .., last] = rest
                && is_separator(*last)
            {
                rest = before;
            }
            if rest.is_empty() {
                break;
            }
            if groups.len() as u32 == bits.div_ceil(32) {
                return Err(Errno::EOVERFLOW);
            }
            let value;
            (value, rest) = last_mask_group(rest)?;
            groups.push(value);
        }
        let set_bits = groups.iter().enumerate().flat_map(|(group, &value)| {
            (0..32).filter(move |bit| value >> bit & 1 == 1).map(move |bit| group as u32 * 32 + bit)
        });
        let set: CpuSet = set_bits.collect();
        if set.iter().any(|cpu| cpu >= bits) { Err(Errno::EOVERFLOW) } else { Ok(set) }
    }

    /// Parses what `cpus_list` takes: `0-3,8`, `0-15:2/4`, `all`, `N` for the last (bitmap_parselist).
    pub(crate) fn parse_list(text: &[u8], bits: u32) -> Result<CpuSet, Errno> {
        let mut set = CpuSet::new();
        let mut rest = text;
        loop {
            while let [byte, after @ ..] = rest
                && is_separator(*byte)
            {
                rest = after;
            }
            if at_end(rest) {
                return Ok(set);
            }
            let (region, after) = Region::parse(rest, bits)?;
            region.check(bits)?;
            let mut start = region.start;
            while start <= region.end {
                for cpu in start..start + (region.end - start + 1).min(region.used) {
                    set.insert(cpu);
                }
                start = match start.checked_add(region.length) {
                    Some(next) => next,
                    None => break,
                };
            }
            rest = after;
        }
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<T: IntoIterator<Item = u32>>(cpus: T) -> Self {
        let mut set = CpuSet::new();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

fn is_separator(byte: u8) -> bool {
    is_space(byte) || byte == b','
}

fn at_end(text: &[u8]) -> bool {
    text.first().is_none_or(|&byte| byte == b'\n')
}

/// Takes up to 8 hexadecimal digits from the end of a text.
fn last_mask_group(text: &[u8]) -> Result<(u32, &[u8]), Errno> {
    let mut value = 0;
    let mut rest = text;
    for place in 0..8 {
        let [before @ .., last] = rest else { return Ok((value, rest)) };
        if place > 0 && is_separator(*last) {
            return Ok((value, rest));
        }
        value |= (*last as char).to_digit(16).ok_or(Errno::EINVAL)? << (4 * place);
        rest = before;
    }
    match rest {
        [] => Ok((value, rest)),
        [.., last] if is_separator(*last) => Ok((value, rest)),
        [.., last] if last.is_ascii_hexdigit() => Err(Errno::EOVERFLOW),
        // The kernel looks at a ninth character and then forgets it, whatever it is.
        [before @ .., _] => Ok((value, before)),
    }
}

/// `start-end:used/length`: of every `length` CPUs from `start` to `end` the first `used`.
struct Region {
    start: u32,
    end: u32,
    used: u32,
    length: u32,
}

impl Region {
    fn parse(text: &[u8], bits: u32) -> Result<(Region, &[u8]), Errno> {
        let last = bits.wrapping_sub(1);
        let ends = |text: &[u8]| at_end(text) || is_separator(text[0]);
        let (start, end, rest) = if text.len() >= 3 && text[..3].eq_ignore_ascii_case(b"all") {
            (0, last, &text[3..])
        } else {
            let (start, rest) = number(text, last)?;
            if ends(rest) {
                return Ok((Region::plain(start, start), rest));
            }
            let (end, rest) = number(rest.strip_prefix(b"-").ok_or(Errno::EINVAL)?, last)?;
            (start, end, rest)
        };
        if ends(rest) {
            return Ok((Region::plain(start, end), rest));
        }
        let (used, rest) = number(rest.strip_prefix(b":").ok_or(Errno::EINVAL)?, last)?;
        let (length, rest) = number(rest.strip_prefix(b"/").ok_or(Errno::EINVAL)?, last)?;
        Ok((Region { start, end, used, length }, rest))
    }

    fn plain(start: u32, end: u32) -> Region {
        // The kernel's numbers wrap too, which makes CPU 4294967295 EINVAL instead of ERANGE.
        let length = end.wrapping_add(1);
        Region { start, end, used: length, length }
    }

    fn check(&self, bits: u32) -> Result<(), Errno> {
        if self.start > self.end || self.length == 0 || self.used > self.length {
            return Err(Errno::EINVAL);
        }
        if self.end >= bits { Err(Errno::ERANGE) } else { Ok(()) }
    }
}

fn number(text: &[u8], last: u32) -> Result<(u32, &[u8]), Errno> {
    if let [b'N', rest @ ..] = text {
        return Ok((last, rest));
    }
    let Digits { value, length } = digits(text, 10);
    if length == 0 {
        return Err(Errno::EINVAL);
    }
    let value = value.and_then(|value| u32::try_from(value).ok()).ok_or(Errno::EOVERFLOW)?;
    Ok((value, &text[length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(cpus: &[u32]) -> CpuSet {
        cpus.iter().copied().collect()
    }

    #[test]
    fn masks_are_printed_in_groups_of_32_bits() {
        assert_eq!(set(&[0, 1, 2, 3]).mask(4), "f");
        // 48 CPUs: the top group has 16 bits, four digits.
        assert_eq!((0..48).collect::<CpuSet>().mask(48), "ffff,ffffffff");
        // 33 CPUs: the top group has one bit, one digit.
        assert_eq!(set(&[4, 32]).mask(33), "1,00000010");
    }

    #[test]
    fn lists_are_printed_as_ranges() {
        assert_eq!(set(&[0, 1, 2, 3, 7]).list(), "0-3,7");
        assert_eq!(set(&[]).list(), "");
    }

    #[test]
    fn a_trailing_comma_and_no_newline_are_a_mask() {
        assert_eq!(CpuSet::parse_mask(b"0f,", 8), Ok(set(&[0, 1, 2, 3])));
        assert_eq!(CpuSet::parse_mask(b"\n", 8), Ok(set(&[])));
    }

    #[test]
    fn bits_beyond_the_last_cpu_overflow() {
        assert_eq!(CpuSet::parse_mask(b"10", 4), Err(Errno::EOVERFLOW));
        assert_eq!(CpuSet::parse_mask(b"1,0", 4), Err(Errno::EOVERFLOW));
        assert_eq!(CpuSet::parse_mask(b"x", 4), Err(Errno::EINVAL));
        assert_eq!(CpuSet::parse_mask(b"123456789", 64), Err(Errno::EOVERFLOW));
    }

    #[test]
    fn a_stray_character_before_eight_digits_is_swallowed() {
        assert_eq!(CpuSet::parse_mask(b"x00000003", 64), Ok(set(&[0, 1])));
        assert_eq!(CpuSet::parse_mask(b"xx00000003", 64), Err(Errno::EINVAL));
    }

    #[test]
    fn lists_take_patterns() {
        // Of every 4 CPUs from 0 to 7 the first 2.
        assert_eq!(CpuSet::parse_list(b"0-7:2/4\n", 8), Ok(set(&[0, 1, 4, 5])));
        assert_eq!(CpuSet::parse_list(b"N,all\n", 3), Ok(set(&[0, 1, 2])));
        assert_eq!(CpuSet::parse_list(b"3-1", 8), Err(Errno::EINVAL));
        assert_eq!(CpuSet::parse_list(b"8", 8), Err(Errno::ERANGE));
        assert_eq!(CpuSet::parse_list(b"99999999999", 8), Err(Errno::EOVERFLOW));
        assert_eq!(CpuSet::parse_list(b"4294967295", 8), Err(Errno::EINVAL));
    }
}
