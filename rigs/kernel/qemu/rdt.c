/*
 * Intel RDT and AMD QoS as registers: the leaves of CPUID and the MSRs, with no cache behind them.
 *
 * Configured by the environment variable WAYKEEPER_RDT, a list of NAME=VALUE:
 *   amd=1             AMD's leaves and units
 *   l3=BITS/CLASSES   L3 allocation; l2= likewise
 *   mb=CLASSES        memory bandwidth; smb=CLASSES slow memory bandwidth (AMD)
 *   rmids=N           monitoring
 *   cdp=1 sparse=1 shareable=MASK bmec=1
 *   cores=1           every core has an L3 of its own, not every socket
 *   hsw=1             the L3 allocation of Haswell servers, which CPUID does not tell
 *
 * What the counters say is set from within the guest: CPUID with leaf 0x57414b00 + event (1 occupancy, 2 total, 3 local)
 * and the count in ECX, for all RMIDs and domains; 0xffffffff is an error, 0xfffffffe unavailable. Leaf 0x57414b10 lets as
 * many milliseconds pass at once as ECX says.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "sysemu/cpu-timers.h"
#include "cpu.h"
#include "target/i386/rdt.h"

#define KNOB_LEAF 0x57414b00u
#define JUMP_LEAF 0x57414b10u
#define MAX_CPUS 256
#define MAX_CLASSES 128

static struct {
    bool on, amd, cdp, sparse, hsw, bmec, cores;
    unsigned l3_bits, l3_classes, l2_bits, l2_classes, mb, smb, rmids, shareable;
} c;

static uint64_t l3_masks[MAX_CPUS][MAX_CLASSES], l2_masks[MAX_CPUS][MAX_CLASSES];
static uint64_t mb_limits[MAX_CPUS][MAX_CLASSES], smb_limits[MAX_CPUS][MAX_CLASSES];
static uint64_t l3_config[MAX_CPUS], l2_config[MAX_CPUS], event_select[MAX_CPUS], association[MAX_CPUS];
static uint64_t event_config[MAX_CPUS][2];
static uint64_t counters[4];

static unsigned option(const char *text, const char *name, unsigned *second)
{
    size_t length = strlen(name);
    while (text && *text) {
        if (!strncmp(text, name, length) && text[length] == '=') {
            char *end;
            unsigned first = strtoul(text + length + 1, &end, 0);
            if (second) {
                *second = *end == '/' ? strtoul(end + 1, NULL, 0) : 0;
            }
            return first;
        }
        text = strchr(text, ',');
        text = text ? text + 1 : NULL;
    }
    return 0;
}

/* When QEMU began, by both clocks: their ratio is the speed of the time stamp counter. */
static int64_t begun_ns, begun_ticks;

static void jump(uint32_t milliseconds)
{
    int64_t ns = milliseconds * INT64_C(1000000);
    double ticks_each_ns = (double)(cpu_get_host_ticks() - begun_ticks) / (get_clock() - begun_ns);

    qemu_mutex_lock_iothread();
    cpu_clock_jump(ns, ns * ticks_each_ns);
    qemu_mutex_unlock_iothread();
}

static void configure(void)
{
    static bool done;
    const char *text = getenv("WAYKEEPER_RDT");
    if (done || !text) {
        return;
    }
    done = true;
    begun_ns = get_clock();
    begun_ticks = cpu_get_host_ticks();
    c.on = true;
    c.amd = option(text, "amd", NULL);
    c.cdp = option(text, "cdp", NULL);
    c.sparse = option(text, "sparse", NULL);
    c.hsw = option(text, "hsw", NULL);
    c.cores = option(text, "cores", NULL);
    c.bmec = option(text, "bmec", NULL);
    c.l3_bits = option(text, "l3", &c.l3_classes);
    c.l2_bits = option(text, "l2", &c.l2_classes);
    c.mb = option(text, "mb", NULL);
    c.smb = option(text, "smb", NULL);
    c.rmids = option(text, "rmids", NULL);
    c.shareable = option(text, "shareable", NULL);
    for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
        event_config[cpu][0] = 0x7f;
        event_config[cpu][1] = 0x15;
        for (int class = 0; class < MAX_CLASSES; class++) {
            l3_masks[cpu][class] = (1ull << c.l3_bits) - 1;
            l2_masks[cpu][class] = (1ull << c.l2_bits) - 1;
        }
    }
}

uint32_t rdt_features_7_ebx(void)
{
    configure();
    if (!c.on || c.hsw) {
        return 0;
    }
    bool allocates = c.l3_bits || c.l2_bits || c.mb || c.smb;
    return (c.rmids ? 1u << 12 : 0) | (allocates ? 1u << 15 : 0);
}

uint32_t rdt_features_80000008_ebx(void)
{
    configure();
    return c.amd && c.mb ? 1u << 6 : 0;
}

uint32_t rdt_highest_leaf(bool extended)
{
    configure();
    if (!c.on || c.hsw) {
        return 0;
    }
    return extended ? (c.amd ? 0x80000020u : 0) : 0x10;
}

static bool amd_leaf(uint32_t count, uint32_t *eax, uint32_t *ebx, uint32_t *ecx, uint32_t *edx)
{
    if (count == 0) {
        *ebx = (c.mb ? 1u << 1 : 0) | (c.smb ? 1u << 2 : 0) | (c.bmec ? 1u << 3 : 0);
    } else if (count == 1 && c.mb) {
        *eax = 11;
        *edx = c.mb - 1;
    } else if (count == 2 && c.smb) {
        *eax = 11;
        *edx = c.smb - 1;
    } else if (count == 3 && c.bmec) {
        *ebx = 2;
        *ecx = 0x7f;
    }
    return true;
}

