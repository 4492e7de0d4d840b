//! Settings of controls, and what they do to an engine.

use waykeeper_platform::{Platform, Settings};

use crate::engine::build::chosen_memory;
use crate::refused::Refused;

/// The class of the target's core where caches and memory count or separate.
pub const TARGET_CLASS: u8 = 1;
/// The class of all other cores.
pub const OTHERS_CLASS: u8 = 0;

/// The settings that several mitigations make together; later ones win where two set the same control.
pub fn settings_of(platform: &Platform, mitigations: &[&str]) -> Result<Settings, Refused> {
    mitigations.iter().try_fold(Settings::default(), |settings, name| match platform.mitigations.get(*name) {
        Some(mitigation) => Ok(settings.then(&mitigation.set)),
        None => {
            let known: Vec<_> = platform.mitigations.keys().map(String::as_str).collect();
            let why = format!("{} has no such mitigation; it has {}", platform.name, known.join(", "));
            Err(Refused::new(format!("mitigations.{name}"), why))
        }
    })
}

/// A mask of the ways of some groups, of `groups` equal ones over `ways`.
pub fn ways_of_groups(list: &[u8], groups: u64, ways: u64) -> u32 {
    let each = ways / groups;
    let group = ((1u64 << each) - 1) as u32;
    list.iter().fold(0, |mask, at| mask | group << (u64::from(*at) * each))
}

/// The platform as it is set up before anything runs: with another memory.
pub fn at_start(platform: &Platform, settings: &Settings) -> Result<Platform, Refused> {
    let mut platform = platform.clone();
    if settings.memory.is_some() {
        platform.memory = Some(chosen_memory(&platform, settings.memory.as_deref())?.clone());
    }
    Ok(platform)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_neighbouring_ways() {
        // 16 ways in 4 groups: group 0 is ways 0 to 3.
        assert_eq!(ways_of_groups(&[0], 4, 16), 0x000f);
        assert_eq!(ways_of_groups(&[1, 2, 3], 4, 16), 0xfff0);
        assert_eq!(ways_of_groups(&[1], 1, 16) & 0xffff, 0);
        assert_eq!(ways_of_groups(&[1], 4, 12), 0b111000);
    }
}
