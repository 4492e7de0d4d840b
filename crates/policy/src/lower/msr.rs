//! As writes to model-specific registers of Intel processors: the masks of a cache on one of its cores, the class of
//! every core on that core. (Intel SDM, volume 3, Intel Resource Director Technology allocation features.)

use crate::assignment::{AssignedClass, AssignedMask, Assignment, CdpType};
use crate::offer::{BandwidthUnit, Offer};
use crate::refusal::Refusal;
use crate::step::Step;

use super::{Form, Lowered, ScriptLine, hwp, is_cat};

/// IA32_L3_QOS_MASK_0; with CDP data of class n is at 2 n and code at 2 n + 1.
const L3_MASK: u32 = 0xc90;
/// IA32_L2_QOS_MASK_0, numbered likewise.
const L2_MASK: u32 = 0xd10;
/// IA32_L2_QOS_EXT_BW_THRTL_0: the reduction, in percent.
const MBA: u32 = 0xd50;
/// IA32_PQR_ASSOC: RMID in bits 9:0, class in bits 63:32.
const PQR_ASSOC: u32 = 0xc8f;
/// IA32_L3_QOS_CFG and IA32_L2_QOS_CFG: bit 0 switches CDP on.
const L3_CFG: u32 = 0xc81;
const L2_CFG: u32 = 0xc82;

/// Lowers an assignment.
///
/// # Errors
/// Anything but masks and percentages of Intel's; tasks, which only the kernel can follow; a mounted resctrl.
pub fn lower(assignment: &Assignment, offer: &Offer) -> Result<Lowered, Refusal> {
    is_cat(assignment, offer, "an MSR")?;
    if offer.resctrl.is_some() {
        let message =
            "resctrl is mounted, so the kernel writes these registers itself; as resctrl it does what this would";
        return Err(Refusal::lacking("", message));
    }
    if let Some(class) = assignment.classes.iter().find(|class| !class.members.is_empty()) {
        let message =
            format!("`{}` has tasks, and registers know cores only; as resctrl the kernel follows them", class.name);
        return Err(Refusal::wrong("classes", message));
    }
    let percent = offer.bandwidth.as_ref().is_none_or(|bandwidth| bandwidth.unit == BandwidthUnit::Percent);
    if assignment.classes.iter().any(|class| !class.limits.is_empty()) && (!percent || assignment.mount.mbps) {
        return Err(Refusal::lacking(
            "",
            "registers limit bandwidth in percent; in MB/s only the kernel does, as resctrl",
        ));
    }
    let mut lines = vec![ScriptLine {
        shell: "modprobe msr".into(),
        why: "/dev/cpu/N/msr, unless it is built in".into(),
        steps: Vec::new(),
    }];
    for class in &assignment.classes {
        lines.extend(class.masks.iter().filter_map(|mask| mask_line(class, mask, offer)));
    }
    for (level, register, on) in [(2, L2_CFG, assignment.mount.cdp_l2), (3, L3_CFG, assignment.mount.cdp)] {
        for domain in offer.cache(level).iter().filter(|_| on).flat_map(|cache| &cache.domains) {
            lines.extend(domain.cores.first().map(|core| {
                register_line(*core, register, 1, 1, format!("masks of code and data apart in L{level} {}", domain.id))
            }));
        }
    }
    for class in &assignment.classes {
        lines.extend(limit_lines(class, offer));
    }
    // Clocks alone leave the classes of the cores as they are.
    let divides = !assignment.divided.is_empty() || assignment.classes.iter().any(|class| !class.limits.is_empty());
    for core in offer.cores.iter().filter(|_| divides) {
        let class = assignment.classes.iter().find(|class| class.cores.contains(core));
        let (number, name) = class.map_or((0, "others"), |class| (class.number, class.name.as_str()));
        let value = u64::from(number) << 32;
        lines.push(register_line(*core, PQR_ASSOC, value, 0xffff_ffff_0000_0000, format!("core {core}: {name}")));
    }
    lines.extend(hwp::lines(assignment, offer)?);
    let mut notes = vec![
        "a register that reads back as written can be inert all the same; only its effect proves it".into(),
        "cores that go offline or sleep come back with class 0".into(),
    ];
    if !assignment.controls.clocks.is_empty() {
        notes.extend(hwp::notes());
    }
    Ok(Lowered::shell(Form::Msr, lines, notes))
}

fn mask_line(class: &AssignedClass, mask: &AssignedMask, offer: &Offer) -> Option<ScriptLine> {
    let domain = offer.cache(mask.level)?.domains.iter().find(|domain| domain.id == mask.domain)?;
    let base = if mask.level == 3 { L3_MASK } else { L2_MASK };
    let (number, what) = match mask.access {
        CdpType::All => (class.number, ""),
        CdpType::Data => (class.number * 2, ", data"),
        CdpType::Code => (class.number * 2 + 1, ", code"),
    };
    let why = format!("L{} {}: ways {} for {}{what}", mask.level, mask.domain, mask.mask.ways(), class.name);
    Some(register_line(*domain.cores.first()?, base + number, u64::from(mask.mask.0), u64::from(u32::MAX), why))
}

fn limit_lines(class: &AssignedClass, offer: &Offer) -> Vec<ScriptLine> {
    let Some(bandwidth) = &offer.bandwidth else { return Vec::new() };
    let line = |limit: &crate::assignment::AssignedLimit| {
        let (_, cores) = bandwidth.domains.iter().find(|(id, _)| *id == limit.domain)?;
        let taken = u64::from(bandwidth.max.saturating_sub(limit.value));
        let why = format!("{} for {}: throttled by {taken} %", limit.text, class.name);
        Some(register_line(*cores.first()?, MBA + class.number, taken, 0xffff, why))
    };
    class.limits.iter().filter_map(line).collect()
}

fn register_line(cpu: u32, register: u32, value: u64, mask: u64, why: String) -> ScriptLine {
    ScriptLine {
        shell: format!("wrmsr -p {cpu} {register:#x} {value:#x}"),
        why,
        steps: vec![Step::Register { cpu, register, value, mask }],
    }
}
