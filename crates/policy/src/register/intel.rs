//! Model-specific registers of Intel, and AMD's where they differ.

use super::explain::FieldEncoding;
use super::{Field, Register, RegisterAddress, bits, flag};

const SDM: &str = "Intel, Software Developer's Manual, volumes 3 and 4; intel-cmt-cat, lib/cpu_registers.h";
const TCC: &str = "Intel, Time Coordinated Compute user guide, chapter 5.3.3; fields as widely published (Software Developer's Manual, volume 3, hardware-controlled performance states)";

const fn msr(
    name: &'static str,
    title: &'static str,
    number: u32,
    fields: &'static [Field],
    source: &'static str,
) -> Register {
    Register { name, title, place: RegisterAddress::Msr(number), count: 1, width: 64, fields, source }
}

const fn family(mut first: Register, count: u32) -> Register {
    first.count = count;
    first
}

const CDP: &[Field] =
    &[flag("CDP", 0, "masks for code and data", "together", "apart: class n has 2n for data and 2n + 1 for code")];

const fn off(name: &'static str, bit: u32, about: &'static str) -> Field {
    flag(name, bit, about, "on", "off")
}

const fn valid(name: &'static str, bit: u32, about: &'static str) -> Field {
    flag(name, bit, about, "the package's request counts where package control is on", "this request counts")
}

pub const REGISTERS: &[Register] = &[
    msr(
        "IA32_PQR_ASSOC",
        "class and monitoring ID of what this CPU runs",
        0xc8f,
        &[
            bits("CLOS", 63, 32, "class of service", FieldEncoding::Number),
            bits("RMID", 9, 0, "monitoring ID", FieldEncoding::Number),
        ],
        SDM,
    ),
    family(
        msr(
            "IA32_L3_QOS_MASK_n",
            "ways of the L3 that class n fills",
            0xc90,
            &[bits("CBM", 31, 0, "capacity mask", FieldEncoding::CapacityMask(3))],
            SDM,
        ),
        128,
    ),
    family(
        msr(
            "IA32_L2_QOS_MASK_n",
            "ways of the L2 that class n fills",
            0xd10,
            &[bits("CBM", 31, 0, "capacity mask", FieldEncoding::CapacityMask(2))],
            SDM,
        ),
        64,
    ),
    family(
        msr(
            "IA32_L2_QOS_EXT_BW_THRTL_n",
            "throttle of class n on its way out of the L2 (MBA)",
            0xd50,
            &[bits("DELAY", 15, 0, "on parts with a linear scale", FieldEncoding::TakenPercent)],
            SDM,
        ),
        64,
    ),
    msr(
        "MSR_RMID_SNC_CONFIG",
        "how monitoring IDs are spread over the nodes of sub-NUMA clustering; where there is none, and 17 classes or more, 0xca0 is IA32_L3_QOS_MASK_16",
        0xca0,
        &[flag(
            "LEGACY",
            0,
            "monitoring IDs (RMIDs)",
            "shared out among the nodes",
            "in legacy mode: counted on one node alone",
        )],
        "Linux, arch/x86/include/asm/msr-index.h and arch/x86/kernel/cpu/resctrl/monitor.c",
    ),
    msr("IA32_L3_QOS_CFG", "code and data apart in the L3 (CDP)", 0xc81, CDP, SDM),
    msr("IA32_L2_QOS_CFG", "code and data apart in the L2 (CDP)", 0xc82, CDP, SDM),
    msr(
        "IA32_QM_EVTSEL",
        "what IA32_QM_CTR counts",
        0xc8d,
        &[
            bits("RMID", 41, 32, "monitoring ID", FieldEncoding::Number),
            bits(
                "EVENT",
                7,
                0,
                "event",
                FieldEncoding::Choice(&[
                    (0, "nothing"),
                    (1, "L3 occupancy"),
                    (2, "bandwidth, all memory"),
                    (3, "bandwidth, local memory"),
                ]),
            ),
        ],
        SDM,
    ),
    msr(
        "IA32_QM_CTR",
        "the count that IA32_QM_EVTSEL chose",
        0xc8e,
        &[
            flag("ERROR", 63, "event or monitoring ID", "known", "unknown"),
            flag("UNAVAILABLE", 62, "count", "there", "not there"),
            bits("DATA", 61, 0, "count in the units of CPUID leaf 0xF", FieldEncoding::Number),
        ],
        SDM,
    ),
    msr(
        "IA32_PM_ENABLE",
        "hardware-controlled performance states (Speed Shift, HWP)",
        0x770,
        &[flag("HWP", 0, "hardware-controlled performance states", "off", "on, until the next reset")],
        TCC,
    ),
    msr(
        "IA32_HWP_CAPABILITIES",
        "levels of performance that this CPU has",
        0x771,
        &[
            bits("LOWEST", 31, 24, "lowest level", FieldEncoding::Performance),
            bits("EFFICIENT", 23, 16, "most efficient level", FieldEncoding::Performance),
            bits("GUARANTEED", 15, 8, "guaranteed level", FieldEncoding::Performance),
            bits("HIGHEST", 7, 0, "highest level", FieldEncoding::Performance),
        ],
        TCC,
    ),
    msr(
        "IA32_HWP_REQUEST",
        "levels of performance that this CPU asks for",
        0x774,
        &[
            valid("MINIMUM_VALID", 63, "minimum"),
            valid("MAXIMUM_VALID", 62, "maximum"),
            valid("DESIRED_VALID", 61, "desired"),
            valid("EPP_VALID", 60, "energy preference"),
            valid("WINDOW_VALID", 59, "activity window"),
            flag("PACKAGE_CONTROL", 42, "IA32_HWP_REQUEST_PKG", "is ignored", "fills in what is not valid here"),
            bits(
                "WINDOW",
                41,
                32,
                "time over which the hardware looks at the load; 0 leaves it to it",
                FieldEncoding::Number,
            ),
            bits("EPP", 31, 24, "energy preference", FieldEncoding::Preference),
            bits("DESIRED", 23, 16, "desired level", FieldEncoding::Performance),
            bits("MAXIMUM", 15, 8, "highest level", FieldEncoding::Performance),
            bits("MINIMUM", 7, 0, "lowest level", FieldEncoding::Performance),
        ],
        TCC,
    ),
    msr(
        "MSR_RING_RATIO_LIMIT",
        "clock of the ring and the last-level cache",
        0x620,
        &[
            bits("MINIMUM", 14, 8, "lowest ratio", FieldEncoding::HundredsOfMhz),
            bits("MAXIMUM", 6, 0, "highest ratio", FieldEncoding::HundredsOfMhz),
        ],
        TCC,
    ),
    msr(
        "MSR_MISC_FEATURE_CONTROL",
        "prefetchers of this core",
        0x1a4,
        &[
            off("DCU_IP", 3, "first level, by instruction"),
            off("DCU_NEXT_LINE", 2, "first level, next line"),
            off("L2_ADJACENT_LINE", 1, "second level, the other line of a pair"),
            off("L2_STREAMER", 0, "second level, streams"),
        ],
        SDM,
    ),
    family(
        msr(
            "L3QOS_BW_CONTROL_n",
            "the most bandwidth that class n may take (AMD)",
            0xc000_0200,
            &[bits("BW", 11, 0, "limit; 2048 is none on parts with 12 bits", FieldEncoding::Eighths)],
            "Linux, arch/x86/kernel/cpu/resctrl/core.c and the resctrl documentation of AMD's units",
        ),
        16,
    ),
];
