//! The code that locks, compiled for its machine, and run step by step on the model: it ends with exactly the wanted lines in
//! the locked ways and the wanted pages in the lockable entries, whatever was there before.

use std::collections::BTreeSet;

use waykeeper_policy::Form;

use crate::compiler::Sources;
use crate::pl310::{LINE, Machine, PAGE, Side};
use crate::text;

const PORT: &str = r#"
#include <inttypes.h>
#include <stdio.h>
typedef uint32_t wk_address;
static uint32_t actlr = 0x47, prefetch = 0x30000000;
static void wk_dsb(void) { printf("dsb\n"); }
static void wk_write32(wk_address address, uint32_t value)
{
	if (address == 0xf8f02f60u)
		prefetch = value;
	printf("write %" PRIx32 " %" PRIx32 "\n", address, value);
}
static uint32_t wk_read32(wk_address address) { return address == 0xf8f02f60u ? prefetch : 0; }
static void wk_touch(wk_address address) { printf("touch %" PRIx32 "\n", address); }
static uint32_t wk_interrupts_off(void) { printf("interrupts_off\n"); return 0x1d3; }
static void wk_interrupts_restore(uint32_t cpsr) { printf("interrupts_on %" PRIx32 "\n", cpsr); }
static uint32_t wk_actlr_read(void) { return actlr; }
static void wk_actlr_write(uint32_t value) { actlr = value; printf("actlr %" PRIx32 "\n", value); }
static void wk_tlb_lockdown(uint32_t value) { printf("tlb_lockdown %" PRIx32 "\n", value); }
static void wk_tlb_drop(wk_address address) { printf("tlb_drop %" PRIx32 "\n", address); }
static void wk_l1_line(uint32_t set_way) { printf("l1_line %" PRIx32 "\n", set_way); }
/* 4 ways, 256 sets, lines of 32 bytes: CCSIDR of a Cortex-A9 with 32 KiB. */
static uint32_t wk_l1_geometry(void) { return (255u << 13) | (3u << 3) | 1u; }
static void wk_l1_instructions_invalidate(void) { printf("l1_instructions\n"); }
"#;

const MAIN: &str = r#"
#define WAYKEEPER_PORT "port.h"
#include "waykeeper.c"
void waykeeper_quiet_others(void) { printf("quiet\n"); }
void waykeeper_resume_others(void) { printf("resume\n"); }
int main(void) { waykeeper_lock(); return 0; }
"#;

/// Code that begins and ends within lines, data that does not; the way is the highest.
const POLICY: &str = "\
[lockdown]
core = 0
l2 = { share = '1 way', at = 'high' }
pages = ['0x00100000', '0x00200000', '0xf8f00000']
[[lockdown.lines]]
start = '0x00100010'
end = '0x00102008'
[[lockdown.lines]]
start = '0x00204000'
bytes = 4096
";

/// 0x100010 to 0x102008 is lines 0x100000 / 32 to 0x102000 / 32, both included; 4096 bytes are 128 lines.
fn wanted() -> BTreeSet<u32> {
    let code = 0x10_0000 / LINE..=0x10_2000 / LINE;
    code.chain((0..128).map(|i| 0x20_4000 / LINE + i)).collect()
}

fn pages() -> Vec<u32> {
    vec![0x0010_0000 / PAGE, 0x0020_0000 / PAGE, 0xf8f0_0000 / PAGE]
}

/// What the routine does, step by step.
fn trace(policy: &str) -> Vec<String> {
    let code = text(policy, "zynq7000", Form::Pl310);
    let sources = Sources::new(&[("waykeeper.c", &code), ("port.h", PORT), ("main.c", MAIN)]);
    sources.run("main.c", &[]).lines().map(str::to_owned).collect()
}

fn play(machine: &mut Machine, trace: &[String]) {
    for step in trace {
        machine.noise();
        let words: Vec<_> = step.split(' ').collect();
        let hex = |at: usize| u32::from_str_radix(words[at], 16).unwrap();
        match words[0] {
            "dsb" | "l1_instructions" => {}
            "write" => machine.write(hex(1) - 0xf8f0_2000, hex(2)),
            "touch" => machine.access(hex(1)),
            "interrupts_off" => machine.interrupts = false,
            "interrupts_on" => machine.interrupts = true,
            "actlr" => machine.actlr = hex(1),
            "tlb_lockdown" => machine.tlb_lockdown = hex(1),
            "tlb_drop" => machine.drop_page(hex(1)),
            "l1_line" => machine.clean_first_level_line(hex(1)),
            "quiet" => machine.others_quiet = true,
            "resume" => machine.others_quiet = false,
            _ => panic!("{step}"),
        }
    }
}

/// Runs a sequence on a busy machine.
fn played(seed: u64, trace: &[String]) -> Machine {
    let mut machine = Machine::busy(seed, &wanted(), &pages());
    play(&mut machine, trace);
    machine
}

fn holds(machine: &Machine) -> bool {
    let locked: Vec<_> = machine.lockable.values().copied().collect();
    machine.lines_in(0x80) == wanted() && locked == pages()
}

