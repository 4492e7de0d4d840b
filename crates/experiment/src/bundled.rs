//! The experiments that come with Waykeeper: every file `experiments/*.toml`.

use waykeeper_shelf::{Bundled, Folder, files, find};

/// All bundled experiments, by name.
pub fn bundled() -> &'static [Bundled] {
    files(Folder::Experiments)
}

/// The bundled experiment of that name.
pub fn find_bundled(name: &str) -> Option<Bundled> {
    find(Folder::Experiments, name)
}
