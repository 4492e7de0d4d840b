//! The offer of a running Linux machine, from the texts of its files.

use std::collections::{BTreeMap, BTreeSet};

use waykeeper_platform::{CoreId, WayControl, parse_cpulist};

use super::sysfs::{CpuInfo, SysfsCache, siblings, sysfs_caches};
use super::{BandwidthOffer, BandwidthUnit, CacheOffer, DomainOffer, Offer, PresentGroup, ResctrlState, Shared};
use crate::mask::Mask;
use crate::schemata::{SchemataLine, parse_schemata};
use crate::step::MountSettings;

/// Files of a machine: the running one, a recorded tree, or a model.
pub trait Tree {
    /// The text of a file; `None` where it is absent or may not be read.
    fn text(&self, path: &str) -> Option<String>;
    /// The names in a folder; none where it is absent.
    fn names(&self, path: &str) -> Vec<String>;
    /// The folders in a folder; what is none may be among them.
    fn folders(&self, path: &str) -> Vec<String> {
        self.names(path)
    }
}

/// Files as a map from paths to texts.
#[derive(Debug, Clone, Default)]
pub struct Texts(pub BTreeMap<String, String>);

impl Tree for Texts {
    fn text(&self, path: &str) -> Option<String> {
        self.0.get(path).cloned()
    }

    fn names(&self, path: &str) -> Vec<String> {
        let prefix = format!("{}/", path.trim_end_matches('/'));
        let below = self.0.keys().filter_map(|key| key.strip_prefix(&prefix));
        let names: BTreeSet<_> = below.map(|rest| rest.split('/').next().unwrap_or_default().to_owned()).collect();
        names.into_iter().collect()
    }
}

