//! The instructions in a U-Boot script, read by a disassembler.

use waykeeper_policy::Form;

use crate::compiler::{Sources, disassembled};
use crate::text;

/// The words that a script stores, by offset from `loadaddr`.
fn words(script: &str) -> Vec<(u32, u32)> {
    let word = |line: &str| {
        let (at, word) = line.strip_prefix("setexpr wk ${loadaddr} + ")?.split_once("; mw.l ${wk} ")?;
        Some((u32::from_str_radix(at, 16).unwrap(), u32::from_str_radix(word, 16).unwrap()))
    };
    script.lines().filter_map(word).collect()
}

fn instructions(words: &[u32]) -> Vec<String> {
    let sources = Sources::new(&[]);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(sources.path("image"), bytes).unwrap();
    disassembled(&sources.path("image"), true)
}

#[test]
fn the_script_holds_the_routine_for_each_core() {
    let script = text("agilex5-isolate-core1", "agilex5", Form::Uboot);
    let words = words(&script);
    // 1 << 26 is 0x400 << 16.
    let boot = [
        "mrs x1, s3_0_c15_c3_3",
        "mov x2, #0x4000000",
        "orr x1, x1, x2",
        "msr s3_0_c15_c3_3, x1",
        "mov x1, #0x1e",
        "msr s3_0_c15_c4_3, x1",
        "mov x1, #0xf0",
        "msr s3_0_c15_c4_4, x1",
        "mov x1, #0x0",
        "msr s3_0_c15_c4_0, x1",
        "isb",
        "ret",
    ];
    let other = ["mov x1, #0x1", "msr s3_0_c15_c4_0, x1", "isb", "br x0"];
    assert_eq!(words.len(), boot.len() + other.len());
    let code: Vec<u32> = words.iter().map(|(_, word)| *word).collect();
    assert_eq!(instructions(&code[..boot.len()]), boot);
    assert_eq!(instructions(&code[boot.len()..]), other);
    // Each word has its own place, 4 bytes further; core 1's routine begins at the next 64.
    let places: Vec<u32> = words.iter().map(|(at, _)| *at).collect();
    let expected: Vec<u32> = (0..12).map(|i| 4 * i).chain((0..4).map(|i| 0x40 + 4 * i)).collect();
    assert_eq!(places, expected);
    // Aff1 = 1 is MPIDR 0x100; PSCI CPU_ON for 64 bits is 0xc4000003.
    let start = "if test -n \"${entry1}\"; then smc c4000003 100 ${wk} ${entry1}; fi";
    assert_eq!(script.lines().last(), Some(start));
    let go = script.lines().position(|line| line == "go ${loadaddr}").unwrap();
    let flush = script.lines().position(|line| line == "icache flush").unwrap();
    assert!(flush < go, "{script}");
}

/// Nibbles of some schemes: 0xf0 of 0xf0 is set by `orr` alone, 0x70 of 0xf0 after `bic`.
#[test]
fn other_bits_are_left_alone() {
    let script = text("[[classes]]\nname = 'rt'\ncores = '1'\npriority = 7\n", "agilex5", Form::Uboot);
    let code: Vec<u32> = words(&script).iter().map(|(_, word)| *word).collect();
    let expected = [
        "mrs x1, s3_0_c15_c4_4",
        "mov x2, #0xf0",
        "bic x1, x1, x2",
        "mov x2, #0x70",
        "orr x1, x1, x2",
        "msr s3_0_c15_c4_4, x1",
    ];
    assert_eq!(instructions(&code)[..6], expected);
}
