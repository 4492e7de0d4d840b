//! Arm PL310, later called L2C-310: the second-level cache controller of Cortex-A9 systems.

use super::explain::FieldEncoding;
use super::place::RegisterBlock;
use super::{Field, Register, RegisterAddress, bits, flag};

const SOURCE: &str =
    "OP-TEE, core/arch/arm/include/kernel/tz_ssvce_def.h; Arm, L2C-310 TRM DDI 0246 as widely published";

const fn at(name: &'static str, title: &'static str, offset: u32, fields: &'static [Field]) -> Register {
    let place = RegisterAddress::Memory { block: RegisterBlock::Pl310, offset, step: 8 };
    Register { name, title, place, count: 1, width: 32, fields, source: SOURCE }
}

const fn by_master(mut first: Register) -> Register {
    first.count = 8;
    first
}

const WAYS: &[Field] = &[bits("WAYS", 15, 0, "ways; reads 0 once it is done", FieldEncoding::Ways)];

pub const REGISTERS: &[Register] = &[
    by_master(at(
        "PL310_D_LOCKDOWNn",
        "ways that data of master n may not fill; without lockdown by master the first holds for all",
        0x900,
        &[bits("WAYS", 15, 0, "locked ways", FieldEncoding::MayNotFill(2))],
    )),
    by_master(at(
        "PL310_I_LOCKDOWNn",
        "ways that instructions of master n may not fill; without lockdown by master the first holds for all",
        0x904,
        &[bits("WAYS", 15, 0, "locked ways", FieldEncoding::MayNotFill(2))],
    )),
    at(
        "PL310_LOCK_LINE_EN",
        "lockdown by line",
        0x950,
        &[flag("ENABLE", 0, "lines that are filled now", "can be evicted", "are locked")],
    ),
    at("PL310_UNLOCK_WAY", "unlocks the lines of ways that were locked by line", 0x954, WAYS),
    at("PL310_CONTROL", "the cache", 0x100, &[flag("ENABLE", 0, "the cache", "off", "on")]),
    at(
        "PL310_AUX_CONTROL",
        "auxiliary control; to be written while the cache is off",
        0x104,
        &[
            flag("I_PREFETCH", 29, "instruction prefetch", "off", "on"),
            flag("D_PREFETCH", 28, "data prefetch", "off", "on"),
            flag("NS_LOCKDOWN", 26, "lockdown registers", "for secure software alone", "open to non-secure software"),
            flag("ROUND_ROBIN", 25, "choice of the way that makes room", "pseudo-random", "round robin"),
            bits(
                "NO_WRITE_ALLOCATE",
                24,
                23,
                "allocation of writes",
                FieldEncoding::Choice(&[(0, "by the access's own attributes"), (1, "never"), (2, "always")]),
            ),
            bits(
                "WAY_SIZE",
                19,
                17,
                "size of a way",
                FieldEncoding::Choice(&[
                    (1, "16 KiB"),
                    (2, "32 KiB"),
                    (3, "64 KiB"),
                    (4, "128 KiB"),
                    (5, "256 KiB"),
                    (6, "512 KiB"),
                ]),
            ),
            flag("SIXTEEN_WAYS", 16, "ways", "8", "16"),
            flag("EXCLUSIVE", 12, "lines in a core's first level", "can be here too", "are not here"),
        ],
    ),
    at(
        "PL310_PREFETCH_CONTROL",
        "prefetching",
        0xf60,
        &[
            flag("DOUBLE_LINEFILL", 30, "fetching of two lines for one", "off", "on"),
            flag("I_PREFETCH", 29, "instruction prefetch", "off", "on"),
            flag("D_PREFETCH", 28, "data prefetch", "off", "on"),
            bits("OFFSET", 4, 0, "lines that the prefetcher is ahead, less one", FieldEncoding::Number),
        ],
    ),
    at("PL310_CACHE_SYNC", "drains the cache's buffers", 0x730, &[flag("BUSY", 0, "draining", "done", "in progress")]),
    at("PL310_INVALIDATE_WAY", "drops the lines of ways", 0x77c, WAYS),
    at("PL310_CLEAN_WAY", "writes the changed lines of ways back", 0x7bc, WAYS),
    at("PL310_CLEAN_INVALIDATE_WAY", "writes the changed lines of ways back and drops all of them", 0x7fc, WAYS),
];
