//! Advice that was taken is not given again: on every tree, once by the command line and once by commands. What the kernel
//! shows after each parameter and command is written out here by its documents (admin-guide/kernel-parameters.txt,
//! admin-guide/pm, core-api/irq/irq-affinity.rst, and the ABI pages of sysfs).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use waykeeper_doctor::{Examination, Fix, View, advise, examine};
use waykeeper_linux::{Recording, Root, format_cpulist, parse_cpulist};

use crate::properties::{trees, view};

const CPU: &str = "/sys/devices/system/cpu";

/// A tree, and the machine that it becomes when advice is taken.
struct Machine {
    files: Recording,
    rt: Vec<u32>,
    online: Vec<u32>,
}

impl Machine {
    /// Writes a file that the tree has; what a tree does not show stays unseen.
    fn set(&mut self, path: &str, text: &str) {
        if self.files.text(path).is_some() {
            self.files.set(path, text);
        }
    }

    fn of_each_core(&mut self, file: &str, text: &str) {
        for core in self.online.clone() {
            self.set(&format!("{CPU}/cpu{core}/{file}"), text);
        }
    }

    /// The files of every interrupt.
    fn interrupts(&mut self, list: &str) {
        for number in self.files.names("/proc/irq") {
            self.set(&format!("/proc/irq/{number}/effective_affinity_list"), list);
            self.set(&format!("/proc/irq/{number}/smp_affinity_list"), list);
        }
    }

    fn offline(&mut self, gone: &BTreeSet<u32>) {
        self.online.retain(|core| !gone.contains(core));
        self.rt.retain(|core| !gone.contains(core));
        self.set(&format!("{CPU}/online"), &format_cpulist(&self.online));
        for core in self.online.clone() {
            let file = format!("{CPU}/cpu{core}/topology/thread_siblings_list");
            let siblings = self.files.text(&file).and_then(|text| parse_cpulist(text.trim())).unwrap_or_default();
            let stay: Vec<u32> = siblings.into_iter().filter(|core| !gone.contains(core)).collect();
            self.set(&file, &format_cpulist(&stay));
        }
        for core in gone {
            let folder = format!("{CPU}/cpu{core}/");
            let online = format!("{folder}online");
            let below: Vec<String> = self.files.files().map(|(path, _)| path.to_owned()).collect();
            for path in below.iter().map(|path| format!("/{}", path.trim_start_matches('/'))) {
                if path.starts_with(&folder) && path != online {
                    self.files.remove(&path);
                }
            }
        }
    }

    /// Idle states that the kernel still uses once deep ones are off: polling and the lightest.
    fn light_sleep(&mut self) {
        for core in self.online.clone() {
            let folder = format!("{CPU}/cpu{core}/cpuidle");
            for state in self.files.names(&folder) {
                if state.starts_with("state0") {
                    continue;
                }
                for file in ["name", "latency", "disable", "residency", "desc"] {
                    match (state.as_str(), file) {
                        ("state1", "latency") => self.set(&format!("{folder}/{state}/{file}"), "1"),
                        ("state1", _) => {}
                        _ => drop(self.files.remove(&format!("{folder}/{state}/{file}"))),
                    }
                }
            }
        }
    }

