//! What is found on the made-up machines is what their descriptions say.

use waykeeper_linux::fixtures::{Description, Vendor, arm, epyc, hybrid, xeon};
use waykeeper_linux::machine::{CacheUse, Control, How, Machine, MeasuredLatencies, MeasuredTime, Unit};
use waykeeper_linux::{Recording, Root};
use waykeeper_platform::{Basis, Platform, WayControl};

fn all() -> [Description; 4] {
    [hybrid(), xeon(), epyc(), arm()]
}

fn machine(recording: Recording) -> Machine {
    Machine::read(&Root::from(recording)).unwrap()
}

fn found(description: &Description) -> Machine {
    machine(description.recording())
}

fn control<'m>(machine: &'m Machine, id: &str) -> &'m Control {
    let ids: Vec<_> = machine.controls.iter().map(|control| &control.id).collect();
    machine.controls.iter().find(|control| control.id == id).unwrap_or_else(|| panic!("no {id} among {ids:?}"))
}

fn places(control: &Control) -> Vec<How> {
    control.found.iter().map(|evidence| evidence.by).collect()
}

#[test]
fn kinds_of_cores_are_those_of_the_description() {
    for description in all() {
        let machine = found(&description);
        assert_eq!(machine.cpus(), description.cpus(), "{}", description.name);
        let mut groups: Vec<_> = machine.cores.iter().map(|cores| cores.cpus.clone()).collect();
        let mut expected: Vec<_> = description.kinds.iter().map(|kind| kind.cpus()).collect();
        groups.sort();
        expected.sort();
        assert_eq!(groups, expected, "{}", description.name);
        for kind in &description.kinds {
            let cores = machine.cores.iter().find(|cores| cores.cpus == kind.cpus()).unwrap();
            assert_eq!(cores.physical, kind.cores.len());
            assert_eq!(cores.min_mhz, Some(kind.mhz[1]));
            assert_eq!(cores.max_mhz, Some(kind.mhz[2]));
            assert_eq!(cores.capacity, kind.capacity);
            assert_eq!(cores.driver.as_deref(), Some(description.frequency_driver));
            assert_eq!(cores.governor.as_deref(), Some(description.governor));
            if description.vendor == Vendor::Intel {
                assert_eq!(cores.base_mhz, Some(kind.mhz[0]));
            }
        }
        let threads: Vec<_> = description.kinds.iter().flat_map(|kind| &kind.cores).filter(|it| it.len() > 1).collect();
        assert_eq!(machine.siblings.iter().collect::<Vec<_>>(), threads, "{}", description.name);
        assert_eq!(machine.nodes.iter().map(|node| node.cpus.clone()).collect::<Vec<_>>(), description.nodes);
        assert_eq!(machine.memory_mib, Some(description.memory_kib / 1024));
        assert_eq!(machine.clock.counter_khz, (description.tsc_khz > 0).then_some(description.tsc_khz));
    }
}

#[test]
fn caches_are_those_of_the_description() {
    for description in all() {
        let machine = found(&description);
        let cache = |cpu: u32, level: u8, holds: CacheUse| {
            let mine = |cache: &&waykeeper_linux::machine::CacheKind| {
                (cache.level, cache.holds) == (level, holds) && cache.shared_by.iter().any(|it| it.contains(&cpu))
            };
            machine.caches.iter().find(mine).cloned()
        };
        for kind in &description.kinds {
            for (number, core) in kind.cores.iter().enumerate() {
                let own = [
                    (1, CacheUse::Data, Some(kind.l1d)),
                    (1, CacheUse::Instructions, Some(kind.l1i)),
                    (2, CacheUse::Unified, kind.l2),
                ];
                for (level, holds, expected) in own {
                    let seen = cache(core[0], level, holds);
                    let Some(expected) = expected else {
                        assert_eq!(seen, None);
                        continue;
                    };
                    let seen = seen.unwrap();
                    assert_eq!((seen.size_kib, seen.ways), (expected.size_kib, Some(expected.ways)));
                    assert_eq!(seen.sets, Some(expected.size_kib * 1024 / 64 / expected.ways));
                    let intel_or_amd = description.vendor != Vendor::Arm;
                    assert_eq!(seen.inclusive, intel_or_amd.then_some(expected.inclusive));
                    let group = seen.shared_by.iter().find(|group| group.contains(&core[0])).unwrap();
                    let first = number / expected.cores * expected.cores;
                    let mut together: Vec<u32> = kind.cores[first..first + expected.cores].concat();
                    together.sort_unstable();
                    assert_eq!(*group, together);
                }
            }
        }
        let last: Vec<_> = machine.caches.iter().filter(|cache| cache.level == 3).collect();
        assert_eq!(last.len(), 1, "{}", description.name);
        assert_eq!(last[0].shared_by, description.l3.iter().map(|(_, cpus)| cpus.clone()).collect::<Vec<_>>());
        // Intel's leaf 4 alone tells; the made-up last levels of Intel's have hashes.
        assert_eq!(last[0].hashed, (description.vendor == Vendor::Intel).then_some(true));
        assert_eq!(machine.notes, Vec::<String>::new(), "{}", description.name);
    }
}

