/* Intel RDT and AMD QoS as registers: the leaves of CPUID and the MSRs, with no cache behind them. */
#ifndef I386_RDT_H
#define I386_RDT_H

/* Adds to what CPUID says. Returns true when the leaf is answered here. */
bool rdt_cpuid(CPUX86State *env, uint32_t leaf, uint32_t count,
               uint32_t *eax, uint32_t *ebx, uint32_t *ecx, uint32_t *edx);

/* Features that other leaves get as well. */
uint32_t rdt_features_7_ebx(void);
uint32_t rdt_features_80000008_ebx(void);

/* The highest leaf needed, basic or extended; 0 when there is none. */
uint32_t rdt_highest_leaf(bool extended);

/* 0: not one of these MSRs; 1: done; -1: general protection fault. */
int rdt_msr(CPUX86State *env, uint32_t msr, uint64_t *value, bool write);

#endif
