//! What was in force on the machine before the run did anything: every case is measured under it, also one without a mitigation. It is
//! read again when a repeat has ended.

use std::path::Path;

use waykeeper_control::host::HostFiles;
use waykeeper_control::schemata::{DomainShare, format, is_mask, show};
use waykeeper_control::{
    ApplyState, GroupSnapshot, ResctrlTree, Snapshot, StateDirectory, Status, StatusError, TreeError, status,
};
use waykeeper_policy::MountSettings;

/// What is in force.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct InForce {
    /// What `waykeeper apply` did, and when.
    pub applied: Option<String>,
    /// Control groups of resctrl and their shares; of the root group, what is less than all.
    pub groups: Vec<String>,
    /// What this means for the figures, and what was not seen of it.
    pub notes: Vec<String>,
    /// What of the applied policy does not read as it was written.
    differences: Vec<String>,
    /// Why it was not seen whether a policy was applied.
    policy_not_seen: Option<String>,
    /// Why groups were not seen.
    groups_not_seen: Option<String>,
}

/// Looks at the machine that this process sees. Changes nothing.
pub(super) fn look() -> InForce {
    let mut files = HostFiles::at(Path::new("/"));
    let mut machine = files.machine();
    let applied = status(&mut machine, &mut StateDirectory::of_this_machine());
    InForce::of(applied, groups(machine.tree))
}

impl InForce {
    fn of(applied: Result<Option<Status>, StatusError>, groups: Result<Vec<String>, TreeError>) -> Self {
        let mut found = Self::default();
        match applied {
            // What was applied before the machine was started again is in force no more.
            Ok(applied) => {
                if let Some(applied) = applied.filter(|applied| applied.phase != ApplyState::Rebooted) {
                    found.notes.push(applied_note(&applied));
                    found.differences = applied.differences.iter().map(ToString::to_string).collect();
                    found.applied = Some(format!("{}, since {}", applied.policy, applied.began));
                }
            }
            Err(error) => {
                found.notes.push(format!("Whether a policy was applied when the run began was not seen: {error}."));
                found.policy_not_seen = Some(error.to_string());
            }
        }
        match groups {
            Ok(groups) if groups.is_empty() => {}
            Ok(groups) => {
                let list = groups.join(", ");
                found.notes.push(format!(
                    "resctrl had settings when the run began, and every case was measured under them: {list}."
                ));
                found.groups = groups;
            }
            Err(error) => {
                found.notes.push(format!("Which groups resctrl had when the run began was not seen: {error}."));
                found.groups_not_seen = Some(error.to_string());
            }
        }
        found
    }

    /// Why a repeat that ended with `now` does not count: something else was in force than when the run began. What was not seen
    /// then cannot have been seen to change.
    pub fn changed(&self, now: &Self) -> Option<String> {
        let begun = "in force when the run began";
        let policy = match (&self.policy_not_seen, &now.policy_not_seen) {
            (Some(_), _) => None,
            (None, Some(why)) => Some(format!("it was not seen whether the policy {begun} is applied still: {why}")),
            (None, None) if self.applied != now.applied => Some(format!(
                "the policy {begun} changed: {}, and {} now",
                self.applied.as_deref().unwrap_or("none"),
                now.applied.as_deref().unwrap_or("none"),
            )),
            (None, None) if self.differences != now.differences => Some(match now.differences.is_empty() {
                true => format!("the policy {begun} did not read as it was written, and does now"),
                false => format!("the policy {begun} changed: {}", now.differences.join(", ")),
            }),
            (None, None) => None,
        };
        let listed = |groups: &[String]| if groups.is_empty() { "none".to_owned() } else { groups.join(", ") };
        let groups = match (&self.groups_not_seen, &now.groups_not_seen) {
            (Some(_), _) => None,
            (None, Some(why)) => {
                Some(format!("it was not seen whether resctrl's settings {begun} are so still: {why}"))
            }
            (None, None) => (self.groups != now.groups).then(|| {
                format!("resctrl's settings {begun} changed: {}, and {} now", listed(&self.groups), listed(&now.groups))
            }),
        };
        [policy, groups].into_iter().flatten().reduce(|a, b| format!("{a}; {b}"))
    }
}

