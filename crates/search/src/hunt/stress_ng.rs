//! stress-ng's stressors as neighbours: those that are installed, with bounded memory, and why others are left out.

use std::process::{Command, Stdio};

/// The classes whose stressors are taken.
const CLASSES: [&str; 3] = ["cpu-cache", "memory", "vm"];

/// Stressors that read and write memory of a bounded size on their own core, with the options that keep them so. `{}` is the size.
const FAIR: [(&str, &[&str]); 43] = [
    ("bitonicsort", &[]),
    ("bsearch", &[]),
    ("cache", &["--cache-no-affinity"]),
    ("cacheline", &[]),
    ("heapsort", &[]),
    ("hsearch", &[]),
    ("icache", &[]),
    ("insertionsort", &[]),
    ("judy", &[]),
    ("l1cache", &[]),
    ("list", &[]),
    ("lsearch", &[]),
    ("malloc", &["--malloc-bytes", "1048576", "--malloc-max", "64"]),
    ("matrix", &[]),
    ("matrix-3d", &[]),
    ("memcpy", &[]),
    ("memrate", &["--memrate-bytes", "{}"]),
    ("memthrash", &[]),
    ("mergesort", &[]),
    ("mmap", &["--mmap-bytes", "{}"]),
    ("mremap", &["--mremap-bytes", "{}"]),
    ("prefetch", &[]),
    ("qsort", &[]),
    ("radixsort", &[]),
    ("randlist", &[]),
    ("rotate", &[]),
    ("shellsort", &[]),
    ("skiplist", &[]),
    ("sparsematrix", &[]),
    ("str", &[]),
    ("stream", &[]),
    ("tree", &[]),
    ("tsearch", &[]),
    ("vecfp", &[]),
    ("vecmath", &[]),
    ("vecshuf", &[]),
    ("vecwide", &[]),
    ("vm", &["--vm-bytes", "{}"]),
    ("vm-rw", &["--vm-rw-bytes", "{}"]),
    ("wcs", &[]),
    ("zlib", &[]),
    ("atomic", &[]),
    ("far-branch", &[]),
];

/// Stressors that can stall other cores, or leave their own.
const UNFAIR: [(&str, &str); 7] = [
    ("lockbus", "it locks the bus"),
    ("misaligned", "its atomic operations can cross lines, as split locks do"),
    ("flushcache", "it flushes lines from all caches"),
    ("mcontend", "it flushes lines from all caches"),
    ("membarrier", "it interrupts all cores"),
    ("tlb-shootdown", "it interrupts all cores"),
    ("llc-affinity", "it moves to other cores"),
];

/// No stressor gets more memory than this, bytes.
const MOST_BYTES: u64 = 256 << 20;

/// A stressor as a neighbour.
#[derive(Debug, Clone, PartialEq)]
pub struct Stressor {
    /// Its name.
    pub name: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
}

/// The stressors of an installed stress-ng.
#[derive(Debug, Clone, PartialEq)]
pub struct Stressors {
    /// What it says its version is.
    pub version: String,
    /// Those that can be measured.
    pub taken: Vec<Stressor>,
    /// Those that are left out, by the reason.
    pub left_out: Vec<(String, Vec<String>)>,
}

/// Asks the installed stress-ng for its stressors of the cache, memory and vm classes; none get more memory than four times `last`, the
/// bytes of the last cache.
///
/// # Errors
/// It is not installed, or names no stressors.
pub fn stressors(last: u64) -> Result<Stressors, String> {
    let version = said(&["--version"])?;
    let mut names: Vec<String> = Vec::new();
    for class in CLASSES {
        names.extend(of_class(&said(&["--class", &format!("{class}?")])?));
    }
    if names.is_empty() {
        return Err("stress-ng names no stressors of the classes cpu-cache, memory and vm".into());
    }
    let version = version.split(',').nth(1).unwrap_or(&version).trim();
    let version = version.split(' ').take(2).collect::<Vec<_>>().join(" ");
    Ok(sorted(version, names, (4 * last).min(MOST_BYTES)))
}

/// What stress-ng says, on either output.
fn said(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("stress-ng").args(arguments).stdin(Stdio::null()).output().map_err(|error| {
        format!("stress-ng cannot be started ({error}); install it, such as by `apt-get install stress-ng`")
    })?;
    Ok([output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat())
}

/// The names in `class 'vm' stressors: a b c`.
fn of_class(said: &str) -> Vec<String> {
    let lists = said.lines().filter(|line| line.contains("class '")).filter_map(|line| line.split_once("stressors:"));
    lists.flat_map(|(_, names)| names.split_whitespace().map(str::to_owned)).collect()
}

fn sorted(version: String, mut names: Vec<String>, bytes: u64) -> Stressors {
    names.sort_unstable();
    names.dedup();
    let mut found = Stressors { version, taken: Vec::new(), left_out: Vec::new() };
    for name in names {
        if let Some((_, options)) = FAIR.iter().find(|(fair, _)| *fair == name) {
            let start = ["stress-ng".to_owned(), format!("--{name}"), "1".to_owned()];
            let options = options.iter().map(|option| option.replace("{}", &bytes.to_string()));
            let argv = start.into_iter().chain(options).chain(["--quiet".to_owned()]).collect();
            found.taken.push(Stressor { name, argv });
            continue;
        }
        let unfair = UNFAIR.iter().find(|(unfair, _)| *unfair == name).map(|(_, why)| *why);
        let why = unfair.unwrap_or("not known to use only memory of a bounded size on its own core");
        match found.left_out.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, names)) => names.push(name),
            None => found.left_out.push((why.to_owned(), vec![name])),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stressors_are_bounded_or_left_out_with_a_reason() {
        let names = of_class("class 'vm' stressors: bigheap vm swap\n");
        assert_eq!(names, ["bigheap", "vm", "swap"]);
        let names = names.into_iter().chain(["lockbus".to_owned(), "vm".to_owned(), "cache".to_owned()]).collect();
        let found = sorted("version 1".into(), names, 1000);
        let argv: Vec<String> = found.taken.iter().map(|stressor| stressor.argv.join(" ")).collect();
        assert_eq!(
            argv,
            ["stress-ng --cache 1 --cache-no-affinity --quiet", "stress-ng --vm 1 --vm-bytes 1000 --quiet"]
        );
        let left: Vec<&[String]> = found.left_out.iter().map(|(_, names)| names.as_slice()).collect();
        assert_eq!(left, [["bigheap", "swap"].as_slice(), ["lockbus"].as_slice()]);
    }

    #[test]
    fn no_stressor_is_fair_and_unfair() {
        assert!(FAIR.iter().all(|(name, _)| UNFAIR.iter().all(|(unfair, _)| unfair != name)));
    }
}
