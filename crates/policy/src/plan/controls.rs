//! What classes get beside ways and limits of bandwidth: priorities, weights, clocks.

use waykeeper_platform::format_cpulist;

use crate::assignment::{AssignedClock, AssignedPriority, AssignedStride, Assignment};
use crate::clock::{ClockRange, CoreFrequency};
use crate::describe::Policy;
use crate::offer::Offer;
use crate::refusal::Refusal;

/// Values of a key of the others and of the classes: path, class number, value.
pub fn of_all<T>(
    policy: &Policy,
    key: &str,
    others: Option<T>,
    of_class: impl Fn(&crate::describe::Class) -> Option<T>,
) -> Vec<(String, u32, T)> {
    let others = others.map(|value| (format!("others.{key}"), 0, value));
    let classes = policy.classes.iter().enumerate();
    let classes = classes.filter_map(|(i, class)| Some((format!("classes.{i}.{key}"), i as u32 + 1, of_class(class)?)));
    others.into_iter().chain(classes).collect()
}

/// Assigns classes their priorities, weights and clocks, and the cluster its settings.
///
/// # Errors
/// What the machine does not have, or not so much of.
pub fn assign(policy: &Policy, offer: &Offer, to: &mut Assignment) -> Result<(), Refusal> {
    priorities(policy, offer, to)?;
    if policy.no_allocate_mode == Some(false) {
        let message = || format!("{} has no such mode that could be switched off, as far as is known", offer.called);
        offer.controls.no_allocate_bit.ok_or_else(|| Refusal::lacking("no_allocate_mode", message()))?;
        to.controls.no_allocate_mode_off = true;
    }
    weights(policy, offer, to)?;
    clocks(policy, offer, to)?;
    ring(policy, offer, to)
}

fn priorities(policy: &Policy, offer: &Offer, to: &mut Assignment) -> Result<(), Refusal> {
    for (key, class, priority) in of_all(policy, "priority", policy.others.priority, |class| class.priority) {
        let Some(levels) = offer.controls.priority_levels else {
            let message =
                format!("{} has no priorities on the bus that could be set, as far as is known", offer.called);
            return Err(Refusal::lacking(key, message));
        };
        let level = priority.level(levels).ok_or_else(|| {
            let message = format!("found {priority}; {} has levels 0 to {}", offer.called, levels.saturating_sub(1));
            Refusal::wrong(&key, message)
        })?;
        only_cores(policy, class, &key, "a priority")?;
        to.controls.priorities.push(AssignedPriority { class, level });
    }
    Ok(())
}

/// Registers know cores, and a class of tasks has none.
fn only_cores(policy: &Policy, class: u32, key: &str, what: &str) -> Result<(), Refusal> {
    let Some(class) = class.checked_sub(1).map(|i| &policy.classes[i as usize]) else { return Ok(()) };
    if class.cores.is_some() && class.tasks.is_empty() && class.cgroups.is_empty() {
        return Ok(());
    }
    Err(Refusal::wrong(key, format!("{what} belongs to cores; `{}` would have to be cores alone", class.name)))
}

/// MPAM: bandwidth under contention is shared inversely to strides (Arm, MPAM system component specification IHI 0099,
/// proportional-stride partitioning). The heaviest class gets a stride of 1.
fn weights(policy: &Policy, offer: &Offer, to: &mut Assignment) -> Result<(), Refusal> {
    let weights = of_all(policy, "weight", policy.others.weight, |class| class.weight);
    let Some((key, ..)) = weights.first() else { return Ok(()) };
    let Some(largest) = offer.controls.largest_stride else {
        let message = format!("{} does not share bandwidth by weights (no proportional stride)", offer.called);
        return Err(Refusal::lacking(key.clone(), message));
    };
    let of = |class: u32| weights.iter().find(|(_, it, _)| *it == class).map_or(1, |(.., weight)| *weight).max(1);
    let heaviest = (0..to.classes.len() as u32).map(of).max().unwrap_or(1);
    for class in 0..to.classes.len() as u32 {
        let weight = of(class);
        let stride = (heaviest + weight / 2) / weight;
        if stride - 1 > largest {
            let message = format!(
                "the weights {heaviest} and {weight} are a stride of {stride}; {} has strides up to {}",
                offer.called,
                largest + 1
            );
            return Err(Refusal::wrong(key.clone(), message));
        }
        if !heaviest.is_multiple_of(weight) {
            let name = &to.classes[class as usize].name;
            to.notes.push(format!("a weight of {weight} beside {heaviest} becomes a stride of {stride} for `{name}`"));
        }
        to.controls.strides.push(AssignedStride { class, less_one: stride - 1 });
    }
    Ok(())
}