/// What an applied policy means for the figures.
fn applied_note(applied: &Status) -> String {
    let policy = &applied.policy;
    let holds = match (applied.phase, applied.differences.len()) {
        (ApplyState::Applied, 0) => "",
        (ApplyState::Applied, _) => "; not all of it reads as it was written (`waykeeper status`)",
        _ => "; only a part of it was in force (`waykeeper status`)",
    };
    format!(
        "The policy `{policy}` was applied before the run began, and every case was measured under it, also those without a \
         mitigation{holds}."
    )
}

/// Groups as text, such as `pods L3:0=f`; none where resctrl is not mounted.
fn groups(tree: &mut dyn ResctrlTree) -> Result<Vec<String>, TreeError> {
    // Who may not write there may read there.
    let Some(mounted) = tree.mounted()? else {
        return tree.mounted_elsewhere().map_or(Ok(Vec::new()), |path| Err(elsewhere(path)));
    };
    let snapshot = Snapshot::take(tree)?;
    let described = snapshot.control().map(|(name, group)| match name.is_empty() {
        true => root_group(tree, mounted, group),
        false => {
            let shares = format(&group.shares()).trim_end().replace('\n', " ");
            let what = if shares.is_empty() { group.mode.as_deref().unwrap_or_default() } else { &shares };
            Some(format!("{name} {what}").trim_end().to_owned())
        }
    });
    Ok(described.flatten().collect())
}

/// It can be mounted only once, and nothing here looks for it in other places.
fn elsewhere(path: String) -> TreeError {
    let reason = "resctrl is mounted there, and is expected on /sys/fs/resctrl".to_owned();
    TreeError { action: "look at", path, errno: None, reason, status: None }
}

/// What the root group has less than all of. Other limits than masks and `MB` are those of newer kernels, and not known here.
fn root_group(tree: &mut dyn ResctrlTree, mounted: MountSettings, group: &GroupSnapshot) -> Option<String> {
    let less = group.shares().into_iter().filter_map(|(domain, value)| {
        let DomainShare { resource, id } = &domain;
        let less = match is_mask(resource) {
            true => {
                let text = tree.read(&format!("info/{resource}/cbm_mask")).ok()?;
                let all = u64::from_str_radix(text.trim(), 16).ok().filter(|all| *all != value)?;
                format!("{} of {}", show(resource, value), show(resource, all))
            }
            false if resource == "MB" => less_bandwidth(tree, mounted, value)?,
            false => return None,
        };
        Some(format!("{resource}:{id}={less}"))
    });
    let less: Vec<String> = less.collect();
    (!less.is_empty()).then(|| format!("the root group {}", less.join(" ")))
}

