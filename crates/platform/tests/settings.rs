//! Mitigations that set controls: each control that a platform lacks, and each value that it does not take, is named
//! with its key and line. The same for what a core does before its caches.

use waykeeper_platform::{Platform, find_bundled};

/// The bundled platform with the pieces that these tests set, in the file's order.
fn rich() -> String {
    let assumed = |value: &str| format!("{{ value = {value}, is = \"imposed\", reason = \"test\" }}");
    let text = find_bundled("agilex5").unwrap().text;
    let front = format!(
        "[cores.write_streaming]\nafter_lines = {one}\nto_level = {three}\n\n[[cores.prefetchers]]\nkind = {stride}\n\
         fills_level = {one}\nafter_accesses = {one}\ndistance = {one}\ndegree = {one}\n\n[[cores.tlbs]]\nside = \"data\"\n\
         entries = {n128}\nways = {two}\nhit_cycles = {one}\nlockable_entries = {four}\n\n[cores.translation]\n\
         page_kib = {four}\nwalk_reads = {three}\ndescriptor_bytes = {eight}\nwalks_from_level = {two}\n\n",
        one = assumed("1"),
        two = assumed("2"),
        three = assumed("3"),
        four = assumed("4"),
        eight = assumed("8"),
        n128 = assumed("128"),
        stride = assumed("\"stride\""),
    );
    let control = format!(
        "code_data_masks = {}\n\n[shared_caches.bandwidth_control]\nscheme = {}\nsteps = {}\nqueue_entries = {}\n\n\
         [shared_caches.snoop_filter]",
        assumed("true"),
        assumed("\"stride\""),
        assumed("63"),
        assumed("16"),
    );
    let ram = format!("[on_chip_ram]\nsize_kib = {}\nlatency_ns = {}\n\n[memory]", assumed("256"), assumed("25.0"));
    text.replacen("[cores.tick_loop]", &format!("{front}[cores.tick_loop]"), 1)
        .replacen("[shared_caches.snoop_filter]", &control, 1)
        .replacen("[memory]", &ram, 1)
}

fn with_mitigation(text: &str, line: &str) -> String {
    format!("{text}\n[mitigations.tested]\ntitle = \"what is tested\"\nset.{line}\n")
}

fn refused(text: &str) -> (String, Option<usize>, String) {
    let error = Platform::from_toml(text, "some.toml").expect_err("it should be refused");
    (error.key, error.line, error.message)
}