/// What a machine lacks so that nothing can be planned for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// There is no list of cores.
    #[error("/sys/devices/system/cpu/online cannot be read, so the cores of this machine are unknown")]
    Cores,
    /// The kernel has no resctrl.
    #[error(
        "there is no resctrl (/proc/filesystems does not name it): the processor enumerates no cache or bandwidth allocation, the kernel was built without it, or this is a virtual machine; where registers alone can do it (`waykeeper machine` reports so), `waykeeper machine --platform > box.toml` writes the machine as a platform, and `waykeeper plan --for box.toml --as msr` plans for it"
    )]
    NoResctrl,
    /// resctrl is not mounted.
    #[error(
        "resctrl is not mounted, and only then shows what the machine has; `mount -t resctrl resctrl /sys/fs/resctrl` as root mounts it"
    )]
    NotMounted,
    /// Only a user's file system calls itself resctrl.
    #[error(
        "{at} is a file system of the user {user} that calls itself resctrl; only root's are used, since a script that root runs writes there: `mount -t resctrl resctrl /sys/fs/resctrl`, or `waykeeper mount` as root, would do"
    )]
    OfUser {
        /// Where it is mounted.
        at: String,
        /// Number of the user, as the table of mounts has it.
        user: String,
    },
    /// A file of resctrl is absent or odd.
    #[error("{path} {why}")]
    Odd {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Where resctrl is mounted as a rule.
pub const USUAL: &str = "/sys/fs/resctrl";

/// What cannot be a group below the root of resctrl.
const NOT_GROUPS: [&str; 3] = ["info", "mon_groups", "mon_data"];

impl Offer {
    /// What a running machine can be asked for, by its resctrl and sysfs.
    ///
    /// # Errors
    /// A machine without resctrl, or with files that are not of the kernel's form.
    pub fn of_linux(tree: &dyn Tree) -> Result<Self, Missing> {
        let online = tree.text("/sys/devices/system/cpu/online").and_then(|text| parse_cpulist(&text));
        let cores = online.filter(|cores| !cores.is_empty()).ok_or(Missing::Cores)?;
        let mount = Mount::find(tree)?;
        let caches = sysfs_caches(tree, &cores);
        let processor = CpuInfo::read(tree);
        let reader = Reader { tree, mount: &mount, caches: &caches, processor: &processor };
        let groups = reader.groups()?;
        let root = reader.schemata("schemata")?;
        let mut offers = Vec::new();
        for level in [2, 3] {
            offers.extend(reader.cache(level, &root, &groups)?);
        }
        let levels: Vec<u8> = offers.iter().map(|cache: &CacheOffer| cache.level).collect();
        let siblings: BTreeSet<Vec<CoreId>> = cores.iter().filter_map(|core| siblings(tree, *core)).collect();
        let mut shared: BTreeMap<u8, BTreeSet<Vec<CoreId>>> = BTreeMap::new();
        for cache in caches.iter().filter(|cache| cache.cores.len() > 1) {
            shared.entry(cache.level).or_default().insert(cache.cores.clone());
        }
        Ok(Self {
            name: "host".into(),
            called: "this machine".into(),
            siblings: siblings.into_iter().filter(|group| group.len() > 1).collect(),
            caches: offers,
            bandwidth: reader.bandwidth(&root)?,
            no_bandwidth: None,
            controls: Default::default(),
            shared: shared
                .into_iter()
                .map(|(level, groups)| Shared::Cache { level, groups: groups.into_iter().collect(), filter: false })
                .collect(),
            unoffered: processor.unoffered(&levels),
            resctrl: Some(ResctrlState {
                at: mount.at.clone(),
                mounted: mount.settings,
                root_mode: reader.text("mode").unwrap_or_else(|| "shareable".into()),
                groups: groups.into_iter().map(|(group, _)| group).collect(),
            }),
            cores,
        })
    }
}

/// Where resctrl is mounted, and how.
struct Mount {
    at: String,
    settings: MountSettings,
}

impl Mount {
    fn find(tree: &dyn Tree) -> Result<Self, Missing> {
        let mounts = tree.text("/proc/mounts").unwrap_or_default();
        let fields = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let resctrl = |it: &Vec<String>| it.get(2).is_some_and(|kind| kind == "resctrl" || kind == "fuse.resctrl");
        let (others, found): (Vec<_>, Vec<_>) =
            mounts.lines().map(fields).filter(resctrl).partition(|it| user_of(it).is_some_and(|user| user != "0"));
        // A room or a container can show a second one: the usual place comes first, and then the kernel's own.
        let kernels = |it: &&Vec<String>| it[2] == "resctrl";
        let usual = found.iter().find(|it| it[1] == USUAL).or(found.iter().find(kernels)).or(found.first()).cloned();
        match usual {
            Some(fields) => {
                let options: Vec<&str> = fields.get(3).map(|all| all.split(',').collect()).unwrap_or_default();
                let has = |name| options.contains(&name);
                let settings = MountSettings { cdp: has("cdp"), cdp_l2: has("cdpl2"), mbps: has("mba_MBps") };
                Ok(Self { at: fields[1].clone(), settings })
            }
            None => {
                let known = tree.text("/proc/filesystems").unwrap_or_default();
                let known = known.lines().any(|line| line.split_whitespace().last() == Some("resctrl"));
                Err(match others.first() {
                    Some(fields) => {
                        Missing::OfUser { at: fields[1].clone(), user: user_of(fields).unwrap_or_default().into() }
                    }
                    None if known => Missing::NotMounted,
                    None => Missing::NoResctrl,
                })
            }
        }
    }
}

/// The user who serves a file system by FUSE, from a line of the table of mounts.
fn user_of(fields: &[String]) -> Option<&str> {
    if fields.get(2)? != "fuse.resctrl" {
        return None;
    }
    let user = fields.get(3)?.split(',').find_map(|option| option.strip_prefix("user_id="));
    Some(user.unwrap_or("unknown"))
}

/// What the file `bit_usage` says of one cache.
#[derive(Default)]
struct Usage {
    /// Bits that devices fill, also where groups do.
    devices: Mask,
    /// Bits of an exclusive group or a pseudo-locked region; also those with a letter that this program does not know.
    kept: Mask,
}

impl Usage {
    /// From the letters of one cache, highest bit first (resctrl.rst, "bit_usage").
    fn of(letters: &str) -> Self {
        let mut usage = Self::default();
        for (bit, letter) in letters.chars().rev().enumerate() {
            let bit = Mask(1 << bit);
            match letter {
                // Unused; used by groups.
                '0' | 'S' => {}
                'H' | 'X' => usage.devices = usage.devices.with(bit),
                _ => usage.kept = usage.kept.with(bit),
            }
        }
        usage
    }
}

/// A group that is there, and its schemata.
type Present = (PresentGroup, Vec<SchemataLine>);

struct Reader<'t> {
    tree: &'t dyn Tree,
    mount: &'t Mount,
    caches: &'t [SysfsCache],
    processor: &'t CpuInfo,
}