    /// What the next boot with a parameter shows.
    fn boot(&mut self, parameter: &str) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let cores = value.split(',').filter(|part| part.starts_with(|c: char| c.is_ascii_digit()));
        let cores = cores.collect::<Vec<_>>().join(",");
        match (name, value) {
            ("isolcpus", _) => self.set(&format!("{CPU}/isolated"), &cores),
            ("nohz_full", _) => self.set(&format!("{CPU}/nohz_full"), &cores),
            ("irqaffinity", _) => {
                self.set("/proc/irq/default_smp_affinity", &mask(&parse_cpulist(&cores).expect("a list")));
                self.interrupts(&cores);
            }
            ("preempt", "full") => self.set("/sys/kernel/debug/sched/preempt", "none voluntary (full) lazy"),
            ("nosmt", _) => {
                let siblings = |core: &u32| {
                    let text = self.files.text(&format!("{CPU}/cpu{core}/topology/thread_siblings_list"));
                    text.and_then(|text| parse_cpulist(text.trim())).unwrap_or_default()
                };
                let gone: BTreeSet<u32> =
                    self.online.iter().flat_map(|core| siblings(core).into_iter().skip(1)).collect();
                self.offline(&gone);
                self.set(&format!("{CPU}/smt/active"), "0");
            }
            ("intel_idle.max_cstate", "0") | ("processor.max_cstate", "1") => self.light_sleep(),
            ("cpuidle.off", "1") => {
                for (path, _) in self.files.clone().files().filter(|(path, _)| path.contains("/cpuidle/state")) {
                    self.files.remove(path);
                }
                self.set(&format!("{CPU}/cpuidle/current_driver"), "none");
            }
            ("clocksource", "tsc") => {
                self.set("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
            }
            ("nmi_watchdog", "0") => self.set("/proc/sys/kernel/nmi_watchdog", "0"),
            ("nosoftlockup", _) => self.set("/proc/sys/kernel/soft_watchdog", "0"),
            ("numa_balancing", "disable") => self.set("/proc/sys/kernel/numa_balancing", "0"),
            ("transparent_hugepage", "madvise") => {
                self.set("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
            }
            ("pcie_aspm.policy", "performance") => self.links_stay_awake(),
            ("cpufreq.default_governor", "performance") => self.of_each_core("cpufreq/scaling_governor", value),
            // The masks of the L2 are no longer reset.
            ("rdt", "!l2cat") => self.open_ways(),
            // Nothing but the command line shows them.
            ("rcu_nocbs" | "tsc" | "split_lock_detect" | "rdt", _) => {}
            _ => panic!("what {parameter} does is not written here"),
        }
    }

    fn links_stay_awake(&mut self) {
        self.set("/sys/module/pcie_aspm/parameters/policy", "default [performance] powersave powersupersave");
        for (path, _) in self.files.clone().files().filter(|(path, _)| path.contains("/link/")) {
            self.files.set(path, "0");
        }
    }

    fn open_ways(&mut self) {
        for (path, _) in self.files.clone().files().filter(|(path, _)| path.trim_start_matches('/').starts_with("msr/"))
        {
            self.files.set(path, "0xd10 0xffff");
        }
        self.files.remove("/sys/fs/resctrl/info/L2/cbm_mask");
    }

    /// What a command does. Those in words, and values that are to be looked up, are nobody's to run.
    fn run(&mut self, command: &str) -> bool {
        let (command, every) = command.split_once("   (").map_or((command, ""), |(command, rest)| (command, rest));
        if let Some((value, file)) = command.strip_prefix("echo ").and_then(|rest| rest.split_once(" > ")) {
            self.write(file, value, every);
        } else if let Some((key, value)) = command.strip_prefix("sysctl -w ").and_then(|it| it.split_once('=')) {
            self.set(&format!("/proc/sys/{}", key.replace('.', "/")), value);
        } else if command == "swapoff -a" {
            self.set("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
        } else if let Some(rest) = command.strip_prefix("taskset -pc ") {
            let list = rest.split(' ').next().expect("a list").to_owned();
            self.threads(&list);
        } else if command.starts_with("wrmsr") && command.contains("0xd10") {
            self.open_ways();
        } else {
            assert!(
                command.starts_with("wrmsr") && command.ends_with(" VALUE"),
                "what `{command}` does is not written here"
            );
            return false;
        }
        true
    }

    fn write(&mut self, file: &str, value: &str, every: &str) {
        let core = file.strip_prefix(&format!("{CPU}/cpu")).and_then(|rest| rest.split_once('/'));
        match core {
            Some((core, "online")) => self.offline(&[core.parse().expect("a core")].into()),
            Some((_, file)) if every.contains("every real-time core") => self.of_each_core(file, value),
            // The file is there on every kernel with cpuidle; a tree may lack it.
            Some((_, "power/pm_qos_resume_latency_us")) => drop(self.files.set(file, value)),
            _ if file.ends_with("/smp_affinity_list") => self.interrupts(value),
            _ if file.ends_with("transparent_hugepage/enabled") => self.set(file, "always [madvise] never"),
            _ if file.ends_with("pcie_aspm/parameters/policy") => self.links_stay_awake(),
            _ if file.starts_with("/sys/kernel/debug/sched/fair_server/") => {
                for core in self.online.clone() {
                    self.set(&format!("/sys/kernel/debug/sched/fair_server/cpu{core}/runtime"), value);
                }
            }
            _ => self.set(file, value),
        }
    }

    /// Threads of the kernel that are not bound to one core get a list of cores.
    fn threads(&mut self, list: &str) {
        for pid in self.files.names("/proc") {
            let file = format!("/proc/{pid}/status");
            let Some(text) = self.files.text(&file).map(str::to_owned) else { continue };
            let changed = text.lines().map(|line| match line.strip_prefix("Cpus_allowed_list:") {
                Some(old) if parse_cpulist(old.trim()).is_some_and(|cores| cores.len() > 1) => {
                    format!("Cpus_allowed_list:\t{list}\n")
                }
                _ => format!("{line}\n"),
            });
            let changed: String = changed.collect();
            self.files.set(&file, changed);
        }
    }

    fn view(&self) -> View {
        view(&self.files, Some(&format_cpulist(&self.rt))).expect("the same cores")
    }
}

/// A mask as `/proc/irq` has it: groups of 32 cores, the highest first.
fn mask(cores: &[u32]) -> String {
    let groups = cores.iter().max().map_or(1, |last| last / 32 + 1);
    let word =
        |group: u32| cores.iter().filter(|core| *core / 32 == group).fold(0_u32, |word, core| word | 1 << (core % 32));
    (0..groups).rev().map(|group| format!("{:08x}", word(group))).collect::<Vec<_>>().join(",")
}

fn fixes(examination: &Examination) -> Vec<(String, Fix)> {
    let of = |finding: &waykeeper_doctor::Finding| {
        finding.fixes.iter().map(|fix| (finding.id.clone(), fix.clone())).collect::<Vec<_>>()
    };
    examination.findings.iter().flat_map(of).collect()
}

/// Boots with everything that is advised for the command line, and returns the parameters.
fn take_parameters(machine: &mut Machine) -> BTreeSet<String> {
    let view = machine.view();
    let (advice, findings) = (advise(&view), fixes(&examine(&view)));
    let old = machine.files.text("/proc/cmdline").unwrap_or_default().trim().to_owned();
    let mut words: Vec<String> = old.split_whitespace().map(str::to_owned).collect();
    let mut new: Vec<String> = Vec::new();
    let gone = advice
        .add
        .iter()
        .filter_map(|it| it.replaces.clone())
        .chain(advice.remove.iter().map(|it| it.parameter.clone()));
    let mut gone: BTreeSet<String> = gone.collect();
    new.extend(advice.add.iter().map(|it| it.parameter.clone()));
    let mut taken = BTreeSet::new();
    for (_, fix) in &findings {
        let Fix::Parameter(text) = fix else { continue };
        taken.insert(text.clone());
        let (parameters, place) = text.split_once("   (in the place of ").unwrap_or((text, ""));
        gone.extend((!place.is_empty()).then(|| place.trim_end_matches(')').to_owned()));
        // What `--cmdline` has for the same name is at least as much.
        let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
        let missing = parameters.split(' ').filter(|word| !new.iter().any(|other| name(other) == name(word)));
        let missing: Vec<String> = missing.map(str::to_owned).collect();
        gone.extend(words.iter().filter(|word| missing.iter().any(|other| name(other) == name(word))).cloned());
        new.extend(missing);
    }
    words.retain(|word| !gone.contains(word));
    // What stands behind `--` is for the first process.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.splice(end..end, new.iter().cloned());
    if machine.files.text("/proc/cmdline").is_some() {
        machine.files.set("/proc/cmdline", words.join(" ") + "\n");
    }
    new.iter().for_each(|parameter| machine.boot(parameter));
    taken
}

/// Runs every command that is advised, and returns them.
fn take_commands(machine: &mut Machine) -> BTreeSet<String> {
    let mut taken = BTreeSet::new();
    for (_, fix) in fixes(&examine(&machine.view())) {
        let Fix::Command(command) = fix else { continue };
        if machine.run(&command) {
            taken.insert(command);
        }
    }
    taken
}

/// Recorded trees of the field, which the program's tests have.
fn field() -> Vec<(String, Recording, Option<&'static str>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/field");
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut archives: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(".tar.gz")).collect();
    archives.sort();
    let unpacked = archives.into_iter().map(|archive| {
        let room = tempfile::tempdir().unwrap();
        assert!(Command::new("tar").arg("xzf").arg(&archive).current_dir(room.path()).status().unwrap().success());
        (archive.file_name().unwrap().to_string_lossy().into_owned(), recorded(&room.path().join("tree")), None)
    });
    unpacked.collect()
}

/// Every text below a folder.
fn recorded(folder: &Path) -> Recording {
    let (mut recording, mut folders) = (Recording::default(), vec![folder.to_owned()]);
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                recording.set(&format!("/{}", path.strip_prefix(folder).unwrap().display()), text);
            }
        }
    }
    recording
}