#[test]
fn a_rich_platform_takes_every_setting_that_it_has() {
    for line in [
        "way_groups = { target = [0], others = [1, 2], target_code = [3], others_code = [2] }",
        "lock = { level = 3, groups = [0], what = \"buffer\" }",
        "lock = { level = 3, groups = [0, 1], what = \"event\", lines = 12 }",
        "tlb_lock = true",
        "page_kib = 16384",
        "on_chip_ram = true",
        "bandwidth = { enabled = true, target = 0, others = 63 }",
        "prefetchers = false",
        "write_streaming = false",
        "write_age_ns = 500.0",
        "clock_ghz = { target = 1.0 }",
        "colouring = { address_bit = 13 }",
    ] {
        let text = with_mitigation(&rich(), line);
        Platform::from_toml(&text, "some.toml").unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

#[test]
fn a_setting_without_its_control_is_refused_with_key_and_line() {
    let bare = find_bundled("agilex5").unwrap().text;
    let other = find_bundled("zynq7000").unwrap().text;
    let (no_groups, no_priorities) = (
        bare.replace("\nway_groups = { value = 4,", "\nclasses = { value = 4,").replace("set.way_groups", "#"),
        bare.replace("priorities = { value = true", "priorities = { value = false").replace("set.priority", "#"),
    );
    for (text, line, key, why) in [
        (no_groups.as_str(), "way_groups = { target = [0], others = [1] }", "way_groups", "shared cache with"),
        (bare, "l2_way_groups = { target = [0], others = [1] }", "l2_way_groups", "second level with"),
        (bare, "lock = { level = 2, groups = [0], what = \"event\" }", "lock.level", "cache of level 2"),
        (bare, "tlb_lock = true", "tlb_lock", "`lockable_entries`"),
        (bare, "page_kib = 16384", "page_kib", "core with `translation`"),
        (bare, "on_chip_ram = true", "on_chip_ram", "no `on_chip_ram`"),
        (bare, "bandwidth = { enabled = true, target = 0, others = 1 }", "bandwidth", "`bandwidth_control`"),
        (bare, "prefetchers = false", "prefetchers", "core with `prefetchers`"),
        (bare, "write_streaming = false", "write_streaming", "core with `write_streaming`"),
        (other, "memory_cache = { read = true, dirty_write = true }", "memory_cache", "`interconnect.memory_cache`"),
        (other, "memory = \"lpddr4\"", "memory", "has no `alternative_memories`"),
        (no_priorities.as_str(), "priority = \"target_first\"", "priority", "`scheduler.priorities`"),
        (
            bare,
            "way_groups = { target = [0], others = [1], target_code = [0] }",
            "way_groups.target_code",
            "`code_data",
        ),
    ] {
        let text = with_mitigation(text, line);
        let (found, at, message) = refused(&text);
        assert_eq!(found, format!("mitigations.tested.set.{key}"), "{line}: {message}");
        assert!(message.contains(why), "{line}: {message}");
        assert_eq!(at, Some(text.lines().count()), "{line}");
    }
}

#[test]
fn values_that_a_control_does_not_take_are_refused() {
    for (line, key, why) in [
        ("way_groups = { target = [4], others = [0] }", "way_groups.target", "the groups are 0 to 3"),
        ("way_groups = { target = [0], others = [] }", "way_groups.others", "needs at least one"),
        ("lock = { level = 3, groups = [4], what = \"event\" }", "lock.groups", "the groups are 0 to 3"),
        ("lock = { level = 3, groups = [0, 1, 2, 3], what = \"event\" }", "lock.groups", "the rest needs one"),
        ("lock = { level = 3, groups = [0], what = \"event\", lines = 0 }", "lock.lines", "at least 1"),
        ("page_kib = 12", "page_kib", "power of two"),
        ("bandwidth = { enabled = true, target = 64, others = 1 }", "bandwidth.target", "0 to 63 would do"),
        ("write_age_ns = 0.0", "write_age_ns", "not above zero"),
        ("write_age_ns = 1e300", "write_age_ns", "0.001 to 1000000000 would do"),
        ("clock_ghz = { others = -1.0 }", "clock_ghz.others", "not above zero"),
        ("clock_ghz = { target = 1990 }", "clock_ghz.target", "1.82 would be 1820 MHz"),
    ] {
        let (found, _, message) = refused(&with_mitigation(&rich(), line));
        assert_eq!(found, format!("mitigations.tested.set.{key}"), "{line}: {message}");
        assert!(message.contains(why), "{line}: {message}");
    }
}

#[test]
fn masks_of_cat_have_no_holes() {
    let text = find_bundled("xeon-d-2752ter").unwrap().text;
    for (line, key) in [
        ("way_groups = { target = [0, 2], others = [1] }", "target"),
        ("way_groups = { target = [0], others = [1, 1] }", "others"),
    ] {
        let (found, _, message) = refused(&with_mitigation(text, line));
        assert_eq!(found, format!("mitigations.tested.set.way_groups.{key}"), "{message}");
        assert!(message.contains("has holes"), "{message}");
    }
    let runs = with_mitigation(text, "way_groups = { target = [2, 1], others = [0, 1] }");
    assert!(Platform::from_toml(&runs, "some.toml").is_ok());
    // Groups of a DSU may lie anywhere.
    assert!(
        Platform::from_toml(&with_mitigation(&rich(), "way_groups = { target = [0, 2], others = [1] }"), "").is_ok()
    );
}

#[test]
fn a_front_that_makes_no_sense_is_refused() {
    let imposed = |value: &str| format!("{{ value = {value}, is = \"imposed\", reason = \"test\" }}");
    let (one, three, four) = (imposed("1"), imposed("3"), imposed("4"));
    for (from, to, key, why) in [
        (
            format!("after_lines = {one}"),
            format!("after_lines = {}", imposed("0")),
            "cores.0.write_streaming",
            "at least 1",
        ),
        (
            format!("to_level = {three}"),
            format!("to_level = {}", imposed("5")),
            "cores.0.write_streaming",
            "4 is the memory",
        ),
        (format!("fills_level = {one}"), format!("fills_level = {three}"), "cores.0.prefetchers.0", "1 or 2"),
        (
            format!("after_accesses = {one}"),
            format!("after_accesses = {}", imposed("0")),
            "cores.0.prefetchers.0",
            "at least 1",
        ),
        (format!("degree = {one}"), format!("degree = {}", imposed("0")), "cores.0.prefetchers.0", "at least 1"),
        (
            format!("entries = {}", imposed("128")),
            format!("entries = {}", imposed("96")),
            "cores.0.tlbs.0",
            "power of two",
        ),
        (format!("page_kib = {four}"), format!("page_kib = {}", imposed("5")), "cores.0.translation", "no page"),
        (format!("walk_reads = {three}"), format!("walk_reads = {}", imposed("6")), "cores.0.translation", "1 to 5"),
        (
            format!("lockable_entries = {four}"),
            format!("lockable_entries = {}", imposed("0")),
            "cores.0.tlbs.0",
            "at least 1",
        ),
        (
            "execution = {".into(),
            format!("issue_width = {}\nexecution = {{", imposed("0")),
            "cores.0.issue_width",
            "at least 1",
        ),
        (
            "execution = {".into(),
            format!("issue_width = {}\ninstructions_per_cycle = {}\nexecution = {{", imposed("2"), imposed("2.5")),
            "cores.0.instructions_per_cycle",
            "at most the issue width, 2",
        ),
        (
            "code_data_masks = {".into(),
            format!("hits_wait_when_full = {}\ncode_data_masks = {{", imposed("true")),
            "shared_caches.0.hits_wait_when_full",
            "`outstanding_misses`",
        ),
        (
            "execution = {".into(),
            format!("instructions_per_cycle = {}\nexecution = {{", imposed("0.0")),
            "cores.0.instructions_per_cycle",
            "not above zero",
        ),
    ] {
        let text = rich();
        assert!(text.contains(&from), "{from}");
        let (found, line, message) = refused(&text.replacen(&from, &to, 1));
        assert!(found.starts_with(key), "{to}: {found}");
        assert!(message.contains(why), "{to}: {message}");
        assert!(line.is_some(), "{to}");
    }
    let text = rich();
    let (head, tail) = text.split_once("[cores.translation]").unwrap();
    let without = format!("{head}{}", &tail[tail.find("[cores.tick_loop]").unwrap()..]);
    assert_eq!(refused(&without).0, "cores.0.tlbs");
}
