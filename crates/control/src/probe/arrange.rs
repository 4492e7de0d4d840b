//! Who walks and who streams: from the classes of the cores and the masks of the classes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::measure::ProbePlan;

/// A chase fills this part of its share: the rest leaves room for the unevenness of hashed indices. Assumed.
const FILL: u64 = 2;
/// A chase is this many times the private caches of its core, so that most of it lies in the shared one.
const PRIVATE_TIMES: u64 = 2;
/// A neighbour streams this many times the cache, so that no replacement policy keeps the chase by chance.
const STREAM_TIMES: u64 = 4;

/// A cache that is partitioned, and what is known about who uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionedCache {
    /// Its name, such as `L3:0`.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Bits of a whole mask.
    pub mask_bits: u32,
    /// Bytes of a line.
    pub line_bytes: u64,
    /// Bytes of data that the caches above it hold for one core.
    pub private_bytes: u64,
    /// The class of each core that shares it.
    pub classes: BTreeMap<u32, String>,
    /// The mask of each class.
    pub masks: BTreeMap<String, u64>,
}

impl PartitionedCache {
    /// Whether some class may not fill all of it. Without a known width of masks every cache that was set counts.
    pub fn is_divided(&self) -> bool {
        self.mask_bits == 0 || self.masks.values().any(|mask| mask.count_ones() < self.mask_bits)
    }
}

/// Who walks, who streams, and in which classes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Arrangement {
    /// The cache.
    pub cache: String,
    /// The class of the chase.
    pub class: String,
    /// The class of the neighbour.
    pub other: String,
    /// Cores and sizes.
    #[serde(flatten)]
    pub plan: ProbePlan,
}

/// Why a cache cannot be probed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cache}: {reason}")]
pub struct NotArranged {
    /// The cache.
    pub cache: String,
    /// Why.
    pub reason: String,
}

/// Arranges a probe for each class whose share no other class with cores on this cache overlaps with; the other one is the
/// first of them.
///
/// # Errors
/// Where no class can be probed: the reason of the last one that was looked at.
pub fn arrange(level: &PartitionedCache, classes: &[String], repeats: usize) -> Result<Vec<Arrangement>, NotArranged> {
    let mut reason = "no core of a class that was set shares this cache".to_owned();
    let mut arranged = Vec::new();
    for class in classes {
        match one(level, class, repeats) {
            Ok(arrangement) => arranged.push(arrangement),
            Err(Some(why)) => reason = why,
            Err(None) => {}
        }
    }
    if arranged.is_empty() { Err(NotArranged { cache: level.name.clone(), reason }) } else { Ok(arranged) }
}

fn one(level: &PartitionedCache, class: &str, repeats: usize) -> Result<Arrangement, Option<String>> {
    let cores_of = |class: &str| {
        let class = class.to_owned();
        level.classes.iter().filter(move |(_, other)| **other == class).map(|(core, _)| *core)
    };
    let core = cores_of(class).next().ok_or(None)?;
    let mask = *level.masks.get(class).ok_or(None)?;
    let shown = show(class);
    let disjoint = |(_, other): &(&u32, &String)| level.masks.get(*other).is_some_and(|theirs| theirs & mask == 0);
    let (neighbour, other) = level.classes.iter().find(disjoint).ok_or_else(|| {
        format!("every other class on this cache may fill the share of {shown} too, or there is none")
    })?;
    let share = level.bytes / u64::from(level.mask_bits.max(1)) * u64::from(mask.count_ones());
    let chase_bytes = share / FILL / level.line_bytes * level.line_bytes;
    if chase_bytes < level.private_bytes * PRIVATE_TIMES {
        return Err(Some(format!(
            "the share of {shown} is {} KiB; half of it is not {PRIVATE_TIMES} times the {} KiB of private caches, where a chase \
             of that size would stay whatever the mask",
            share >> 10,
            level.private_bytes >> 10
        )));
    }
    let plan = ProbePlan {
        core,
        neighbour: *neighbour,
        same_class: cores_of(class).nth(1).unwrap_or(core),
        chase_bytes,
        stream_bytes: level.bytes * STREAM_TIMES,
        line_bytes: level.line_bytes,
        repeats,
    };
    Ok(Arrangement { cache: level.name.clone(), class: class.into(), other: other.clone(), plan })
}

fn show(class: &str) -> String {
    crate::undo::name(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twelve ways of 1 MiB, cores 0 to 3 in the root group, 4 and 5 in `rt`.
    fn level(root: u64, rt: u64) -> PartitionedCache {
        let classes = (0..6).map(|core| (core, if core < 4 { "" } else { "rt" }.to_owned()));
        PartitionedCache {
            name: "L3:0".into(),
            bytes: 12 << 20,
            mask_bits: 12,
            line_bytes: 64,
            private_bytes: 1 << 20,
            classes: classes.collect(),
            masks: [(String::new(), root), ("rt".into(), rt)].into(),
        }
    }

    fn arranged(level: &PartitionedCache) -> Result<Vec<Arrangement>, NotArranged> {
        arrange(level, &["rt".into()], 11)
    }

    #[test]
    fn halves_are_probed_from_the_class_that_was_set() {
        let arranged = arranged(&level(0x3f, 0xfc0)).unwrap();
        // Six of twelve MiB, half filled; four times the cache is streamed.
        let plan = ProbePlan {
            core: 4,
            neighbour: 0,
            same_class: 5,
            chase_bytes: 3 << 20,
            stream_bytes: 48 << 20,
            line_bytes: 64,
            repeats: 11,
        };
        assert_eq!(arranged, [Arrangement { cache: "L3:0".into(), class: "rt".into(), other: String::new(), plan }]);
    }

    #[test]
    fn a_cache_with_full_masks_alone_is_not_divided() {
        assert!(!level(0xfff, 0xfff).is_divided());
        assert!(level(0xfff, 0xfc0).is_divided());
        assert!(PartitionedCache { mask_bits: 0, ..level(0xfff, 0xfff) }.is_divided());
    }

    #[test]
    fn a_class_of_one_core_is_its_own_negative_control() {
        let mut level = level(0x3f, 0xfc0);
        level.classes.remove(&5);
        assert_eq!(arranged(&level).unwrap()[0].plan.same_class, 4);
    }

    #[test]
    fn overlaps_and_small_shares_are_not_probed() {
        let refused = arranged(&level(0xfff, 0xfc0)).unwrap_err().to_string();
        assert!(
            refused.starts_with("L3:0: every other class on this cache may fill the share of group rt"),
            "{refused}"
        );
        // Two of twelve MiB: half of that is the size of the private caches.
        let refused = arranged(&level(0x3ff, 0xc00)).unwrap_err().to_string();
        assert!(refused.contains("the share of group rt is 2048 KiB"), "{refused}");
        let mut nobody = level(0x3f, 0xfc0);
        nobody.classes.retain(|_, class| class.is_empty());
        assert!(arranged(&nobody).unwrap_err().reason.starts_with("no core of a class"));
    }
}
