//! Arm MPAM: the labels that cores put on requests, and the registers of memory system components (MSCs).

use super::explain::FieldEncoding;
use super::place::RegisterBlock;
use super::{Field, Register, RegisterAddress, bits, flag};

const CORE: &str = "TF-A, include/arch/aarch64/arch.h; Arm, Architecture Reference Manual DDI 0487 as widely published";
const MSC: &str = "Linux, drivers/resctrl/mpam_internal.h; Arm, MPAM system component specification IHI 0099";

const fn system(
    name: &'static str,
    title: &'static str,
    [op1, crm, op2]: [u8; 3],
    fields: &'static [Field],
) -> Register {
    let place = RegisterAddress::System { op0: 3, op1, crn: 10, crm, op2 };
    Register { name, title, place, count: 1, width: 64, fields, source: CORE }
}

const fn msc(name: &'static str, title: &'static str, offset: u32, fields: &'static [Field]) -> Register {
    let place = RegisterAddress::Memory { block: RegisterBlock::Mpam, offset, step: 4 };
    Register { name, title, place, count: 1, width: 32, fields, source: MSC }
}

const fn words(mut first: Register, count: u32) -> Register {
    first.count = count;
    first
}

const fn identification(name: &'static str, title: &'static str, offset: u32, fields: &'static [Field]) -> Register {
    msc(name, title, offset, fields)
}

const PMG_D: Field = bits("PMG_D", 47, 40, "monitoring group of data", FieldEncoding::Number);
const PMG_I: Field = bits("PMG_I", 39, 32, "monitoring group of instruction fetches", FieldEncoding::Number);
const PARTID_D: Field = bits("PARTID_D", 31, 16, "partition of data", FieldEncoding::Number);
const PARTID_I: Field = bits("PARTID_I", 15, 0, "partition of instruction fetches", FieldEncoding::Number);

const fn there(name: &'static str, bit: u32, about: &'static str) -> Field {
    flag(name, bit, about, "not there", "there")
}

