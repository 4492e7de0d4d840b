//! Registers: what their fields make, and what is read from a value.

use proptest::prelude::*;
use waykeeper_platform::{Platform, find_bundled};
use waykeeper_policy::register::{Register, RegisterAddress, all, find};

fn register(name: &str) -> &'static Register {
    find(name).unwrap().register
}

#[test]
fn fields_lie_within_their_register_and_apart_from_each_other() {
    for register in all() {
        let mut seen = 0_u64;
        let mut last = register.width;
        for field in register.fields {
            let name = format!("{} of {}", field.name, register.name);
            assert!(field.low <= field.high && field.high < last, "{name}: the highest comes first");
            assert_eq!(seen & field.mask(), 0, "{name}");
            seen |= field.mask();
            last = field.high.min(last);
        }
        assert!(!register.fields.is_empty() && !register.source.is_empty());
        assert!(register.count == 1 || register.name.ends_with('n'), "{}", register.name);
    }
}

#[test]
fn no_two_registers_share_a_name_or_a_place() {
    let (mut names, mut places) = (std::collections::BTreeSet::new(), std::collections::HashSet::new());
    for register in all() {
        let first = find(register.name).unwrap();
        for number in 0..register.count {
            let one = first.nth(number).unwrap();
            assert!(names.insert(one.name().to_uppercase()), "{}", one.name());
            assert!(
                places.insert(one.place()) || one.place() == RegisterAddress::Msr(0xca0),
                "{} at {}",
                one.name(),
                one.place()
            );
            // Each is found by either.
            assert_eq!(find(&one.name().to_lowercase()), Ok(one));
            // 0xca0 is a register of sub-NUMA clustering, and the mask of a class that no part with it has.
            if one.name() == "IA32_L3_QOS_MASK_16" {
                assert_eq!(find("0xca0").unwrap().name(), "MSR_RMID_SNC_CONFIG");
                continue;
            }
            let place = match one.place() {
                RegisterAddress::Msr(number) => format!("{number:#X}").replace("0X", "0x"),
                place => place.to_string(),
            };
            assert_eq!(find(&place), Ok(one), "{place}");
        }
        assert_eq!(first.nth(register.count), None);
    }
}

#[test]
fn names_are_found_without_prefixes_and_in_any_case() {
    assert_eq!(find("clusterpartcr_el1").unwrap().name(), "CLUSTERPARTCR_EL1");
    assert_eq!(find("S3_0_C15_C4_3").unwrap().name(), "CLUSTERPARTCR_EL1");
    assert_eq!(find("0xC8F").unwrap().name(), "IA32_PQR_ASSOC");
    assert_eq!(find("hwp_request").unwrap().name(), "IA32_HWP_REQUEST");
    // IA32_L3_MASK_0 is 0xc90, so 0xc95 is that of class 5; 0xd10 is the first of the L2.
    assert_eq!(find("0xc95").unwrap().name(), "IA32_L3_QOS_MASK_5");
    let config = find("0xca0").unwrap();
    assert_eq!((config.name(), config.number), ("MSR_RMID_SNC_CONFIG".into(), 0));
    assert!(config.register.title.contains("IA32_L3_QOS_MASK_16"));
    assert!(config.register.decode(1).unwrap().fields[0].explain(None).contains("legacy"));
    assert_eq!(find("0xd10").unwrap().name(), "IA32_L2_QOS_MASK_0");
    // Pairs of 8 bytes from 0x900: data of master 3 at 0x918, instructions at 0x91c.
    assert_eq!(find("pl310+0x918").unwrap().name(), "PL310_D_LOCKDOWN3");
    assert_eq!(find("i_lockdown3").unwrap().place().offset(), Some(0x91c));
    for name in ["", "0x1234", "CLUSTERPARTCR_EL9", "PL310_D_LOCKDOWN8", "L3_QOS_MASK_", "pl310+0x901", "0x"] {
        assert!(find(name).is_err(), "{name}");
    }
    let error = find("CLUSTERPARTCR_EL9").unwrap_err().to_string();
    assert!(error.contains("CLUSTERPARTCR_EL1"), "{error}");
}

#[test]
fn the_documents_values_read_as_they_say() {
    let fields = |name: &str, value: u64| {
        let decoded = register(name).decode(value).unwrap();
        assert_eq!(decoded.value(), value);
        decoded.fields.iter().filter(|it| it.value != 0).map(|it| (it.field.name, it.value)).collect::<Vec<_>>()
    };
    // 0x1e: nibble 1 is 0001, nibble 0 is 1110.
    assert_eq!(fields("CLUSTERPARTCR_EL1", 0x1e), [("SCHEME1", 1), ("SCHEME0", 0xe)]);
    assert_eq!(fields("CLUSTERBUSQOS_EL1", 0xf0), [("SCHEME1", 15)]);
    // Altera reads CLUSTERACTLR back as 0x141c0100, in which bit 26 (0x04000000) is set.
    assert_eq!(fields("CLUSTERACTLR_EL1", 0x141c_0100), [("NO_L3_ALLOCATE_OFF", 1)]);
    assert_eq!(fields("ACTLR_EL3", 0xc02), [("SMEN", 1), ("TSIDEN", 1), ("ECTLREN", 1)]);
    // Class 1 in bits 63:32; the guide's 0x10000000 is class 0 with bits that mean nothing.
    assert_eq!(fields("IA32_PQR_ASSOC", 0x1_0000_0000), [("CLOS", 1)]);
    assert_eq!(fields("IA32_PQR_ASSOC", 0x1000_0000), []);
    assert_eq!(register("IA32_PQR_ASSOC").decode(0x1000_0000).unwrap().undescribed, 0x1000_0000);
    // 0x2e = 46 in bits 7:0, 15:8 and 23:16, and bits 63 to 60.
    let valid = [("MINIMUM_VALID", 1), ("MAXIMUM_VALID", 1), ("DESIRED_VALID", 1), ("EPP_VALID", 1)];
    let levels = [("DESIRED", 46), ("MAXIMUM", 46), ("MINIMUM", 46)];
    assert_eq!(fields("IA32_HWP_REQUEST", 0xf000_0000_002e_2e2e), [&valid[..], &levels].concat());
    // 0x28 = 40 twice.
    assert_eq!(fields("MSR_RING_RATIO_LIMIT", 0x2828), [("MINIMUM", 40), ("MAXIMUM", 40)]);
    assert_eq!(fields("NSACR", 0x0002_0c00), [("TL", 1), ("CP11", 1), ("CP10", 1)]);
}

