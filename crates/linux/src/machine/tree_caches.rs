//! Caches of the device tree (Devicetree Specification, 3.8 and 3.9), for kernels that show none in sysfs: those for 32-bit Arm did
//! not until lately.

use waykeeper_platform::CoreId;

use super::Reading;
use super::caches::{CacheKind, CacheUse, MOST_ENTRIES};
use super::controls::{Control, How};
use crate::root::Root;

/// The device tree that the kernel was booted with.
const TREE: &str = "/sys/firmware/devicetree/base";

/// How deep below the root cache controllers stand: on a bus of a bus.
const DEEPEST: u32 = 3;

/// The most levels behind a core; a tree whose references form a circle ends here too.
const MOST_LEVELS: usize = 4;

/// A cache controller of Cortex-A9 systems, under both of its names.
const PL310: [&str; 2] = ["arm,pl310-cache", "arm,l2c-310-cache"];

/// What the device tree says of caches. It is read once: a tree has some thousand nodes.
pub(super) struct TreeCaches {
    /// Caches with a node of their own, inner ones first.
    shared: Vec<CacheNode>,
    /// The processors, in the order of their addresses, in which the kernel numbers them.
    processors: Vec<ProcessorNode>,
}

impl TreeCaches {
    /// Reads the tree; without one there is nothing.
    pub fn read(root: &Root) -> Self {
        let mut shared = Vec::new();
        search(root, TREE, 0, &mut shared);
        shared.sort_by_key(|node| node.level);
        Self { shared, processors: processors(root) }
    }

    /// The caches, where each processor of the tree is a core of the kernel's; otherwise which core has which is unknown.
    pub fn kinds(&self, reading: &Reading, notes: &mut Vec<String>) -> Vec<CacheKind> {
        for node in self.shared.iter().filter(|node| node.shape.is_none()) {
            notes.push(format!(
                "the device tree has a cache of level {} ({}) without its size, and the kernel shows none: its registers have it",
                node.level, node.compatible
            ));
        }
        let have_sizes = self.shared.iter().any(|node| node.shape.is_some())
            || self.processors.iter().any(|processor| !processor.own.is_empty());
        if have_sizes && self.processors.len() != reading.cpus.len() {
            notes.push(format!(
                "the device tree has {} processors and {} cores are online: which has which cache is not known",
                self.processors.len(),
                reading.cpus.len()
            ));
            return Vec::new();
        }
        let mut kinds = Vec::new();
        for (cpu, processor) in reading.cpus.iter().zip(&self.processors) {
            for (holds, shape) in &processor.own {
                add(&mut kinds, (1, *holds, *shape), *cpu, None);
            }
            for at in self.way_outward(processor) {
                let node = &self.shared[at];
                if let Some(shape) = node.shape {
                    add(&mut kinds, (node.level, CacheUse::Unified, shape), *cpu, Some(at));
                }
            }
        }
        kinds.into_iter().map(|(kind, _)| kind).collect()
    }

    /// Lockdown by way of a controller that the tree names.
    pub fn lockdown(&self) -> Option<Control> {
        let controller = self.shared.iter().find(|node| PL310.contains(&node.compatible.as_str()))?;
        let says = format!("{} is `{}`", controller.path, controller.compatible);
        let mut control = Control::new("pl310_lockdown", "L2 lockdown by way (PL310)", How::Sysfs, says);
        control.offered_by_linux = false;
        control.detail = "registers only, of secure software or where firmware opened them, which no file shows".into();
        Some(control)
    }

    /// The places of the caches behind a processor, from reference to reference.
    fn way_outward(&self, processor: &ProcessorNode) -> Vec<usize> {
        let place = |next: Option<u64>| self.shared.iter().position(|node| next.is_some() && node.handle == next);
        std::iter::successors(place(processor.next), |at| place(self.shared[*at].next)).take(MOST_LEVELS).collect()
    }
}

/// Size, sets and line of a cache, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shape {
    size: u64,
    sets: Option<u64>,
    line: Option<u64>,
}

