//! Isolated partitions of cpusets, cgroup by cgroup: kernels before 6.7 sum them up nowhere.

use crate::root::Root;
use waykeeper_platform::{CoreId, parse_cpulist};

const ROOT: &str = "/sys/fs/cgroup";
/// A partition's parent is the root or a partition itself, so that few are nested; this deep they are looked for.
const DEPTH: usize = 4;
/// Control groups at most that are looked at.
const MOST: usize = 4096;
const PARTITION: &str = "cpuset.cpus.partition";
const EFFECTIVE: &str = "cpuset.cpus.effective";

/// The files of a partition that show its cores and its state.
pub(crate) const FILES: [&str; 2] = [PARTITION, EFFECTIVE];

/// An isolated partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The file that names it, and what it holds.
    pub file: String,
    /// `isolated`.
    pub state: String,
    /// Its cores.
    pub cores: Vec<CoreId>,
}

/// The isolated partitions that are valid: `isolated invalid (...)` isolates nothing, and one whose cores cannot be read
/// is left out (Documentation/admin-guide/cgroup-v2.rst, cpuset.cpus.partition).
pub fn isolated(root: &Root) -> Vec<Partition> {
    let partition = |group: String| {
        let file = format!("{group}/{PARTITION}");
        let state = root.text(&file).filter(|state| state == "isolated")?;
        let cores = parse_cpulist(&root.text(&format!("{group}/{EFFECTIVE}"))?)?;
        Some(Partition { file, state, cores })
    };
    groups(root).into_iter().filter_map(partition).collect()
}

/// The control groups that are roots of a partition, valid or not.
pub(crate) fn groups(root: &Root) -> Vec<String> {
    let mut found = Vec::new();
    let mut looked = 0;
    let mut next = vec![(ROOT.to_owned(), 0)];
    while let Some((folder, depth)) = next.pop() {
        for name in root.folders(&folder) {
            let group = format!("{folder}/{name}");
            // Without the controller the groups below have no such file either.
            let Some(state) = root.text(&format!("{group}/{PARTITION}")) else { continue };
            looked += 1;
            if looked > MOST {
                return found;
            }
            if state != "member" {
                found.push(group.clone());
            }
            if depth + 1 < DEPTH {
                next.push((group, depth + 1));
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Recording;

    #[test]
    fn valid_ones_isolate_and_others_do_not() {
        let mut recording = Recording::default();
        for (group, state, cores) in [
            ("rt.slice", "isolated", "6-7"),
            ("rt.slice/inner", "isolated", "6"),
            ("b.slice", "isolated invalid (Cpu list in cpuset.cpus not exclusive)", "4"),
            ("c.slice", "root", "3"),
            ("user.slice", "member", "0-2"),
        ] {
            recording.set(&format!("{ROOT}/{group}/{PARTITION}"), format!("{state}\n"));
            recording.set(&format!("{ROOT}/{group}/{EFFECTIVE}"), format!("{cores}\n"));
        }
        let found = isolated(&recording.into());
        let cores: Vec<_> = found.iter().map(|partition| partition.cores.clone()).collect();
        assert_eq!(cores, [vec![6, 7], vec![6]]);
        assert_eq!(found[0].file, "/sys/fs/cgroup/rt.slice/cpuset.cpus.partition");
    }
}