impl Reader<'_> {
    fn text(&self, path: &str) -> Option<String> {
        Some(self.tree.text(&format!("{}/{path}", self.mount.at))?.trim_end().to_owned())
    }

    fn odd(&self, path: &str, why: &str) -> Missing {
        Missing::Odd { path: format!("{}/{path}", self.mount.at), why: why.into() }
    }

    fn need<T>(&self, path: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, Missing> {
        let text = self.text(path).ok_or_else(|| self.odd(path, "cannot be read"))?;
        parse(text.trim())
            .ok_or_else(|| self.odd(path, &format!("holds {text:?}, which is not what the kernel writes there")))
    }

    fn schemata(&self, path: &str) -> Result<Vec<SchemataLine>, Missing> {
        self.need(path, parse_schemata)
    }

    fn groups(&self) -> Result<Vec<Present>, Missing> {
        let mut groups = Vec::new();
        for name in self.tree.names(&self.mount.at).into_iter().filter(|name| !NOT_GROUPS.contains(&name.as_str())) {
            let Some(mode) = self.text(&format!("{name}/mode")) else { continue };
            let schemata = self.schemata(&format!("{name}/schemata"))?;
            let list = self.text(&format!("{name}/cpus_list")).and_then(|text| parse_cpulist(text.trim()));
            let mut cores = list.unwrap_or_default();
            cores.sort_unstable();
            groups.push((PresentGroup { name, mode, cores }, schemata));
        }
        Ok(groups)
    }

    fn cache(&self, level: u8, root: &[SchemataLine], groups: &[Present]) -> Result<Option<CacheOffer>, Missing> {
        let plain = format!("L{level}");
        let apart = format!("L{level}CODE");
        let names = self.tree.names(&format!("{}/info", self.mount.at));
        let (name, cdp_on) = match (names.contains(&plain), names.contains(&apart)) {
            (true, _) => (&plain, false),
            (false, true) => (&apart, true),
            (false, false) => return Ok(None),
        };
        let number = |text: &str| text.parse::<u32>().ok();
        let hex = |text: &str| u32::from_str_radix(text, 16).ok();
        let full = Mask(self.need(&format!("info/{name}/cbm_mask"), hex)?);
        let Some(line) = root.iter().find(|line| line.name == *name) else {
            return Err(self.odd("schemata", &format!("has no line {name}")));
        };
        let shareable = Mask(self.need(&format!("info/{name}/shareable_bits"), hex)?);
        let mut domains = Vec::new();
        for (id, _) in &line.values {
            let Some(cache) = self.caches.iter().find(|cache| cache.level == level && cache.id == *id) else {
                return Err(
                    self.odd("schemata", &format!("names cache {id} of level {level}, which sysfs does not show"))
                );
            };
            let (kept, filled, filled_by) = of_groups(groups, level, *id);
            let usage = self.bit_usage(name, *id, full)?;
            // Where devices fill all bits nothing is known about each of them, as with `shareable_bits`.
            let by_devices = if usage.devices == full { Mask(0) } else { usage.devices.without(shareable) };
            domains.push(DomainOffer {
                id: *id,
                cores: cache.cores.clone(),
                bits: full.count(),
                ways: cache.ways.unwrap_or_else(|| full.count()),
                size_bytes: cache.size_bytes / self.sub_numa_nodes(level, *id),
                io_alloc: self.io_alloc(name, *id).with(by_devices),
                shareable,
                kept: kept.with(usage.kept),
                filled: filled.with(usage.kept),
                filled_by,
            });
        }
        let closids = self.need(&format!("info/{name}/num_closids"), number)?;
        // The class of `io_alloc` is the kernel's highest one, and no group can have it.
        let io_alloc = u32::from(domains.iter().any(|domain| !domain.io_alloc.is_empty()));
        let closids = closids.saturating_sub(io_alloc);
        let flag = if level == 3 { "cdp_l3" } else { "cdp_l2" };
        Ok(Some(CacheOffer {
            level,
            control: Some(if self.processor.is_arm { WayControl::MpamPortions } else { WayControl::Cat }),
            domains,
            min_bits: self.need(&format!("info/{name}/min_cbm_bits"), number)?,
            // Kernels before 6.7 have no such file and take no holes, but on AMD, whose empty masks give it away.
            sparse: match self.text(&format!("info/{name}/sparse_masks")) {
                Some(text) => text.trim() == "1",
                None => self.processor.vendor == "AuthenticAMD",
            },
            classes: Some(if cdp_on { closids.saturating_mul(2) } else { closids }),
            cdp: cdp_on || self.processor.flags.contains(flag),
            pseudo_lock: self.processor.can_lock(),
        }))
    }

    /// The bits of a cache that `io_alloc` has devices fill (Linux 6.19).
    fn io_alloc(&self, name: &str, id: u32) -> Mask {
        // With code and data apart, both files show the same mask.
        if self.text(&format!("info/{name}/io_alloc")).as_deref() != Some("enabled") {
            return Mask(0);
        }
        let text = self.text(&format!("info/{name}/io_alloc_cbm")).unwrap_or_default();
        let of = |pair: &str| {
            let (domain, mask) = pair.trim().split_once('=')?;
            (domain.parse() == Ok(id)).then(|| u32::from_str_radix(mask, 16).ok())?
        };
        text.split([';', '\n']).filter_map(of).fold(Mask(0), |all, mask| all.with(Mask(mask)))
    }

    /// What `bit_usage` says of a cache; nothing where the kernel has no such file.
    fn bit_usage(&self, name: &str, id: u32, full: Mask) -> Result<Usage, Missing> {
        let file = format!("info/{name}/bit_usage");
        let Some(text) = self.text(&file) else { return Ok(Usage::default()) };
        let of = |pair: &str| {
            let (domain, letters) = pair.trim().split_once('=')?;
            (domain.parse() == Ok(id) && letters.chars().count() == full.count() as usize).then(|| Usage::of(letters))
        };
        text.split([';', '\n']).find_map(of).ok_or_else(|| {
            let expected = format!("expected `{id}=` and {} letters in it", full.count());
            self.odd(&file, &format!("holds {text:?}; {expected}"))
        })
    }

    /// Nodes of sub-NUMA clustering in a cache of level 3, at least 1: each bit stands for that part of its size
    /// (resctrl.rst, "Notes on Sub-NUMA Cluster mode").
    fn sub_numa_nodes(&self, level: u8, id: u32) -> u64 {
        if level != 3 {
            return 1;
        }
        let names = self.tree.names(&format!("{}/mon_data/mon_L3_{id:02}", self.mount.at));
        (names.iter().filter(|name| name.starts_with("mon_sub_L3_")).count() as u64).max(1)
    }

    fn bandwidth(&self, root: &[SchemataLine]) -> Result<Option<BandwidthOffer>, Missing> {
        let Some(line) = root.iter().find(|line| line.name == "MB") else { return Ok(None) };
        let number = |text: &str| text.parse::<u32>().ok();
        let of = |file: &str| self.need(&format!("info/MB/{file}"), number);
        let (min, linear) = (of("min_bandwidth")?, of("delay_linear")? == 1);
        let unit = match (self.mount.settings.mbps, linear) {
            (true, _) => BandwidthUnit::MegabytesPerSecond,
            (false, true) => BandwidthUnit::Percent,
            // Intel's scales that are not linear are not taken by the kernel; AMD's have no least value.
            (false, false) if min == 0 => BandwidthUnit::EighthsOfGigabytePerSecond,
            (false, false) => return Ok(None),
        };
        // Ids that are not those of the L3 caches are others', such as those of NUMA nodes: equal numbers say nothing then.
        let ids = |all: &mut dyn Iterator<Item = u32>| all.collect::<BTreeSet<u32>>();
        let of_l3 = ids(&mut self.caches.iter().filter(|cache| cache.level == 3).map(|cache| cache.id));
        let are_l3 = ids(&mut line.values.iter().map(|(id, _)| *id)).is_subset(&of_l3);
        let cores = |id: u32| {
            if !are_l3 {
                return Vec::new();
            }
            let cache = self.caches.iter().find(|cache| cache.level == 3 && cache.id == id);
            cache.map_or_else(Vec::new, |cache| cache.cores.clone())
        };
        let events = self.text("info/L3_MON/mon_features").unwrap_or_default();
        Ok(Some(BandwidthOffer {
            domains: line.values.iter().map(|(id, _)| (*id, cores(*id))).collect(),
            unit,
            min: if unit == BandwidthUnit::MegabytesPerSecond { 1 } else { min },
            max: match unit {
                BandwidthUnit::Percent => 100,
                BandwidthUnit::MegabytesPerSecond => u32::MAX,
                // The root has no limit unless somebody set one; 2048 is none on the first parts.
                BandwidthUnit::EighthsOfGigabytePerSecond => {
                    line.values.iter().filter_map(|(_, value)| value.parse().ok()).max().unwrap_or(2048)
                }
            },
            step: if unit == BandwidthUnit::Percent { of("bandwidth_gran")?.max(1) } else { 1 },
            classes: Some(of("num_closids")?),
            rates: linear && events.lines().any(|event| event == "mbm_local_bytes"),
        }))
    }
}

/// What groups that are there keep for themselves in a cache, what they fill, and the names of those that fill any.
fn of_groups(groups: &[Present], level: u8, id: u32) -> (Mask, Mask, Vec<String>) {
    let (mut kept, mut filled, mut names_of) = (Mask(0), Mask(0), Vec::new());
    for (group, schemata) in groups {
        let names = [format!("L{level}"), format!("L{level}CODE"), format!("L{level}DATA")];
        let lines = schemata.iter().filter(|line| names.contains(&line.name)).filter_map(SchemataLine::masks);
        let mine = lines.flatten().filter(|(domain, _)| *domain == id);
        let mask = mine.fold(Mask(0), |all, (_, mask)| all.with(Mask(mask)));
        filled = filled.with(mask);
        if !mask.is_empty() {
            names_of.push(group.name.clone());
        }
        if group.mode != "shareable" {
            kept = kept.with(mask);
        }
    }
    (kept, filled, names_of)
}
