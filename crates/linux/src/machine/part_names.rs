//! Names of Arm's cores.

/// Part numbers of MIDR_EL1 with implementer 0x41 (Arm's technical reference manuals; `arch/arm64/include/asm/cputype.h`),
/// and whether a core finishes its instructions in order.
const ARM_PARTS: [(u64, &str, bool); 34] = [
    (0xc07, "Cortex-A7", true),
    (0xc09, "Cortex-A9", false),
    (0xc0f, "Cortex-A15", false),
    (0xd03, "Cortex-A53", true),
    (0xd04, "Cortex-A35", true),
    (0xd05, "Cortex-A55", true),
    (0xd07, "Cortex-A57", false),
    (0xd08, "Cortex-A72", false),
    (0xd09, "Cortex-A73", false),
    (0xd0a, "Cortex-A75", false),
    (0xd0b, "Cortex-A76", false),
    (0xd0c, "Neoverse N1", false),
    (0xd0d, "Cortex-A77", false),
    (0xd0e, "Cortex-A76AE", false),
    (0xd40, "Neoverse V1", false),
    (0xd41, "Cortex-A78", false),
    (0xd42, "Cortex-A78AE", false),
    (0xd44, "Cortex-X1", false),
    (0xd46, "Cortex-A510", true),
    (0xd47, "Cortex-A710", false),
    (0xd48, "Cortex-X2", false),
    (0xd49, "Neoverse N2", false),
    (0xd4b, "Cortex-A78C", false),
    (0xd4d, "Cortex-A715", false),
    (0xd4e, "Cortex-X3", false),
    (0xd4f, "Neoverse V2", false),
    (0xd80, "Cortex-A520", true),
    (0xd81, "Cortex-A720", false),
    (0xd82, "Cortex-X4", false),
    (0xd84, "Neoverse V3", false),
    (0xd85, "Cortex-X925", false),
    (0xd87, "Cortex-A725", false),
    (0xd8e, "Neoverse N3", false),
    (0xd88, "Cortex-A520AE", true),
];

/// The core's name, and whether it is in order, by MIDR_EL1: implementer 31:24, part 15:4.
pub(crate) fn arm_part(midr: u64) -> Option<(&'static str, bool)> {
    if midr >> 24 & 0xff != 0x41 {
        return None;
    }
    let part = midr >> 4 & 0xfff;
    ARM_PARTS.iter().find(|(number, ..)| *number == part).map(|(_, name, in_order)| (*name, *in_order))
}
