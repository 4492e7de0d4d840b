//! Sets of CPUs as files and parameters have them.

use waykeeper_linux::{format_cpulist, parse_boot_cpulist};

pub(crate) use waykeeper_linux::parse_cpumask as parse_mask;

/// The flags and the list of a parameter that sets cores apart, as the kernel reads them; `None` where it refuses the
/// list. `last` is the highest number that a core can have.
pub(crate) fn parse_parameter<'v>(name: &str, value: &'v str, last: u32) -> Option<(Vec<&'v str>, Vec<u32>)> {
    let (mut flags, mut list) = (Vec::new(), value);
    // `isolcpus` alone has flags: words at the start, also those that it does not know, so that a list in it cannot begin
    // with `N` or `all` (kernel/sched/isolation.c, housekeeping_isolcpus_setup).
    while name == "isolcpus" && list.starts_with(|c: char| c.is_ascii_alphabetic()) {
        let (flag, rest) = list.split_once(',')?;
        if !flag.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_') {
            return None;
        }
        flags.push(flag);
        list = rest;
    }
    Some((flags, parse_boot_cpulist(list, last)?))
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
    fn parameters_are_read_as_the_kernel_reads_them() {
        let isolcpus = |value| parse_parameter("isolcpus", value, 15);
        assert_eq!(isolcpus("domain,managed_irq,2-3"), Some((vec!["domain", "managed_irq"], vec![2, 3])));
        assert_eq!(isolcpus("nohz,domain,14-N"), Some((vec!["nohz", "domain"], vec![14, 15])));
        assert_eq!(isolcpus("2,3"), Some((vec![], vec![2, 3])));
        assert_eq!(isolcpus("0-15:2/8"), Some((vec![], vec![0, 1, 8, 9])));
        // Read as a flag, after which nothing follows.
        assert_eq!(isolcpus("all"), None);
        assert_eq!(isolcpus("do-main,2"), None);
        assert_eq!(parse_parameter("rcu_nocbs", "all", 3), Some((vec![], vec![0, 1, 2, 3])));
        assert_eq!(parse_parameter("nohz_full", "domain,2", 3), None);
    }
}
