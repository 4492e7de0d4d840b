//! The experiments that come with Waykeeper: `experiments/*.toml`, compiled in.

use waykeeper_platform::Bundled;

macro_rules! bundle {
    ($($name:literal),* $(,)?) => {
        &[$(Bundled { name: $name, text: include_str!(concat!("../../../experiments/", $name, ".toml")) }),*]
    };
}

static BUNDLED: &[Bundled] = bundle!["agilex5-cluster-latency", "this-machine"];

/// All bundled experiments, by name.
pub fn bundled() -> &'static [Bundled] {
    BUNDLED
}

/// The bundled experiment of that name.
pub fn find_bundled(name: &str) -> Option<Bundled> {
    BUNDLED.iter().find(|bundled| bundled.name == name).copied()
}
