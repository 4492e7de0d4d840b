//! Where an experiment runs: this machine, or a simulated platform.

use std::collections::BTreeMap;

use waykeeper_control::Files;
use waykeeper_executor::{Executor, ExecutorError, Host, PolicyFiles, Simulated, check_assignments};
use waykeeper_experiment::Loaded;
use waykeeper_experiment::describe::SampleClock;
use waykeeper_experiment::site::ExecutorKind;
use waykeeper_linux::{Root, discover};
use waykeeper_platform::locate::line_of;
use waykeeper_platform::{Platform, PlatformError, bundled, find_bundled, read_text};
use waykeeper_policy::Offer;
use waykeeper_room::guest::RoomBench;

use crate::error::SessionError;

/// The platform name that means this machine.
pub(crate) const HOST: &str = "host";

/// The executor for an experiment.
pub(crate) fn executor(loaded: &Loaded, on: Option<ExecutorKind>) -> Result<Box<dyn Executor>, SessionError> {
    let name = loaded.experiment.platform.as_str();
    let policies = loaded.policy_files()?;
    check_policies(loaded, &policies)?;
    let platform = if name == HOST { None } else { Some(open(loaded, name)?) };
    match (on, platform) {
        (None | Some(ExecutorKind::Host), None) => Ok(Box::new(here(loaded, &simulated_mitigations(None), &policies)?)),
        (Some(ExecutorKind::Host), opened) => {
            let platform = opened.as_ref().map(|opened| &opened.platform);
            Ok(Box::new(here(loaded, &simulated_mitigations(platform), &policies)?))
        }
        (_, Some(opened)) => {
            opened.can_be_simulated()?;
            check_assignments(loaded, &opened.platform)?;
            Ok(Box::new(Simulated::new(opened.platform, &host_mitigations(), &policies)?))
        }
        (Some(ExecutorKind::Sim), None) => {
            let names: Vec<_> = bundled().iter().map(|b| b.name).collect();
            let message = format!(
                "found `host` with --on sim, but the latencies of this machine are unknown, so it cannot be simulated; \
                 expected a simulated platform ({}), as in `--set platform={}`",
                names.join(", "),
                names.first().unwrap_or(&"FILE")
            );
            Err(loaded.error("platform", message).into())
        }
    }
}

/// What the place of an experiment can be asked for by policies.
pub(crate) fn offer(loaded: &Loaded, kind: ExecutorKind) -> Result<Offer, SessionError> {
    match kind {
        ExecutorKind::Sim => Ok(Offer::of_platform(&open(loaded, &loaded.experiment.platform)?.platform)),
        ExecutorKind::Host => {
            let offer = Offer::of_linux(&Files(Root::default()));
            Ok(offer.map_err(|missing| ExecutorError::Refused(format!("this machine offers no policy: {missing}")))?)
        }
    }
}

/// A policy may ask for what the place lacks; its file must exist and parse.
fn check_policies(loaded: &Loaded, policies: &PolicyFiles) -> Result<(), SessionError> {
    for (name, path) in policies {
        if let Err(error) = std::fs::metadata(path) {
            let bundled: Vec<_> = waykeeper_policy::bundled().iter().map(|policy| policy.name).collect();
            let message = format!(
                "found `{name}`, a policy file that cannot be read ({path}: {error}); expected such a file, or a bundled policy: {}",
                bundled.join(", ")
            );
            return Err(loaded.error("mitigations", message).into());
        }
        waykeeper_policy::LoadedPolicy::open(path)?;
    }
    Ok(())
}

/// The machine that this process sees: in a room its cores are simulated.
fn here(loaded: &Loaded, elsewhere: &BTreeMap<String, String>, policies: &PolicyFiles) -> Result<Host, SessionError> {
    let clock = loaded.experiment.clock;
    if waykeeper_room::guest::client()?.is_none() {
        return Ok(Host::new(clock, elsewhere, policies)?);
    }
    if clock != SampleClock::Counter {
        let message =
            "found `pmccntr`, and the cores of a room are simulated; expected `counter`, whose samples are exact there";
        return Err(loaded.error("clock", message).into());
    }
    let found = discover(&Root::default()).map_err(|error| ExecutorError::Refused(error.to_string()))?;
    Ok(Host::on(Box::new(RoomBench::new(&found.platform)?), elsewhere, policies)?)
}

/// Whether this process is inside a room, so that the cores of its machine are simulated.
pub fn is_room() -> bool {
    matches!(waykeeper_room::guest::client(), Ok(Some(_)))
}

/// A platform and the text that it was read from, for errors.
struct Opened {
    platform: Platform,
    file: String,
    text: String,
}

impl Opened {
    fn read(file: &str, text: &str) -> Result<Self, PlatformError> {
        Ok(Self { platform: Platform::from_toml(text, file)?, file: file.into(), text: text.into() })
    }

    /// What a simulation needs and the file does not have, or has in a way that cannot be simulated.
    fn can_be_simulated(&self) -> Result<(), PlatformError> {
        let Some((key, message)) = Simulated::lacks(&self.platform) else { return Ok(()) };
        let line = line_of(&self.text, &key.split('.').collect::<Vec<_>>());
        Err(PlatformError { file: self.file.clone(), line, key, message })
    }
}

/// The platform that an experiment names.
///
/// # Errors
/// A name that is neither bundled nor a file that can be read; a file with a mistake.
pub fn named_platform(loaded: &Loaded) -> Result<Platform, SessionError> {
    Ok(open(loaded, &loaded.experiment.platform)?.platform)
}

fn open(loaded: &Loaded, name: &str) -> Result<Opened, SessionError> {
    if let Some(found) = find_bundled(name) {
        return Ok(Opened::read(&format!("platforms/{name}.toml"), found.text)?);
    }
    let path = loaded.file("platform", name)?;
    let text = read_text(&path).map_err(|error| {
        let names: Vec<_> = bundled().iter().map(|b| b.name).collect();
        let looked = if path == name { String::new() } else { format!("`{path}`: ") };
        loaded.error(
            "platform",
            format!("found `{name}`, which is neither bundled nor a file that can be read ({looked}{error}); expected host, {} or a platform file", names.join(", ")),
        )
    })?;
    let mut opened = Opened::read(&path, &text)?;
    // A copy of a bundled file may have been changed anywhere: its figures must not pass for the original's.
    if opened.platform.name == HOST || find_bundled(&opened.platform.name).is_some() {
        opened.platform.name = name.to_owned();
    }
    Ok(opened)
}

fn simulated_mitigations(named: Option<&Platform>) -> BTreeMap<String, String> {
    let bundled = bundled().iter().filter_map(|b| Platform::from_toml(b.text, b.name).ok());
    let mut reasons = BTreeMap::new();
    for platform in bundled.chain(named.cloned()) {
        for (name, mitigation) in &platform.mitigations {
            let reason = format!(
                "a control of platform `{}` ({}) that this machine does not have",
                platform.name, mitigation.title
            );
            reasons.insert(name.clone(), reason);
        }
    }
    reasons
}

fn host_mitigations() -> BTreeMap<String, String> {
    let reason = "a measure of a Linux host; a simulated platform has neither its scheduler nor its pages";
    Host::MITIGATIONS.into_iter().map(|name| (name.to_owned(), reason.to_owned())).collect()
}