#[test]
fn controls_are_found_where_the_description_has_them() {
    for description in all() {
        let machine = found(&description);
        let Some(allocation) = description.allocation else { continue };
        let ways = control(&machine, "l3_ways");
        let shares = ways.shares.as_ref().unwrap();
        assert_eq!(shares.bits, Some(allocation.bits));
        assert_eq!(shares.classes, Some(allocation.classes));
        assert_eq!(shares.min_bits, Some(allocation.min_bits));
        assert_eq!(shares.holes, Some(allocation.sparse));
        assert_eq!(shares.shareable, Some(allocation.shareable));
        assert_eq!(shares.code_and_data, Some(allocation.cdp));
        assert!(ways.offered_by_linux);
        let expected = if description.vendor == Vendor::Arm { vec![How::Mpam] } else { vec![How::Resctrl, How::Cpuid] };
        assert_eq!(places(ways), expected, "{}", description.name);
        let limits = machine.controls.iter().find(|control| control.id == "memory_bandwidth");
        let limits = limits.map(|control| (control.limits.clone().unwrap(), places(control)));
        match (allocation.bandwidth, limits) {
            (None, None) => {}
            (Some((max, percent)), Some((limits, by))) => {
                assert_eq!(limits.max, max);
                assert_eq!(limits.unit, if percent { Unit::Percent } else { Unit::EighthsOfGigabytePerSecond });
                assert_eq!(limits.classes, Some(allocation.classes));
                assert_eq!(by, [How::Resctrl, How::Cpuid]);
            }
            other => panic!("{}: {other:?}", description.name),
        }
    }
}

/// Without resctrl the processor still tells what it has; the numbers are the same.
#[test]
fn cpuid_alone_finds_the_same_shares() {
    for description in [xeon(), epyc()] {
        let mut recording = description.recording();
        recording.remove("/sys/fs/resctrl").remove("/proc/mounts").remove("/proc/filesystems");
        let machine = machine(recording);
        let ways = control(&machine, "l3_ways");
        assert_eq!(places(ways), [How::Cpuid]);
        assert!(!ways.offered_by_linux);
        let (shares, allocation) = (ways.shares.as_ref().unwrap(), description.allocation.unwrap());
        assert_eq!((shares.bits, shares.classes), (Some(allocation.bits), Some(allocation.classes)));
        assert_eq!((shares.shareable, shares.holes), (Some(allocation.shareable), Some(allocation.sparse)));
        let limits = control(&machine, "memory_bandwidth").limits.clone().unwrap();
        assert_eq!(limits.max, allocation.bandwidth.unwrap().0);
    }
}

#[test]
fn the_catalogue_finds_what_a_processor_does_not_enumerate() {
    let machine = found(&hybrid());
    assert_eq!(machine.identity.catalogue.as_deref(), Some("i7-13800HRE"));
    let ways = control(&machine, "l3_ways");
    assert_eq!(places(ways), [How::Catalogue]);
    assert!(!ways.offered_by_linux);
    assert_eq!(ways.shares.as_ref().unwrap().bits, Some(12));
    // A kernel and a processor that is in no catalogue: nothing is made up.
    let mut other = hybrid().recording();
    let cpuinfo = other.text("/proc/cpuinfo").unwrap().replace("i7-13800HRE", "i7-13700H");
    other.set("/proc/cpuinfo", cpuinfo);
    let other = self::machine(other);
    assert!(other.controls.iter().all(|control| control.shares.is_none()), "{:?}", other.controls);
}

