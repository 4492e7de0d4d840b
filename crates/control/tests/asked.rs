//! Everything that a policy asks of a recorded machine is in the steps of its plan, or refused, or noted: random policies on
//! every recorded tree that has resctrl. What the steps come to is worked out here again, from the policy and the files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use proptest::prelude::*;
use waykeeper_control::Files;
use waykeeper_linux::fixtures::{epyc, xeon};
use waykeeper_linux::{Root, format_cpulist};
use waykeeper_policy::offer::{BandwidthUnit, Tree};
use waykeeper_policy::{Form, LoadedPolicy, Membership, Offer, Step, lower, parse_schemata, plan};

/// The files of a recorded machine, with a process of two threads and a cgroup: no recording has those.
struct Peopled(Files);

/// The process.
const PROCESS: u32 = 77;
/// The cgroup.
const CGROUP: &str = "pods";

impl Tree for Peopled {
    fn text(&self, path: &str) -> Option<String> {
        match path {
            "/proc/77/status" => Some("Name:\tx\nTgid:\t77\n".into()),
            "/sys/fs/cgroup/pods/cgroup.threads" => Some("7\n".into()),
            path => self.0.text(path),
        }
    }

    fn names(&self, path: &str) -> Vec<String> {
        if path == "/proc/77/task" { vec!["77".into(), "78".into()] } else { self.0.names(path) }
    }
}

/// A recorded machine, and what it offers.
struct Recorded {
    name: String,
    files: Peopled,
    offer: Offer,
}

/// The trees from the field, and those that are made up, as far as they have resctrl.
fn machines() -> &'static [Recorded] {
    static ALL: OnceLock<Vec<Recorded>> = OnceLock::new();
    ALL.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/field");
        let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let mut archives: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(".tar.gz")).collect();
        archives.sort();
        let opened = archives.iter().map(|archive| {
            let room = tempfile::tempdir().unwrap().keep();
            assert!(Command::new("tar").arg("xzf").arg(archive).current_dir(&room).status().unwrap().success());
            let root = Root::open(&room.join("tree")).unwrap();
            (archive.file_name().unwrap().to_string_lossy().replace(".tar.gz", ""), root)
        });
        let made_up = [("xeon", xeon()), ("epyc", epyc())];
        let made_up = made_up.into_iter().map(|(name, it)| (name.to_owned(), Root::from(it.recording())));
        let all = opened.chain(made_up).filter_map(|(name, root)| {
            let files = Peopled(Files(root));
            let offer = Offer::of_linux(&files).ok()?;
            Some(Recorded { name, files, offer })
        });
        all.collect()
    })
}

/// How much of a cache, in the form that is written.
#[derive(Debug, Clone)]
enum Amount {
    Ways(u32),
    Percent(u32),
    Fraction(u32, u32),
    AtLeastKib(u64),
    Mask(u32),
}

impl Amount {
    fn text(&self) -> String {
        match self {
            Self::Ways(ways) => format!("{ways} ways"),
            Self::Percent(percent) => format!("{percent} %"),
            Self::Fraction(part, of) => format!("{part}/{of}"),
            Self::AtLeastKib(kib) => format!("at least {kib} KiB"),
            Self::Mask(mask) => format!("{mask:#x}"),
        }
    }

    /// Bits as a fraction, and whether it is rounded up.
    fn bits(&self, bits: u32, ways: u32, size_bytes: u64) -> (u128, u128, bool) {
        let bits = u128::from(bits);
        match *self {
            Self::Ways(count) => (u128::from(count) * bits, u128::from(ways), true),
            Self::Percent(percent) => (u128::from(percent) * bits, 100, false),
            Self::Fraction(part, of) => (u128::from(part) * bits, u128::from(of), false),
            Self::AtLeastKib(kib) => (u128::from(kib) * 1024 * bits, u128::from(size_bytes), true),
            Self::Mask(mask) => (u128::from(mask.count_ones()), 1, false),
        }
    }
}

/// A share of the caches of a level: for all accesses, or for code and data.
#[derive(Debug, Clone)]
struct Share {
    amounts: Vec<Amount>,
    exclusive: bool,
    high: bool,
}

