//! Platform files as people write them: what is read, what is refused, and where the error points.

use waykeeper_platform::{Basis, CacheGeometry, Param, Platform, bundled, find_bundled, memory_parts};

fn agilex() -> &'static str {
    find_bundled("agilex5").unwrap().text
}

/// The bundled text with one piece replaced, and the line (from 1) on which the replacement stands.
fn altered(from: &str, to: &str) -> (String, usize) {
    let at = agilex().find(from).unwrap_or_else(|| panic!("{from} is not in the file"));
    (agilex().replacen(from, to, 1), 1 + agilex()[..at].matches('\n').count())
}

#[test]
fn every_bundled_platform_is_read_and_named_as_its_file() {
    for file in bundled() {
        let platform = Platform::from_toml(file.text, &format!("platforms/{}.toml", file.name)).unwrap();
        assert_eq!(platform.name, file.name);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table, one row a mistake")]
fn what_is_wrong_is_named_with_its_line_and_key() {
    let cases = [
        ("write_age_ns = {", "write_age = {", "memory.scheduler", "unknown key `write_age`"),
        ("value = 1.25, is", "value = 1.25, was", "cores.0.clock_ghz", "unknown key `was`"),
        (
            "value = 1.25, is = \"measured\", source = \"altera-latency\"",
            "value = 1.25, is = \"measured\"",
            "cores.0.clock_ghz",
            "needs `source`",
        ),
        (
            "value = 1.25, is = \"measured\"",
            "value = \"fast\", is = \"measured\"",
            "cores.0.clock_ghz.value",
            "found \"fast\", expected a number",
        ),
        ("value = 1.25, is = \"measured\"", "value = -1.0, is = \"measured\"", "cores.0.clock_ghz", "not above zero"),
        (
            "value = 90.0, is = \"assumed\", range = [60.0,",
            "value = -90.0, is = \"assumed\", range = [-100.0,",
            "interconnect.crossing_ns.value",
            "-90 is below zero",
        ),
        (
            "{ value = 1.25, is = \"measured\", source = \"altera-latency\", reason = \"from the published minima of the longer loops: \
             2048 dependent adds\" }",
            "1.25",
            "cores.0.clock_ghz",
            "{ value = ..., is =",
        ),
        ("value = 1.25, is", "value = 1250.0, is", "cores.0.clock_ghz.value", "faster than any core"),
        (
            "size_kib = { value = 128,",
            "size_kib = { value = 99999999999999,",
            "cores.0.l2.size_kib",
            "at most 1048576 can be simulated",
        ),
        (
            "value = 90.0, is = \"assumed\"",
            "value = 9.0, is = \"assumed\"",
            "interconnect.crossing_ns.value",
            "outside its range",
        ),
        (
            "value = 90.0, is = \"assumed\"",
            "value = 90.0, is = \"guessed\"",
            "interconnect.crossing_ns.is",
            "found `guessed`, expected one of",
        ),
        (
            "value = 90.0, is = \"assumed\", range = [60.0, 150.0]",
            "value = 90.0, is = \"assumed\"",
            "interconnect.crossing_ns",
            "needs `range`",
        ),
        (
            "value = 90.0, is = \"assumed\"",
            "value = 90.0, is = \"fitted\"",
            "interconnect.crossing_ns",
            "needs `fitted_on`",
        ),
        ("size_kib = { value = 128,", "size_kib = { value = 0,", "cores.0.l2.size_kib", "do not divide into sets"),
        ("ids = [2, 3]", "ids = [1, 3]", "cores.1.ids.0", "core 1 is listed twice"),
        ("cores = [0, 1, 2, 3]", "cores = [0, 1, 2, 7]", "shared_caches.0.cores.3", "core 7 does not exist"),
        ("cores = [0, 1, 2, 3]", "cores = [0, 1, 1, 2]", "shared_caches.0.cores.2", "core 1 is listed twice"),
        ("level = 3", "level = 2", "shared_caches.0.level", "core 0 has a second level of its own"),
        ("clock_ghz = { value = 1.25,", "clock_ghz = { value = 1e-300,", "cores.0.clock_ghz.value", "at least 0.001"),
        (
            "pass_cycles = { value = 72,",
            "pass_cycles = { value = 4611686018427387904,",
            "cores.0.tick_loop.pass_cycles.value",
            "at most 1000000000 can be simulated",
        ),
        (
            "way_groups = { value = 4,",
            "way_groups = { value = 5,",
            "shared_caches.0.way_groups",
            "do not divide into 5 groups",
        ),
        (
            "set.way_groups = { target = [0]",
            "set.way_groups = { target = [4]",
            "mitigations.cp.set.way_groups.target",
            "no group 4",
        ),
        ("set.no_allocate_mode", "set.warp_drive", "mitigations.nl3a.set", "unknown key `warp_drive`"),
        ("address_bit = 14", "address_bit = 9", "mitigations.colouring.set.colouring.address_bit", "12 to 20"),
        ("sets = { value = 2048,", "sets = { value = 2000,", "interconnect.snoop_filter.sets", "1024 or 2048 would do"),
        (
            "sets = { value = 2048,",
            "sets = { value = 4294967296,",
            "interconnect.snoop_filter.sets",
            "at most 16777216 can be simulated",
        ),
        (
            "parts = { value = 2,",
            "parts = { value = 4294967296,",
            "interconnect.memory_cache.parts",
            "KiB in all parts; at most 1048576 can be simulated",
        ),
    ];
    for (from, to, key, message) in cases {
        let (text, line) = altered(from, to);
        let error = Platform::from_toml(&text, "some.toml").unwrap_err();
        assert!(error.message.contains(message), "{to}: {error}");
        assert!(error.key.starts_with(key), "{to}: {error}");
        assert_eq!(error.line, Some(line), "{to}: {error}");
        assert!(error.to_string().starts_with(&format!("some.toml:{line}: ")), "{error}");
    }
}

#[test]
fn a_setting_without_its_control_is_refused() {
    let (text, _) = altered("priorities = { value = true", "priorities = { value = false");
    let error = Platform::from_toml(&text, "some.toml").unwrap_err();
    assert_eq!(error.key, "mitigations.qos.set.priority");
    assert!(error.message.contains("this platform has no memory with"), "{error}");
}

#[test]
fn text_that_is_no_toml_points_at_its_line() {
    let error = Platform::from_toml("name = \"x\"\ntitle = = 3\n", "bad.toml").unwrap_err();
    assert_eq!((error.line, error.file.as_str()), (Some(2), "bad.toml"));
}

#[test]
fn a_core_sees_its_own_caches_and_the_shared_one() {
    let platform = Platform::from_toml(agilex(), "agilex5").unwrap();
    let shape = |level, size_kib: u64, ways, shared_by: &[u32]| CacheGeometry {
        level,
        size_bytes: size_kib * 1024,
        ways,
        line_bytes: 64,
        shared_by: shared_by.to_vec(),
    };
    let a76 = [shape(1, 64, 4, &[3]), shape(2, 256, 8, &[3]), shape(3, 2048, 16, &[0, 1, 2, 3])];
    assert_eq!(platform.caches(3), a76);
    assert_eq!(platform.caches(9), []);
}

#[test]
fn every_parameter_is_a_row_with_its_basis() {
    let platform = Platform::from_toml(agilex(), "agilex5").unwrap();
    let rows = platform.parameters();
    let row = |path: &str| rows.iter().find(|row| row.path == path).unwrap_or_else(|| panic!("no row {path}"));
    let trc = row("memory.trc_ns");
    assert_eq!((trc.value.as_str(), trc.is, trc.note.as_str()), ("45.75", Basis::Documented, "emif"));
    let retry = row("shared_caches.0.snoop_filter.retry_ns");
    assert!(retry.note.starts_with("range [2.0, 50.0]; "), "{}", retry.note);
    // Every `is` of the file and of the memories that it names is one row; what alternatives have from the platform's own
    // memory is not given again.
    let count = |text: &str| text.matches("is = \"").count();
    let part = |name: &str| count(memory_parts().iter().find(|part| part.name == name).unwrap().text);
    let parts = agilex().lines().filter_map(|line| line.strip_prefix("part = \"")?.strip_suffix('"'));
    let expected = count(agilex()) + parts.map(part).sum::<usize>();
    assert_eq!(rows.len(), expected);
}

#[test]
fn what_is_written_reads_back() {
    let platform = Platform::from_toml(agilex(), "agilex5").unwrap();
    let again = Platform::from_toml(&toml::to_string(&platform).unwrap(), "again").unwrap();
    assert_eq!(platform, again);
    assert_eq!(platform.line_bytes, Param::documented(64, "hps-trm"));
}

#[test]
fn the_schema_describes_every_part_of_a_file() {
    let schema = schemars::schema_for!(Platform);
    let properties = schema.get("properties").and_then(|properties| properties.as_object()).unwrap();
    let table: toml::Table = agilex().parse().unwrap();
    for key in table.keys() {
        assert!(properties.contains_key(key), "{key}");
    }
}