/// The highest level of performance: a request has 8 bits for each (Intel SDM, volume 3, IA32_HWP_REQUEST).
const MOST_LEVEL: u32 = 0xff;

fn clocks(policy: &Policy, offer: &Offer, to: &mut Assignment) -> Result<(), Refusal> {
    for (key, class, range) in of_all(policy, "clock", policy.others.clock, |class| class.clock) {
        only_cores(policy, class, &key, "a clock")?;
        for &core in &to.classes[class as usize].cores {
            let Some(clocks) = offer.controls.clocks.iter().find(|clocks| clocks.cores.contains(&core)) else {
                let message = format!(
                    "how core {core} of {} counts levels of performance is not known; its file has no `performance_per_100_mhz`",
                    offer.called
                );
                return Err(Refusal::lacking(key, message));
            };
            let mhz = |clock: CoreFrequency| match clock {
                CoreFrequency::Mhz(mhz) => Ok(mhz),
                CoreFrequency::Base => clocks.base_mhz.ok_or_else(|| {
                    let message = format!("the base clock of {} cores of {} is not known", clocks.kind, offer.called);
                    Refusal::lacking(&key, message)
                }),
            };
            let (from_mhz, to_mhz, fixed) = match range {
                ClockRange::Fixed(clock) => (mhz(clock)?, mhz(clock)?, true),
                ClockRange::Between(from, to) => (mhz(from)?, mhz(to)?, false),
            };
            if from_mhz > to_mhz {
                let message = format!("found {range}, and the base clock of core {core} is {to_mhz} MHz");
                return Err(Refusal::wrong(key, message));
            }
            let milli_levels_per_100_mhz = clocks.milli_levels_per_100_mhz;
            let most_mhz = MOST_LEVEL * 100_000 / milli_levels_per_100_mhz.max(1);
            if to_mhz > most_mhz {
                let message = format!(
                    "found {range}, and requests for levels of performance end at {most_mhz} MHz on core {core}"
                );
                return Err(Refusal::wrong(key, message));
            }
            to.controls.clocks.push(AssignedClock { core, class, from_mhz, to_mhz, fixed, milli_levels_per_100_mhz });
        }
    }
    to.controls.clocks.sort_by_key(|clock| clock.core);
    note_clocks_above_base(offer, to);
    let fixed: Vec<_> = to.controls.clocks.iter().filter(|clock| clock.fixed).map(|clock| clock.core).collect();
    if !fixed.is_empty() {
        to.notes.push(format!(
            "cores {} are asked for one clock; whether they hold it depends on the other cores, the cooling and the firmware's limits",
            format_cpulist(&fixed)
        ));
    }
    Ok(())
}

/// A platform file has the base clock of a core, and not how far above it the part goes.
fn note_clocks_above_base(offer: &Offer, to: &mut Assignment) {
    let base_mhz = |core| offer.controls.clocks.iter().find(|it| it.cores.contains(&core)).and_then(|it| it.base_mhz);
    let above = to.controls.clocks.iter().filter(|clock| base_mhz(clock.core).is_some_and(|base| clock.to_mhz > base));
    let above: Vec<_> = above.map(|clock| clock.core).collect();
    if !above.is_empty() {
        to.notes.push(format!(
            "the clock of cores {} is above their base clock; the platform file does not say whether they reach it",
            format_cpulist(&above)
        ));
    }
}

fn ring(policy: &Policy, offer: &Offer, to: &mut Assignment) -> Result<(), Refusal> {
    let Some(CoreFrequency::Mhz(mhz)) = policy.ring else { return Ok(()) };
    let Some(step) = offer.controls.ring_step_mhz else {
        let message = format!("how the clock of the ring of {} is set is not known", offer.called);
        return Err(Refusal::lacking("ring", message));
    };
    if step == 0 || !mhz.is_multiple_of(step) || mhz / step > 0x7f {
        let message =
            format!("found {mhz} MHz; the ring of {} has steps of {step} MHz up to {}", offer.called, 127 * step);
        return Err(Refusal::wrong("ring", message));
    }
    to.controls.ring_mhz = Some(mhz);
    Ok(())
}
