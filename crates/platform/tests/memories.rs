//! Memories that platforms share: what a platform takes from them, what it overrides, and where errors point.

use waykeeper_platform::{Basis, Ecc, Platform, find_bundled, memory_parts};

fn agilex() -> &'static str {
    find_bundled("agilex5").unwrap().text
}

fn read(text: &str) -> Platform {
    Platform::from_toml(text, "some.toml").unwrap()
}

/// The platform with another memory.
fn with_part(name: &str) -> String {
    agilex().replace("\"ddr4-2133-x32\"", &format!("\"{name}\""))
}

#[test]
fn every_part_completes_a_platform_and_cites_its_sources() {
    assert!(memory_parts().len() >= 12);
    for part in memory_parts() {
        let platform = read(&with_part(part.name));
        let memory = platform.memory.as_ref().unwrap();
        assert_eq!(memory.part.as_deref(), Some(part.name));
        for row in platform.parameters().iter().filter(|row| row.path.starts_with("memory.")) {
            if row.is == Basis::Documented {
                let source = row.note.split("; ").next().unwrap();
                assert!(platform.sources.contains_key(source), "{}: {} cites {source}", part.name, row.path);
            }
        }
    }
}

#[test]
fn a_key_of_the_platform_goes_before_that_of_the_part() {
    let own = "cl_ns = { value = 20.0, is = \"assumed\", range = [10.0, 30.0], reason = \"a slower die\" }\npart = ";
    let (plain, changed) =
        (read(agilex()).memory.unwrap(), read(&agilex().replacen("part = ", own, 1)).memory.unwrap());
    assert_eq!((plain.cl_ns.value, changed.cl_ns.value), (14.06, 20.0));
    // A parameter is taken as a whole: nothing of the part's is left in it.
    assert_eq!((changed.cl_ns.source, changed.trc_ns), (None, plain.trc_ns));
}

#[test]
fn an_alternative_has_dies_of_its_own_behind_the_same_controller() {
    let own = "[alternative_memories.lpddr4.scheduler]\nwrite_low_watermark = { value = 4, is = \"assumed\", range = [4, 16], reason = \"x\" }\n";
    let platform = read(&format!("{}\n{own}", agilex()));
    let (memory, other) = (platform.memory.as_ref().unwrap(), &platform.alternative_memories["lpddr4-ecc"]);
    assert_eq!((memory.banks.value, other.banks.value), (16, 8));
    assert_eq!(other.ecc.as_ref().unwrap().value, Ecc::Inline);
    assert_eq!(
        (&other.size_mib, &other.placement, &other.scheduler),
        (&memory.size_mib, &memory.placement, &memory.scheduler)
    );
    let changed = &platform.alternative_memories["lpddr4"].scheduler;
    assert_eq!(changed.write_low_watermark.value, 4);
    assert_eq!(changed.write_high_watermark, memory.scheduler.write_high_watermark);
}

#[test]
fn what_is_wrong_with_a_memory_is_named_with_the_line_of_the_platform() {
    let line = |text: &str, piece: &str| 1 + text[..text.find(piece).unwrap()].matches('\n').count();
    for (from, to, key, at, message) in [
        (
            "\"ddr4-2133-x32\"",
            "\"ddr9\"",
            "memory.part",
            "part = \"ddr9\"",
            "there is no memory `ddr9`; there are ddr3-1066-x32, ",
        ),
        ("part = \"lpddr4-2666-x32\"", "part = 3", "alternative_memories.lpddr4.part", "part = 3", "is a string"),
        (
            "part = \"ddr4-2133-x32\"",
            "part = \"ddr4-2133-x32\"\nbanks = { value = 12, is = \"documented\", source = \"hps-trm\" }",
            "memory.banks",
            "banks = ",
            "not a power of two",
        ),
        // 7800 ns between refreshes are the part's, so is the parameter that they are compared with.
        (
            "part = \"ddr4-2133-x32\"",
            "part = \"ddr4-2133-x32\"\ntrefi_ns = { value = 500.0, is = \"documented\", source = \"hps-trm\" }",
            "memory.trfc_ns",
            "[memory]",
            "as long as",
        ),
        ("part = \"ddr4-2133-x32\"\n", "", "memory", "[memory]", "keys `banks` (Banks of each rank), "),
        ("[sources]\n", "[sources]\nemif = \"a book\"\n", "sources.emif", "emif = ", "something else"),
        (
            "set.memory = \"lpddr4\"",
            "set.memory = \"hbm\"",
            "mitigations.lpddr4.set.memory",
            "set.memory = \"hbm\"",
            "has ddr4-ecc, lpddr4, lpddr4-ecc",
        ),
    ] {
        let text = agilex().replacen(from, to, 1);
        let error = Platform::from_toml(&text, "some.toml").unwrap_err();
        assert!(error.message.contains(message), "{error}");
        assert_eq!((error.key.as_str(), error.line), (key, Some(line(&text, at))), "{error}");
    }
}