impl Shape {
    /// From a node's properties that begin so; none without a size.
    fn read(root: &Root, path: &str, begin: &str) -> Option<Self> {
        let cell = |name: &str| {
            cell(root, &format!("{path}/{begin}cache-{name}")).filter(|it| (1..=MOST_ENTRIES).contains(it))
        };
        let line = cell("line-size").or_else(|| cell("block-size"));
        Some(Self { size: cell("size").filter(|size| *size >= 1024)?, sets: cell("sets"), line })
    }
}

/// A cache with a node of its own.
struct CacheNode {
    path: String,
    level: u8,
    compatible: String,
    /// Its name in references of other nodes.
    handle: Option<u64>,
    /// The name of the cache behind it.
    next: Option<u64>,
    shape: Option<Shape>,
}

/// A processor, with the caches that its own node describes.
struct ProcessorNode {
    own: Vec<(CacheUse, Shape)>,
    /// The name of the cache behind these.
    next: Option<u64>,
}

fn search(root: &Root, path: &str, depth: u32, found: &mut Vec<CacheNode>) {
    let level = cell(root, &format!("{path}/cache-level")).and_then(|level| u8::try_from(level).ok());
    if let Some(level) = level {
        let compatible = root.text(&format!("{path}/compatible")).unwrap_or_default();
        found.push(CacheNode {
            path: path.to_owned(),
            level,
            compatible: compatible.split('\0').next().unwrap_or_default().to_owned(),
            handle: cell(root, &format!("{path}/phandle")),
            next: next(root, path),
            shape: Shape::read(root, path, ""),
        });
    }
    if depth < DEEPEST {
        root.folders(path).iter().for_each(|name| search(root, &format!("{path}/{name}"), depth + 1, found));
    }
}

fn processors(root: &Root) -> Vec<ProcessorNode> {
    let folder = format!("{TREE}/cpus");
    let address = |name: &str| u64::from_str_radix(name.strip_prefix("cpu@")?, 16).ok();
    let mut nodes: Vec<(u64, String)> =
        root.folders(&folder).iter().filter_map(|name| Some((address(name)?, format!("{folder}/{name}")))).collect();
    nodes.sort();
    nodes.iter().map(|(_, path)| ProcessorNode { own: own_caches(root, path), next: next(root, path) }).collect()
}

fn own_caches(root: &Root, processor: &str) -> Vec<(CacheUse, Shape)> {
    let kinds = [("d-", CacheUse::Data), ("i-", CacheUse::Instructions)];
    kinds.iter().filter_map(|(begin, holds)| Some((*holds, Shape::read(root, processor, begin)?))).collect()
}

/// The name of the cache behind a node.
fn next(root: &Root, path: &str) -> Option<u64> {
    cell(root, &format!("{path}/next-level-cache")).or_else(|| cell(root, &format!("{path}/l2-cache")))
}

/// Adds a core's cache to its kind, and the core to the cache where it has a node that was there before.
fn add(
    kinds: &mut Vec<(CacheKind, Vec<Option<usize>>)>,
    (level, holds, shape): (u8, CacheUse, Shape),
    cpu: CoreId,
    node: Option<usize>,
) {
    let (size_kib, line_bytes) = (shape.size / 1024, shape.line);
    let same = |kind: &CacheKind| {
        (kind.level, kind.holds, kind.size_kib, kind.sets, kind.line_bytes)
            == (level, holds, size_kib, shape.sets, line_bytes)
    };
    let Some((kind, nodes)) = kinds.iter_mut().find(|(kind, _)| same(kind)) else {
        let ways = shape.sets.zip(shape.line).map(|(sets, line)| shape.size / sets / line).filter(|ways| *ways > 0);
        let (shared_by, ids, found) = (vec![vec![cpu]], vec![None], "device tree".into());
        let sets = shape.sets;
        let kind = CacheKind {
            level,
            holds,
            size_kib,
            ways,
            sets,
            line_bytes,
            shared_by,
            ids,
            inclusive: None,
            hashed: None,
            found,
        };
        kinds.push((kind, vec![node]));
        return;
    };
    match nodes.iter().position(|other| node.is_some() && *other == node) {
        Some(at) => kind.shared_by[at].push(cpu),
        None => {
            kind.shared_by.push(vec![cpu]);
            kind.ids.push(None);
            nodes.push(node);
        }
    }
}

