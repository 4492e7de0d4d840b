//! Sets of CPUs as the files `cpus` (a mask) and `cpus_list` have them.

use std::collections::BTreeSet;

use waykeeper_linux::{format_cpulist, parse_cpulist};

/// CPUs by number.
pub type Cpus = BTreeSet<u32>;

/// Reads a list such as `0-3,7`.
pub fn parse_list(text: &str) -> Option<Cpus> {
    Some(parse_cpulist(text)?.into_iter().collect())
}

/// Reads a mask such as `ff` or `1,00000000`: groups of 32 bits, the highest first.
pub fn parse_mask(text: &str) -> Option<Cpus> {
    let mut cpus = Cpus::new();
    let groups: Vec<&str> = text.trim().split(',').collect();
    for (place, group) in groups.iter().rev().enumerate() {
        let plain = group.len() <= 8 && group.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = u32::from_str_radix(group, 16).ok().filter(|_| plain)?;
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 != 0).map(|bit| bit + 32 * place as u32));
    }
    Some(cpus)
}

/// The line that sets `cpus_list`.
pub fn format_list(cpus: &Cpus) -> String {
    format_cpulist(&cpus.iter().copied().collect::<Vec<_>>()) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_count_from_the_right() {
        assert_eq!(parse_mask("1,80000001\n"), Some([0, 31, 32].into()));
        assert_eq!(parse_mask("0"), Some(Cpus::new()));
        assert_eq!(parse_mask("123456789"), None);
        assert_eq!(parse_mask("x"), None);
        assert_eq!(parse_mask("+f"), None);
    }
}
