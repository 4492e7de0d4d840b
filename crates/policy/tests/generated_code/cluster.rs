//! The code for TF-A, compiled against its own names and run on a model of the cluster's registers.

use std::collections::BTreeMap;

use waykeeper_policy::Form;

use crate::compiler::{Sources, disassembled};
use crate::text;

/// TF-A's macro for system registers by encoding (include/arch/aarch64/arch_helpers.h).
const ARCH_HELPERS: &str = r#"
#include <stdint.h>
typedef uint64_t u_register_t;
#define DEFINE_RENAME_SYSREG_RW_FUNCS(_name, _reg)                                                      \
	static inline u_register_t read_##_name(void)                                                   \
	{                                                                                               \
		u_register_t v;                                                                         \
		__asm__ volatile("mrs %0, " #_reg : "=r"(v));                                           \
		return v;                                                                               \
	}                                                                                               \
	static inline void write_##_name(u_register_t v) { __asm__ volatile("msr " #_reg ", %0" ::"r"(v)); }
static inline void isb(void) { __asm__ volatile("isb"); }
"#;

/// The same names over registers that a program prints.
const MODEL: &str = r#"
#include <stdint.h>
typedef uint64_t u_register_t;
u_register_t model_read(const char *name);
void model_write(const char *name, u_register_t value);
#define DEFINE_RENAME_SYSREG_RW_FUNCS(_name, _reg)                                                      \
	static inline __attribute__((unused)) u_register_t read_##_name(void) { return model_read(#_reg); } \
	static inline void write_##_name(u_register_t v) { model_write(#_reg, v); }
static inline void isb(void) { }
"#;

const PLATFORM: &str = "unsigned int plat_my_core_pos(void);\n";

/// Every core starts with what Altera reads back, less bit 26, in CLUSTERACTLR, with the reset value of priorities, and with a
/// bit of ACTLR_EL3 that somebody else has set.
const MAIN: &str = r#"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "waykeeper.c"
static unsigned int core;
static struct { const char *name; uint64_t value; } registers[] = {
	{ "S3_0_C15_C3_3", 0x101c0100 }, { "S3_0_C15_C4_3", 0 }, { "S3_0_C15_C4_4", 0xeeeeeeee },
	{ "S3_0_C15_C4_0", 0 }, { "S3_6_C1_C0_1", 0x2 },
};
unsigned int plat_my_core_pos(void) { return core; }
static uint64_t *find(const char *name)
{
	for (unsigned int i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		if (strcmp(registers[i].name, name) == 0)
			return &registers[i].value;
	printf("unknown %s\n", name);
	static uint64_t nothing;
	return &nothing;
}
u_register_t model_read(const char *name) { return *find(name); }
void model_write(const char *name, u_register_t value) { *find(name) = value; }
int main(void)
{
	for (core = 0; core < 4; core++) {
		waykeeper_core_setup();
		for (unsigned int i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
			printf("%u %s 0x%" PRIx64 "\n", core, registers[i].name, registers[i].value);
	}
	return 0;
}
"#;

#[test]
fn tf_a_code_compiles_and_writes_the_registers() {
    let code = text("agilex5-isolate-core1", "agilex5", Form::Tfa);
    let sources =
        Sources::new(&[("waykeeper.c", &code), ("arch_helpers.h", ARCH_HELPERS), ("plat/common/platform.h", PLATFORM)]);
    let instructions = disassembled(&sources.for_aarch64("waykeeper.c"), false);
    for register in ["s3_0_c15_c4_3", "s3_0_c15_c4_4", "s3_0_c15_c3_3", "s3_0_c15_c4_0", "actlr_el3"] {
        let writes = |line: &&String| line.starts_with(&format!("msr {register},"));
        assert_eq!(instructions.iter().filter(writes).count(), 1, "{register}: {instructions:?}");
    }
    assert!(instructions.iter().any(|line| line == "isb"));
}

/// Altera reads CLUSTERACTLR back as 0x141c0100.
#[test]
fn tf_a_code_leaves_every_core_as_altera_does() {
    let code = text("agilex5-isolate-core1", "agilex5", Form::Tfa);
    let sources = Sources::new(&[
        ("waykeeper.c", &code),
        ("arch_helpers.h", MODEL),
        ("plat/common/platform.h", PLATFORM),
        ("main.c", MAIN),
    ]);
    let printed = sources.run("main.c", &[]);
    let values: BTreeMap<(&str, &str), &str> = printed
        .lines()
        .map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            ((words[0], words[1]), words[2])
        })
        .collect();
    for (core, scheme) in [("0", "0x0"), ("1", "0x1"), ("2", "0x0"), ("3", "0x0")] {
        assert_eq!(values[&(core, "S3_0_C15_C3_3")], "0x141c0100");
        assert_eq!(values[&(core, "S3_0_C15_C4_3")], "0x1e");
        assert_eq!(values[&(core, "S3_0_C15_C4_4")], "0xf0");
        assert_eq!(values[&(core, "S3_0_C15_C4_0")], scheme, "core {core}");
        assert_eq!(values[&(core, "S3_6_C1_C0_1")], "0xc02");
    }
}

/// Priorities of some schemes alone are written into their nibbles: 0xeeeeeeee becomes 0xeeeeeefe.
#[test]
fn tf_a_code_leaves_other_nibbles_alone() {
    let code = text("[[classes]]\nname = 'rt'\ncores = '1'\npriority = 'highest'\n", "agilex5", Form::Tfa);
    let sources = Sources::new(&[
        ("waykeeper.c", &code),
        ("arch_helpers.h", MODEL),
        ("plat/common/platform.h", PLATFORM),
        ("main.c", MAIN),
    ]);
    assert!(sources.run("main.c", &[]).contains("0 S3_0_C15_C4_4 0xeeeeeefe\n"));
}
