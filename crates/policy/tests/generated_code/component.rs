//! The code for an MPAM component, compiled for its machine and run on a model of the component.

use std::collections::BTreeMap;

use waykeeper_policy::Form;

use crate::compiler::{Sources, disassembled};
use crate::text;

const PORT: &str = r#"
#include <inttypes.h>
#include <stdio.h>
static void wk_write32(uintptr_t address, uint32_t value) { printf("w %" PRIxPTR " %" PRIx32 "\n", address, value); }
static void wk_barrier(void) { printf("barrier\n"); }
static void wk_label(uint64_t partitions) { printf("label %" PRIx64 "\n", partitions); }
"#;

const MAIN: &str = r#"
#define WAYKEEPER_PORT "port.h"
#include "waykeeper.c"
int main(void)
{
	waykeeper_mpam_component(0x40000);
	for (unsigned int core = 0; core < 13; core++)
		waykeeper_mpam_core(core);
	return 0;
}
"#;

#[test]
fn it_compiles_for_the_machine() {
    let sources = Sources::new(&[("waykeeper.c", &text("cd8180-portions", "cd8180", Form::Mpam))]);
    let instructions = disassembled(&sources.for_aarch64("waykeeper.c"), false);
    for register in ["mpam0_el1", "mpam1_el1"] {
        // Older assemblers show the encoding.
        let number = if register == "mpam0_el1" { "s3_0_c10_c5_1" } else { "s3_0_c10_c5_0" };
        let writes = |line: &&String| {
            line.starts_with(&format!("msr {register},")) || line.starts_with(&format!("msr {number},"))
        };
        assert_eq!(instructions.iter().filter(writes).count(), 1, "{instructions:?}");
    }
}

/// MPAMCFG_PART_SEL (0x100) chooses the partition that MPAMCFG_CPBM (0x1000) and MPAMCFG_MBW_PROP (0x500) are about.
#[test]
fn each_partition_gets_its_own() {
    let code = text("cd8180-portions", "cd8180", Form::Mpam);
    let printed = Sources::new(&[("waykeeper.c", &code), ("port.h", PORT), ("main.c", MAIN)]).run("main.c", &[]);
    let (mut selected, mut settings, mut labels) = (None, BTreeMap::new(), Vec::new());
    for line in printed.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
        match words.as_slice() {
            ["w", "40100", partition] => selected = Some(hex(partition)),
            ["w", address, value] => {
                let partition = selected.expect("a partition is chosen first");
                settings.insert((partition, hex(address) - 0x40000), hex(value));
            }
            ["label", label] => labels.push(hex(label)),
            ["barrier"] => assert!(labels.is_empty()),
            _ => panic!("{line}"),
        }
    }
    let expected = [((0, 0x500), 0x8000_0007), ((0, 0x1000), 0x38), ((1, 0x500), 0x8000_0000), ((1, 0x1000), 0x7)];
    assert_eq!(settings.into_iter().collect::<Vec<_>>(), expected);
    // Core 0 has partition 1, the other eleven 0, and a core that is not there too.
    assert_eq!(labels, [&[0x1_0001][..], &[0; 12]].concat());
}