#[test]
fn hybrid_parts_have_second_levels_of_two_lengths() {
    let machine = found(&hybrid());
    let l2: Vec<_> = machine.controls.iter().filter(|control| control.id == "l2_ways").collect();
    let lengths: Vec<_> = l2.iter().map(|it| (it.cpus.clone().unwrap(), it.shares.as_ref().unwrap().bits)).collect();
    assert_eq!(lengths, [((0..12).collect(), Some(10)), ((12..20).collect(), Some(16))]);
}

#[test]
fn two_places_that_differ_are_told() {
    let mut recording = xeon().recording();
    recording.set("/sys/fs/resctrl/info/L3/cbm_mask", "7ff\n");
    let machine = machine(recording);
    assert_eq!(control(&machine, "l3_ways").shares.as_ref().unwrap().bits, Some(11));
    let text = machine.notes.join("\n");
    assert!(text.contains("info/L3: 11 bits") && text.contains("leaf 0x10.1: 20 bits"), "{text}");
}

#[test]
fn every_machine_is_a_platform() {
    for description in all() {
        let machine = found(&description);
        let platform = machine.platform(&[]).unwrap_or_else(|error| panic!("{error}\n{}", machine.platform_text(&[])));
        let first: Vec<u32> = {
            let mut ids: Vec<_> = description.kinds.iter().flat_map(|kind| &kind.cores).map(|core| core[0]).collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(platform.core_ids(), first, "one thread of each core");
        let [family, model, stepping] = description.signature.map(u64::from);
        let told = platform.cpuid.as_ref().map(|it| [it.family.value, it.model.value, it.stepping.value]);
        assert_eq!(told, (description.vendor != Vendor::Arm).then_some([family, model, stepping]));
        for row in platform.parameters() {
            assert_ne!(row.is, Basis::Fitted, "{}", row.path);
            assert_ne!(row.is, Basis::Measured, "{}: nothing was measured", row.path);
        }
        let l3 = platform.shared_caches.last().unwrap();
        assert_eq!(l3.size_kib.value, description.l3[0].0.size_kib);
        assert_eq!(l3.copies.len() + 1, description.l3.len());
        let control = l3.way_control.as_ref().map(|control| control.value);
        let expected = match (description.vendor, description.allocation) {
            (_, None) => WayControl::CatNotEnumerated,
            (Vendor::Arm, _) => WayControl::MpamPortions,
            _ => WayControl::Cat,
        };
        assert_eq!(control, Some(expected));
        let bits = description.allocation.map_or(12, |allocation| u64::from(allocation.bits));
        assert_eq!(l3.way_groups.as_ref().unwrap().value, bits);
    }
}

/// At 2.5 GHz 2 ns are 5 cycles and 6 ns are 15. The memory's part takes 13.75 ns each for precharge, activation and column, and
/// 2.5 for the transfer, 43.75 in all: of 143.75 ns 100 are left.
#[test]
fn measured_latencies_are_those_of_the_kind_that_was_measured() {
    let spread = |value: f64| MeasuredTime { value, least: value - 0.5, greatest: value + 1.0 };
    let measured = MeasuredLatencies {
        cpu: 4,
        source: "measured on a day".into(),
        clock_ghz: Some(2.5),
        counter_ghz: 2.0,
        level_ns: [(1, spread(2.0)), (2, spread(6.0)), (3, spread(18.25))].into(),
        memory_ns: Some(spread(143.75)),
    };
    let platform = found(&hybrid()).platform(&[measured]).unwrap();
    let [big, small] = &platform.cores[..] else { panic!() };
    let of = |param: &Option<waykeeper_platform::Param<u64>>| param.as_ref().map(|it| (it.value, it.is)).unwrap();
    assert_eq!(of(&big.l1d.as_ref().unwrap().hit_cycles), (5, Basis::Measured));
    assert_eq!(of(&big.l2.as_ref().unwrap().hit_cycles), (15, Basis::Measured));
    assert_eq!(big.clock_ghz.as_ref().map(|it| (it.value, it.is)), Some((2.5, Basis::Measured)));
    assert_eq!(of(&small.l1d.as_ref().unwrap().hit_cycles).1, Basis::Assumed);
    let l3 = platform.shared_caches.last().unwrap().hit_ns.as_ref().unwrap();
    assert_eq!((l3.value, l3.is), (18.25, Basis::Measured));
    assert!(l3.reason.as_ref().unwrap().contains("from 17.75 to 19.25"));
    // The second level of the E-cores was not measured.
    assert_eq!(platform.shared_caches[0].hit_ns.as_ref().unwrap().is, Basis::Assumed);
    let crossing = &platform.interconnect.as_ref().unwrap().crossing_ns;
    assert_eq!((crossing.value, crossing.is), (100.0, Basis::Measured));
    assert_eq!(platform.sources["ladder"], "measured on a day");
}

/// A machine of which little is known: no CPUID, no frequencies, caches without sizes.
#[test]
fn a_machine_that_says_little_is_a_platform_too() {
    let mut recording = Recording::default();
    recording.set("/sys/devices/system/cpu/online", "0-3\n");
    let machine = self::machine(recording);
    assert_eq!(machine.caches, []);
    assert_eq!(machine.controls, []);
    let platform = machine.platform(&[]).unwrap();
    assert_eq!(platform.core_ids(), [0, 1, 2, 3]);
    assert!(platform.cores[0].l1d.as_ref().unwrap().size_kib.is == Basis::Assumed);
}

#[test]
fn cores_that_are_offline_are_in_no_list() {
    let mut recording = xeon().recording();
    recording.set("/sys/devices/system/cpu/online", "0-3,12-14\n");
    let machine = machine(recording);
    assert_eq!(machine.cpus(), [0, 1, 2, 3, 12, 13, 14]);
    assert_eq!(machine.siblings, [[0, 12], [1, 13], [2, 14]]);
    let l3 = machine.caches.iter().find(|cache| cache.level == 3).unwrap();
    assert_eq!(l3.shared_by, [[0, 1, 2, 3, 12, 13, 14]]);
    let platform: Platform = machine.platform(&[]).unwrap();
    assert_eq!(platform.core_ids(), [0, 1, 2, 3]);
}

#[test]
fn this_machine_can_be_read() {
    let machine = Machine::read(&Root::default()).unwrap();
    assert!(!machine.cpus().is_empty());
    machine.platform(&[]).unwrap_or_else(|error| panic!("{error}\n{}", machine.platform_text(&[])));
}

#[test]
fn a_mask_tells_who_shares_a_cache_where_no_list_does() {
    let mut recording = xeon().recording();
    let l3 = |machine: &Machine| machine.caches.iter().find(|cache| cache.level == 3).unwrap().shared_by.clone();
    let expected = l3(&machine(recording.clone()));
    for cpu in xeon().cpus() {
        for index in 0..4 {
            let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
            let list = recording.text(&format!("{folder}/shared_cpu_list")).unwrap().to_owned();
            let cpus = waykeeper_linux::parse_cpulist(&list).unwrap();
            // The xeon has fewer than 32 CPUs: one group of a mask.
            let mask = cpus.iter().fold(0_u32, |mask, cpu| mask | 1 << cpu);
            recording.remove(&format!("{folder}/shared_cpu_list"));
            recording.set(&format!("{folder}/shared_cpu_map"), format!("{mask:08x}\n"));
        }
    }
    assert_eq!(l3(&machine(recording.clone())), expected);
    for cpu in xeon().cpus() {
        recording.remove(&format!("/sys/devices/system/cpu/cpu{cpu}/cache/index3/shared_cpu_map"));
    }
    let notes = machine(recording).notes.join("\n");
    assert!(notes.contains("no file shows which cores share the caches of level 3"), "{notes}");
}

#[test]
fn without_a_list_of_online_cores_cpuinfo_tells() {
    let mut recording = epyc().recording();
    recording.remove("/sys/devices/system/cpu/online");
    let found = machine(recording.clone());
    assert_eq!(found.cpus(), epyc().cpus());
    assert!(found.notes.iter().any(|note| note.contains("online is absent")), "{:?}", found.notes);
    // A core that the one lists and the other does not is of another machine, unless it is offline.
    recording.set("/sys/devices/system/cpu/cpu500/topology/core_id", "0");
    assert!(Machine::read(&Root::from(recording.clone())).is_err());
    recording.set("/sys/devices/system/cpu/cpu500/online", "0");
    assert_eq!(machine(recording).cpus(), epyc().cpus());
}
