//! The platforms that come with Waykeeper: `platforms/*.toml`, compiled in.

/// A bundled file: its name and its text.
#[derive(Debug, Clone, Copy)]
pub struct Bundled {
    /// The name that experiments use.
    pub name: &'static str,
    /// The TOML text.
    pub text: &'static str,
}

static BUNDLED: &[Bundled] = &[];

/// All bundled platforms, by name.
pub fn bundled() -> &'static [Bundled] {
    BUNDLED
}

/// The bundled platform of that name.
pub fn find_bundled(name: &str) -> Option<Bundled> {
    BUNDLED.iter().find(|bundled| bundled.name == name).copied()
}
