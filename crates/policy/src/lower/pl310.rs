//! As C for software without an operating system on a Cortex-A9 with a PL310: locked TLB entries, locked ways, and ways by
//! master.
//!
//! The order is what makes it work. Lines that are in a cache already would be hits and never reach the way that is to hold
//! them, so that everything is cleaned and invalidated first; what others, prefetchers and interrupts fetch meanwhile would
//! take its place, so that they are quiet first; the routine's own instructions would, so that instructions may fill nothing.

use crate::assignment::{AssignedLockdown, Assignment};
use crate::lockdown::{Location, LockedLines};
use crate::mask::Mask;
use crate::offer::{LockdownOffer, Offer};
use crate::refusal::Refusal;
use crate::register::{RegisterAddress, known};

use super::write::RegisterWrite;
use super::{Form, Lowered, ScriptLine};

/// Pairs of lockdown registers.
const MASTERS: u32 = 8;

/// Lowers an assignment.
///
/// # Errors
/// A machine without the registers; code and data apart; cores beyond the masters.
pub fn lower(assignment: &Assignment, offer: &Offer) -> Result<Lowered, Refusal> {
    let there = offer.controls.lockdown.as_ref();
    let there = there
        .ok_or_else(|| Refusal::lacking("", format!("{} has no PL310 whose registers are known", offer.called)))?;
    let base = u32::try_from(there.registers_at)
        .map_err(|_| Refusal::lacking("", "the controller's registers lie beyond 32 bits of address"))?;
    let mut statements = Vec::new();
    if let Some(lockdown) = &assignment.controls.lockdown {
        statements = lock(lockdown, there);
    }
    let masters = by_master(assignment, offer)?;
    let line = |(code, why): &(String, String)| ScriptLine { shell: code.clone(), why: why.clone(), steps: Vec::new() };
    let mut lines: Vec<_> = statements.iter().map(line).collect();
    lines.extend(masters.iter().map(|write| ScriptLine {
        shell: write.line(),
        why: write.why.clone(),
        steps: Vec::new(),
    }));
    let text = program(assignment, there, base, &statements, &masters);
    let mut notes = vec![
        "the routine needs secure state, or firmware that opened lockdown (bit 26 of the PL310's auxiliary control, NSACR.TL)".into(),
    ];
    if assignment.controls.lockdown.is_some() {
        notes.push("the routine and its stack have to lie outside the second level and in none of the pages that it locks: in on-chip RAM on a Zynq-7000".into());
        notes.push("the PL310 must not be in exclusive mode (bit 12 of its auxiliary control, bit 7 of the core's): locked lines would leave it for the first level".into());
    }
    if !masters.is_empty() {
        notes.push("core n is taken to be master n; what is in the cache already stays where it is".into());
    }
    Ok(Lowered { form: Form::Pl310, lines, notes, writes: masters, text: Some(text) })
}

/// Ways by master: the lockdown registers are the inverse of a mask.
fn by_master(assignment: &Assignment, offer: &Offer) -> Result<Vec<RegisterWrite>, Refusal> {
    let mut writes = Vec::new();
    for class in &assignment.classes {
        for mask in class.masks.iter().filter(|_| !assignment.divided.is_empty()) {
            let Some(cache) = assignment.cache(mask.level, mask.domain) else { continue };
            let locked = u64::from(Mask::full(cache.bits).without(mask.mask).0);
            for &core in &class.cores {
                if core >= MASTERS {
                    let message = format!("core {core} of {} is none of its {MASTERS} masters", offer.called);
                    return Err(Refusal::lacking("classes", message));
                }
                for side in ["D", "I"] {
                    let register = format!("PL310_{side}_LOCKDOWN{core}");
                    let why = format!("{}: ways {}", class.name, mask.mask.ways());
                    writes.push(RegisterWrite::some(&register, &[("WAYS", locked)], &[core], why)?);
                }
            }
        }
    }
    Ok(writes)
}

fn offset(register: &str) -> u32 {
    known(register).place().offset().unwrap_or_default()
}

/// An address in C.
fn address(location: &Location) -> String {
    match location {
        Location::Address(address) => format!("{address:#x}U"),
        Location::Symbol(name) => format!("(wk_address){name}"),
    }
}