fn machines() -> Vec<(String, Machine)> {
    let all = trees().into_iter().chain(field());
    let machine = |(name, files, cores): (String, Recording, Option<&'static str>)| {
        let view = View::new(Root::from(files.clone()), cores).ok()?;
        Some((name, Machine { rt: view.rt_cores.clone(), online: view.online.clone(), files }))
    };
    all.filter_map(machine).collect()
}

#[test]
fn a_command_line_that_was_taken_over_lacks_nothing() {
    let mut again = Vec::new();
    let mut count = 0;
    for (name, mut machine) in machines() {
        let taken = take_parameters(&mut machine);
        count += taken.len();
        let view = machine.view();
        let advice = advise(&view);
        let mut tell = |what: String| again.push(format!("{name}: {what} again"));
        if machine.files.text("/proc/cmdline").is_some() {
            advice.add.iter().chain(&advice.remove).for_each(|it| tell(format!("--cmdline {}", it.parameter)));
        }
        for (id, fix) in fixes(&examine(&view)) {
            match fix {
                Fix::Parameter(text) if taken.contains(&text) => tell(format!("{id}: {text}")),
                _ => {}
            }
        }
    }
    again.sort();
    again.dedup();
    assert!(again.is_empty(), "{} pieces of advice:\n{}", again.len(), again.join("\n"));
    assert!(count > 100, "{count} pieces of advice were taken");
}

#[test]
fn a_command_that_was_run_is_not_advised_again() {
    let mut again = Vec::new();
    let mut count = 0;
    for (name, mut machine) in machines() {
        let taken = take_commands(&mut machine);
        count += taken.len();
        for (id, fix) in fixes(&examine(&machine.view())) {
            match fix {
                Fix::Command(text) if taken.contains(&text) => again.push(format!("{name}: {id}: {text} again")),
                _ => {}
            }
        }
    }
    again.sort();
    again.dedup();
    assert!(again.is_empty(), "{} pieces of advice:\n{}", again.len(), again.join("\n"));
    assert!(count > 50, "{count} pieces of advice were taken");
}