bool rdt_cpuid(CPUX86State *env, uint32_t leaf, uint32_t count,
               uint32_t *eax, uint32_t *ebx, uint32_t *ecx, uint32_t *edx)
{
    configure();
    if (!c.on) {
        return false;
    }
    if (leaf > KNOB_LEAF && leaf < KNOB_LEAF + ARRAY_SIZE(counters)) {
        counters[leaf - KNOB_LEAF] = count == 0xffffffffu ? 1ull << 63 : count == 0xfffffffeu ? 1ull << 62 : count;
        *eax = *ebx = *ecx = *edx = 0x57414b45;
        return true;
    }
    if (leaf == JUMP_LEAF) {
        jump(count);
        *eax = *ebx = *ecx = *edx = 0x57414b45;
        return true;
    }
    if (c.hsw || (leaf != 0xf && leaf != 0x10 && !(leaf == 0x80000020u && c.amd))) {
        return false;
    }
    *eax = *ebx = *ecx = *edx = 0;
    if (leaf == 0x80000020u) {
        return amd_leaf(count, eax, ebx, ecx, edx);
    }
    if (leaf == 0xf) {
        if (c.rmids && count == 0) {
            *ebx = c.rmids - 1;
            *edx = 2;
        } else if (c.rmids && count == 1) {
            *ebx = 65536;
            *ecx = c.rmids - 1;
            *edx = 7;
        }
        return true;
    }
    uint32_t cache_flags = (c.cdp ? 4 : 0) | (c.sparse ? 8 : 0);
    if (count == 0) {
        *ebx = (c.l3_bits ? 2 : 0) | (c.l2_bits ? 4 : 0) | (c.mb && !c.amd ? 8 : 0);
    } else if (count == 1 && c.l3_bits) {
        *eax = c.l3_bits - 1;
        *ebx = c.shareable;
        *ecx = cache_flags;
        *edx = c.l3_classes - 1;
    } else if (count == 2 && c.l2_bits) {
        *eax = c.l2_bits - 1;
        *ecx = cache_flags;
        *edx = c.l2_classes - 1;
    } else if (count == 3 && c.mb && !c.amd) {
        *eax = 89;
        *ecx = 4;
        *edx = c.mb - 1;
    }
    return true;
}

static bool mask_is_legal(uint64_t mask, unsigned bits)
{
    if (mask >> bits) {
        return false;
    }
    if (c.amd) {
        return true;
    }
    if (!mask) {
        return false;
    }
    if (!c.sparse) {
        mask >>= ctz64(mask);
        return !(mask & (mask + 1));
    }
    return true;
}

int rdt_msr(CPUX86State *env, uint32_t msr, uint64_t *value, bool write)
{
    int cpu = CPU(env_archcpu(env))->cpu_index & (MAX_CPUS - 1);
    uint64_t *place = NULL;

    configure();
    int socket = c.cores ? cpu : env_archcpu(env)->socket_id & (MAX_CPUS - 1);
    if (!c.on) {
        return 0;
    }
    unsigned l3_classes = c.hsw ? 4 : c.l3_classes;
    unsigned l3_bits = c.hsw ? 20 : c.l3_bits;
    if (msr >= 0xc90 && msr < 0xc90 + l3_classes) {
        if (write && !mask_is_legal(*value, l3_bits)) {
            return -1;
        }
        place = &l3_masks[socket][msr - 0xc90];
    } else if (msr >= 0xd10 && msr < 0xd10 + c.l2_classes) {
        if (write && !mask_is_legal(*value, c.l2_bits)) {
            return -1;
        }
        place = &l2_masks[cpu][msr - 0xd10];
    } else if (!c.amd && msr >= 0xd50 && msr < 0xd50 + c.mb) {
        if (write && *value > 90) {
            return -1;
        }
        place = &mb_limits[socket][msr - 0xd50];
    } else if (c.amd && msr >= 0xc0000200u && msr < 0xc0000200u + c.mb) {
        place = &mb_limits[socket][msr - 0xc0000200u];
    } else if (c.amd && msr >= 0xc0000280u && msr < 0xc0000280u + c.smb) {
        place = &smb_limits[socket][msr - 0xc0000280u];
    } else if (c.bmec && msr >= 0xc0000400u && msr < 0xc0000402u) {
        place = &event_config[socket][msr - 0xc0000400u];
    } else if (msr == 0xc81 && c.cdp) {
        place = &l3_config[socket];
    } else if (msr == 0xc82 && c.cdp && c.l2_bits) {
        place = &l2_config[cpu];
    } else if (msr == 0xc8f) {
        place = &association[cpu];
    } else if (msr == 0xc8d && c.rmids) {
        place = &event_select[cpu];
    } else if (msr == 0xc8e && c.rmids && !write) {
        unsigned event = event_select[cpu] & 0xff;
        unsigned rmid = event_select[cpu] >> 32 & 0x3ff;
        *value = event < 1 || event > 3 || rmid >= c.rmids ? 1ull << 63 : counters[event];
        return 1;
    } else {
        return (msr >= 0xc81 && msr <= 0xc8f) || (msr >= 0xc90 && msr < 0xd90) ? -1 : 0;
    }
    if (write) {
        *place = *value;
    } else {
        *value = *place;
    }
    return 1;
}
