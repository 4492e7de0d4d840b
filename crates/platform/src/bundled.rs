//! The platforms that come with Waykeeper: every file `platforms/*.toml`.

use waykeeper_shelf::{Bundled, Folder, files, find};

/// All bundled platforms, by name.
pub fn bundled() -> &'static [Bundled] {
    files(Folder::Platforms)
}

/// The bundled platform of that name.
pub fn find_bundled(name: &str) -> Option<Bundled> {
    find(Folder::Platforms, name)
}
