//! What policies give beside ways, as settings of a simulated platform: the model knows the target and all others.

use waykeeper_platform::{
    Bandwidth, BandwidthScheme, Clocks, Colouring, CoreId, Lock, Locked, Platform, Priority, Settings, SharedCache,
    WayControl,
};
use waykeeper_policy::{AssignedClass, AssignedColours, ColourShare};

use super::simulated::{Parties, groups_of};

/// Adds them; returns what the model lacks, a clause each.
///
/// # Errors
/// What the model cannot tell apart.
pub fn add(parties: &Parties, platform: &Platform, set: &mut Settings) -> Result<Vec<String>, String> {
    let controls = &parties.assignment.controls;
    if controls.no_allocate_mode_off {
        set.no_allocate_mode = Some(false);
    }
    if !controls.priorities.is_empty() {
        set.priority = Some(priority(parties, platform)?);
    }
    set.bandwidth = bandwidth(parties, platform)?;
    set.clock_ghz = clocks(parties, platform)?;
    if let Some(colours) = &controls.colours {
        set.colouring = Some(colouring(parties, colours, platform)?);
    }
    lockdown(parties, platform, set)?;
    let ring = |mhz: u32| format!("not simulated: a ring at {} GHz", f64::from(mhz) / 1000.0);
    Ok(controls.ring_mhz.map(ring).into_iter().collect())
}

/// What the target has, and the one thing that all its neighbours have.
fn both<T: PartialEq>(
    parties: &Parties,
    platform: &Platform,
    what: &str,
    of: impl Fn(&AssignedClass) -> T,
) -> Result<(T, T), String> {
    let others = parties.others(&platform.core_ids())?;
    let theirs = of(others[0]);
    if others.iter().any(|other| of(other) != theirs) {
        return Err(format!(
            "`{}` sets different {what} for the neighbours; in the simulator they have one",
            parties.name
        ));
    }
    Ok((of(parties.class()?), theirs))
}

/// The model lets the target's requests go first, or nobody's. A class without a level has that of the others.
fn priority(parties: &Parties, platform: &Platform) -> Result<Priority, String> {
    let controls = &parties.assignment.controls;
    let level = |class: &AssignedClass| controls.priority(class.number).or(controls.priority(0)).unwrap_or(0);
    let (target, others) = both(parties, platform, "priorities", level)?;
    match target.cmp(&others) {
        std::cmp::Ordering::Greater => Ok(Priority::TargetFirst),
        std::cmp::Ordering::Equal => Ok(Priority::Equal),
        std::cmp::Ordering::Less => Err(format!(
            "`{}` puts the neighbours before the target on core {}; in the simulator the target can go first, or nobody",
            parties.name, parties.target
        )),
    }
}

fn bandwidth(parties: &Parties, platform: &Platform) -> Result<Option<Bandwidth>, String> {
    let assignment = parties.assignment;
    let limited = assignment.classes.iter().any(|class| !class.limits.is_empty());
    if !limited && assignment.controls.strides.is_empty() {
        return Ok(None);
    }
    let control = platform.shared_caches.iter().find_map(|cache| cache.bandwidth_control.as_ref());
    let control = control.ok_or_else(|| {
        format!(
            "`{}` limits bandwidth, and platform `{}` does not say how that is regulated; its file has no `bandwidth_control`",
            parties.name, platform.name
        )
    })?;
    let wanted = if limited { BandwidthScheme::Delay } else { BandwidthScheme::Stride };
    if control.scheme.value != wanted || (limited && !assignment.controls.strides.is_empty()) {
        return Err(format!(
            "`{}` regulates bandwidth in another way than platform `{}` does in the simulator",
            parties.name, platform.name
        ));
    }
    // A delay begins below the full share, which is what a class without a limit has.
    let value = |class: &AssignedClass| match limited {
        true => class.limits.iter().map(|limit| u64::from(limit.value)).min().unwrap_or(control.steps.value),
        false => u64::from(assignment.controls.stride(class.number).unwrap_or(0)),
    };
    let (target, others) = both(parties, platform, "shares of the bandwidth", value)?;
    Ok(Some(Bandwidth { enabled: true, target, others }))
}

/// A core that is always busy runs at the highest clock that it may have. What the platform has anyway is not set.
fn clocks(parties: &Parties, platform: &Platform) -> Result<Option<Clocks>, String> {
    let clocks = &parties.assignment.controls.clocks;
    let asked = |core: CoreId| {
        let mhz = clocks.iter().find(|clock| clock.core == core)?.to_mhz;
        let own = platform.core_kind(core).and_then(|kind| kind.clock_ghz.as_ref()).map(|clock| clock.value);
        let ghz = f64::from(mhz) / 1000.0;
        (own != Some(ghz)).then_some(ghz)
    };
    let mut theirs = parties.neighbours.iter().map(|core| asked(*core));
    let first = theirs.next().flatten();
    if theirs.any(|ghz| ghz != first) {
        return Err(format!(
            "`{}` sets different clocks for the neighbours; in the simulator they have one",
            parties.name
        ));
    }
    let clocks = Clocks { target: asked(parties.target), others: first };
    Ok((clocks.target.is_some() || clocks.others.is_some()).then_some(clocks))
}

/// The model has two halves of memory, distinguished by one bit of the address. Which half is the target's makes no difference.
fn colouring(parties: &Parties, colours: &AssignedColours, platform: &Platform) -> Result<Colouring, String> {
    let (target, others) = both(parties, platform, "colours", |class| colours.share(class.number))?;
    let half = |share: ColourShare| share.count * 2 == colours.colours && share.first.is_multiple_of(share.count);
    match (target, others) {
        (Some(target), Some(others)) if half(target) && half(others) && target.first != others.first => {
            Ok(Colouring { address_bit: colours.bits.1 as u8 })
        }
        _ => Err(format!(
            "`{}` does not give the target one half of the colours and its neighbours the other, which is all that the simulator has",
            parties.name
        )),
    }
}

/// The lines and pages are those of the target's event: the program that the policy's symbols belong to is not there.
fn lockdown(parties: &Parties, platform: &Platform, set: &mut Settings) -> Result<(), String> {
    let Some(lockdown) = &parties.assignment.controls.lockdown else { return Ok(()) };
    if lockdown.core != parties.target {
        return Err(format!(
            "`{}` locks memory for core {}, and the target is on core {}",
            parties.name, lockdown.core, parties.target
        ));
    }
    let locks = |cache: &&SharedCache| cache.way_control.as_ref().is_some_and(|it| it.value == WayControl::Lockdown);
    if let Some(cache) = platform.shared_caches.iter().find(locks)
        && !lockdown.lines.is_empty()
    {
        let groups = groups_of(lockdown.ways);
        set.lock = Some(Lock { level: cache.level, groups, what: Locked::Event, lines: None });
    }
    if !lockdown.pages.is_empty() {
        set.tlb_lock = Some(true);
    }
    Ok(())
}
