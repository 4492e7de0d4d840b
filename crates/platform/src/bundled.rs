//! The platforms that come with Waykeeper: `platforms/*.toml`, compiled in.

/// A bundled file (of platforms here, of experiments elsewhere): its name and its text.
#[derive(Debug, Clone, Copy)]
pub struct Bundled {
    /// The name that experiments use.
    pub name: &'static str,
    /// The TOML text.
    pub text: &'static str,
}

macro_rules! bundle {
    ($($name:literal),* $(,)?) => {
        &[$(Bundled { name: $name, text: include_str!(concat!("../../../platforms/", $name, ".toml")) }),*]
    };
}

static BUNDLED: &[Bundled] = bundle!["agilex5"];

/// All bundled platforms, by name.
pub fn bundled() -> &'static [Bundled] {
    BUNDLED
}

/// The bundled platform of that name.
pub fn find_bundled(name: &str) -> Option<Bundled> {
    BUNDLED.iter().find(|bundled| bundled.name == name).copied()
}
