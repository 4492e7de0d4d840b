//! `decode`: the list, the fields of a register, values.

use crate::program::{Desk, Ended};

fn decode(arguments: &[&str]) -> Ended {
    Desk::new().run(&[&["decode"], arguments].concat())
}

/// 0x1e is nibbles 1 and e: scheme 1 has group 0, scheme 0 groups 1 to 3, which are 12 of 16 ways of 2 MiB.
#[test]
fn a_value_is_told_field_by_field() {
    let text = decode(&["clusterpartcr_el1", "0x1e", "--for", "agilex5"]).with(0).stdout;
    let row = |name: &str| {
        let row = text.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {text}"));
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(
        row("SCHEME0").starts_with("3:0 SCHEME0 0xe keeps groups 1-3 (12 of 16 ways of the L3, 1536 KiB)"),
        "{text}"
    );
    assert!(row("SCHEME1").starts_with("7:4 SCHEME1 0x1 keeps group 0 (4 of 16 ways of the L3, 512 KiB)"), "{text}");
    assert!(text.contains("CLUSTERPARTCR_EL1 (S3_0_C15_C4_3)") && text.contains("source: "), "{text}");
}

#[test]
fn json_has_every_field_and_what_none_describes() {
    // The guide's slip: 0x10000000 sets no class.
    let json = decode(&["0xC8F", "0x10000000", "--json"]).with(0).json();
    assert_eq!((&json["register"], &json["undescribed"]), (&"IA32_PQR_ASSOC".into(), &"0x10000000".into()));
    assert_eq!((&json["fields"][0]["name"], &json["fields"][0]["value"]), (&"CLOS".into(), &0.into()));
    let list = decode(&["--json"]).with(0).json();
    assert!(list.as_array().unwrap().iter().any(|register| register["name"] == "MPAMCFG_MBW_PROP"));
}

#[test]
fn the_list_and_the_fields_are_told() {
    let list = decode(&[]).with(0).stdout;
    for name in [
        "PL310_D_LOCKDOWNn, n = 0 to 7",
        "CORTEX_A9_TLB_LOCKDOWN",
        "IA32_HWP_REQUEST",
        "MPAM1_EL1",
        "CLUSTERBUSQOS_EL1",
    ] {
        assert!(list.contains(name), "{name}: {list}");
    }
    let fields = decode(&["0x620"]).with(0).stdout;
    assert!(fields.contains("MSR_RING_RATIO_LIMIT (0x620)") && fields.contains("14:8"), "{fields}");
}

#[test]
fn what_rdmsr_prints_is_hexadecimal() {
    let value = |typed: &str| decode(&["IA32_L3_QOS_MASK_0", typed, "--json"]).with(0);
    for (typed, expected) in [("7ff", "0x7ff"), ("c0", "0xc0"), ("0x10", "0x10"), ("9", "0x9"), ("10", "0xa")] {
        let ended = value(typed);
        assert_eq!(ended.json()["value"], expected);
        // Ten, or sixteen as rdmsr prints it: nothing in it shows which.
        assert_eq!(ended.stderr.contains("if `rdmsr` printed it, it is 0x10"), typed == "10", "{ended:?}");
    }
}

#[test]
fn what_is_no_register_or_no_value_is_refused() {
    for (arguments, expected) in [
        (&["CLUSTERPARTCR", "1"][..], "near it: CLUSTERPARTCR_EL1"),
        (&["0x620", "0x2828x"], "expected a number"),
        (&["0x620", "+5"], "expected a number"),
        (&["CLUSTERTHREADSID_EL1", "0x100000000"], "32 bits"),
        (&["0x620", "1", "--for", "nowhere"], "neither bundled nor a file"),
    ] {
        let told = decode(arguments).with(2).stderr;
        assert!(told.contains(expected) && told.lines().count() == 1, "{told}");
    }
}
