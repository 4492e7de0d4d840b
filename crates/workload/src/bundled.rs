//! The workloads that come with Waykeeper: every file `workloads/*.toml`.

use waykeeper_shelf::{Bundled, Folder, files, find};

/// All bundled workloads, by name.
pub fn bundled() -> &'static [Bundled] {
    files(Folder::Workloads)
}

/// The bundled workload of that name.
pub fn find_bundled(name: &str) -> Option<Bundled> {
    find(Folder::Workloads, name)
}