fn bounds(lines: &LockedLines) -> (String, String) {
    let start = address(&lines.start);
    let end = match (&lines.end, lines.bytes) {
        (Some(end), _) => address(end),
        (None, bytes) => format!("{start} + {}U", bytes.unwrap_or_default()),
    };
    (start, end)
}

/// The statements that lock, in their order, each with what it does.
fn lock(lockdown: &AssignedLockdown, there: &LockdownOffer) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut add = |code: &str, why: &str| all.push((code.to_owned(), why.to_owned()));
    let field = |register: &str, name: &str| known(register).register.field(name).map_or(0, |field| field.mask());
    let prefetch = field("CORTEX_A9_ACTLR", "L1_PREFETCH") | field("CORTEX_A9_ACTLR", "L2_HINT");
    let l2 = "PL310_PREFETCH_CONTROL";
    let l2_prefetch = field(l2, "DOUBLE_LINEFILL") | field(l2, "I_PREFETCH") | field(l2, "D_PREFETCH");
    add("interrupts = wk_interrupts_off();", "interrupts off: handlers would fill the ways and walk pages");
    add("waykeeper_quiet_others();", "the other cores quiet, their first levels clean and empty");
    add("actlr = wk_actlr_read();", "");
    add(&format!("wk_actlr_write(actlr & ~{prefetch:#x}U);"), "the core's prefetcher off");
    add(&format!("prefetch = wk_read32(WK_PL310 + {:#x}U);", offset(l2)), "");
    let off = format!("wk_write32(WK_PL310 + {:#x}U, prefetch & ~{l2_prefetch:#x}U);", offset(l2));
    add(&off, "the second level's prefetchers off");
    for (i, page) in lockdown.pages.iter().enumerate() {
        let entry = i as u64;
        let next = (entry + 1) % u64::from(there.tlb_entries.max(1));
        let word = |preserve, victim| {
            let fields = [("PRESERVE", preserve), ("VICTIM", victim)];
            known("CORTEX_A9_TLB_LOCKDOWN").register.encode(&fields).unwrap_or_default()
        };
        add(
            &format!("wk_tlb_drop({});", address(page)),
            &format!("page of {page}: an entry that is there would leave nothing to walk"),
        );
        add(
            &format!("wk_tlb_lockdown({:#x}U);", word(1, entry)),
            &format!("the next walk fills lockable entry {entry}"),
        );
        add(&format!("wk_touch({});", address(page)), "the walk");
        add(&format!("wk_tlb_lockdown({:#x}U);", word(0, next)), "further walks fill ordinary entries");
    }
    if !lockdown.lines.is_empty() {
        lock_lines(lockdown, &mut add);
    }
    add(
        &format!("wk_write32(WK_PL310 + {:#x}U, prefetch);", offset(l2)),
        "the second level's prefetchers as they were",
    );
    add("wk_actlr_write(actlr);", "the core's too");
    add("waykeeper_resume_others();", "");
    add("wk_interrupts_restore(interrupts);", "");
    all
}

fn lock_lines(lockdown: &AssignedLockdown, add: &mut impl FnMut(&str, &str)) {
    let all = Mask::full(lockdown.all_ways).0;
    let (ways, others) = (lockdown.ways.0, Mask::full(lockdown.all_ways).without(lockdown.ways).0);
    for lines in &lockdown.lines {
        let (start, end) = bounds(lines);
        add(&format!("wk_touch_pages({start}, {end});"), "translations now: walks later on would fill the open ways");
    }
    add("wk_l1_clean_invalidate();", "nothing of it may stay in the first level, or no request would come");
    let flush = |ways: u32| format!("wk_pl310_clean_invalidate({ways:#x}U);");
    add(&flush(all), "nor in a way of the second level that is not to hold it");
    add(
        &format!("wk_pl310_lock({all:#x}U, {all:#x}U);"),
        "nothing is filled any more, for any master, data or instructions",
    );
    add(&flush(ways), "the ways that are to hold it are empty now and stay so");
    add(
        &format!("wk_pl310_lock({others:#x}U, {all:#x}U);"),
        "data alone may fill them; the routine's own instructions may not",
    );
    for lines in &lockdown.lines {
        let (start, end) = bounds(lines);
        add(&format!("wk_touch_lines({start}, {end});"), "loads them");
    }
    add(
        &format!("wk_pl310_lock({ways:#x}U, {ways:#x}U);"),
        "locked for every master, data and instructions; the other ways are open again",
    );
}

