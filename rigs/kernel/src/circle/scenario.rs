//! What is applied.

use waykeeper_policy::{MountSettings, Step};

use crate::real::Threads;

/// Steps for one kind of control.
pub struct Scenario {
    pub name: &'static str,
    /// The machines that can do it.
    setups: &'static [&'static str],
    /// Whether it can also begin where resctrl is mounted and others have groups.
    pub on_mounted: bool,
    /// What `pqos` shows of it, where the new group has the class 1.
    pub shown: &'static [&'static str],
    /// Whether it writes registers.
    pub registers: bool,
    make: fn(&Threads) -> Vec<Step>,
}

pub const SCENARIOS: [Scenario; 8] = [
    Scenario {
        name: "L3",
        setups: &["broadwell", "levels", "haswell"],
        on_mounted: true,
        shown: &[
            "Socket 0: L3CA COS1 => MASK 0xf",
            "Socket 1: L3CA COS1 => MASK 0x3",
            "Socket 0: L3CA COS0 => MASK 0xff0",
        ],
        registers: false,
        make: l3,
    },
    Scenario { name: "L2", setups: &["levels", "goldmont"], on_mounted: true, shown: &[], registers: false, make: l2 },
    Scenario {
        name: "bandwidth",
        setups: &["levels", "bandwidth"],
        on_mounted: true,
        shown: &[],
        registers: false,
        make: bandwidth,
    },
    Scenario {
        name: "CDP",
        setups: &["broadwell", "levels"],
        on_mounted: false,
        shown: &[],
        registers: false,
        make: cdp,
    },
    Scenario {
        name: "members",
        setups: &["broadwell", "levels"],
        on_mounted: true,
        shown: &[],
        registers: false,
        make: members,
    },
    Scenario {
        name: "exclusive",
        setups: &["broadwell"],
        on_mounted: true,
        shown: &[],
        registers: false,
        make: exclusive,
    },
    Scenario {
        name: "pseudo-lock",
        setups: &["broadwell"],
        on_mounted: true,
        shown: &[],
        registers: false,
        make: pseudo_lock,
    },
    Scenario {
        name: "registers",
        setups: &["broadwell", "levels"],
        on_mounted: false,
        shown: &["Socket 0: L3CA COS1 => MASK 0xf", "Socket 1: L3CA COS0 => MASK 0xff0"],
        registers: true,
        make: registers,
    },
];

impl Scenario {
    /// Whether a machine can do it.
    pub fn fits(&self, setup: &str, registers: bool) -> bool {
        self.setups.contains(&setup) && (registers || !self.registers)
    }

    /// Its steps.
    pub fn steps(&self, threads: &Threads) -> Vec<Step> {
        (self.make)(threads)
    }
}

fn write(path: &str, text: &str) -> Step {
    Step::Write { path: path.into(), text: format!("{text}\n") }
}

fn group() -> Vec<Step> {
    vec![Step::Mounted(MountSettings::default()), Step::MakeGroup { group: "target".into() }]
}

fn with(mut steps: Vec<Step>, more: impl IntoIterator<Item = Step>) -> Vec<Step> {
    steps.extend(more);
    steps
}

fn l3(_: &Threads) -> Vec<Step> {
    with(group(), [write("target/schemata", "L3:0=f;1=3"), write("schemata", "L3:0=ff0;1=ff0")])
}

fn l2(_: &Threads) -> Vec<Step> {
    with(group(), [write("target/schemata", "L2:0=f;1=3;2=3;3=7"), write("schemata", "L2:0=f0;1=f0")])
}

fn bandwidth(_: &Threads) -> Vec<Step> {
    // 33 % is rounded up to 40.
    with(group(), [write("target/schemata", "MB:0=33;1=50"), write("schemata", "MB:0=70")])
}

fn cdp(_: &Threads) -> Vec<Step> {
    let mount = MountSettings { cdp: true, ..MountSettings::default() };
    let masks = [
        write("target/schemata", "L3CODE:0=f"),
        write("target/schemata", "L3DATA:0=f0"),
        write("schemata", "L3DATA:1=ff0"),
    ];
    with(vec![Step::Mounted(mount), Step::MakeGroup { group: "target".into() }], masks)
}

fn members(threads: &Threads) -> Vec<Step> {
    let one = |tid: &i32| write("target/tasks", &tid.to_string());
    let masks = [write("target/schemata", "L3:0=f"), write("target/cpus_list", "1,3")];
    with(with(group(), masks), [&threads.root, &threads.theirs, &threads.watched].into_iter().flatten().map(one))
}

fn exclusive(_: &Threads) -> Vec<Step> {
    let masks = [
        write("schemata", "L3:0=1f0;1=1f0"),
        write("target/schemata", "L3:0=f;1=3"),
        write("target/mode", "exclusive"),
    ];
    with(group(), masks)
}

fn pseudo_lock(_: &Threads) -> Vec<Step> {
    let steps =
        [write("schemata", "L3:0=1f0"), write("target/mode", "pseudo-locksetup"), write("target/schemata", "L3:0=7")];
    with(group(), steps)
}

fn registers(_: &Threads) -> Vec<Step> {
    // Two classes in the L3 of both sockets; CPUs 1 and 3 go to the second one.
    let masks = [0, 2].into_iter().flat_map(|cpu| [(cpu, 0xc90, 0xff0, 0xf_ffff), (cpu, 0xc91, 0xf, 0xf_ffff)]);
    let classes = [1, 3].into_iter().map(|cpu| (cpu, 0xc8f, 1 << 32, 0xffff_ffff_0000_0000));
    let step = |(cpu, register, value, mask)| Step::Register { cpu, register, value, mask };
    masks.chain(classes).map(step).collect()
}