#[test]
fn it_compiles_for_the_cortex_a9() {
    let ways = "[[classes]]\nname = 'rt'\ncores = '1'\nl2 = '2 ways'\n";
    let tlb_alone = "[lockdown]\ncore = 1\npages = ['vectors']\n";
    for policy in ["zynq-lockdown", POLICY, ways, tlb_alone] {
        let code = text(policy, "zynq7000", Form::Pl310);
        Sources::new(&[("waykeeper.c", &code)]).for_cortex_a9("waykeeper.c");
    }
}

#[test]
fn exactly_the_wanted_lines_and_pages_are_locked() {
    let trace = trace(POLICY);
    for seed in [1, 0x9e37_79b9, 77_777] {
        let mut machine = played(seed, &trace);
        assert!(holds(&machine), "seed {seed}: {:x?}", machine.lockable);
        assert_eq!(machine.locked, [[0x80; 8]; 2]);
        assert_eq!((machine.prefetch, machine.actlr), (0x3000_0000, 0x47), "as they were");
        assert!(machine.interrupts && !machine.others_quiet);
        // Nothing that runs later takes them out, by any master and on either side.
        for i in 0..100_000 {
            let line = machine.any_line();
            let side = if i % 3 == 0 { Side::Instructions } else { Side::Data };
            machine.request(line, side, i % 8);
        }
        assert_eq!(machine.lines_in(0x80), wanted());
        assert!(machine.lines_in(0x7f).len() > 10_000, "the other ways serve everyone");
    }
}

/// The model tells a sequence that leaves a step out from one that works.
#[test]
fn no_step_can_be_left_out() {
    let whole = trace(POLICY);
    let without = |leave_out: &dyn Fn(usize, &str) -> bool| -> Vec<String> {
        whole.iter().enumerate().filter(|(i, step)| !leave_out(*i, step)).map(|(_, step)| step.clone()).collect()
    };
    let last_lock = whole.iter().rposition(|step| step.starts_with("write f8f0293c")).unwrap();
    let first_flush = whole.iter().position(|step| step == "write f8f027fc ff").unwrap();
    let cases: [(&str, Vec<String>); 7] = [
        ("clean and invalidate the second level", without(&|i, _| i == first_flush)),
        ("clean and invalidate the first level", without(&|_, step| step.starts_with("l1_line"))),
        ("other cores quiet", without(&|_, step| step == "quiet")),
        ("interrupts off", without(&|_, step| step == "interrupts_off")),
        (
            "prefetch off",
            without(&|i, step| i < last_lock && (step.starts_with("write f8f02f60") || step.starts_with("actlr"))),
        ),
        (
            "instructions locked",
            without(&|i, step| {
                // The pairs' second registers, but for the last time.
                let side = step
                    .strip_prefix("write f8f029")
                    .and_then(|rest| rest.get(..2))
                    .and_then(|at| u32::from_str_radix(at, 16).ok());
                i < last_lock - 15 && side.is_some_and(|at| at % 8 == 4)
            }),
        ),
        ("the page dropped first", without(&|_, step| step.starts_with("tlb_drop"))),
    ];
    for (left_out, sequence) in cases {
        assert!(sequence.len() < whole.len(), "{left_out}");
        assert!((1..=3).any(|seed| !holds(&played(seed, &sequence))), "without this it works all the same: {left_out}");
    }
}

#[test]
fn the_order_is_the_one_that_works() {
    let trace = trace(POLICY);
    let first = |what: &str| trace.iter().position(|step| step.starts_with(what)).unwrap_or_else(|| panic!("{what}"));
    let last = |what: &str| trace.iter().rposition(|step| step.starts_with(what)).unwrap_or_else(|| panic!("{what}"));
    let before = |earlier: usize, later: usize, what: &str| assert!(earlier < later, "{what}: {trace:?}");
    // No lockdown register is written before everything is clean and invalid, first level before second.
    before(last("l1_line"), first("write f8f027fc ff"), "levels");
    before(first("write f8f027fc ff"), first("write f8f029"), "clean before lock");
    before(first("interrupts_off"), first("quiet"), "interrupts");
    before(first("quiet"), first("tlb_drop"), "the others quiet");
    before(first("write f8f02f60"), first("l1_line"), "prefetch off");
    before(last("tlb_lockdown"), first("l1_line"), "TLB entries before lines");
    // Way 7 alone is opened for data, and every pair ends as 0x80 after the last line was read.
    let opened = first("write f8f02900 7f");
    let touched = last("touch");
    before(opened, touched, "open before the lines are read");
    for master in 0..8 {
        for side in 0..2 {
            let register = format!("write {:x}", 0xf8f0_2900_u32 + 8 * master + 4 * side);
            let writes: Vec<_> =
                trace.iter().enumerate().filter(|(_, step)| step.starts_with(&format!("{register} "))).collect();
            let values: Vec<_> = writes.iter().map(|(_, step)| step.rsplit(' ').next().unwrap()).collect();
            let expected = if side == 0 { ["ff", "7f", "80"] } else { ["ff", "ff", "80"] };
            assert_eq!(values, expected, "{register}");
            before(touched, writes[2].0, "locked at last");
        }
    }
    before(last("write f8f02938"), last("write f8f02f60"), "prefetch on again");
    assert_eq!(trace.last().unwrap(), "interrupts_on 1d3");
}
