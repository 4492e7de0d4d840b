//! As C that writes the registers of an MPAM component and the labels of the cores. Classes are PARTIDs.

use crate::assignment::Assignment;
use crate::offer::Offer;
use crate::refusal::Refusal;

use super::write::RegisterWrite;
use super::{Form, Lowered, ScriptLine, resctrl};

/// Lowers an assignment.
///
/// # Errors
/// Several caches, masks of more bits than a register's word.
pub fn lower(assignment: &Assignment, offer: &Offer) -> Result<Lowered, Refusal> {
    if assignment.divided.len() > 1 {
        return Err(Refusal::lacking("classes", "the policy divides several caches, each a component of its own"));
    }
    let component = component(assignment, offer)?;
    let labels = labels(assignment, offer)?;
    let mut text = super::c_comment(
        assignment,
        &[
            "waykeeper_mpam_component() once, with the address of the component's registers; then on every core, at EL1 or above,",
            "waykeeper_mpam_core() with the core's number. Nothing above the caller may trap MPAM (MPAM3_EL3.TRAPLOWER = 0).",
        ],
    );
    if let Some(kernel) = as_resctrl(assignment, offer) {
        text += &super::c_block(
            &["What Linux' resctrl sets of this, where its kernel has MPAM:".to_owned()]
                .into_iter()
                .chain(kernel)
                .collect::<Vec<_>>(),
        );
    }
    text += "\n#include <stddef.h>\n#include <stdint.h>\n\n";
    text += PORT;
    text += "void waykeeper_mpam_component(uintptr_t component);\nvoid waykeeper_mpam_core(unsigned int core);\n\n";
    text += "void waykeeper_mpam_component(uintptr_t component)\n{\n";
    for write in &component {
        let offset = write.place.offset().unwrap_or_default();
        text += &format!(
            "\twk_write32(component + {offset:#x}, {:#x}U); /* {}: {} */\n",
            write.value,
            write.register,
            super::in_comment(&write.why)
        );
    }
    text += "\twk_barrier();\n}\n\n/* Partitions by core. */\n";
    let count = offer.cores.last().map_or(0, |core| core + 1);
    let of =
        |core: u32| assignment.classes.iter().find(|class| class.cores.contains(&core)).map_or(0, |class| class.number);
    let partitions: Vec<_> = (0..count).map(|core| format!("{}U", of(core))).collect();
    text += &format!("static const uint16_t waykeeper_partition[] = {{ {} }};\n\n", partitions.join(", "));
    text += "void waykeeper_mpam_core(unsigned int core)\n{\n\tuint64_t partition = 0;\n\n";
    text += "\tif (core < sizeof(waykeeper_partition) / sizeof(waykeeper_partition[0])) {\n\t\tpartition = waykeeper_partition[core];\n\t}\n";
    text += "\twk_label((partition << 16) | partition);\n}\n";
    let writes: Vec<_> = component.into_iter().chain(labels).collect();
    let line = |write: &RegisterWrite| ScriptLine { shell: write.line(), why: write.why.clone(), steps: Vec::new() };
    let notes = vec![
        "an operating system that knows MPAM writes the labels itself at every switch of tasks; the component's registers are then its own too".into(),
        "partitions that no class has keep what they had".into(),
        "the component is taken to have one resource (RIS 0 of MPAMCFG_PART_SEL), as wide as the policy's masks".into(),
        "where the component's registers lie is not public for every machine: the caller says it".into(),
    ];
    Ok(Lowered { form: Form::Mpam, lines: writes.iter().map(line).collect(), notes, writes, text: Some(text) })
}

/// Writes to the component, class by class: MPAMCFG_PART_SEL chooses the partition that the others are about.
fn component(assignment: &Assignment, offer: &Offer) -> Result<Vec<RegisterWrite>, Refusal> {
    let cores = offer.cores.get(..1).unwrap_or_default();
    let mut writes = Vec::new();
    for class in &assignment.classes {
        let number = u64::from(class.number);
        let name = &class.name;
        writes.push(RegisterWrite::all("MPAMCFG_PART_SEL", &[("PARTID", number)], cores, format!("about {name}"))?);
        for cache in &assignment.divided {
            let own = class.masks.iter().find(|mask| mask.level == cache.level && mask.domain == cache.domain);
            let mask = own.map(|own| own.mask).unwrap_or_default();
            let why = format!("portions {} for {name}", mask.ways());
            writes.push(RegisterWrite::all("MPAMCFG_CPBM0", &[("CPBM", u64::from(mask.0))], cores, why)?);
        }
        if let Some(less_one) = assignment.controls.stride(class.number) {
            let why = format!("a stride of {} for {name}", less_one + 1);
            let fields = [("EN", 1), ("STRIDEM1", u64::from(less_one))];
            writes.push(RegisterWrite::all("MPAMCFG_MBW_PROP", &fields, cores, why)?);
        }
    }
    Ok(writes)
}

/// Labels of the cores, for what runs at EL0 and EL1.
fn labels(assignment: &Assignment, offer: &Offer) -> Result<Vec<RegisterWrite>, Refusal> {
    let mut writes = Vec::new();
    for &core in &offer.cores {
        let class = assignment.classes.iter().find(|class| class.cores.contains(&core));
        let (number, name) = class.map_or((0, "others"), |class| (u64::from(class.number), class.name.as_str()));
        for register in ["MPAM0_EL1", "MPAM1_EL1"] {
            let fields = [("PARTID_D", number), ("PARTID_I", number)];
            writes.push(RegisterWrite::some(register, &fields, &[core], format!("core {core}: {name}"))?);
        }
    }
    Ok(writes)
}

/// The portions as Linux' resctrl takes them.
fn as_resctrl(assignment: &Assignment, offer: &Offer) -> Option<Vec<String>> {
    let mut portions = assignment.clone();
    portions.controls = Default::default();
    let lowered = resctrl::lower(&portions, offer).ok().filter(|_| !assignment.divided.is_empty())?;
    Some(lowered.lines.into_iter().map(|line| line.shell).collect())
}

/// Access to the hardware, which another header can replace.
const PORT: &str = r#"#ifdef WAYKEEPER_PORT
#include WAYKEEPER_PORT
#else
static inline void wk_write32(uintptr_t address, uint32_t value)
{
	*(volatile uint32_t *)address = value;
}

static inline void wk_barrier(void)
{
	__asm__ volatile("dsb sy" ::: "memory");
}

/* PARTID_D in bits 31:16 and PARTID_I in bits 15:0 of MPAM0_EL1 and MPAM1_EL1; their other bits stay. */
static inline void wk_label(uint64_t partitions)
{
	uint64_t value;

	__asm__ volatile("mrs %0, S3_0_C10_C5_1" : "=r"(value));
	value = (value & ~UINT64_C(0xffffffff)) | partitions;
	__asm__ volatile("msr S3_0_C10_C5_1, %0" ::"r"(value));
	__asm__ volatile("mrs %0, S3_0_C10_C5_0" : "=r"(value));
	value = (value & ~UINT64_C(0xffffffff)) | partitions;
	__asm__ volatile("msr S3_0_C10_C5_0, %0" ::"r"(value));
	__asm__ volatile("isb" ::: "memory");
}
#endif

"#;