/// The whole file.
fn program(
    assignment: &Assignment,
    there: &LockdownOffer,
    base: u32,
    statements: &[(String, String)],
    masters: &[RegisterWrite],
) -> String {
    let mut text = super::c_comment(
        assignment,
        &["For one core, before interrupts are needed; see the notes of the plan for where it has to lie."],
    );
    text += "\n#include <stdint.h>\n\n";
    for symbol in symbols(assignment) {
        text += &format!("extern const uint8_t {symbol}[];\n");
    }
    text += &format!(
        "\n#define WK_PL310 {base:#x}U\n#define WK_LINE {}U\n#define WK_PAGE {:#x}U\n\n",
        there.line_bytes, there.page_bytes
    );
    text += &port();
    if !statements.is_empty() {
        text += &HELPERS
            .replace("{flush}", &format!("{:#x}U", offset("PL310_CLEAN_INVALIDATE_WAY")))
            .replace("{sync}", &format!("{:#x}U", offset("PL310_CACHE_SYNC")))
            .replace("{d_lockdown}", &format!("{:#x}U", offset("PL310_D_LOCKDOWN0")))
            .replace("{i_lockdown}", &format!("{:#x}U", offset("PL310_I_LOCKDOWN0")));
        text += "/* Yours: the other cores run nothing that the caches hold, and have cleaned and invalidated their first levels. */\n";
        text +=
            "void waykeeper_quiet_others(void);\nvoid waykeeper_resume_others(void);\n\nvoid waykeeper_lock(void);\n\n";
        text += "void waykeeper_lock(void)\n{\n\tuint32_t interrupts;\n\tuint32_t actlr;\n\tuint32_t prefetch;\n\n";
        for (code, why) in statements {
            match why.as_str() {
                "" => text += &format!("\t{code}\n"),
                why => text += &format!("\t/* {} */\n\t{code}\n", super::in_comment(why)),
            }
        }
        text += "}\n";
    }
    if !masters.is_empty() {
        text += "\nvoid waykeeper_ways(void);\n\nvoid waykeeper_ways(void)\n{\n";
        for write in masters {
            let offset = write.place.offset().unwrap_or_default();
            text += &format!(
                "\twk_write32(WK_PL310 + {offset:#x}U, {:#x}U); /* {} */\n",
                write.value,
                super::in_comment(&write.why)
            );
        }
        text += "\twk_dsb();\n}\n";
    }
    text
}

fn symbols(assignment: &Assignment) -> Vec<&str> {
    let Some(lockdown) = &assignment.controls.lockdown else { return Vec::new() };
    let lines = lockdown.lines.iter().flat_map(|lines| std::iter::once(&lines.start).chain(&lines.end));
    let mut names: Vec<&str> = Vec::new();
    for location in lines.chain(&lockdown.pages) {
        if let Location::Symbol(name) = location
            && !names.contains(&name.as_str())
        {
            names.push(name);
        }
    }
    names
}

/// Access to the hardware, which another header can replace.
fn port() -> String {
    let p15 = |register: &str| match known(register).place() {
        RegisterAddress::Coprocessor { op1, crn, crm, op2 } => format!("p15, {op1}, %0, c{crn}, c{crm}, {op2}"),
        _ => String::new(),
    };
    PORT.replace("{actlr}", &p15("CORTEX_A9_ACTLR")).replace("{tlb_lockdown}", &p15("CORTEX_A9_TLB_LOCKDOWN"))
}

const PORT: &str = r#"#ifdef WAYKEEPER_PORT
#include WAYKEEPER_PORT
#else
typedef uintptr_t wk_address;

static inline void wk_dsb(void)
{
	__asm__ volatile("dsb" ::: "memory");
}

static inline void wk_isb(void)
{
	__asm__ volatile("isb" ::: "memory");
}

static inline void wk_write32(wk_address address, uint32_t value)
{
	*(volatile uint32_t *)address = value;
}

static inline uint32_t wk_read32(wk_address address)
{
	return *(const volatile uint32_t *)address;
}

/* A whole word: registers take no less. */
static inline void wk_touch(wk_address address)
{
	(void)*(const volatile uint32_t *)(address & ~(wk_address)3U);
	wk_dsb();
}

