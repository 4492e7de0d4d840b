//! The bundled platforms against facts that are published elsewhere than their files.

use std::collections::{BTreeMap, BTreeSet};

use waykeeper_platform::{Basis, Platform, WayGroups, bundled, find_bundled};

fn platform(name: &str) -> Platform {
    let file = find_bundled(name).unwrap_or_else(|| panic!("no platform {name}"));
    Platform::from_toml(file.text, name).unwrap()
}

fn all() -> impl Iterator<Item = Platform> {
    bundled().iter().map(|file| platform(file.name))
}

/// `(level, KiB, sets, ways)` of the data and unified caches of a core.
fn shapes(platform: &Platform, core: u32) -> Vec<(u8, u64, u64, u64)> {
    let shape = |cache: &waykeeper_platform::CacheGeometry| {
        (cache.level, cache.size_bytes / 1024, cache.size_bytes / cache.line_bytes / cache.ways, cache.ways)
    };
    platform.caches(core).iter().map(shape).collect()
}

#[test]
fn a_written_platform_reads_back() {
    for platform in all() {
        assert_eq!(Platform::from_toml(&platform.to_toml(), &platform.name).unwrap(), platform);
    }
}

#[test]
fn cores_number_as_published() {
    let expected = [
        ("agilex5", vec![("Cortex-A55", 2), ("Cortex-A76", 2)]),
        ("apollo-lake-e3950", vec![("Goldmont", 4)]),
        ("cd8180", vec![("Cortex-A520", 4), ("Cortex-A720", 8)]),
        ("i7-1185gre", vec![("Willow Cove", 4)]),
        ("i7-13800hre", vec![("Gracemont", 8), ("Raptor Cove", 6)]),
        ("x7425e", vec![("Gracemont", 4)]),
        ("xeon-d-2752ter", vec![("Sunny Cove", 12)]),
        ("zynq7000", vec![("Cortex-A9", 2)]),
    ];
    for (name, kinds) in expected {
        let platform = platform(name);
        let mut found = BTreeMap::new();
        for kind in &platform.cores {
            *found.entry(kind.kind.as_str()).or_insert(0) += kind.ids.len();
        }
        assert_eq!(found.into_iter().collect::<Vec<_>>(), kinds, "{name}");
        let ids: Vec<_> = (0..platform.core_ids().len() as u32).collect();
        assert_eq!(platform.core_ids(), ids, "{name}: numbered without a gap");
    }
}

/// Sets and ways as CPUID leaf 4 of the same die gives them, or as sizes and ways in the manuals yield them.
#[test]
fn sets_times_ways_times_line_is_the_size() {
    let goldmont = vec![(1, 24, 64, 6), (2, 1024, 1024, 16)];
    let cove =
        |ways, l2_sets, l3: (u64, u64, u64)| vec![(1, 48, 64, 12), (2, 1280, l2_sets, ways), (3, l3.0, l3.1, l3.2)];
    let mont = |l3: (u64, u64, u64)| vec![(1, 32, 64, 8), (2, 2048, 2048, 16), (3, l3.0, l3.1, l3.2)];
    let expected = [
        ("apollo-lake-e3950", 0, goldmont.clone()),
        ("apollo-lake-e3950", 3, goldmont),
        ("cd8180", 1, vec![(1, 32, 128, 4), (3, 12288, 16384, 12)]),
        ("cd8180", 11, vec![(1, 64, 256, 4), (2, 512, 1024, 8), (3, 12288, 16384, 12)]),
        ("i7-1185gre", 3, cove(20, 1024, (12288, 16384, 12))),
        ("i7-13800hre", 5, cove(10, 2048, (24576, 32768, 12))),
        ("i7-13800hre", 13, mont((24576, 32768, 12))),
        ("x7425e", 0, mont((6144, 8192, 12))),
        ("xeon-d-2752ter", 11, cove(20, 1024, (20480, 16384, 20))),
        // 256 sets of 32 bytes are 8 KiB a way; 2048 sets are 64 KiB a way of the PL310.
        ("zynq7000", 1, vec![(1, 32, 256, 4), (2, 512, 2048, 8)]),
    ];
    for (name, core, shape) in expected {
        assert_eq!(shapes(&platform(name), core), shape, "{name}, core {core}");
    }
}