impl Share {
    fn text(&self) -> String {
        let at = if self.high { "high" } else { "low" };
        let amounts: Vec<String> = self.amounts.iter().map(Amount::text).collect();
        match amounts.as_slice() {
            [all] => format!("{{ share = '{all}', at = '{at}', exclusive = {} }}", self.exclusive),
            [code, data] => {
                format!("{{ code = '{code}', data = '{data}', at = '{at}', exclusive = {} }}", self.exclusive)
            }
            _ => unreachable!("one amount or two"),
        }
    }
}

#[derive(Debug, Clone)]
struct Class {
    name: String,
    cores: BTreeSet<u32>,
    cgroup: Option<&'static str>,
    /// Whether it names the process.
    process: bool,
    shares: BTreeMap<u8, Share>,
    percent: Option<u32>,
    /// A key of what no resctrl has.
    other: Option<&'static str>,
}

#[derive(Debug, Clone)]
struct Asked {
    classes: Vec<Class>,
    others: BTreeMap<u8, Amount>,
    others_percent: Option<u32>,
    /// Level, core and segments of memory that is to be locked.
    lock: Option<(u8, u32, u32)>,
    /// A key of what no resctrl has.
    other: Option<&'static str>,
}

impl Asked {
    fn text(&self) -> String {
        let mut text = format!("title = 'x'\n{}\n[others]\n", self.other.unwrap_or_default());
        for (level, amount) in &self.others {
            text += &format!("l{level} = '{}'\n", amount.text());
        }
        let limit = |percent: &Option<u32>| percent.map_or(String::new(), |it| format!("bandwidth = '{it} %'\n"));
        text += &limit(&self.others_percent);
        for class in &self.classes {
            text += &format!("[[classes]]\nname = '{}'\n", class.name);
            if !class.cores.is_empty() {
                text += &format!("cores = {:?}\n", class.cores.iter().collect::<Vec<_>>());
            }
            text += &class.cgroup.map_or(String::new(), |cgroup| format!("cgroups = ['{cgroup}']\n"));
            text += &if class.process { format!("tasks = [{PROCESS}]\n") } else { String::new() };
            for (level, share) in &class.shares {
                text += &format!("l{level} = {}\n", share.text());
            }
            text += &limit(&class.percent);
            text += &class.other.map_or(String::new(), |other| format!("{other}\n"));
        }
        if let Some((level, core, bits)) = self.lock {
            text +=
                &format!("[[pseudo_locks]]\nname = 'k'\nlevel = {level}\ncore = {core}\nsize = '{bits} segments'\n");
        }
        text
    }
}

fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![
        3 => (1_u32..8).prop_map(Amount::Ways),
        2 => (5_u32..60).prop_map(Amount::Percent),
        2 => (1_u32..3, 2_u32..9).prop_map(|(part, of)| Amount::Fraction(part, of)),
        2 => (64_u64..8192).prop_map(Amount::AtLeastKib),
        2 => (0_u32..12, 1_u32..5).prop_map(|(low, bits)| Amount::Mask(((1 << bits) - 1) << low)),
        1 => (1_u32..0x1000).prop_map(Amount::Mask),
    ]
}

fn share() -> impl Strategy<Value = Share> {
    let amounts = prop_oneof![9 => prop::collection::vec(amount(), 1), 1 => prop::collection::vec(amount(), 2)];
    (amounts, prop::bool::weighted(0.7), any::<bool>()).prop_map(|(amounts, exclusive, high)| Share {
        amounts,
        exclusive,
        high,
    })
}

fn shares(levels: &[u8]) -> impl Strategy<Value = BTreeMap<u8, Share>> + use<> {
    let often = |level: u8| if levels.contains(&level) { 0.8 } else { 0.02 };
    let [two, three] = [2, 3].map(|level| prop::option::weighted(often(level), share()));
    (two, three).prop_map(|(two, three)| {
        [(2, two), (3, three)].into_iter().filter_map(|(level, it)| Some((level, it?))).collect()
    })
}