static inline uint32_t wk_interrupts_off(void)
{
	uint32_t cpsr;

	__asm__ volatile("mrs %0, cpsr\n\tcpsid if" : "=r"(cpsr)::"memory");
	return cpsr;
}

static inline void wk_interrupts_restore(uint32_t cpsr)
{
	__asm__ volatile("msr cpsr_c, %0" ::"r"(cpsr) : "memory");
}

static inline uint32_t wk_actlr_read(void)
{
	uint32_t value;

	__asm__ volatile("mrc {actlr}" : "=r"(value));
	return value;
}

static inline void wk_actlr_write(uint32_t value)
{
	__asm__ volatile("mcr {actlr}" ::"r"(value) : "memory");
	wk_isb();
}

static inline void wk_tlb_lockdown(uint32_t value)
{
	wk_dsb();
	__asm__ volatile("mcr {tlb_lockdown}" ::"r"(value) : "memory");
	wk_isb();
}

/* TLBIMVA: the entry of one page. */
static inline void wk_tlb_drop(wk_address address)
{
	__asm__ volatile("mcr p15, 0, %0, c8, c7, 1" ::"r"(address & ~0xfffU) : "memory");
	wk_dsb();
	wk_isb();
}

/* DCCISW: the line of a set and way of the first level. */
static inline void wk_l1_line(uint32_t set_way)
{
	__asm__ volatile("mcr p15, 0, %0, c7, c14, 2" ::"r"(set_way) : "memory");
}

/* CCSIDR of the first-level data cache. */
static inline uint32_t wk_l1_geometry(void)
{
	uint32_t value;

	__asm__ volatile("mcr p15, 2, %0, c0, c0, 0" ::"r"(0) : "memory");
	wk_isb();
	__asm__ volatile("mrc p15, 1, %0, c0, c0, 0" : "=r"(value));
	return value;
}

/* ICIALLU: all of the first-level instruction cache. */
static inline void wk_l1_instructions_invalidate(void)
{
	__asm__ volatile("mcr p15, 0, %0, c7, c5, 0" ::"r"(0) : "memory");
	wk_dsb();
	wk_isb();
}
#endif

"#;

const HELPERS: &str = r#"static inline void wk_l1_clean_invalidate(void)
{
	uint32_t geometry = wk_l1_geometry();
	uint32_t line = (geometry & 7U) + 4U;
	uint32_t ways = ((geometry >> 3) & 0x3ffU) + 1U;
	uint32_t sets = ((geometry >> 13) & 0x7fffU) + 1U;
	uint32_t bits = 0;
	uint32_t way;
	uint32_t set;

	while ((1U << bits) < ways) {
		bits++;
	}
	for (way = 0; way < ways; way++) {
		for (set = 0; set < sets; set++) {
			wk_l1_line((bits == 0U ? 0U : way << (32U - bits)) | (set << line));
		}
	}
	wk_dsb();
	wk_l1_instructions_invalidate();
}

static inline void wk_pl310_clean_invalidate(uint32_t ways)
{
	wk_write32(WK_PL310 + {flush}, ways);
	while ((wk_read32(WK_PL310 + {flush}) & ways) != 0U) {
	}
	wk_write32(WK_PL310 + {sync}, 0);
	while ((wk_read32(WK_PL310 + {sync}) & 1U) != 0U) {
	}
	wk_dsb();
}

/* Ways that nothing may fill, for data and for instructions of every master. */
static inline void wk_pl310_lock(uint32_t data, uint32_t instructions)
{
	uint32_t master;

	for (master = 0; master < 8U; master++) {
		wk_write32(WK_PL310 + {d_lockdown} + 8U * master, data);
		wk_write32(WK_PL310 + {i_lockdown} + 8U * master, instructions);
	}
	wk_write32(WK_PL310 + {sync}, 0);
	while ((wk_read32(WK_PL310 + {sync}) & 1U) != 0U) {
	}
	wk_dsb();
}

static inline void wk_touch_pages(wk_address start, wk_address end)
{
	wk_address at;

	for (at = start & ~(wk_address)(WK_PAGE - 1U); at < end; at += WK_PAGE) {
		wk_touch(at < start ? start : at);
	}
}

static inline void wk_touch_lines(wk_address start, wk_address end)
{
	wk_address at;

	for (at = start & ~(wk_address)(WK_LINE - 1U); at < end; at += WK_LINE) {
		wk_touch(at);
	}
}

"#;
