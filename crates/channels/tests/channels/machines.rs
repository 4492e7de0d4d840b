//! Machines that were made up from documented formats: what each has is in its description.

use waykeeper_channels::{ChannelAnswer, ChannelPolicy, ChannelRuns, ChannelTable, list, of_machine};
use waykeeper_doctor::{View, examine};
use waykeeper_linux::fixtures::{arm, epyc, hybrid, xeon};
use waykeeper_linux::machine::Machine;
use waykeeper_linux::{Recording, Root};

use ChannelAnswer::{No, NotSeen, Yes};

fn table(recording: Recording) -> ChannelTable {
    let root = Root::from(recording);
    let machine = Machine::read(&root).unwrap();
    let examination = examine(&View::new(root.clone(), None).unwrap());
    of_machine("box", &root, &machine, &examination)
        .table(ChannelPolicy::none("none was named"), &ChannelRuns::default())
}

fn answer(table: &ChannelTable, id: &str) -> ChannelAnswer {
    table.channels.iter().find(|row| row.id == id).unwrap().present.answer
}

fn known(table: &ChannelTable, id: &str) -> String {
    let row = table.channels.iter().find(|row| row.id == id).unwrap();
    row.present.known_by.iter().map(|known| format!("{}: {}\n", known.by, known.says)).collect()
}

#[track_caller]
fn assert_answers(table: &ChannelTable, expected: &[(&str, ChannelAnswer)]) {
    for (id, expected) in expected {
        assert_eq!(answer(table, id), *expected, "{id}: {}", known(table, id));
    }
}

#[test]
fn every_listed_channel_is_looked_for_and_every_answer_has_a_reason() {
    for recording in [hybrid(), xeon(), epyc(), arm()].map(|machine| machine.recording()) {
        let table = table(recording);
        assert_eq!(table.channels.len(), list().channel.len());
        for row in &table.channels {
            assert!(!row.present.known_by.is_empty(), "{row:?}");
            assert!(row.present.known_by.iter().all(|known| known.by != "waykeeper"), "{row:?}");
        }
    }
}

/// Six P-cores with two threads and an L2 each; modules of four E-cores with one L2; one L3.
#[test]
fn a_hybrid_part_shares_the_second_level_of_its_efficiency_cores() {
    let table = table(hybrid().recording());
    assert_answers(&table, &[("l2_ways", Yes), ("l3_ways", Yes), ("smt", Yes), ("power_thermal", Yes)]);
    let l2 = known(&table, "l2_ways");
    assert!(l2.contains("L2 of 2048 KiB, 16 ways, shared by cores 12-15") && l2.contains("16-19"), "{l2}");
    assert!(!l2.contains("1280"), "the P-cores' L2 belongs to one core each: {l2}");
    assert!(known(&table, "l3_ways").contains("12 ways, shared by cores 0-19"));
    assert!(known(&table, "smt").contains("0-1; 2-3"));
}

/// Two threads a core, which share their L2: no other core does. Devices fill two ways of the L3.
#[test]
fn a_server_has_threads_device_ways_and_an_l2_for_each_core() {
    let table = table(xeon().recording());
    assert_answers(
        &table,
        &[
            ("l2_ways", No),
            ("l3_ways", Yes),
            ("smt", Yes),
            ("bus_locks", Yes),
            ("interconnect", Yes),
            ("dram_bus", Yes),
            // The fixture has neither EDAC nor PCI devices nor a table of page tables.
            ("dram_banks", NotSeen),
            ("graphics", NotSeen),
            ("device_dma", NotSeen),
            ("tlb_walks", NotSeen),
            ("tlb_invalidations", NotSeen),
            ("mshrs", NotSeen),
            ("snoop_filters", NotSeen),
        ],
    );
    assert!(known(&table, "dram_bus").contains("memory bandwidth"), "{}", known(&table, "dram_bus"));
}