fn asked(machine: &'static Recorded) -> impl Strategy<Value = Asked> {
    let levels: Vec<u8> = machine.offer.caches.iter().map(|cache| cache.level).collect();
    let percent = || prop::option::weighted(if machine.offer.bandwidth.is_some() { 0.4 } else { 0.05 }, 5_u32..=100);
    let classes =
        prop::sample::select(&["priority = 'highest'", "weight = 2", "clock = '2 GHz'", "colours = 'half'"][..]);
    let whole = prop::sample::select(&["no_allocate_mode = false", "ring = '4 GHz'"][..]);
    let lock = (2_u8..4, prop::sample::select(machine.offer.cores.clone()), 1_u32..4);
    let cgroup = prop::sample::select(&["batch.slice", "kubepods.slice/pod1", CGROUP][..]);
    let one = (shares(&levels), percent(), prop::option::weighted(0.3, cgroup), prop::option::weighted(0.02, classes));
    let owners = prop::collection::vec(0_usize..5, machine.offer.cores.len());
    let others_amount = if levels.contains(&3) { 0.15 } else { 0.01 };
    let others = prop::option::weighted(others_amount, (5_u64..4096).prop_map(Amount::AtLeastKib));
    (
        prop::collection::vec(one, 0..4),
        owners,
        (others, percent()),
        prop::option::weighted(0.05, lock),
        (prop::option::weighted(0.02, whole), prop::option::weighted(0.3, 0_usize..4)),
    )
        .prop_map(|(classes, owners, (others, others_percent), lock, (other, process))| {
            let class = |(i, (shares, percent, cgroup, other)): (usize, _)| Class {
                name: format!("c{i}"),
                cores: owners.iter().zip(&machine.offer.cores).filter(|it| *it.0 == i).map(|it| *it.1).collect(),
                cgroup,
                process: process == Some(i),
                shares,
                percent,
                other,
            };
            Asked {
                classes: classes.into_iter().enumerate().map(class).collect(),
                others: others.into_iter().map(|amount| (3, amount)).collect(),
                others_percent,
                lock,
                other,
            }
        })
}

/// A resource in `schemata`, such as `L3CODE`, and the id of a domain.
type Place = (String, u32);

/// What the steps of a plan come to.
#[derive(Debug, Default)]
struct Written {
    groups: BTreeSet<String>,
    shares: BTreeMap<String, BTreeMap<Place, String>>,
    cores: BTreeMap<String, String>,
    cgroups: BTreeSet<(String, String)>,
    tasks: BTreeSet<(String, String)>,
    modes: BTreeMap<String, String>,
}

impl Written {
    fn of(steps: &[Step]) -> Self {
        let mut written = Self::default();
        for step in steps {
            match step {
                Step::Mounted(_) => {}
                Step::MakeGroup { group } => drop(written.groups.insert(group.clone())),
                Step::Cgroup { group, cgroup } => drop(written.cgroups.insert((group.clone(), cgroup.clone()))),
                Step::Write { path, text } => written.write(path, text.trim()),
                Step::Register { .. } => panic!("a register where resctrl is mounted"),
            }
        }
        written
    }

    fn write(&mut self, path: &str, text: &str) {
        let (group, file) = path.rsplit_once('/').unwrap_or(("", path));
        match file {
            "schemata" => {
                let shares = self.shares.entry(group.to_owned()).or_default();
                for line in parse_schemata(text).expect("the kernel's form") {
                    shares.extend(line.values.iter().map(|(id, value)| ((line.name.clone(), *id), value.clone())));
                }
            }
            "cpus_list" => drop(self.cores.insert(group.to_owned(), text.to_owned())),
            "tasks" => drop(self.tasks.insert((group.to_owned(), text.to_owned()))),
            "mode" => drop(self.modes.insert(group.to_owned(), text.to_owned())),
            other => panic!("a write to {other}"),
        }
    }

    fn mask(&self, group: &str, resource: &str, domain: u32) -> Option<u32> {
        let text = self.shares.get(group)?.get(&(resource.to_owned(), domain))?;
        Some(u32::from_str_radix(text, 16).expect("a mask"))
    }
}