/// A property of one 32-bit cell, most significant byte first.
fn cell(root: &Root, path: &str) -> Option<u64> {
    Some(u32::from_be_bytes(root.bytes(path)?.try_into().ok()?).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    /// A tree with the cells and texts of some nodes, below two cores that the kernel shows without caches.
    fn board(cells: &[(&str, u32)], texts: &[(&str, &str)]) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, bytes: &[u8]| {
            let path = folder.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        write("/sys/devices/system/cpu/online", b"0-1\n");
        cells.iter().for_each(|(path, value)| write(&format!("{TREE}/{path}"), &value.to_be_bytes()));
        texts.iter().for_each(|(path, text)| write(&format!("{TREE}/{path}"), text.as_bytes()));
        Machine::read(&Root::at(folder.path())).unwrap()
    }

    /// Two cores with caches of their own before one that both share.
    const TWO_LEVELS: [(&str, u32); 15] = [
        ("cpus/cpu@0/d-cache-size", 0x8000),
        ("cpus/cpu@0/d-cache-line-size", 64),
        ("cpus/cpu@0/d-cache-sets", 64),
        ("cpus/cpu@0/i-cache-size", 0x4000),
        ("cpus/cpu@0/next-level-cache", 5),
        ("cpus/cpu@1/d-cache-size", 0x8000),
        ("cpus/cpu@1/d-cache-line-size", 64),
        ("cpus/cpu@1/d-cache-sets", 64),
        ("cpus/cpu@1/i-cache-size", 0x4000),
        ("cpus/cpu@1/next-level-cache", 5),
        ("cpus/l2-cache/phandle", 5),
        ("cpus/l2-cache/cache-level", 2),
        ("cpus/l2-cache/cache-size", 0x10_0000),
        ("cpus/l2-cache/cache-sets", 1024),
        ("cpus/l2-cache/cache-line-size", 64),
    ];

    #[test]
    fn caches_of_the_tree_stand_where_the_kernel_shows_none() {
        let caches = board(&TWO_LEVELS, &[]).caches;
        let shown: Vec<_> =
            caches.iter().map(|it| (it.level, it.holds, it.size_kib, it.ways, it.shared_by.len())).collect();
        // 32 KiB in 64 sets of 64-byte lines are 8 ways; 1 MiB in 1024 sets 16.
        let expected = [
            (1, CacheUse::Data, 32, Some(8), 2),
            (1, CacheUse::Instructions, 16, None, 2),
            (2, CacheUse::Unified, 1024, Some(16), 1),
        ];
        assert_eq!(shown, expected);
        assert_eq!(caches[2].shared_by, [[0, 1]]);
        assert!(caches.iter().all(|cache| cache.found == "device tree"));
    }

    #[test]
    fn a_controller_without_a_size_is_said_and_offers_its_lockdown() {
        let soc = "soc/cache-controller@f8f02000";
        let machine = board(
            &[
                ("cpus/cpu@0/next-level-cache", 1),
                ("cpus/cpu@1/next-level-cache", 1),
                (&format!("{soc}/cache-level"), 2),
            ],
            &[(&format!("{soc}/compatible"), "arm,pl310-cache\0")],
        );
        assert!(machine.caches.is_empty());
        let said = "a cache of level 2 (arm,pl310-cache) without its size";
        assert!(machine.notes.iter().any(|note| note.contains(said)), "{:?}", machine.notes);
        assert!(machine.controls.iter().any(|control| control.id == "pl310_lockdown"), "{:?}", machine.controls);
    }

    #[test]
    fn processors_that_are_not_the_kernels_cores_are_given_no_cache() {
        let three = [&TWO_LEVELS[..], &[("cpus/cpu@100/d-cache-size", 0x8000)]].concat();
        let machine = board(&three, &[]);
        assert!(machine.caches.is_empty());
        assert!(machine.notes.iter().any(|note| note.contains("3 processors and 2 cores")), "{:?}", machine.notes);
    }

    #[test]
    fn references_in_a_circle_end() {
        let circle = [&TWO_LEVELS[..], &[("cpus/l2-cache/next-level-cache", 5)]].concat();
        assert!(board(&circle, &[]).caches.iter().any(|cache| cache.level == 2));
    }
}