#[test]
fn parts_that_do_not_fit_the_line_or_each_other_are_refused() {
    for (more, key) in [
        (
            "check_buffer_lines = { value = 4, is = \"assumed\", range = [1, 8], reason = \"x\" }",
            "memory.check_buffer_lines",
        ),
        (
            "channel_interleave_bytes = { value = 32, is = \"assumed\", range = [16, 64], reason = \"x\" }",
            "memory.channel_interleave_bytes",
        ),
        ("ranks = { value = 3, is = \"assumed\", range = [1, 4], reason = \"x\" }", "memory.ranks"),
        (
            "trefi_ns = { value = 0.0004, is = \"assumed\", range = [0.0, 8.0], reason = \"x\" }",
            "memory.trefi_ns.value",
        ),
        ("trefi_ns = { value = 0.5, is = \"assumed\", range = [0.0, 8.0], reason = \"x\" }", "memory.trefi_ns"),
        ("trc_ns = { value = 1e300, is = \"assumed\", range = [0.0, 1e300], reason = \"x\" }", "memory.trc_ns.value"),
        ("tfaw_ns = { value = 0.0, is = \"assumed\", range = [0.0, 64.0], reason = \"x\" }", "memory.tfaw_ns"),
    ] {
        let text = agilex().replacen("part = ", &format!("{more}\npart = "), 1);
        assert_eq!(Platform::from_toml(&text, "some.toml").unwrap_err().key, key);
    }
}

#[test]
fn settings_beyond_the_controls_are_refused() {
    for (from, to, key) in [
        ("set.write_age_ns = 250.0", "set.write_age_ns = 0.0", "mitigations.ageing.set.write_age_ns"),
        (
            "set.write_age_ns = 250.0",
            "set.bandwidth = { enabled = true, target = 1, others = 1 }",
            "mitigations.ageing.set.bandwidth",
        ),
    ] {
        let text = agilex().replacen(from, to, 1);
        assert_eq!(Platform::from_toml(&text, "some.toml").unwrap_err().key, key);
    }
    let (head, tail) = agilex().split_once("[interconnect.memory_cache]").unwrap();
    let text = format!("{head}{}", &tail[tail.find("[memory]").unwrap()..]);
    assert_eq!(Platform::from_toml(&text, "some.toml").unwrap_err().key, "mitigations.old-smc.set.memory_cache");
    let control = |scheme: &str, steps: u64, share: u64| {
        let source = "is = \"documented\", source = \"hps-trm\"";
        let control = format!(
            "[shared_caches.bandwidth_control]\nscheme = {{ value = \"{scheme}\", {source} }}\nsteps = {{ value = {steps}, {source} }}\nqueue_entries = {{ value = 16, {source} }}\nwindow_ns = {{ value = 1000.0, {source} }}\ndelay_step_ns = {{ value = 10.0, {source} }}\n\n[shared_caches.snoop_filter]"
        );
        let text = agilex().replacen("[shared_caches.snoop_filter]", &control, 1).replacen(
            "set.write_age_ns = 250.0",
            &format!("set.bandwidth = {{ enabled = true, target = 1, others = {share} }}"),
            1,
        );
        Platform::from_toml(&text, "some.toml").err().map(|error| error.to_string())
    };
    for (scheme, steps, share, ok) in [
        ("stride", 63, 63, true),
        ("stride", 63, 64, false),
        ("delay", 100, 10, true),
        ("delay", 100, 0, false),
        ("delay", 10, 10, false),
        ("maximum", 100, 101, false),
        ("minimum", 100, 0, true),
        ("portions", 8, 255, true),
        ("portions", 8, 256, false),
        ("portions", 8, 0, false),
    ] {
        assert_eq!(
            control(scheme, steps, share).is_none(),
            ok,
            "{scheme} {share}: {:?}",
            control(scheme, steps, share)
        );
    }
}

#[test]
fn all_keys_that_are_missing_are_named_at_once_with_what_they_are() {
    let refused = |text: &str| Platform::from_toml(text, "some.toml").unwrap_err();
    let own = "[memory]\npart = \"ddr3-1066-x32\"\nsize_mib = { value = 512, is = \"assumed\", range = [256, 1024], reason = \"x\" }\n";
    let error = refused(own);
    assert_eq!((error.key.as_str(), error.line), ("memory", Some(1)), "{error}");
    for key in ["`placement` (", "`scheduler` (", "waykeeper schema platform"] {
        assert!(error.message.contains(key), "{error}");
    }
    // Those of the part and those that may be left out are not missing.
    for key in ["`banks`", "`channels`", "`part`"] {
        assert!(!error.message.contains(key), "{error}");
    }
    let error = refused("title = \"x\"\n");
    assert!(error.message.starts_with("keys `") && !error.message.contains("`title`"), "{error}");
    // Within a list of tables, and one key alone.
    let text = agilex();
    let line = text
        .lines()
        .find(|line| line.trim_start().starts_with("hit_cycles") || line.trim_start().starts_with("ways"))
        .unwrap();
    let error = refused(&text.replacen(line, "", 1));
    let key = line.split('=').next().unwrap().trim();
    assert!(error.message.starts_with(&format!("key `{key}` (")) && error.message.contains("is missing"), "{error}");
}