#[test]
fn files_that_are_there_are_seen() {
    let mut recording = xeon().recording();
    for (device, class) in [("0000:00:02.0", "0x030000"), ("0000:01:00.0", "0x020000"), ("0000:02:00.0", "0x010802")] {
        recording.set(&format!("/sys/bus/pci/devices/{device}/class"), class);
    }
    let interrupts = recording.text("/proc/interrupts").unwrap().to_owned() + " TLB:  5  7   TLB shootdowns\n";
    recording.set("/proc/interrupts", interrupts);
    recording.set("/proc/meminfo", "MemTotal: 67108864 kB\nPageTables:      2196 kB\n");
    recording.set("/sys/devices/system/edac/mc/mc0/dimm3/dimm_mem_type", "Registered-DDR4");
    recording.set("/sys/devices/system/node/node0/memory_side_cache/index1/size", "34359738368");
    recording.set("/sys/fs/resctrl/info/L3/io_alloc", "disabled");
    let table = table(recording);
    for (id, words) in [
        ("graphics", "/sys/bus/pci/devices/0000:00:02.0/class: 0x030000"),
        ("device_dma", "3 devices, of them 1 storage, 1 network, 1 display"),
        ("device_dma", "devices fill the ways 0xc0000 of the L3 too"),
        ("device_dma", "io_alloc: disabled"),
        ("tlb_invalidations", "TLB shootdowns: 12 since boot"),
        ("tlb_walks", "page tables of 2196 kB"),
        ("dram_banks", "dimm_mem_type: Registered-DDR4"),
        ("memory_side_cache", "index1/size: 34359738368 bytes"),
    ] {
        assert_eq!(answer(&table, id), Yes, "{id}");
        assert!(known(&table, id).contains(words), "{id}: {}", known(&table, id));
    }
}

/// The same files in a guest: what it does not see may be there.
#[test]
fn a_guest_never_says_no_of_what_its_host_hides() {
    let mut recording = xeon().recording();
    for device in ["0000:01:00.0", "0000:02:00.0"] {
        recording.set(&format!("/sys/bus/pci/devices/{device}/class"), "0x020000");
    }
    assert_answers(&table(recording.clone()), &[("l2_ways", No), ("graphics", No)]);
    // A copy by hand can lack the graphics.
    let mut copied = recording.clone();
    copied.remove("/manifest.toml");
    assert_answers(&table(copied), &[("graphics", NotSeen)]);
    let info = recording.text("/proc/cpuinfo").unwrap().replace("flags\t\t:", "flags\t\t: hypervisor");
    recording.set("/proc/cpuinfo", info);
    let guest = table(recording);
    assert_answers(&guest, &[("l2_ways", NotSeen), ("graphics", NotSeen), ("l3_ways", Yes), ("smt", Yes)]);
    assert!(known(&guest, "l2_ways").contains("what it hides is not seen"), "{}", known(&guest, "l2_ways"));
}

#[test]
fn arm_has_no_bus_locks_and_its_messages_are_not_counted() {
    let table = table(arm().recording());
    assert_answers(
        &table,
        &[("bus_locks", No), ("cache_maintenance", Yes), ("l3_ways", Yes), ("tlb_invalidations", NotSeen)],
    );
}

#[test]
fn without_files_nothing_is_said_to_be_absent() {
    let mut recording = Recording::default();
    recording.set("/sys/devices/system/cpu/online", "0-1");
    let table = table(recording);
    for row in &table.channels {
        // Two cores that run one kernel have one memory, and a way to it.
        let shared = ["interconnect", "dram_bus"].contains(&row.id.as_str());
        assert_eq!(row.present.answer, if shared { Yes } else { NotSeen }, "{row:?}");
    }
}

/// A cache whose sharers no file shows is not taken for a private one.
#[test]
fn an_unlisted_sharer_is_not_seen() {
    let mut recording = xeon().recording();
    for cpu in xeon().cpus() {
        for file in ["shared_cpu_list", "shared_cpu_map"] {
            recording.remove(&format!("/sys/devices/system/cpu/cpu{cpu}/cache/index2/{file}"));
        }
    }
    let table = table(recording);
    assert_answers(&table, &[("l2_ways", NotSeen)]);
}
