//! The kernel's lists of CPUs: `0-3,8,10-11`.

/// The kernel's NR_CPUS is at most 8192: what is far longer is not a list of CPUs.
const MOST: u32 = 65_536;

/// Reads a list; `None` where it is not one. An empty text is an empty list.
pub fn parse_cpulist(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last - first > MOST || cpus.len() > MOST as usize {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Reads a list as kernel parameters have it, sorted: also `N` for the last CPU, `all`, and `2-15:1/4` for the first of
/// every four. `last` is the highest number that a CPU of the machine can have. `None` where the kernel refuses the list
/// (Documentation/admin-guide/kernel-parameters.rst, "cpu lists").
pub fn parse_boot_cpulist(text: &str, last: u32) -> Option<Vec<u32>> {
    if last >= MOST {
        return None;
    }
    let mut taken = vec![false; last as usize + 1];
    let parts = text.split(|c: char| c == ',' || c.is_ascii_whitespace());
    for part in parts.filter(|part| !part.is_empty()) {
        let region = Region::parse(part, last)?;
        let starts = (region.first..=region.last).step_by(region.of as usize);
        for start in starts {
            let end = region.last.min(start.saturating_add(region.used).saturating_sub(1));
            let used = if region.used == 0 { 0 } else { end - start + 1 };
            (start..start + used).for_each(|cpu| taken[cpu as usize] = true);
        }
    }
    Some((0..=last).filter(|cpu| taken[*cpu as usize]).collect())
}

/// The first `used` of every `of` CPUs from `first` to `last`.
struct Region {
    first: u32,
    last: u32,
    used: u32,
    of: u32,
}

impl Region {
    fn parse(part: &str, last: u32) -> Option<Self> {
        let number = |text: &str| match text {
            "N" => Some(last),
            // Unlike Rust's, the kernel's numbers have no sign.
            digits if digits.starts_with('+') => None,
            digits => digits.parse::<u32>().ok(),
        };
        let (range, pattern) = part.split_once(':').map_or((part, None), |(range, pattern)| (range, Some(pattern)));
        let (first, end) = match range.split_once('-') {
            _ if range.eq_ignore_ascii_case("all") => (0, last),
            Some((first, end)) => (number(first)?, number(end)?),
            // A pattern belongs to a range.
            None if pattern.is_some() => return None,
            None => (number(range)?, number(range)?),
        };
        let (used, of) = match pattern {
            Some(pattern) => pattern.split_once('/').and_then(|(used, of)| Some((number(used)?, number(of)?)))?,
            None => (end.checked_add(1)?, end + 1),
        };
        (first <= end && end <= last && of > 0 && used <= of).then_some(Self { first, last: end, used, of })
    }
}

/// Reads a mask of CPUs such as `ff` or `1,00000000`: groups of 32 bits, the highest first. `None` where it is not one.
pub fn parse_cpumask(text: &str) -> Option<Vec<u32>> {
    let groups: Vec<&str> = text.trim().split(',').collect();
    if groups.len() > MOST as usize / 32 {
        return None;
    }
    let mut cpus = Vec::new();
    for (place, group) in groups.iter().rev().enumerate() {
        let plain = (1..=8).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = u32::from_str_radix(group, 16).ok().filter(|_| plain)?;
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 != 0).map(|bit| bit + 32 * place as u32));
    }
    Some(cpus)
}

/// Writes a list of ascending numbers.
pub fn format_cpulist(cpus: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let parts: Vec<_> = parts.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") }).collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_and_write() {
        assert_eq!(parse_cpulist("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_cpulist(""), Some(vec![]));
        assert_eq!(parse_cpulist("3-1"), None);
        assert_eq!(parse_cpulist("a"), None);
        assert_eq!(parse_cpulist("0-4000000000"), None);
        assert_eq!(parse_cpulist(&"0-60000,".repeat(3)), None);
        assert_eq!(format_cpulist(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
    }

    #[test]
    fn lists_of_kernel_parameters_read_as_their_document_says() {
        let read = |text: &str| parse_boot_cpulist(text, 15);
        assert_eq!(read("2-N"), Some((2..=15).collect()));
        assert_eq!(read("N"), Some(vec![15]));
        assert_eq!(read("N-N:0/1"), Some(vec![]));
        assert_eq!(read("all"), Some((0..=15).collect()));
        assert_eq!(read("ALL:1/4"), Some(vec![0, 4, 8, 12]));
        assert_eq!(read("0-15:2/4"), Some(vec![0, 1, 4, 5, 8, 9, 12, 13]));
        // The last group is cut at the end of its range.
        assert_eq!(read("1-6:2/3"), Some(vec![1, 2, 4, 5]));
        assert_eq!(read("1-7:2/3"), Some(vec![1, 2, 4, 5, 7]));
        assert_eq!(read("9, 3"), Some(vec![3, 9]));
        for wrong in
            ["3-1", "16", "0-16", "+3", "-3", "3-", "n", "2:1/2", "0-7:3/2", "0-7:1/0", "0-7:1", "managed_irq,2"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    /// A model of the kernel's grammar that knows a set of CPUs for each sentence of it, and no parser: every sentence of
    /// a small machine is built from its parts, so that its set follows from how it was built.
    #[test]
    fn every_sentence_of_a_small_machine_reads_as_it_was_built() {
        const LAST: u32 = 6;
        let numbers: Vec<(String, u32)> =
            (0..=LAST + 1).map(|n| (n.to_string(), n)).chain([("N".to_owned(), LAST)]).collect();
        let mut regions: Vec<(String, Option<Vec<u32>>)> = Vec::new();
        let within = |cpus: Vec<u32>| cpus.iter().all(|cpu| *cpu <= LAST).then_some(cpus);
        regions.extend(numbers.iter().map(|(text, n)| (text.clone(), within(vec![*n]))));
        regions.push(("all".into(), Some((0..=LAST).collect())));
        for (first_text, first) in &numbers {
            for (last_text, last) in &numbers {
                let range = format!("{first_text}-{last_text}");
                let whole = if first <= last { within((*first..=*last).collect()) } else { None };
                for (used_text, used) in &numbers {
                    for (of_text, of) in &numbers {
                        let kept =
                            |cpus: &Vec<u32>| cpus.iter().copied().filter(|cpu| (cpu - first) % of < *used).collect();
                        let set = if *of == 0 || used > of { None } else { whole.as_ref().map(kept) };
                        regions.push((format!("{range}:{used_text}/{of_text}"), set));
                    }
                }
                regions.push((range, whole));
            }
        }
        for (text, set) in &regions {
            assert_eq!(parse_boot_cpulist(text, LAST), *set, "{text}");
        }
        // Two regions are the union of both, and refused where one is.
        for ((a, one), (b, other)) in regions.iter().zip(regions.iter().skip(7).step_by(5)) {
            let both = one.as_ref().zip(other.as_ref()).map(|(one, other)| {
                (0..=LAST).filter(|cpu| one.contains(cpu) || other.contains(cpu)).collect::<Vec<_>>()
            });
            assert_eq!(parse_boot_cpulist(&format!("{a},{b}"), LAST), both, "{a},{b}");
        }
    }

    #[test]
    fn masks_read() {
        assert_eq!(parse_cpumask("1,80000001\n"), Some(vec![0, 31, 32]));
        assert_eq!(parse_cpumask("00000000,0000000f"), Some(vec![0, 1, 2, 3]));
        for wrong in ["+f", "", "1,", "123456789", "0x3"] {
            assert_eq!(parse_cpumask(wrong), None, "{wrong}");
        }
    }
}
