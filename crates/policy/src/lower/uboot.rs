//! As a U-Boot script. U-Boot has no command for system registers, so that the script writes a few instructions into memory
//! and runs them; further cores run them through PSCI CPU_ON before they go on to a program.

use crate::assignment::Assignment;
use crate::offer::Offer;
use crate::refusal::Refusal;

use super::dsu::{Cluster, cluster, notes};
use super::write::RegisterWrite;
use super::{Form, Lowered, ScriptLine};

/// Instructions of AArch64 (Arm, Architecture Reference Manual DDI 0487, C6.2).
mod instruction {
    use crate::register::RegisterAddress;

    const ISB: u32 = 0xd503_3fdf;
    const RET: u32 = 0xd65f_03c0;
    const BR_X0: u32 = 0xd61f_0000;

    /// `movz` for the lowest 16 bits that are not 0, and `movk` for each further.
    pub fn load(register: u32, value: u64) -> Vec<u32> {
        let part = |shift: u32| (value >> (16 * shift) & 0xffff) as u32;
        let word = |op: u32, shift: u32| op | shift << 21 | part(shift) << 5 | register;
        let mut shifts = (0..4).filter(|shift| part(*shift) != 0);
        let first = word(0xd280_0000, shifts.next().unwrap_or(0));
        std::iter::once(first).chain(shifts.map(|shift| word(0xf280_0000, shift))).collect()
    }

    fn system(place: RegisterAddress, op: u32, register: u32) -> Option<u32> {
        let RegisterAddress::System { op0, op1, crn, crm, op2 } = place else { return None };
        let fields = [(op0 - 2, 19), (op1, 16), (crn, 12), (crm, 8), (op2, 5)];
        Some(fields.iter().fold(op | register, |word, (value, shift)| word | u32::from(*value) << shift))
    }

    /// `msr place, xN`.
    pub fn write(place: RegisterAddress, register: u32) -> Option<u32> {
        system(place, 0xd510_0000, register)
    }

    /// `mrs xN, place`.
    pub fn read(place: RegisterAddress, register: u32) -> Option<u32> {
        system(place, 0xd530_0000, register)
    }

    /// `bic x1, x1, x2`; `orr x1, x1, x2`.
    pub const BIC_X1_X2: u32 = 0x8a22_0021;
    pub const ORR_X1_X2: u32 = 0xaa02_0021;

    /// Back to the caller.
    pub fn leave() -> [u32; 2] {
        [ISB, RET]
    }

    /// On to the program whose address PSCI passes in x0.
    pub fn go_on() -> [u32; 2] {
        [ISB, BR_X0]
    }
}

/// Instructions for one write, with x1 and x2 as scratch registers.
fn instructions(write: &RegisterWrite) -> Vec<u32> {
    if write.is_whole() {
        return instruction::load(1, write.value).into_iter().chain(instruction::write(write.place, 1)).collect();
    }
    let mut words: Vec<u32> = instruction::read(write.place, 1).into_iter().collect();
    if write.mask != write.value {
        words.extend(instruction::load(2, write.mask));
        words.push(instruction::BIC_X1_X2);
    }
    words.extend(instruction::load(2, write.value));
    words.push(instruction::ORR_X1_X2);
    words.extend(instruction::write(write.place, 1));
    words
}

/// PSCI CPU_ON with 64-bit arguments (Arm, Power State Coordination Interface DEN 0022).
const CPU_ON: u32 = 0xc400_0003;

/// Lowers an assignment.
///
/// # Errors
/// What the registers cannot say; a core whose number in MPIDR_EL1 is not known.
pub fn lower(assignment: &Assignment, offer: &Offer) -> Result<Lowered, Refusal> {
    let Cluster { shared, own, .. } = cluster(assignment, offer)?;
    let mut text = super::comment(
        assignment,
        "# ",
        &[
            "The firmware has to leave these registers open to EL2, where U-Boot runs: ACTLR_EL3 with bits 0, 10 and 11 set;",
            "otherwise the first of them is trapped. `loadaddr` is free memory, of which the script takes 1 KiB.",
        ],
    );
    let first = own.first();
    let mut at = 0;
    for write in shared.iter().chain(first) {
        text += &format!("# {} = {:#x}: {}\n", write.register, write.value, super::in_comment(&write.why));
        store(&mut text, &mut at, &instructions(write));
    }
    store(&mut text, &mut at, &instruction::leave());
    text += "dcache flush\nicache flush\ngo ${loadaddr}\n";
    let started = own.iter().skip(1).filter(|write| write.value != 0);
    for write in started {
        let Some(&core) = write.cores.first() else { continue };
        let Some((_, mpidr)) = offer.controls.mpidr.iter().find(|(it, _)| *it == core) else {
            let message = format!(
                "the number of core {core} in MPIDR_EL1 is not known, so that no script can start it; the platform file's `mpidr_shift` would tell"
            );
            return Err(Refusal::lacking("classes", message));
        };
        at = (at + 0x3f) & !0x3f;
        text += &format!(
            "# Core {core} takes its scheme ID and goes on to the program at `entry{core}`, if there is one (PSCI CPU_ON).\n"
        );
        let begin = at;
        store(&mut text, &mut at, &instructions(write));
        store(&mut text, &mut at, &instruction::go_on());
        text += &format!("setexpr wk ${{loadaddr}} + {begin:#x}\ndcache flush\nicache flush\n");
        text +=
            &format!("if test -n \"${{entry{core}}}\"; then smc {CPU_ON:x} {mpidr:x} ${{wk}} ${{entry{core}}}; fi\n");
    }
    let mut notes = notes();
    notes.push(
        "an operating system that starts the other cores itself begins with scheme ID 0 there: then TF-A is the place (`--as tfa`)"
            .into(),
    );
    let writes: Vec<_> = shared.into_iter().chain(own).collect();
    let line = |write: &RegisterWrite| ScriptLine { shell: write.line(), why: write.why.clone(), steps: Vec::new() };
    Ok(Lowered { form: Form::Uboot, lines: writes.iter().map(line).collect(), notes, writes, text: Some(text) })
}

/// Writes instructions into memory, word by word.
fn store(text: &mut String, at: &mut u32, words: &[u32]) {
    for word in words {
        *text += &format!("setexpr wk ${{loadaddr}} + {:x}; mw.l ${{wk}} {word:08x}\n", *at);
        *at += 4;
    }
}
