//! Cgroups by path: where the kernel shows them, and the threads in them.

use crate::offer::Tree;

/// Where cgroups are mounted as a rule.
const USUAL: &str = "/sys/fs/cgroup";

/// A cgroup that is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    /// Its folder.
    pub at: String,
    /// The threads in it and in every cgroup below it.
    pub threads: Vec<u32>,
}

/// Looks a cgroup up: by its path below the mount of cgroup v2, or else below `/sys/fs/cgroup` (which names the hierarchies
/// of cgroup v1). `others` are cgroups that belong elsewhere: what lies below those is left out. `None` where it is not there.
pub fn find_cgroup(tree: &dyn Tree, name: &str, others: &[&str]) -> Option<Cgroup> {
    let mounts = tree.text("/proc/mounts").unwrap_or_default();
    let fields = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let unified = mounts.lines().map(fields).filter(|it| it.get(2).is_some_and(|kind| kind == "cgroup2"));
    // The place stands in scripts, and a recorded tree can name any.
    let plain = |place: &String| place.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
    let places = unified.map(|it| it[1].clone()).filter(plain).chain([USUAL.to_owned()]);
    let at = places.map(|place| format!("{place}/{name}")).find(|at| own_threads(tree, at).is_some())?;
    let inside = |other: &&str| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
    let apart: Vec<String> =
        others.iter().copied().filter(inside).map(|other| format!("{at}{}", &other[name.len()..])).collect();
    let (mut threads, mut folders) = (Vec::new(), vec![at.clone()]);
    while let Some(folder) = folders.pop() {
        // One that goes meanwhile has no threads any more.
        let Some(own) = own_threads(tree, &folder) else { continue };
        threads.extend(own);
        let below = tree.folders(&folder).into_iter().map(|name| format!("{folder}/{name}"));
        folders.extend(below.filter(|folder| !apart.contains(folder)));
    }
    threads.sort_unstable();
    threads.dedup();
    Some(Cgroup { at, threads })
}

/// The threads of one cgroup, of cgroup v2 or of a hierarchy of v1. Those of other PID namespaces read 0, and are left out.
fn own_threads(tree: &dyn Tree, folder: &str) -> Option<Vec<u32>> {
    let text = tree.text(&format!("{folder}/cgroup.threads")).or_else(|| tree.text(&format!("{folder}/tasks")))?;
    Some(text.split_whitespace().filter_map(|tid| tid.parse().ok()).filter(|tid| *tid != 0).collect())
}

/// Why a path names no cgroup, in half a sentence; `None` where it can name one.
pub fn is_no_cgroup(name: &str) -> Option<String> {
    let odd = |part: &str| matches!(part, ".." | "." | "");
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '\'' | '"' | '$' | '`');
    if let Some(unusual) = name.chars().find(|c| !plain(*c)) {
        let what = if unusual == ' ' { "a blank".into() } else { format!("{unusual:?}") };
        return Some(format!(
            "found {name:?}, with {what} in it; expected a path below /sys/fs/cgroup of ASCII letters, digits and signs other than quotes \
             and `$`, so that a script can have it"
        ));
    }
    let wrong = name.split('/').any(odd);
    wrong.then(|| format!("found {name:?}; expected a path below /sys/fs/cgroup, such as \"rt.slice\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::Texts;

    fn tree(files: &[(&str, &str)]) -> Texts {
        Texts(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
    }

    #[test]
    fn what_a_name_cannot_have_is_said() {
        let found = [("a b", "with a blank in it"), ("ü.slice", "with 'ü' in it"), ("a/../b", "expected a path below")];
        for (name, said) in found.into_iter().chain([("a$b", "with '$' in it"), ("", "expected a path below")]) {
            let why = is_no_cgroup(name).unwrap_or_default();
            assert!(why.contains(said), "{name}: {why}");
        }
        assert_eq!(is_no_cgroup("system.slice/my-unit@1.service"), None);
    }

    #[test]
    fn a_cgroup_is_all_that_lies_below_it_but_for_what_belongs_elsewhere() {
        let tree = tree(&[
            ("/sys/fs/cgroup/pods/cgroup.threads", ""),
            ("/sys/fs/cgroup/pods/a/cgroup.threads", "7\n0\n"),
            ("/sys/fs/cgroup/pods/a/in/cgroup.threads", "9\n8\n"),
            ("/sys/fs/cgroup/pods/ab/cgroup.threads", "5\n"),
            ("/sys/fs/cgroup/podsx/cgroup.threads", "6\n"),
        ]);
        let threads = |name: &str, others: &[&str]| find_cgroup(&tree, name, others).map(|it| it.threads);
        assert_eq!(threads("pods", &[]), Some(vec![5, 7, 8, 9]));
        assert_eq!(threads("pods", &["pods/a", "podsx", "pods"]), Some(vec![5]));
        assert_eq!(threads("pods/a", &["pods"]), Some(vec![7, 8, 9]));
        assert_eq!(threads("none", &[]), None);
    }

    #[test]
    fn the_mount_of_version_2_comes_first_and_hierarchies_of_version_1_have_names() {
        let tree = tree(&[
            ("/proc/mounts", "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"),
            ("/sys/fs/cgroup/unified/rt/cgroup.threads", "7\n"),
            ("/sys/fs/cgroup/cpuset/rt/tasks", "8\n"),
        ]);
        let at = |name: &str| find_cgroup(&tree, name, &[]).map(|it| (it.at, it.threads));
        assert_eq!(at("rt"), Some(("/sys/fs/cgroup/unified/rt".into(), vec![7])));
        assert_eq!(at("unified/rt"), Some(("/sys/fs/cgroup/unified/rt".into(), vec![7])));
        assert_eq!(at("cpuset/rt"), Some(("/sys/fs/cgroup/cpuset/rt".into(), vec![8])));
    }
}