/// The masks of a level in groups that the tree has, the root among them, by group and domain.
fn there(machine: &Recorded, level: u8) -> Vec<(String, u32, u32)> {
    let state = machine.offer.resctrl.as_ref().unwrap();
    let mut all = Vec::new();
    for group in state.groups.iter().map(|group| group.name.as_str()).chain([""]) {
        let path = format!("{}/{group}/schemata", state.at).replace("//", "/");
        for line in parse_schemata(&machine.files.text(&path).unwrap()).unwrap() {
            if line.name.starts_with(&format!("L{level}")) {
                all.extend(line.masks().unwrap().into_iter().map(|(id, mask)| (group.to_owned(), id, mask)));
            }
        }
    }
    all
}

/// What was neither written nor refused nor noted.
struct Judge<'t> {
    machine: &'static Recorded,
    asked: &'t Asked,
    written: Written,
    notes: String,
    cdp: BTreeSet<u8>,
    lost: Vec<String>,
}

impl Judge<'_> {
    fn need(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.lost.push(what());
        }
    }

    /// The names that the masks of a level have, code before data.
    fn resources(&self, level: u8) -> Vec<String> {
        match self.cdp.contains(&level) {
            true => vec![format!("L{level}CODE"), format!("L{level}DATA")],
            false => vec![format!("L{level}")],
        }
    }

    fn classes(&mut self) {
        for class in self.asked.classes.clone() {
            let name = class.name.as_str();
            self.need(self.written.groups.contains(name), || format!("no group {name}"));
            if !class.cores.is_empty() {
                let cores = format_cpulist(&class.cores.iter().copied().collect::<Vec<_>>());
                self.need(self.written.cores.get(name) == Some(&cores), || format!("{name}: cores {cores}"));
            }
            if let Some(cgroup) = class.cgroup {
                let member = (name.to_owned(), cgroup.to_owned());
                self.need(self.written.cgroups.contains(&member), || format!("{name}: cgroup {cgroup}"));
                self.need(cgroup == CGROUP || self.notes.contains(&format!("`{cgroup}`")), || {
                    format!("{name}: cgroup {cgroup} is absent")
                });
            }
            for thread in [PROCESS, PROCESS + 1].iter().filter(|_| class.process) {
                let member = (name.to_owned(), thread.to_string());
                self.need(self.written.tasks.contains(&member), || format!("{name}: task {thread}"));
            }
            for (level, share) in &class.shares {
                self.share(&class, *level, share);
            }
            if let Some(percent) = class.percent {
                self.limit(name, Some(&class), percent);
            }
            self.need(class.other.is_none(), || format!("{name}: {:?}", class.other));
        }
    }

    fn share(&mut self, class: &Class, level: u8, share: &Share) {
        let name = class.name.as_str();
        let Some(cache) = self.machine.offer.cache(level) else {
            return self.lost.push(format!("{name}: there is no L{level} to divide"));
        };
        for core in &class.cores {
            let known = cache.domains.iter().any(|domain| domain.cores.contains(core));
            self.need(known, || format!("{name}: core {core} uses no L{level} that is known"));
        }
        for domain in &cache.domains {
            if class.cgroup.is_none() && !class.process && !class.cores.iter().any(|core| domain.cores.contains(core)) {
                continue;
            }
            for (i, resource) in self.resources(level).into_iter().enumerate() {
                let amount = share.amounts.get(i).unwrap_or(&share.amounts[0]);
                let at = format!("{name} {resource}:{} of {amount:?}", domain.id);
                let Some(mask) = self.written.mask(name, &resource, domain.id) else {
                    self.lost.push(at);
                    continue;
                };
                self.amount(&at, amount, mask, (domain.bits, domain.ways, domain.size_bytes));
                if share.exclusive {
                    self.alone(&at, name, level, domain.id, mask);
                    self.need(mask & domain.devices().0 == 0, || format!("{at}: devices fill {mask:x}"));
                }
            }
            self.need(share.amounts.len() == 1 || self.cdp.contains(&level), || format!("{name}: code and data"));
        }
    }

    /// A mask has as many bits as were asked for, or one less or more, and the notes say so.
    fn amount(&mut self, at: &str, amount: &Amount, mask: u32, (bits, ways, size): (u32, u32, u64)) {
        if let Amount::Mask(exact) = amount {
            return self.need(mask == *exact, || format!("{at}: {mask:x}"));
        }
        let (part, of, up) = amount.bits(bits, ways, size);
        let expected = if up { part.div_ceil(of) } else { part / of };
        self.need(u128::from(mask.count_ones()) == expected, || format!("{at}: {mask:x}, expected {expected} bits"));
        let becomes = format!("and becomes {expected}");
        let noted = self.notes.lines().any(|note| note.contains("is no whole number") && note.ends_with(&becomes));
        self.need(part % of == 0 || noted, || format!("{at}: nothing says that it is rounded"));
    }

    /// Nobody else may fill the ways: neither another class nor the root, nor a group that is there.
    fn alone(&mut self, at: &str, name: &str, level: u8, domain: u32, mask: u32) {
        let mut others: Vec<(String, u32)> = Vec::new();
        for group in self.written.groups.iter().filter(|group| *group != name) {
            let full =
                self.machine.offer.cache(level).unwrap().domains.iter().find(|it| it.id == domain).unwrap().full().0;
            for resource in self.resources(level) {
                // A group without a line may get all that is free when it is made.
                others.push((group.clone(), self.written.mask(group, &resource, domain).unwrap_or(full)));
            }
        }
        let root =
            self.resources(level).into_iter().filter_map(|it| self.written.mask("", &it, domain)).collect::<Vec<_>>();
        for (group, id, mask) in there(self.machine, level).into_iter().filter(|(_, id, _)| *id == domain) {
            debug_assert_eq!(id, domain);
            if !group.is_empty() || root.is_empty() {
                others.push((group, mask));
            }
        }
        others.extend(root.into_iter().map(|mask| (String::new(), mask)));
        for (group, other) in others {
            self.need(mask & other == 0, || format!("{at}: {mask:x} is also filled by `{group}` ({other:x})"));
        }
    }

    fn limit(&mut self, name: &str, class: Option<&Class>, percent: u32) {
        let Some(bandwidth) = &self.machine.offer.bandwidth else {
            return self.lost.push(format!("{name}: no bandwidth can be limited"));
        };
        self.need(bandwidth.unit == BandwidthUnit::Percent, || format!("{name}: {percent} % of no percentages"));
        let cores: BTreeSet<u32> = class.map(|class| class.cores.clone()).unwrap_or_default();
        for core in &cores {
            let known = bandwidth.domains.iter().any(|(_, cores)| cores.contains(core));
            self.need(known, || format!("{name}: core {core} is in no MB domain that is known"));
        }
        let expected = percent / bandwidth.step * bandwidth.step;
        let roams = class.is_none_or(|class| class.cgroup.is_some() || class.process);
        for (id, of_domain) in &bandwidth.domains {
            if roams || of_domain.iter().any(|core| cores.contains(core)) {
                let shares = self.written.shares.get(name);
                let found = shares.and_then(|shares| shares.get(&("MB".to_owned(), *id))).cloned();
                let text = expected.to_string();
                self.need(found.as_ref() == Some(&text), || format!("{name} MB:{id}: {found:?}, expected {expected}"));
            }
        }
        let noted = self.notes.contains(&format!("{percent} % of bandwidth is no step"));
        self.need(expected == percent || noted, || format!("{name}: {percent} % is rounded, and nothing says so"));
    }

    fn others(&mut self) {
        for (level, amount) in &self.asked.others {
            let Some(cache) = self.machine.offer.cache(*level) else {
                return self.lost.push(format!("others: there is no L{level} to divide"));
            };
            for domain in &cache.domains {
                for resource in self.resources(*level) {
                    let at = format!("others {resource}:{} of {amount:?}", domain.id);
                    match self.written.mask("", &resource, domain.id) {
                        Some(mask) => self.amount(&at, amount, mask, (domain.bits, domain.ways, domain.size_bytes)),
                        None => self.lost.push(at),
                    }
                }
            }
        }
        if let Some(percent) = self.asked.others_percent {
            self.limit("", None, percent);
        }
        if let Some((level, core, bits)) = self.asked.lock {
            let domain =
                self.machine.offer.cache(level).and_then(|it| it.domains.iter().find(|it| it.cores.contains(&core)));
            let mask = domain.and_then(|it| self.written.mask("k", &format!("L{level}"), it.id));
            let mode = self.written.modes.get("k").cloned();
            let fits =
                mask.is_some_and(|mask| mask.count_ones() == bits) && mode.as_deref() == Some("pseudo-locksetup");
            self.need(fits, || format!("lock of {bits} segments: {mask:x?} {mode:?}"));
        }
        self.need(self.asked.other.is_none(), || format!("{:?}", self.asked.other));
    }
}

