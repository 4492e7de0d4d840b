//! Random starting states and random plans.

use proptest::prelude::*;
use waykeeper_policy::{MountSettings, Step};
use waykeeper_resctrl::{FileOperation, KernelRelease, MountOptions, Resctrl};

use crate::model::{Model, apollo_lake, server};

/// The groups that others may have.
const OTHERS: [&str; 4] = ["", "a/", "b/", "c/"];

pub fn write(path: impl Into<String>, text: impl Into<String>) -> Step {
    Step::Write { path: path.into(), text: text.into() }
}

pub fn group(name: &str) -> Step {
    Step::MakeGroup { group: name.into() }
}

pub fn cgroup_step(group: &str, cgroup: &str) -> Step {
    Step::Cgroup { group: group.into(), cgroup: cgroup.into() }
}

/// What machine it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    Cdp,
    Mbps,
    ApolloLake,
}

impl Kind {
    pub fn settings(self) -> MountSettings {
        MountSettings { cdp: self == Kind::Cdp, cdp_l2: false, mbps: self == Kind::Mbps }
    }

    pub fn model(self, kernel: KernelRelease) -> Model {
        // Files with the hardware's identifiers, where the kernel has them.
        let debug = kernel >= KernelRelease::V6_12;
        let options = MountOptions { cdp: self == Kind::Cdp, mba_mbps: self == Kind::Mbps, cdpl2: false, debug };
        let mut model = if self == Kind::ApolloLake { apollo_lake(kernel) } else { server(kernel, options) };
        (1..=3).for_each(|tid| model.start(None, tid));
        model.start_thread(Some(3), 3, 4);
        model.start(Some(3), 5);
        let cgroups = [("pods", vec![1, 3]), ("pods/a", vec![2, 4]), ("batch", vec![5])];
        model.cgroups = cgroups.map(|(path, tids)| (path.to_owned(), tids)).into();
        model
    }

    fn caches(self) -> &'static [&'static str] {
        match self {
            Kind::Plain | Kind::Mbps => &["L3"],
            Kind::Cdp => &["L3CODE", "L3DATA"],
            Kind::ApolloLake => &["L2"],
        }
    }

    fn bits(self) -> u32 {
        if self == Kind::ApolloLake { 8 } else { 20 }
    }
}

pub fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(&[Kind::Plain, Kind::Cdp, Kind::Mbps, Kind::ApolloLake][..])
}

fn mask(bits: u32) -> impl Strategy<Value = u32> {
    (0..bits, 1..=bits).prop_map(move |(start, length)| {
        let ones = (1_u64 << length) - 1;
        (ones << start) as u32 & ((1_u64 << bits) - 1) as u32
    })
}

fn line(kind: Kind) -> impl Strategy<Value = String> {
    let caches = prop::sample::select(kind.caches());
    (caches, mask(kind.bits()), mask(kind.bits()), 1..=100_u32, 0..4_u8).prop_map(
        move |(cache, a, b, percent, form)| match form {
            0 => format!("{cache}:0={a:x}\n"),
            1 => format!("{cache}:1={b:x};0={a:x}\n"),
            _ if kind == Kind::ApolloLake => format!("{cache}:1={b:x}\n"),
            2 => format!("MB:0={percent};1=50\n"),
            _ => format!("MB:1={percent}\n{cache}:0={a:x}\n"),
        },
    )
}

fn cpus() -> impl Strategy<Value = String> {
    (0_u32..16).prop_map(|cpus| format!("{cpus:x}\n"))
}

/// What others did before Waykeeper came.
pub fn history(kind: Kind) -> impl Strategy<Value = Vec<FileOperation>> {
    let write = |path: String, text: String| FileOperation::Write { path: path.into(), data: text.into() };
    let place = prop::sample::select(&OTHERS[..]);
    let name = prop::sample::select(
        &["a", "b", "c", "mon_groups/m", "a/mon_groups/m", "a/mon_groups/n", "b/mon_groups/m"][..],
    );
    let inside = prop::sample::select(
        &["", "a/", "b/", "c/", "mon_groups/m/", "a/mon_groups/m/", "a/mon_groups/n/", "b/mon_groups/m/"][..],
    );
    let modes = prop::sample::select(&["shareable", "exclusive", "exclusive", "pseudo-locksetup"][..]);
    let operation = prop_oneof![
        5 => name.clone().prop_map(|name| FileOperation::Mkdir { path: name.into(), mode: 0o755 }),
        1 => name.prop_map(|name| FileOperation::Rmdir { path: name.into() }),
        6 => (place.clone(), line(kind)).prop_map(move |(group, line)| write(format!("{group}schemata"), line)),
        2 => (place, modes).prop_map(move |(group, mode)| write(format!("{group}mode"), format!("{mode}\n"))),
        4 => (inside.clone(), cpus()).prop_map(move |(group, cpus)| write(format!("{group}cpus"), cpus)),
        4 => (inside, 1_i32..6).prop_map(move |(group, tid)| write(format!("{group}tasks"), format!("{tid}\n"))),
    ];
    prop::collection::vec(operation, 0..25)
}

pub fn live(model: &mut Model, history: &[FileOperation]) {
    for operation in history {
        let resctrl: &mut Resctrl = &mut model.resctrl;
        let _ = resctrl.apply(operation);
    }
}

/// A plan of the form that a planner gives: shrink the root, make groups, give them shares, CPUs and tasks.
pub fn plan(kind: Kind) -> impl Strategy<Value = Vec<Step>> {
    let shares = prop::option::weighted(0.7, line(kind));
    let mode = prop::option::weighted(0.4, prop::sample::select(&["exclusive", "exclusive", "pseudo-locksetup"][..]));
    let cgroup = prop::option::weighted(0.4, prop::sample::select(&["pods", "pods/a", "batch", "absent"][..]));
    let members = (prop::option::weighted(0.7, cpus()), cgroup, prop::collection::vec(1_i32..6, 0..3));
    let one = (shares, mode, members);
    let again = prop::option::weighted(0.7, line(kind));
    (
        prop::option::weighted(0.7, line(kind)),
        prop::collection::vec(one, 0..3),
        again,
        prop::option::weighted(0.1, 1_i32..6),
    )
        .prop_map(move |(root, groups, again, back)| {
            let mut steps = vec![Step::Mounted(kind.settings())];
            steps.extend(root.map(|line| write("schemata", line)));
            for (index, (shares, mode, (cpus, cgroup, tasks))) in groups.into_iter().enumerate() {
                let name = ["x", "y"][index];
                steps.push(group(name));
                let locks = mode == Some("pseudo-locksetup");
                if !locks {
                    steps.extend(shares.clone().map(|line| write(format!("{name}/schemata"), line)));
                    steps.extend(cpus.map(|cpus| write(format!("{name}/cpus"), cpus)));
                    steps.extend(cgroup.map(|cgroup| cgroup_step(name, cgroup)));
                    steps.extend(tasks.iter().map(|tid| write(format!("{name}/tasks"), format!("{tid}\n"))));
                }
                steps.extend(mode.map(|mode| write(format!("{name}/mode"), format!("{mode}\n"))));
                if locks {
                    let region = format!("{}:0=3\n", kind.caches()[0]);
                    steps.push(write(format!("{name}/schemata"), region));
                }
            }
            steps.extend(again.map(|line| write("schemata", line)));
            steps.extend(back.map(|tid| write("tasks", format!("{tid}\n"))));
            steps
        })
}
