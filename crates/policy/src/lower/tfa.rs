//! As C for TF-A (Trusted Firmware-A): a function that every core calls when it comes up.

use crate::assignment::Assignment;
use crate::offer::Offer;
use crate::refusal::Refusal;

use super::dsu::{Cluster, cluster, notes};
use super::write::RegisterWrite;
use super::{Form, Lowered, ScriptLine};

/// Lowers an assignment.
///
/// # Errors
/// What the registers cannot say.
pub fn lower(assignment: &Assignment, offer: &Offer) -> Result<Lowered, Refusal> {
    let Cluster { shared, own, access } = cluster(assignment, offer)?;
    let registers: Vec<&RegisterWrite> = shared.iter().chain(own.first()).chain([&access]).collect();
    let mut text = super::c_comment(
        assignment,
        &[
            "Call waykeeper_core_setup() on every core when it comes up, at EL3: from bl31_platform_setup() on the first,",
            "from the platform's pwr_domain_on_finish() on the others, and after a power-down of the cluster.",
        ],
    );
    text += "\n#include <stdint.h>\n\n#include <arch_helpers.h>\n#include <plat/common/platform.h>\n\n";
    for write in &registers {
        text += &format!("DEFINE_RENAME_SYSREG_RW_FUNCS({}, {})\n", function(write), write.place);
    }
    text += "\nvoid waykeeper_core_setup(void);\n\n";
    let schemes: Vec<_> = own.iter().map(|write| format!("{}U", write.value)).collect();
    text += "/* Scheme IDs by plat_my_core_pos(). */\n";
    text += &format!("static const uint8_t waykeeper_scheme[] = {{ {} }};\n\n", schemes.join(", "));
    text += "void waykeeper_core_setup(void)\n{\n\tunsigned int core = plat_my_core_pos();\n\n";
    text += "\tif (core < sizeof(waykeeper_scheme)) {\n";
    if let Some(first) = own.first() {
        text += &format!("\t\twrite_{}(waykeeper_scheme[core]);\n", function(first));
    }
    text += "\t}\n";
    for write in shared.iter().chain([&access]) {
        text += &format!("\n\t/* {} */\n\t{}\n", super::in_comment(&write.why), statement(write));
    }
    text += "\tisb();\n}\n";
    let writes: Vec<_> = own.into_iter().chain(shared).chain([access]).collect();
    let line = |write: &RegisterWrite| ScriptLine { shell: write.line(), why: write.why.clone(), steps: Vec::new() };
    let mut notes = notes();
    notes.push("plat_my_core_pos() is taken to number the cores as Linux does".into());
    Ok(Lowered { form: Form::Tfa, lines: writes.iter().map(line).collect(), notes, writes, text: Some(text) })
}

/// The name of a register's accessors, apart from those that TF-A has of its own.
fn function(write: &RegisterWrite) -> String {
    format!("waykeeper_{}", write.register.to_lowercase())
}

fn statement(write: &RegisterWrite) -> String {
    let (name, value, mask) = (function(write), write.value, write.mask);
    if write.is_whole() {
        return format!("write_{name}(UINT64_C({value:#x}));");
    }
    match mask & !value {
        0 => format!("write_{name}(read_{name}() | UINT64_C({value:#x}));"),
        _ => format!("write_{name}((read_{name}() & ~UINT64_C({mask:#x})) | UINT64_C({value:#x}));"),
    }
}