pub const REGISTERS: &[Register] = &[
    system("MPAM0_EL1", "labels of what this core runs at EL0", [0, 5, 1], &[PMG_D, PMG_I, PARTID_D, PARTID_I]),
    system(
        "MPAM1_EL1",
        "labels of what this core runs at EL1",
        [0, 5, 0],
        &[flag("MPAMEN", 63, "labels", "all requests have the default", "in use"), PMG_D, PMG_I, PARTID_D, PARTID_I],
    ),
    system(
        "MPAM2_EL2",
        "labels of what this core runs at EL2",
        [4, 5, 0],
        &[
            flag("MPAMEN", 63, "labels", "all requests have the default", "in use"),
            flag("TRAP_MPAM0", 49, "MPAM0_EL1", "open to EL1", "trapped from EL1"),
            flag("TRAP_MPAM1", 48, "MPAM1_EL1", "open to EL1", "trapped from EL1"),
            PMG_D,
            PMG_I,
            PARTID_D,
            PARTID_I,
        ],
    ),
    system(
        "MPAM3_EL3",
        "labels of what this core runs at EL3, and whether lower levels may set theirs",
        [6, 5, 0],
        &[
            flag("MPAMEN", 63, "labels", "all requests have the default", "in use"),
            flag("TRAPLOWER", 62, "registers of MPAM", "open to lower exception levels", "trapped from below"),
            PMG_D,
            PMG_I,
            PARTID_D,
            PARTID_I,
        ],
    ),
    msc(
        "MPAMCFG_PART_SEL",
        "the partition that the other MPAMCFG registers are about",
        0x100,
        &[
            bits("RIS", 27, 24, "resource of the component", FieldEncoding::Number),
            flag("INTERNAL", 16, "partition", "as requests have it", "an internal one"),
            bits("PARTID", 15, 0, "partition", FieldEncoding::Number),
        ],
    ),
    words(
        msc(
            "MPAMCFG_CPBMn",
            "portions of the cache that the partition fills: bits 32 n and above",
            0x1000,
            &[bits("CPBM", 31, 0, "portions", FieldEncoding::MayFill(3))],
        ),
        64,
    ),
    msc(
        "MPAMCFG_CMAX",
        "the most of the cache that the partition fills",
        0x108,
        &[
            flag("SOFTLIM", 31, "limit", "always", "only while others want the space"),
            bits("CMAX", 15, 0, "part of the cache", FieldEncoding::Fraction),
        ],
    ),
    msc(
        "MPAMCFG_CMIN",
        "the part of the cache that the partition keeps",
        0x110,
        &[bits("CMIN", 15, 0, "part of the cache", FieldEncoding::Fraction)],
    ),
    msc(
        "MPAMCFG_MBW_MIN",
        "the bandwidth below which the partition goes first",
        0x200,
        &[bits("MIN", 15, 0, "part of the bandwidth", FieldEncoding::Fraction)],
    ),
    msc(
        "MPAMCFG_MBW_MAX",
        "the most bandwidth that the partition takes",
        0x208,
        &[
            flag("HARDLIM", 31, "limit", "only while others want the bandwidth", "always"),
            bits("MAX", 15, 0, "part of the bandwidth", FieldEncoding::Fraction),
        ],
    ),
    msc(
        "MPAMCFG_PRI",
        "priorities of the partition",
        0x400,
        &[
            bits("DSPRI", 31, 16, "of its requests further down", FieldEncoding::Number),
            bits("INTPRI", 15, 0, "within the component", FieldEncoding::Number),
        ],
    ),
    msc(
        "MPAMCFG_MBW_PROP",
        "the partition's stride: under contention bandwidth is shared inversely to strides",
        0x500,
        &[
            flag("EN", 31, "proportional stride", "off", "on"),
            bits("STRIDEM1", 15, 0, "stride less one", FieldEncoding::StrideLessOne),
        ],
    ),
    msc(
        "MPAMCFG_INTPARTID",
        "internal partition of the partition",
        0x600,
        &[
            flag("INTERNAL", 16, "has to be set in a write", "clear", "set"),
            bits("INTPARTID", 15, 0, "internal partition", FieldEncoding::Number),
        ],
    ),
    identification(
        "MPAMF_IDR",
        "what the component has (low word)",
        0x0,
        &[
            there("PARTID_NRW", 31, "internal partitions"),
            there("MSMON", 30, "monitors"),
            there("IMPL", 29, "controls of the maker's own"),
            there("EXT", 28, "high word"),
            there("PRI", 27, "priorities"),
            there("MBW", 26, "bandwidth partitioning"),
            there("CPOR", 25, "cache portions"),
            there("CCAP", 24, "cache capacity limits"),
            bits("PMG_MAX", 23, 16, "highest monitoring group", FieldEncoding::Number),
            bits("PARTID_MAX", 15, 0, "highest partition", FieldEncoding::Number),
        ],
    ),
    identification(
        "MPAMF_CPOR_IDR",
        "portions of the cache",
        0x30,
        &[bits("CPBM_WD", 15, 0, "portions", FieldEncoding::Number)],
    ),
    identification(
        "MPAMF_MBW_IDR",
        "ways in which bandwidth can be partitioned",
        0x40,
        &[
            bits("BWPBM_WD", 28, 16, "bandwidth portions", FieldEncoding::Number),
            there("WINDWR", 14, "window that can be written"),
            there("PROP", 13, "proportional stride"),
            there("PBM", 12, "bandwidth portions"),
            there("MAX", 11, "maximum"),
            there("MIN", 10, "minimum"),
            bits("BWA_WD", 5, 0, "bits of a fraction or stride that count", FieldEncoding::Number),
        ],
    ),
    identification(
        "MPAMF_ESR",
        "the last mistake in a setting (low word)",
        0xf8,
        &[
            bits(
                "ERRCODE",
                27,
                24,
                "mistake",
                FieldEncoding::Choice(&[
                    (0, "none"),
                    (1, "PART_SEL out of range"),
                    (2, "partition of a request out of range"),
                    (3, "monitor configured with an ID out of range"),
                    (4, "monitoring group of a request out of range"),
                    (5, "monitor out of range"),
                    (6, "internal partition out of range"),
                    (7, "INTERNAL set where there are none"),
                ]),
            ),
            bits("PMG", 23, 16, "monitoring group", FieldEncoding::Number),
            bits("PARTID_MON", 15, 0, "partition or monitor", FieldEncoding::Number),
        ],
    ),
];
