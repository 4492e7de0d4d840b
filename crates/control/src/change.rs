//! A step, understood: which settings it changes. Whatever is outside of what Waykeeper may change ends here.

use waykeeper_policy::{MountSettings, Step, is_no_cgroup};

use crate::cpus::{self, Cpus};
use crate::registers;
use crate::schemata::{self, DomainShares};

/// The longest write that resctrl takes: a page.
const WRITE_MAX: usize = 4096;

/// What a step changes. Groups are named by their path; the root is the empty text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Mount(MountSettings),
    Group(String),
    Shares {
        group: String,
        shares: DomainShares,
    },
    Mode {
        group: String,
        mode: String,
    },
    Cpus {
        group: String,
        cpus: Cpus,
    },
    Tasks {
        group: String,
        tids: Vec<i32>,
    },
    /// The tasks of a cgroup and of those below it, now and later.
    Cgroup {
        group: String,
        cgroup: String,
    },
    /// A setting that lives and dies with its group.
    Other,
    Register {
        cpu: u32,
        register: u32,
        value: u64,
        mask: u64,
    },
}

/// A step that cannot be part of any plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("step {number} ({step}): {reason}")]
pub struct BadStep {
    /// Its place in the plan, from 1.
    pub number: usize,
    /// What it does.
    pub step: String,
    /// What is wrong, and what would do.
    pub reason: String,
}

/// A step in a few words.
pub fn describe(step: &Step) -> String {
    match step {
        Step::Mounted(settings) => format!("mount resctrl {}", describe_mount(*settings)),
        Step::MakeGroup { group } => format!("make group {}", group.escape_debug()),
        Step::Write { path, text } => format!("write `{}` to {}", text.trim_end().escape_debug(), path.escape_debug()),
        Step::Cgroup { group, cgroup } => {
            format!("put the tasks of cgroup {} into group {}", cgroup.escape_debug(), group.escape_debug())
        }
        Step::Register { cpu, register, value, mask } => {
            format!("write {value:#x} (mask {mask:#x}) to register {register:#x} of CPU {cpu}")
        }
    }
}

/// Options of a mount in words.
pub(crate) fn describe_mount(settings: MountSettings) -> String {
    let MountSettings { cdp, cdp_l2, mbps } = settings;
    let names: Vec<_> =
        [(cdp, "cdp"), (cdp_l2, "cdpl2"), (mbps, "mba_MBps")].iter().filter(|it| it.0).map(|it| it.1).collect();
    if names.is_empty() { "without options".into() } else { format!("with {}", names.join(",")) }
}

impl Change {
    /// Understands the steps of a plan.
    ///
    /// # Errors
    /// The first step that is malformed, or touches what is not Waykeeper's to change.
    pub fn all_of(steps: &[Step]) -> Result<Vec<Self>, BadStep> {
        let mut made = Vec::new();
        let understood = steps.iter().enumerate().map(|(index, step)| {
            let change = Self::of(step, &mut made);
            change.map_err(|reason| BadStep { number: index + 1, step: describe(step), reason })
        });
        understood.collect()
    }

    fn of(step: &Step, made: &mut Vec<String>) -> Result<Self, String> {
        match step {
            Step::Mounted(settings) => Ok(Self::Mount(*settings)),
            Step::MakeGroup { group } => {
                check_name(group)?;
                if made.contains(group) {
                    return Err("an earlier step makes this group".into());
                }
                made.push(group.clone());
                Ok(Self::Group(group.clone()))
            }
            Step::Write { path, text } => Self::of_write(path, text, made),
            Step::Cgroup { group, cgroup } => {
                is_made(group, made)?;
                is_no_cgroup(cgroup).map_or(Ok(()), Err)?;
                Ok(Self::Cgroup { group: group.clone(), cgroup: cgroup.clone() })
            }
            Step::Register { cpu, register, value, mask } => {
                if registers::purpose(*register).is_none() {
                    return Err("this register is none of cache or bandwidth allocation; it is not written".into());
                }
                if *mask == 0 || value & !mask != 0 {
                    return Err("the value has bits outside of the mask, or the mask is 0".into());
                }
                Ok(Self::Register { cpu: *cpu, register: *register, value: *value, mask: *mask })
            }
        }
    }

    fn of_write(path: &str, text: &str, made: &[String]) -> Result<Self, String> {
        let (group, file) = path.rsplit_once('/').unwrap_or(("", path));
        if !group.is_empty() {
            is_made(group, made)?;
        }
        let line = text.strip_suffix('\n').ok_or("the text has to end with a newline")?;
        if text.len() > WRITE_MAX || text.contains('\0') {
            return Err(format!("a write has at most {WRITE_MAX} bytes, none of them 0"));
        }
        let group = group.to_owned();
        match file {
            "schemata" => {
                let shares = schemata::parse(text)?;
                if shares.is_empty() {
                    Err("there is no share in it".into())
                } else {
                    Ok(Self::Shares { group, shares })
                }
            }
            "cpus_list" => {
                let cpus = cpus::parse_list(line).ok_or("expected a list of CPUs such as 0-3,7")?;
                Ok(Self::Cpus { group, cpus })
            }
            "cpus" => {
                let cpus = cpus::parse_mask(line).ok_or("expected a mask of CPUs such as ff")?;
                Ok(Self::Cpus { group, cpus })
            }
            "tasks" => {
                let tids: Option<Vec<i32>> = line.split(',').map(|tid| tid.trim().parse().ok()).collect();
                let tids = tids.filter(|tids| tids.iter().all(|tid| *tid > 0));
                Ok(Self::Tasks { group, tids: tids.ok_or("expected numbers of tasks, each above 0, such as 1234")? })
            }
            "mode" | "mba_MBps_event" if group.is_empty() => {
                Err(format!("`{file}` of the root group is not changed; of the root only masks, CPUs and tasks are"))
            }
            "mode" => match line {
                "shareable" | "exclusive" | "pseudo-locksetup" => Ok(Self::Mode { group, mode: line.into() }),
                _ => Err("expected shareable, exclusive or pseudo-locksetup".into()),
            },
            "mba_MBps_event" => Ok(Self::Other),
            _ => {
                Err("this file is not written; expected schemata, mode, cpus, cpus_list, tasks or mba_MBps_event"
                    .into())
            }
        }
    }

