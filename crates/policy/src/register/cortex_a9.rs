//! System registers of the Arm Cortex-A9 that locking needs.

use super::explain::FieldEncoding;
use super::{Field, Register, RegisterAddress, bits, flag};

const fn p15(
    name: &'static str,
    title: &'static str,
    [crn, crm, op2]: [u8; 3],
    fields: &'static [Field],
    source: &'static str,
) -> Register {
    Register {
        name,
        title,
        place: RegisterAddress::Coprocessor { op1: 0, crn, crm, op2 },
        count: 1,
        width: 32,
        fields,
        source,
    }
}

pub const REGISTERS: &[Register] = &[
    p15(
        "CORTEX_A9_TLB_LOCKDOWN",
        "where the next page walk puts its entry",
        [10, 0, 0],
        &[
            bits("VICTIM", 29, 28, "lockable entry that is filled next", FieldEncoding::Number),
            flag("PRESERVE", 0, "the next walk fills", "an ordinary entry", "the lockable entry, which then stays"),
        ],
        "seL4, lockTLBEntry for the Cortex-A9; Arm, Cortex-A9 TRM DDI 0388 as widely published",
    ),
    p15(
        "CORTEX_A9_ACTLR",
        "auxiliary control of the core",
        [1, 0, 1],
        &[
            flag("PARITY", 9, "parity", "off", "on"),
            flag("ONE_WAY", 8, "allocation in one way of the first level", "off", "on"),
            flag("EXCLUSIVE", 7, "lines of the first level", "can be in the second too", "are not in the second"),
            flag("SMP", 6, "coherency with the other cores", "off", "on"),
            flag("ZERO_LINES", 3, "lines of zeros written in one request", "off", "on"),
            flag("L1_PREFETCH", 2, "prefetcher of the first level", "off", "on"),
            flag("L2_HINT", 1, "hints to the second level's prefetcher", "off", "on"),
            flag("BROADCAST", 0, "maintenance operations for all cores", "off", "on"),
        ],
        "Arm, Cortex-A9 TRM DDI 0388 as widely published",
    ),
    p15(
        "NSACR",
        "what non-secure software may do",
        [1, 1, 2],
        &[
            flag(
                "NS_SMP",
                18,
                "SMP bit of the auxiliary control",
                "for secure software alone",
                "open to non-secure software",
            ),
            flag("TL", 17, "TLB lockdown", "for secure software alone", "open to non-secure software"),
            flag("CP11", 11, "coprocessor 11", "for secure software alone", "open to non-secure software"),
            flag("CP10", 10, "coprocessor 10", "for secure software alone", "open to non-secure software"),
        ],
        "OP-TEE, plat-zynq7k: 0x00020C00; Arm, Cortex-A9 TRM DDI 0388 as widely published",
    ),
];