/// What operating systems and makers give as sums over a chip.
#[test]
fn sums_over_a_chip_are_the_published_ones() {
    let sum = |name: &str, level: u8| -> u64 {
        let platform = platform(name);
        let mut seen = BTreeSet::new();
        let caches = platform.core_ids().into_iter().flat_map(|core| platform.caches(core));
        caches
            .filter(|cache| cache.level == level)
            .filter_map(|c| seen.insert(c.shared_by).then_some(c.size_bytes))
            .sum::<u64>()
            / 1024
    };
    // `lscpu` on the CD8180: L1d 640 KiB (12 instances), L2 4 MiB (8), L3 12 MiB (1).
    assert_eq!([1, 2, 3].map(|level| sum("cd8180", level)), [640, 4096, 12288]);
    // 11.5 MiB of L2: six of 1.25 MiB and two of 2 MiB. 24 MiB of L3.
    assert_eq!([2, 3].map(|level| sum("i7-13800hre", level)), [11776, 24576]);
    // Two modules of 1 MiB.
    assert_eq!([2, 3].map(|level| sum("apollo-lake-e3950", level)), [2048, 0]);
}

/// The mask of a list of groups, as a register would hold it.
fn mask(groups: &[u8]) -> u32 {
    groups.iter().fold(0, |mask, group| mask | 1 << group)
}

#[test]
fn capacity_masks_are_as_long_as_the_makers_table_says() {
    // (platform, classes, bits of the L3 mask): appendix D of Intel's guide.
    for (name, classes, bits) in [("i7-1185gre", 4, 12), ("i7-13800hre", 16, 12), ("x7425e", 16, 12)] {
        let platform = platform(name);
        let l3 = platform.shared_caches.iter().find(|cache| cache.level == 3).unwrap();
        assert_eq!(l3.classes.as_ref().unwrap().value, classes, "{name}");
        assert_eq!(l3.way_groups.as_ref().unwrap().value, bits, "{name}");
    }
    // Chapter 5.4.3: 0x3FF on P-cores, 0xFFFF on E-cores.
    let hybrid = platform("i7-13800hre");
    let private = hybrid.core_kind(0).unwrap().l2.as_ref().unwrap();
    assert_eq!(private.way_groups.as_ref().unwrap().value, u64::from(0x3ff_u32.count_ones()));
    assert_eq!(hybrid.shared_caches[0].way_groups.as_ref().unwrap().value, u64::from(0xffff_u32.count_ones()));
}

#[test]
fn partitions_are_the_masks_of_the_documents() {
    // (platform, mitigation, level, target's mask, the others' mask)
    let expected = [
        ("apollo-lake-e3950", "one-segment", 3, 0x01, 0xfe),
        ("apollo-lake-e3950", "four-segments", 3, 0x0f, 0xf0),
        ("apollo-lake-e3950", "pseudo-lock", 3, 0xfe, 0xfe),
        ("i7-1185gre", "cat", 3, 0xf, 0xff0),
        ("i7-1185gre", "cat-half", 3, 0xfc0, 0x3f),
        ("i7-13800hre", "cat", 3, 0x3f, 0xfc0),
        ("i7-13800hre", "cat-half", 3, 0xfc0, 0x3f),
        ("i7-13800hre", "l2-cat-trap", 2, 0x3ff, 0x3ff),
        ("x7425e", "cat", 2, 0xff00, 0xff),
        ("x7425e", "cat", 3, 0xfc0, 0x3f),
        ("x7425e", "l2-cat", 2, 0xff00, 0xff),
        ("x7425e", "l3-cat", 3, 0xfc0, 0x3f),
        ("xeon-d-2752ter", "cat", 3, 0xffff, 0xf0000),
        ("cd8180", "split-5-1", 3, 0b011111, 0b100000),
        ("cd8180", "split-4-2", 3, 0b001111, 0b110000),
        ("cd8180", "split-3-3", 3, 0b000111, 0b111000),
        ("cd8180", "split-2-4", 3, 0b000011, 0b111100),
        ("cd8180", "split-1-5", 3, 0b000001, 0b111110),
    ];
    for (name, mitigation, level, target, others) in expected {
        let set = &platform(name).mitigations[mitigation].set;
        let outermost = level == 3;
        let WayGroups { target: t, others: o, .. } =
            if outermost { &set.way_groups } else { &set.l2_way_groups }.as_ref().unwrap();
        assert_eq!((mask(t), mask(o)), (target, others), "{name} {mitigation}");
    }
}

