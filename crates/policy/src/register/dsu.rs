//! Arm DynamIQ Shared Unit of the first generation (Cortex-A55, A75, A76, A77, A78), and the bits that give software access to it.

use super::explain::FieldEncoding;
use super::{Field, Register, RegisterAddress, bits, flag};

const ENCODING: &str = "encoding: TF-A, include/lib/cpus/aarch64/dsu_def.h";

/// A system register of the cluster: S3_0_C15_C`crm`_`op2`.
const fn cluster(crm: u8, op2: u8) -> RegisterAddress {
    RegisterAddress::System { op0: 3, op1: 0, crn: 15, crm, op2 }
}

const fn register(
    name: &'static str,
    title: &'static str,
    place: RegisterAddress,
    width: u32,
    fields: &'static [Field],
    source: &'static str,
) -> Register {
    Register { name, title, place, count: 1, width, fields, source }
}

const fn kept(name: &'static str, low: u32) -> Field {
    bits(name, low + 3, low, "groups of ways that this scheme ID has alone", FieldEncoding::KeptGroups)
}

const fn qos(name: &'static str, low: u32) -> Field {
    bits(name, low + 3, low, "CHI QoS of requests with this scheme ID", FieldEncoding::Priority)
}

/// The access bits are the same for EL2 and EL3.
const ACCESS: &[Field] = &[
    flag(
        "CLUSTERPMUEN",
        12,
        "the cluster's performance counters",
        "trapped from below",
        "open to lower exception levels",
    ),
    flag(
        "SMEN",
        11,
        "CLUSTERACPSID, STASHSID, PARTCR, BUSQOS and THREADSIDOVR",
        "trapped from below",
        "open to lower exception levels",
    ),
    flag("TSIDEN", 10, "CLUSTERTHREADSID", "trapped from below", "open to lower exception levels"),
    flag(
        "PWREN",
        7,
        "CPUPWRCTLR and CLUSTERPWRCTLR, PWRDN, PWRSTAT",
        "trapped from below",
        "open to lower exception levels",
    ),
    flag("ECTLREN", 1, "CPUECTLR and CLUSTERECTLR", "trapped from below", "open to lower exception levels"),
    flag("ACTLREN", 0, "CPUACTLR and CLUSTERACTLR", "trapped from below", "open to lower exception levels"),
];

const ACCESS_SOURCE: &str = "Pi5-CacheWayPartition, way-partition.patch, and Altera's patch of TF-A (bits 1, 10, 11); bits 0, 7 and 12 as widely published for the Cortex-A76, not read in its manual";

const SID: &str = "Pi5-CacheWayPartition, way-part-control.c; encoding: TF-A, include/lib/cpus/aarch64/dsu_def.h";

pub const REGISTERS: &[Register] = &[
    register(
        "CLUSTERPARTCR_EL1",
        "groups of L3 ways that scheme IDs have alone; a group that none has is everybody's",
        cluster(4, 3),
        32,
        &[
            kept("SCHEME7", 28),
            kept("SCHEME6", 24),
            kept("SCHEME5", 20),
            kept("SCHEME4", 16),
            kept("SCHEME3", 12),
            kept("SCHEME2", 8),
            kept("SCHEME1", 4),
            kept("SCHEME0", 0),
        ],
        SID,
    ),
    register(
        "CLUSTERTHREADSID_EL1",
        "scheme ID of what this core runs",
        cluster(4, 0),
        32,
        &[bits("SID", 2, 0, "scheme ID", FieldEncoding::Number)],
        SID,
    ),
    register(
        "CLUSTERTHREADSIDOVR_EL1",
        "bits that override the scheme ID of every core",
        cluster(4, 7),
        32,
        &[
            bits("MASK", 18, 16, "bits of the scheme ID that are taken from VALUE", FieldEncoding::Ways),
            bits("VALUE", 2, 0, "scheme ID in those bits", FieldEncoding::Number),
        ],
        SID,
    ),
    register(
        "CLUSTERACPSID_EL1",
        "scheme ID of requests through the accelerator coherency port",
        cluster(4, 1),
        32,
        &[bits("SID", 2, 0, "scheme ID", FieldEncoding::Number)],
        SID,
    ),
    register(
        "CLUSTERSTASHSID_EL1",
        "scheme ID of stash requests from the interconnect",
        cluster(4, 2),
        32,
        &[bits("SID", 2, 0, "scheme ID", FieldEncoding::Number)],
        SID,
    ),
    register(
        "CLUSTERBUSQOS_EL1",
        "priority of requests beyond the cluster, by scheme ID",
        cluster(4, 4),
        32,
        &[
            qos("SCHEME7", 28),
            qos("SCHEME6", 24),
            qos("SCHEME5", 20),
            qos("SCHEME4", 16),
            qos("SCHEME3", 12),
            qos("SCHEME2", 8),
            qos("SCHEME1", 4),
            qos("SCHEME0", 0),
        ],
        "Altera, patch of TF-A for the Agilex 5: 0xf0 sets scheme 1 to the highest",
    ),
    register(
        "CLUSTERACTLR_EL1",
        "auxiliary control of the cluster",
        cluster(3, 3),
        64,
        &[flag(
            "NO_L3_ALLOCATE_OFF",
            26,
            "the mode in which evictions from the cores bypass the L3 while the snoop filter is under pressure",
            "the cluster may enter it",
            "switched off",
        )],
        "Altera, patch of TF-A for the Agilex 5; the other bits are not public",
    ),
    register(
        "CLUSTERPWRCTLR_EL1",
        "power of the cluster and of parts of its L3",
        cluster(3, 5),
        32,
        &[
            bits(
                "CACHEPWR",
                7,
                4,
                "parts of the L3 that stay on; fewer of them are a smaller L3",
                FieldEncoding::Number,
            ),
            bits("FUNCRET", 2, 0, "delay before functional retention", FieldEncoding::Number),
        ],
        ENCODING,
    ),
    register(
        "CLUSTERPWRDN_EL1",
        "what is asked of the cluster when its cores go off",
        cluster(3, 6),
        32,
        &[
            flag("MEMRET", 1, "memory retention", "not asked", "asked"),
            flag("PWRDN", 0, "power down of the cluster", "not asked", "asked: its registers have to be written again"),
        ],
        ENCODING,
    ),
    register(
        "ACTLR_EL3",
        "which registers EL2 and EL1 may write",
        RegisterAddress::System { op0: 3, op1: 6, crn: 1, crm: 0, op2: 1 },
        64,
        ACCESS,
        ACCESS_SOURCE,
    ),
    register(
        "ACTLR_EL2",
        "which registers EL1 may write",
        RegisterAddress::System { op0: 3, op1: 4, crn: 1, crm: 0, op2: 1 },
        64,
        ACCESS,
        ACCESS_SOURCE,
    ),
];
