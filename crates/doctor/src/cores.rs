//! Sets of CPUs as files and parameters have them.

use waykeeper_linux::{format_cpulist, parse_cpulist};

/// Reads a mask such as `ff` or `1,00000000`: groups of 32 bits, the highest first.
pub(crate) fn parse_mask(text: &str) -> Option<Vec<u32>> {
    let groups: Vec<&str> = text.trim().split(',').collect();
    let mut cpus = Vec::new();
    for (place, group) in groups.iter().rev().enumerate() {
        let plain = (1..=8).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = u32::from_str_radix(group, 16).ok().filter(|_| plain)?;
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 != 0).map(|bit| bit + 32 * place as u32));
    }
    Some(cpus)
}

/// The list of `isolcpus=` or `rcu_nocbs=`: flags may come first. `None` where it has what only the kernel can expand
/// (`N`, strides).
pub(crate) fn parse_parameter(value: &str) -> Option<Vec<u32>> {
    let numbers = value.split(',').filter(|part| !part.starts_with(|c: char| c.is_ascii_alphabetic()));
    parse_cpulist(&numbers.collect::<Vec<_>>().join(","))
}

/// `core 3`, `cores 2-3`.
pub(crate) fn named(cores: &[u32]) -> String {
    let plural = if cores.len() == 1 { "core" } else { "cores" };
    format!("{plural} {}", format_cpulist(cores))
}

/// A mask as `/proc/irq` takes it.
pub(crate) fn format_mask(cores: &[u32]) -> String {
    let groups = cores.iter().max().map_or(1, |last| last / 32 + 1);
    let group =
        |place: u32| cores.iter().filter(|core| **core / 32 == place).fold(0_u32, |bits, core| bits | 1 << (core % 32));
    let mut text = format!("{:x}", group(groups - 1));
    for place in (0..groups - 1).rev() {
        text += &format!(",{:08x}", group(place));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_read_and_write() {
        assert_eq!(parse_mask("1,80000001\n"), Some(vec![0, 31, 32]));
        assert_eq!(format_mask(&[0, 31, 32]), "1,80000001");
        assert_eq!(format_mask(&[0, 1]), "3");
        assert_eq!(format_mask(&[]), "0");
        assert_eq!(parse_mask("+f"), None);
        assert_eq!(parse_mask(""), None);
    }

    #[test]
    fn flags_before_a_list_are_left_out() {
        assert_eq!(parse_parameter("domain,managed_irq,2-3"), Some(vec![2, 3]));
        assert_eq!(parse_parameter("2,3"), Some(vec![2, 3]));
        assert_eq!(parse_parameter("0-15:2/4"), None);
    }
}