enum Answer {
    Refused(String),
    Planned { lost: Vec<String>, steps: usize },
}

fn answer(machine: &'static Recorded, asked: &Asked) -> Answer {
    let refused = |error: &dyn ToString| Answer::Refused(error.to_string());
    let loaded = match LoadedPolicy::from_text("asked", "asked.toml", &asked.text()) {
        Ok(loaded) => loaded,
        Err(error) => return refused(&error),
    };
    let membership = match Membership::read(&loaded.policy, &machine.files) {
        Ok(membership) => membership,
        Err(error) => return refused(&error),
    };
    let planned = plan(&loaded, &machine.offer, &membership)
        .and_then(|assignment| Ok((lower(&assignment, &machine.offer, Form::Resctrl)?, assignment)));
    let (lowered, assignment) = match planned {
        Ok(planned) => planned,
        Err(error) => return refused(&error),
    };
    let steps = lowered.steps();
    let cdp = [(2, assignment.mount.cdp_l2), (3, assignment.mount.cdp)];
    let mut judge = Judge {
        machine,
        asked,
        written: Written::of(&steps),
        notes: [assignment.notes, lowered.notes].concat().join("\n"),
        cdp: cdp.into_iter().filter(|it| it.1).map(|it| it.0).collect(),
        lost: Vec::new(),
    };
    judge.classes();
    judge.others();
    Answer::Planned { lost: judge.lost, steps: steps.len() }
}

