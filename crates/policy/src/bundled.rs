//! The policies that come with Waykeeper: every file `policies/*.toml`.

use waykeeper_shelf::{Bundled, Folder, files, find};

/// All bundled policies, by name.
pub fn bundled() -> &'static [Bundled] {
    files(Folder::Policies)
}

/// The bundled policy of that name.
pub fn find_bundled(name: &str) -> Option<Bundled> {
    find(Folder::Policies, name)
}
