//! `waykeeper enter`.

use waykeeper_platform::{Platform, bundled, find_bundled, read_text};
use waykeeper_resctrl::KernelRelease;
use waykeeper_room::backing::Backing;
use waykeeper_room::machine::{has_room, kernel_named};
use waykeeper_room::{Load, PlacedLoad, RoomEntry, simulated};

use crate::arguments::{Enter, RoomOptions};
use crate::exit::Exit;
use crate::failure::Failure;

/// Runs a command in a room.
pub fn enter(arguments: &Enter) -> Result<Exit, Failure> {
    let Furnished { platform, kernel, loads, backing } = Furnished::new(&arguments.room)?;
    has_room(&platform, kernel).map_err(|none| Failure::Room(none.to_string()))?;
    let entry = RoomEntry { platform, kernel, backing, loads, command: arguments.command.clone() };
    let status = waykeeper_room::enter(entry).map_err(|error| Failure::Room(error.to_string()))?;
    Ok(Exit::Of(status as u8))
}

/// What a room needs, from its options.
pub struct Furnished {
    pub platform: Platform,
    pub kernel: KernelRelease,
    pub loads: Vec<PlacedLoad>,
    pub backing: Box<dyn Backing>,
}

impl Furnished {
    /// Reads the platform and the loads.
    pub fn new(options: &RoomOptions) -> Result<Self, Failure> {
        let platform = platform(&options.platform)?;
        let kernel = kernel_named(&options.kernel).ok_or_else(|| {
            Failure::Bad(format!("found `--kernel {}`; expected 6.1, 6.12, 6.18, 7.3 or newest", options.kernel))
        })?;
        let mut loads: Vec<PlacedLoad> = Vec::new();
        for text in &options.load {
            let load = Load::parse(text).and_then(|load| load.place(&platform));
            for placed in load.map_err(|bad| Failure::Bad(bad.to_string()))? {
                if let Some(other) = loads.iter().find(|other| other.core == placed.core) {
                    let (core, first, second) = (placed.core, &other.name, &placed.name);
                    return Err(Failure::Bad(format!(
                        "found {first} and {second} on core {core}; a core runs one load"
                    )));
                }
                if let Some(other) = loads.iter().find(|other| other.target && placed.target) {
                    let (first, second) = (&other.name, &placed.name);
                    return Err(Failure::Bad(format!(
                        "found {first} and {second} as targets; the latency of one load counts"
                    )));
                }
                loads.push(placed);
            }
        }
        let backing = simulated(&platform).map_err(Failure::Room)?;
        Ok(Self { platform, kernel, loads, backing })
    }
}

/// A bundled platform, or one from a file.
fn platform(name: &str) -> Result<Platform, Failure> {
    if let Some(found) = find_bundled(name) {
        return Ok(Platform::from_toml(found.text, &format!("platforms/{name}.toml"))?);
    }
    let text = read_text(name).map_err(|error| {
        let names: Vec<_> = bundled().iter().map(|bundled| bundled.name).collect();
        let names = names.join(", ");
        Failure::Bad(format!(
            "found `{name}`, which is neither a bundled platform nor a file that can be read ({error}); expected {names} \
             or a platform file"
        ))
    })?;
    Ok(Platform::from_toml(&text, name)?)
}
