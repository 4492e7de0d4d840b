//! Names of mitigations: `none`, `nl3a`, `nl3a+cp`.

use crate::describe::Combine;

/// The name of the case without any mitigation.
pub const NONE: &str = "none";

/// The parts of a mitigation's name; empty for `none`.
pub fn parts(name: &str) -> Vec<&str> {
    if name == NONE { Vec::new() } else { name.split('+').map(str::trim).collect() }
}

/// The mitigations that a list stands for, `none` first, each once.
pub fn expand(listed: &[String], combine: Combine) -> Vec<String> {
    let canonical: Vec<String> =
        listed.iter().map(|name| join(parts(name).into_iter())).filter(|name| !name.is_empty()).collect();
    let mut all = vec![NONE.to_owned()];
    match combine {
        Combine::Alone => all.extend(canonical),
        Combine::Together => {
            let together = join(canonical.iter().map(String::as_str));
            all.extend(canonical);
            all.push(together);
        }
        Combine::Cross => {
            // Small combinations first, so that the table reads from one measure to all.
            let mut subsets: Vec<u32> = (1..1u32 << canonical.len()).collect();
            subsets.sort_by_key(|subset| (subset.count_ones(), std::cmp::Reverse(subset.reverse_bits())));
            all.extend(subsets.iter().map(|subset| {
                join((0..canonical.len()).filter(|bit| subset >> bit & 1 == 1).map(|bit| canonical[bit].as_str()))
            }));
        }
    }
    let mut unique: Vec<String> = Vec::new();
    for name in all {
        if !name.is_empty() && !unique.iter().any(|known| same(known, &name)) {
            unique.push(name);
        }
    }
    unique
}

/// Whether two names mean the same mitigations, whatever their order.
pub fn same(a: &str, b: &str) -> bool {
    let sorted = |name| {
        let mut parts = parts(name);
        parts.sort_unstable();
        parts.dedup();
        parts
    };
    sorted(a) == sorted(b)
}

/// The most entries that can be crossed: 2^8 combinations are more than anyone waits for.
pub const MOST_CROSSED: usize = 8;

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut once: Vec<&str> = Vec::new();
    for part in names.flat_map(|name| name.split('+')) {
        if !once.contains(&part) {
            once.push(part);
        }
    }
    once.join("+")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(listed: &[&str], combine: Combine) -> Vec<String> {
        expand(&listed.iter().map(|s| s.to_string()).collect::<Vec<_>>(), combine)
    }

    #[test]
    fn lists_stand_for_what_they_say() {
        assert_eq!(expanded(&["a", "a + b"], Combine::Alone), ["none", "a", "a+b"]);
        assert_eq!(expanded(&["a", "b"], Combine::Together), ["none", "a", "b", "a+b"]);
        assert_eq!(expanded(&["a", "b", "c"], Combine::Cross), ["none", "a", "b", "c", "a+b", "a+c", "b+c", "a+b+c"]);
        assert_eq!(expanded(&[], Combine::Cross), ["none"]);
        assert_eq!(expanded(&["none", "a", "a"], Combine::Alone), ["none", "a"]);
        assert_eq!(expanded(&["a", "a+b"], Combine::Together), ["none", "a", "a+b"]);
        assert_eq!(expanded(&["a+b", "b + a", "b+a+b"], Combine::Alone), ["none", "a+b"]);
    }
}