#[test]
fn every_stride_of_the_study_can_be_set_on_either_side() {
    let platform = platform("cd8180");
    for stride in [0, 1, 3, 7, 15, 31, 63] {
        for (who, target, others) in [("ic", 0, stride), ("tc", stride, 0)] {
            let bandwidth = platform.mitigations[&format!("{who}-{stride}")].set.bandwidth.clone().unwrap();
            assert_eq!((bandwidth.enabled, bandwidth.target, bandwidth.others), (true, target, others));
        }
    }
}

/// Crossing, precharge, activation, column and transfer of an unloaded read that meets another open row, against
/// measured latencies in ns of memory beyond all caches (on close relatives for the Intel parts, where clocks differ).
#[test]
fn an_unloaded_read_takes_as_long_as_measured() {
    let expected = [
        ("zynq7000", 105.0, 115.0),
        ("apollo-lake-e3950", 150.0, 177.0),
        ("cd8180", 158.0, 190.0),
        ("i7-13800hre", 80.0, 114.0),
        ("x7425e", 121.0, 136.0),
    ];
    for (name, low, high) in expected {
        let platform = platform(name);
        let (memory, way) = (platform.memory.unwrap(), platform.interconnect.unwrap());
        let parts = [&way.crossing_ns, &memory.trp_ns, &memory.trcd_ns, &memory.cl_ns, &memory.line_transfer_ns];
        let sum: f64 = parts.iter().map(|part| part.value).sum();
        assert!((low..=high).contains(&sum), "{name}: {sum} ns");
    }
}

#[test]
fn few_parameters_are_fitted_and_none_where_nothing_may_be() {
    for platform in all() {
        let fitted = platform.parameters().iter().filter(|row| row.is == Basis::Fitted).count();
        assert!(fitted <= 3, "{}: {fitted} fitted parameters", platform.name);
        if ["apollo-lake-e3950"].contains(&platform.name.as_str()) {
            assert_eq!(fitted, 0, "{}", platform.name);
        }
    }
}

/// A source is a short name from the file's list, or a citation with words of its own. No name is left unused: what is
/// no parameter, such as the numbers of the cores, is cited in a comment.
#[test]
fn every_source_is_listed_and_every_listed_source_is_used() {
    for file in bundled() {
        let platform = platform(file.name);
        for source in file.text.split("source = \"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let known = platform.sources.contains_key(source) || source.contains(' ');
            assert!(known, "{}: `{source}` is not in [sources]", file.name);
        }
        // Those that the file itself lists: a memory part brings its own.
        let table: toml::Table = file.text.parse().unwrap();
        for name in table.get("sources").and_then(|sources| sources.as_table()).into_iter().flat_map(|t| t.keys()) {
            assert!(file.text.matches(name.as_str()).count() > 1, "{}: nothing cites `{name}`", file.name);
        }
    }
}

/// The table of docs/platforms.md, as far as it goes: a platform may lack a row, but a row is right.
#[test]
fn the_book_counts_what_platforms_rest_on() {
    let book = include_str!("../../../docs/platforms.md");
    let (_, table) = book.split_once("| documented | measured | assumed | fitted | imposed |\n").unwrap();
    let rows: Vec<_> = table.lines().skip(1).take_while(|line| line.starts_with('|')).collect();
    assert!(!rows.is_empty());
    let words = [Basis::Documented, Basis::Measured, Basis::Assumed, Basis::Fitted, Basis::Imposed];
    for row in rows {
        let name = row.split('`').nth(1).unwrap();
        let parameters = platform(name).parameters();
        let counts = words.map(|word| parameters.iter().filter(|row| row.is == word).count().to_string());
        assert_eq!(row, format!("| `{name}` | {} |", counts.join(" | ")));
    }
}