#[test]
fn a_platform_gives_masks_their_sizes_and_levels_their_clocks() {
    let platform = |name: &str| Platform::from_toml(find_bundled(name).unwrap().text, name).unwrap();
    let said = |name: &str, value: u64, field: &str, on: Option<&Platform>| {
        let decoded = register(name).decode(value).unwrap();
        decoded.fields.iter().find(|it| it.field.name == field).unwrap().explain(on)
    };
    // 12 bits for 24 MiB: 2 MiB a bit.
    let intel = platform("i7-13800hre");
    let mask = said("IA32_L3_QOS_MASK_0", 0x3f, "CBM", Some(&intel));
    assert_eq!(mask, "bits 0-5 may be filled (6 of 12 ways of the L3, 12 MiB)");
    // 46 / 12.7 = 3.62 on P-cores, 46 / 10 on E-cores.
    let level = said("IA32_HWP_REQUEST", 46, "MINIMUM", Some(&intel));
    assert_eq!(level, "level 46: 3.6 GHz on Raptor Cove, 4.6 GHz on Gracemont");
    assert_eq!(said("IA32_HWP_REQUEST", 46, "MINIMUM", None), "level 46");
    assert_eq!(said("0x620", 0x2828, "MAXIMUM", None), "4.0 GHz");
    // Four groups of four ways, 2 MiB: 0xe is three of them.
    let groups = said("CLUSTERPARTCR_EL1", 0x1e, "SCHEME0", Some(&platform("agilex5")));
    assert_eq!(groups, "keeps groups 1-3 (12 of 16 ways of the L3, 1536 KiB)");
    // 0x7f of eight ways leaves way 7: 512 KiB / 8.
    let lock = said("PL310_D_LOCKDOWN0", 0x7f, "WAYS", Some(&platform("zynq7000")));
    assert_eq!(lock, "ways 0-6 may not be filled; hits go on (leaves 1 of 8 ways of the L2, 64 KiB)");
}

#[test]
fn what_does_not_fit_is_refused() {
    let register = register("CLUSTERTHREADSID_EL1");
    assert_eq!(register.encode(&[("sid", 7)]), Ok(7));
    assert!(register.encode(&[("SID", 8)]).unwrap_err().to_string().contains("3 bits of SID"));
    assert!(register.encode(&[("SCHEME", 1)]).unwrap_err().to_string().contains("it has SID"));
    assert!(register.decode(0x1_0000_0000).unwrap_err().to_string().contains("32 bits"));
}

fn any_register() -> impl Strategy<Value = &'static Register> {
    proptest::sample::select(all().collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn a_value_taken_apart_and_put_together_is_the_same(register in any_register(), bits: u64) {
        let value = bits & register.all_bits();
        let decoded = register.decode(value).unwrap();
        prop_assert_eq!(decoded.value(), value);
        let fields: Vec<_> = decoded.fields.iter().map(|it| (it.field.name, it.value)).collect();
        prop_assert_eq!(register.encode(&fields).unwrap() | decoded.undescribed, value);
    }

    #[test]
    fn fields_put_together_and_taken_apart_are_the_same(
        register in any_register(),
        values in prop::collection::vec(any::<u64>(), 16),
    ) {
        let fields: Vec<_> = register
            .fields
            .iter()
            .zip(&values)
            .map(|(field, value)| (field.name, value & (u64::MAX >> (64 - field.width()))))
            .collect();
        let word = register.encode(&fields).unwrap();
        // An independent reading: each field's bits, one by one.
        for (field, (_, value)) in register.fields.iter().zip(&fields) {
            for bit in field.low..=field.high {
                prop_assert_eq!(word >> bit & 1, value >> (bit - field.low) & 1);
            }
        }
        let decoded = register.decode(word).unwrap();
        prop_assert_eq!(decoded.undescribed, 0);
        prop_assert_eq!(decoded.fields.iter().map(|it| (it.field.name, it.value)).collect::<Vec<_>>(), fields);
    }

    #[test]
    fn every_value_can_be_explained(register in any_register(), bits: u64) {
        let platform = Platform::from_toml(find_bundled("i7-13800hre").unwrap().text, "x").unwrap();
        for field in register.decode(bits & register.all_bits()).unwrap().fields {
            prop_assert!(!field.explain(None).is_empty() && !field.explain(Some(&platform)).is_empty());
        }
    }
}
