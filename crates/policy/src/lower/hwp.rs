//! As requests for performance levels (Intel Speed Shift, HWP) and the ratio of the ring: TCC guide, chapter 5.3.3.

use std::collections::BTreeMap;

use crate::assignment::{AssignedClock, Assignment};
use crate::offer::Offer;
use crate::refusal::Refusal;
use crate::register::known;
use crate::step::Step;

use super::{Form, Lowered, ScriptLine};

/// Energy preferences of cores with a range begin here, as in the guide: one for each, so that no two are grouped.
const FIRST_PREFERENCE: u64 = 0x80;

/// Lowers an assignment.
///
/// # Errors
/// Clocks beyond the fields of the registers.
pub fn lower(assignment: &Assignment, offer: &Offer) -> Result<Lowered, Refusal> {
    let mut lines = vec![ScriptLine {
        shell: "modprobe msr".into(),
        why: "/dev/cpu/N/msr, unless it is built in".into(),
        steps: Vec::new(),
    }];
    lines.extend(self::lines(assignment, offer)?);
    Ok(Lowered::shell(Form::Hwp, lines, notes()))
}

/// What a reader should know of these registers.
pub fn notes() -> Vec<String> {
    vec![
        "once it is on, Speed Shift goes off with the next reset only: `apply` leaves IA32_PM_ENABLE alone, and where it is off the requests are refused by the processor".into(),
        "firmware: Turbo Boost, Speed Shift and SpeedStep on, Energy Efficient Turbo and HWP Autonomous EPP Grouping off (TCC guide, chapter 5.3.3)".into(),
    ]
}

/// The writes for clocks; none where there are none.
///
/// # Errors
/// Clocks beyond the fields of the registers.
pub fn lines(assignment: &Assignment, offer: &Offer) -> Result<Vec<ScriptLine>, Refusal> {
    let controls = &assignment.controls;
    let mut lines = Vec::new();
    if let Some(first) = controls.clocks.first() {
        let enable = known("IA32_PM_ENABLE").place().msr().unwrap_or_default();
        lines.push(ScriptLine {
            shell: format!("[ \"$(rdmsr -p {0} {enable:#x})\" = 1 ] || wrmsr -p {0} {enable:#x} 0x1", first.core),
            why: "Speed Shift on".into(),
            steps: Vec::new(),
        });
    }
    let preferences = preferences(&controls.clocks);
    for clock in &controls.clocks {
        let preference = if clock.fixed { 0 } else { preferences.get(&clock.core).copied().unwrap_or(0xff) };
        let (from, to) = (level(clock, clock.from_mhz), level(clock, clock.to_mhz));
        let desired = if clock.fixed { from } else { 0 };
        let named = known("IA32_HWP_REQUEST");
        let value = named
            .register
            .encode(&[
                ("MINIMUM_VALID", 1),
                ("MAXIMUM_VALID", 1),
                ("DESIRED_VALID", 1),
                ("EPP_VALID", 1),
                ("EPP", preference),
                ("DESIRED", desired),
                ("MAXIMUM", to),
                ("MINIMUM", from),
            ])
            .map_err(|error| Refusal::wrong("classes", format!("core {}: {error}", clock.core)))?;
        let name = super::named(assignment, clock.class);
        let said = |mhz: u32| format!("{} GHz", crate::amount::decimal(mhz));
        let why = match clock.fixed {
            true => format!("{name}: {}", said(clock.from_mhz)),
            false => format!("{name}: {} to {}", said(clock.from_mhz), said(clock.to_mhz)),
        };
        lines.push(write(clock.core, named.place().msr().unwrap_or_default(), value, u64::MAX, why));
    }
    if let (Some(mhz), Some(step), Some(core)) = (controls.ring_mhz, offer.controls.ring_step_mhz, offer.cores.first())
    {
        let named = known("MSR_RING_RATIO_LIMIT");
        let ratio = u64::from(mhz / step.max(1));
        let value = named
            .register
            .encode(&[("MINIMUM", ratio), ("MAXIMUM", ratio)])
            .map_err(|error| Refusal::wrong("ring", error.to_string()))?;
        let mask = named.register.fields.iter().fold(0, |all, field| all | field.mask());
        let why = format!("ring and L3: {} GHz", crate::amount::decimal(mhz));
        lines.push(write(*core, named.place().msr().unwrap_or_default(), value, mask, why));
    }
    Ok(lines)
}

/// A clock as a level of performance, rounded up as in the guide: 0.4 GHz x 10 x 1.27 = 5.08 is 0x06, and 2.5 GHz is 0x20.
fn level(clock: &AssignedClock, mhz: u32) -> u64 {
    (u64::from(mhz) * u64::from(clock.milli_levels_per_100_mhz)).div_ceil(100_000)
}

/// Preferences by core. A class with a fixed clock takes one number as a whole, which leaves the guide's numbers to the
/// cores behind it.
fn preferences(clocks: &[AssignedClock]) -> BTreeMap<u32, u64> {
    let mut next = FIRST_PREFERENCE;
    let mut fixed = Vec::new();
    let mut preferences = BTreeMap::new();
    for clock in clocks {
        if clock.fixed && fixed.contains(&clock.class) {
            continue;
        }
        if clock.fixed {
            fixed.push(clock.class);
        } else {
            preferences.insert(clock.core, next.min(0xff));
        }
        next += 1;
    }
    preferences
}

fn write(cpu: u32, register: u32, value: u64, mask: u64, why: String) -> ScriptLine {
    ScriptLine {
        shell: format!("wrmsr -p {cpu} {register:#x} {value:#x}"),
        why,
        steps: vec![Step::Register { cpu, register, value, mask }],
    }
}