/// A limit of `MB`, in the unit that this machine counts in; none where it is no limit.
fn less_bandwidth(tree: &mut dyn ResctrlTree, mounted: MountSettings, value: u64) -> Option<String> {
    // What the root of AMD's first parts has without a limit (kernel: MAX_MBA_BW_AMD); later ones have more.
    const UNLIMITED_AMD: u64 = 0x800;
    if mounted.mbps {
        return (value != u64::from(u32::MAX)).then(|| format!("{value} MiB/s"));
    }
    let is_linear = tree.read("info/MB/delay_linear").ok()?.trim() == "1";
    match is_linear {
        true => (value != 100).then(|| format!("{value} of 100")),
        false => (value < UNLIMITED_AMD).then(|| format!("{value} eighths of a GB/s")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use waykeeper_control::Difference;

    use super::*;

    /// A mounted resctrl that can only be read.
    struct Shown(BTreeMap<&'static str, &'static str>);

    impl Shown {
        /// The root group with all of the cache, and one group beside it.
        fn with(pods: &'static str) -> Self {
            let root = [("info/L3/cbm_mask", "7ff\n"), ("mode", "shareable\n"), ("schemata", "    L3:0=7ff\n")];
            let pods = [("pods/mode", "shareable\n"), ("pods/schemata", pods)];
            Self(root.into_iter().chain(pods).collect())
        }

        fn groups(mut self) -> Result<Vec<String>, TreeError> {
            groups(&mut self)
        }

        fn fail(action: &'static str, path: &str) -> TreeError {
            TreeError { action, path: path.into(), errno: None, reason: "this is a picture".into(), status: None }
        }
    }

    impl ResctrlTree for Shown {
        fn unusable(&mut self) -> Option<String> {
            None
        }
        fn mounted(&mut self) -> Result<Option<MountSettings>, TreeError> {
            Ok(Some(MountSettings::default()))
        }
        fn mount(&mut self, _: MountSettings) -> Result<(), TreeError> {
            Err(Self::fail("mount", ""))
        }
        fn unmount(&mut self) -> Result<(), TreeError> {
            Err(Self::fail("unmount", ""))
        }
        fn read(&mut self, path: &str) -> Result<String, TreeError> {
            // Which cores and tasks are in a group is not looked at here.
            let is_list = path.ends_with("cpus_list") || path.ends_with("tasks");
            let text = if is_list { Some(&"") } else { self.0.get(path) };
            text.map(|text| (*text).to_owned()).ok_or_else(|| Self::fail("read", path))
        }
        fn write(&mut self, path: &str, _: &str) -> Result<(), TreeError> {
            Err(Self::fail("write", path))
        }
        fn mkdir(&mut self, path: &str) -> Result<(), TreeError> {
            Err(Self::fail("mkdir", path))
        }
        fn rmdir(&mut self, path: &str) -> Result<(), TreeError> {
            Err(Self::fail("rmdir", path))
        }
        fn directories(&mut self, path: &str) -> Result<Vec<String>, TreeError> {
            Ok(if path.is_empty() { vec!["info".into(), "pods".into()] } else { Vec::new() })
        }
    }

    fn applied(phase: ApplyState, began: &str) -> Status {
        Status {
            policy: "tcc-halves".into(),
            began: began.into(),
            pid: 1,
            version: "0.1.0".into(),
            phase,
            steps: Vec::new(),
            of: 0,
            differences: Vec::new(),
            cgroups: Vec::new(),
            strays: Vec::new(),
            ended: Vec::new(),
            left: Vec::new(),
        }
    }

    #[test]
    fn a_mask_that_others_change_during_a_repeat_is_seen_at_its_end() {
        let seen = |mask| InForce::of(Ok(None), Shown::with(mask).groups());
        let begun = seen("    L3:0=00f\n");
        assert_eq!(begun.changed(&seen("    L3:0=00f\n")), None);
        let why = begun.changed(&seen("    L3:0=0ff\n")).unwrap();
        let expected = "resctrl's settings in force when the run began changed: pods L3:0=f, and pods L3:0=ff now";
        assert_eq!(why, expected);
        let gone = begun.changed(&InForce::of(Ok(None), Ok(Vec::new()))).unwrap();
        assert!(gone.ends_with("pods L3:0=f, and none now"), "{gone}");
    }

    #[test]
    fn a_policy_of_before_the_run_that_is_taken_back_or_changed_is_seen() {
        let at = |began: &str, differs: bool| {
            let mut status = applied(ApplyState::Applied, began);
            if differs {
                let [wrote, reads] = ["f", "ff"].map(String::from);
                status.differences = vec![Difference { setting: "pods L3:0".into(), wrote, reads, rounded: false }];
            }
            InForce::of(Ok(Some(status)), Ok(Vec::new()))
        };
        let begun = at("2026-11-27T10:00:00Z", false);
        assert_eq!(begun.changed(&at("2026-11-27T10:00:00Z", false)), None);
        let none = begun.changed(&InForce::default()).unwrap();
        assert!(none.ends_with("changed: tcc-halves, since 2026-11-27T10:00:00Z, and none now"), "{none}");
        assert!(InForce::default().changed(&begun).unwrap().contains("changed: none, and tcc-halves"));
        assert!(begun.changed(&at("2026-11-27T11:00:00Z", false)).is_some());
        let differs = begun.changed(&at("2026-11-27T10:00:00Z", true)).unwrap();
        assert!(differs.contains("changed: ") && differs.contains("pods L3:0"), "{differs}");
    }

    #[test]
    fn what_was_not_seen_at_first_has_not_changed_and_what_is_not_seen_now_may_have() {
        let blind =
            || InForce::of(Err(StatusError::Boot(waykeeper_control::BootUnknown)), Err(Shown::fail("read", "x")));
        assert_eq!(blind().changed(&InForce::default()), None);
        let why = InForce::default().changed(&blind()).unwrap();
        assert!(
            why.contains("whether the policy in force") && why.contains("; it was not seen whether resctrl"),
            "{why}"
        );
    }

    #[test]
    fn what_cannot_be_read_is_said_and_is_not_nothing() {
        let unreadable = StatusError::Boot(waykeeper_control::BootUnknown);
        let found = InForce::of(Err(unreadable), Ok(Vec::new()));
        assert!(found.notes.len() == 1 && found.notes[0].contains("was not seen"), "{found:?}");
        assert_eq!(InForce::of(Ok(None), Ok(Vec::new())), InForce::default());
    }

    #[test]
    fn groups_of_a_mount_in_another_place_are_not_seen_and_not_none() {
        let root = tempfile::tempdir().unwrap();
        let table = |text: &str| {
            std::fs::create_dir_all(root.path().join("proc")).unwrap();
            std::fs::write(root.path().join("proc/mounts"), text).unwrap();
            let mut files = HostFiles::at(root.path());
            groups(files.machine().tree)
        };
        let error = table("resctrl /mnt/resctrl resctrl rw 0 0\n").unwrap_err().to_string();
        assert!(error.contains("/mnt/resctrl") && error.contains("expected on /sys/fs/resctrl"), "{error}");
        assert_eq!(table("proc /proc proc rw 0 0\n"), Ok(Vec::new()));
    }

    #[test]
    fn limits_of_the_root_are_said_in_the_unit_of_the_machine() {
        let of = |options: &str, linear: &str, value: &str| {
            let root = tempfile::tempdir().unwrap();
            let write = |file: &str, text: &str| {
                let file = root.path().join(file);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, text).unwrap();
            };
            write("proc/mounts", &format!("resctrl /sys/fs/resctrl resctrl rw{options} 0 0\n"));
            write("sys/fs/resctrl/info/MB/delay_linear", linear);
            write("sys/fs/resctrl/info/L3/cbm_mask", "7ff\n");
            write("sys/fs/resctrl/schemata", &format!("    L3:0=7ff\n    MB:0={value}\nL3MAX:0=50\n"));
            for file in ["cpus_list", "tasks"] {
                write(&format!("sys/fs/resctrl/{file}"), "");
            }
            write("sys/fs/resctrl/mode", "shareable\n");
            let mut files = HostFiles::at(root.path());
            groups(files.machine().tree).unwrap()
        };
        let none: [&str; 0] = [];
        assert_eq!(of("", "1\n", " 100"), none);
        assert_eq!(of("", "1\n", "  40"), ["the root group MB:0=40 of 100"]);
        assert_eq!(of(",mba_MBps", "1\n", "4294967295"), none);
        assert_eq!(of(",mba_MBps", "1\n", "50"), ["the root group MB:0=50 MiB/s"]);
        assert_eq!(of("", "0\n", "2048"), none);
        assert_eq!(of("", "0\n", "400"), ["the root group MB:0=400 eighths of a GB/s"]);
    }

    #[test]
    fn a_policy_of_before_a_restart_is_in_force_no_more() {
        let of = |phase| InForce::of(Ok(Some(applied(phase, "2026-11-27T10:00:00Z"))), Ok(Vec::new()));
        assert_eq!(of(ApplyState::Rebooted), InForce::default());
        assert_eq!(of(ApplyState::Applied).applied.as_deref(), Some("tcc-halves, since 2026-11-27T10:00:00Z"));
        let half = of(ApplyState::Applying).notes;
        assert!(half.len() == 1 && half[0].contains("only a part of it was in force"), "{half:?}");
    }

    #[test]
    fn groups_of_others_are_named_with_what_they_have() {
        let found = InForce::of(Ok(None), Ok(vec!["pods L3:0=f".into(), "the root group L3:0=7f0 of 7ff".into()]));
        assert_eq!(found.groups.len(), 2);
        assert!(found.notes[0].ends_with("pods L3:0=f, the root group L3:0=7f0 of 7ff."), "{:?}", found.notes);
    }
}
