//! Bundled platforms and policies. The values are those of the platform files, read by a person.

use waykeeper_channels::{ChannelAnswer, ChannelPolicy, ChannelRuns, ChannelTable, PolicyStanding, of_platform};
use waykeeper_platform::{Platform, find_bundled};
use waykeeper_policy::{Form, LoadedPolicy, Membership, Offer, lower, plan};

use ChannelAnswer::{No, NotSeen, Yes};

fn platform(name: &str) -> Platform {
    Platform::from_toml(find_bundled(name).unwrap().text, name).unwrap()
}

fn planned(platform: &Platform, policy: &str, form: Option<Form>) -> ChannelPolicy {
    let offer = Offer::of_platform(platform);
    let loaded = LoadedPolicy::open(policy).unwrap();
    let assignment = plan(&loaded, &offer, &Membership::unread(&loaded.policy)).unwrap();
    let form = form.unwrap_or_else(|| Form::suiting(&assignment, &offer));
    ChannelPolicy::planned(&assignment, &lower(&assignment, &offer, form).unwrap())
}

fn table(name: &str, policy: &str) -> ChannelTable {
    let platform = platform(name);
    of_platform(&platform).table(planned(&platform, policy, None), &ChannelRuns::default())
}

#[track_caller]
fn assert_rows(table: &ChannelTable, expected: &[(&str, ChannelAnswer, &[&str], ChannelAnswer)]) {
    for (id, present, words, reduced) in expected {
        let row = table.channels.iter().find(|row| row.id == *id).unwrap();
        assert_eq!((row.present.answer, row.reduced.answer), (*present, *reduced), "{row:#?}");
        let known: String =
            row.present.known_by.iter().map(|known| format!("{}: {}\n", known.by, known.says)).collect();
        for words in *words {
            assert!(known.contains(words), "{id}: {words}: {known}");
        }
    }
}

/// The policy has a way group of its own, no bypass of the L3 and the highest priority; banks stay shared.
#[test]
fn agilex_with_its_policy() {
    let table = table("agilex5", "agilex5-isolate-core1");
    assert!(table.is_platform_file && table.place == "agilex5");
    assert_rows(
        &table,
        &[
            ("l2_ways", No, &["each core has an L2 of its own"], No),
            ("l3_ways", Yes, &["shared by cores 0-3", "shared_caches.0.ways: 16 (documented; altera-latency"], Yes),
            ("memory_side_cache", Yes, &["interconnect.memory_cache.size_kib: 32 (documented; hps-trm"], No),
            (
                "snoop_filters",
                Yes,
                &["interconnect.snoop_filter.sets: 2048 (documented", "interconnect.snoop_filter.ways: 13 (fitted"],
                Yes,
            ),
            ("dram_banks", Yes, &["memory.banks: 16 (documented"], No),
            ("dram_bus", Yes, &["memory.line_transfer_ns: 7.5 (documented"], Yes),
            ("interconnect", Yes, &["interconnect.crossing_ns: 90.0 (assumed"], Yes),
            ("bus_locks", No, &["aarch64"], No),
            ("smt", NotSeen, &[], No),
            ("interrupts", NotSeen, &[], No),
        ],
    );
    let writes = |id: &str| -> Vec<String> {
        let row = table.channels.iter().find(|row| row.id == id).unwrap();
        row.reduced.settings.iter().map(|setting| setting.write.clone()).collect()
    };
    // The registers' values are those of the publication: groups 1 to 3 for scheme 0, group 0 for scheme 1; QoS 15 for
    // scheme 1; bit 26.
    assert_eq!(writes("l3_ways"), ["CLUSTERPARTCR_EL1 = 0x1e"]);
    assert_eq!(writes("dram_bus"), ["CLUSTERBUSQOS_EL1 = 0xf0"]);
    assert_eq!(writes("snoop_filters"), ["CLUSTERACTLR_EL1 = 0x4000000 in the bits 0x4000000"]);
    assert!(table.left_open.iter().any(|gap| gap.starts_with("the cache beside the memory")), "{:?}", table.left_open);
}

/// One L2 for both cores and nothing behind it; sections of 1 MiB; lines and pages of the policy are locked.
#[test]
fn zynq_with_its_policy() {
    assert_rows(
        &table("zynq7000", "zynq-lockdown"),
        &[
            ("l2_ways", Yes, &["shared by cores 0-1", "shared_caches.0.ways: 8 (documented; ug585)"], Yes),
            ("l3_ways", No, &["the last cache is of level 2"], No),
            ("memory_side_cache", NotSeen, &["interconnect.memory_cache: absent"], No),
            ("snoop_filters", NotSeen, &[], No),
            ("mshrs", NotSeen, &["without limit in the model"], No),
            ("tlb_walks", Yes, &["cores.0.translation.page_kib: 1024 (documented"], Yes),
            ("dram_banks", Yes, &["memory.banks: 8 (documented; jedec)"], No),
            ("dram_bus", Yes, &["memory.line_transfer_ns: 7.5 (documented; jedec)"], No),
            ("bus_locks", No, &["aarch32"], No),
        ],
    );
}

/// Two L2s, each of two cores: cores 0-1 and 2-3.
#[test]
fn apollo_lake_shares_two_second_levels() {
    assert_rows(
        &table("apollo-lake-e3950", "apollo-lake-half"),
        &[
            ("l2_ways", Yes, &["shared by cores 0-1; 2-3"], Yes),
            ("l3_ways", No, &[], No),
            ("bus_locks", Yes, &["x86_64"], No),
            ("dram_bus", Yes, &[], No),
        ],
    );
}

/// Performance levels are about clocks alone, and masks about ways alone, in whichever form they are written.
#[test]
fn a_policy_reduces_what_its_writes_act_on() {
    let platform = platform("i7-13800hre");
    let reduced = |policy: ChannelPolicy| -> Vec<String> {
        let table = of_platform(&platform).table(policy, &ChannelRuns::default());
        let rows = table.channels.into_iter().filter(|row| row.reduced.answer == Yes);
        rows.map(|row| row.id).collect()
    };
    assert_eq!(reduced(planned(&platform, "tcc-speed-shift", None)), ["power_thermal"]);
    assert_eq!(reduced(planned(&platform, "tcc-halves", None)), ["l3_ways"]);
    assert_eq!(reduced(planned(&platform, "tcc-halves", Some(Form::Pqos))), ["l3_ways"]);
    let none = ChannelPolicy::none("none was named");
    assert!(matches!(none.standing, PolicyStanding::None { .. }));
    assert_eq!(reduced(none), [""; 0]);
}

/// A locked region takes ways from everyone.
#[test]
fn a_locked_region_reduces_the_ways_of_its_level() {
    let table = table("apollo-lake-e3950", "apollo-lake-pseudo-lock");
    let rows: Vec<_> = table.channels.iter().filter(|row| row.reduced.answer == Yes).map(|row| &row.id).collect();
    assert_eq!(rows, ["l2_ways"]);
}

#[test]
fn colours_divide_the_last_cache() {
    for form in [Form::Xen, Form::Bao] {
        let platform = platform("agilex5");
        let table =
            of_platform(&platform).table(planned(&platform, "colour-halves", Some(form)), &ChannelRuns::default());
        let rows: Vec<_> = table.channels.iter().filter(|row| row.reduced.answer == Yes).collect();
        assert_eq!(rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["l3_ways"]);
        assert!(rows[0].reduced.settings.iter().any(|setting| setting.write.contains("for real-time")), "{rows:?}");
    }
}