fn situation() -> impl Strategy<Value = (&'static Recorded, Asked)> {
    (0..machines().len()).prop_flat_map(|i| (Just(&machines()[i]), asked(&machines()[i])))
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_asked_is_written_refused_or_noted((machine, asked) in situation()) {
        match answer(machine, &asked) {
            Answer::Refused(message) => prop_assert!(!message.is_empty() && !message.contains('\n'), "{message:?}"),
            Answer::Planned { lost, .. } => prop_assert_eq!(lost, Vec::<String>::new(), "{}", asked.text()),
        }
    }
}

/// The property above is about something: each machine that can carry out policies has many that fit.
#[test]
fn many_policies_fit_each_machine() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    assert!(machines().len() >= 8, "{:?}", machines());
    let mut runner = TestRunner::deterministic();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for machine in machines() {
        let mut fitting = 0;
        for _ in 0..400 {
            let asked = asked(machine).new_tree(&mut runner).unwrap().current();
            if !matches!(answer(machine, &asked), Answer::Planned { steps, .. } if steps > 1) {
                continue;
            }
            fitting += 1;
            let classes = || asked.classes.iter();
            let shares = || classes().flat_map(|class| class.shares.values());
            let mut count = |kind: &'static str, is: bool| *kinds.entry(kind).or_default() += usize::from(is);
            count("several classes", asked.classes.len() > 1);
            count("alone", shares().any(|share| share.exclusive));
            count("shared", shares().any(|share| !share.exclusive));
            count("a mask", shares().flat_map(|share| &share.amounts).any(|amount| matches!(amount, Amount::Mask(_))));
            count("a limit", classes().any(|class| class.percent.is_some()));
            count("an absent cgroup", classes().any(|class| class.cgroup.is_some_and(|cgroup| cgroup != CGROUP)));
            count("a process", classes().any(|class| class.process));
            count("ways of others", !asked.others.is_empty());
            count("a limit of others", asked.others_percent.is_some());
        }
        assert!(fitting >= 20, "{}: {fitting} of 400", machine.name);
    }
    assert!(kinds.values().all(|count| *count >= 10), "{kinds:?}");
}