    /// Whether it is for resctrl.
    pub fn is_resctrl(&self) -> bool {
        !matches!(self, Self::Register { .. })
    }
}

fn is_made(group: &str, made: &[String]) -> Result<(), String> {
    match made.iter().any(|name| name == group) {
        true => Ok(()),
        false => Err(format!(
            "no earlier step makes the group `{}`; groups of others stay as they are",
            group.escape_debug()
        )),
    }
}

fn check_name(group: &str) -> Result<(), String> {
    const TAKEN: [&str; 6] = ["", ".", "..", "info", "mon_groups", "mon_data"];
    /// NAME_MAX of Linux.
    const LONGEST: usize = 255;
    if TAKEN.contains(&group)
        || group.len() > LONGEST
        || group.contains(['/', '\0'])
        || group.contains(char::is_control)
    {
        return Err("this cannot be the name of a group; a plain word would do".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &str, text: &str) -> Step {
        Step::Write { path: path.into(), text: text.into() }
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        let own = Step::MakeGroup { group: "own".into() };
        for step in [
            write("mode", "exclusive\n"),
            write("other/schemata", "L3:0=f\n"),
            write("own/mon_groups/m/tasks", "7\n"),
            write("../schemata", "L3:0=f\n"),
            write("info/L3_MON/max_threshold_occupancy", "0\n"),
            write("own/schemata", "L3:0=f"),
            write("own/tasks", "0\n"),
            write("own/mode", "pseudo-locked\n"),
            write("own/size", "1\n"),
            Step::MakeGroup { group: "own".into() },
            Step::Cgroup { group: "other".into(), cgroup: "rt.slice".into() },
            Step::Cgroup { group: "".into(), cgroup: "rt.slice".into() },
            Step::Cgroup { group: "own".into(), cgroup: "rt/../x".into() },
            Step::Cgroup { group: "own".into(), cgroup: "/rt".into() },
            Step::Cgroup { group: "own".into(), cgroup: "".into() },
            Step::MakeGroup { group: "a/b".into() },
            Step::MakeGroup { group: "info".into() },
            // IA32_BIOS_UPDT_TRIG: a slip that must not reach the machine.
            Step::Register { cpu: 0, register: 0x79, value: 1, mask: 1 },
            Step::Register { cpu: 0, register: 0xc90, value: 0x3f, mask: 0xf },
        ] {
            let refused = Change::all_of(&[own.clone(), step.clone()]).expect_err(&format!("{step:?}"));
            assert_eq!(refused.number, 2);
        }
    }

    #[test]
    fn what_is_ours_is_understood() {
        let steps = [
            Step::MakeGroup { group: "own".into() },
            write("schemata", "L3:0=ff000\n"),
            write("own/mode", "exclusive\n"),
            write("own/cpus", "5\n"),
            write("own/tasks", "7,8\n"),
        ];
        let changes = Change::all_of(&steps).unwrap();
        assert_eq!(changes[3], Change::Cpus { group: "own".into(), cpus: [0, 2].into() });
        assert_eq!(changes[4], Change::Tasks { group: "own".into(), tids: vec![7, 8] });
    }

    /// Whatever the planner writes is understood here: the bundled policies on every platform that carries them out.
    #[test]
    fn every_step_of_the_bundled_policies_is_understood() {
        use waykeeper_policy::{Form, LoadedPolicy, Membership, Offer, bundled, lower, plan};
        let mut carried = std::collections::BTreeSet::new();
        for file in bundled() {
            let loaded = LoadedPolicy::open(file.name).unwrap();
            for platform in waykeeper_platform::bundled() {
                let platform = waykeeper_platform::Platform::from_toml(platform.text, platform.name).unwrap();
                let offer = Offer::of_platform(&platform);
                let Ok(assignment) = plan(&loaded, &offer, &Membership::unread(&loaded.policy)) else { continue };
                for form in [Form::Resctrl, Form::Msr, Form::Hwp] {
                    let Ok(lowered) = lower(&assignment, &offer, form) else { continue };
                    let changes = Change::all_of(&lowered.steps());
                    assert!(changes.as_ref().is_ok_and(|changes| !changes.is_empty()), "{}: {changes:?}", file.name);
                    carried.insert(file.name);
                }
            }
        }
        // Those that a running Linux carries out; the others are for firmware, bare metal and hypervisors.
        let elsewhere = ["agilex5-isolate-core1", "cd8180-portions", "colour-halves", "zynq-lockdown"];
        let named: Vec<_> = bundled().iter().map(|file| file.name).filter(|name| !elsewhere.contains(name)).collect();
        assert_eq!(carried.into_iter().collect::<Vec<_>>(), named);
    }
}
