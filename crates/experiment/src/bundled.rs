//! The experiments that come with Waykeeper: every file `experiments/*.toml`, compiled in.

use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use waykeeper_platform::Bundled;

static FOLDER: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments");
static BUNDLED: LazyLock<Vec<Bundled>> = LazyLock::new(|| Bundled::in_folder(&FOLDER));

/// All bundled experiments, by name.
pub fn bundled() -> &'static [Bundled] {
    &BUNDLED
}

/// The bundled experiment of that name.
pub fn find_bundled(name: &str) -> Option<Bundled> {
    BUNDLED.iter().find(|bundled| bundled.name == name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_bundled_under_its_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut names: Vec<_> = files.filter(|path| path.is_file()).collect();
        names.sort_by_key(|path| path.file_stem().map(std::ffi::OsStr::to_owned));
        let bundled: Vec<_> =
            bundled().iter().map(|b| std::path::Path::new(folder).join(format!("{}.toml", b.name))).collect();
        assert_eq!(bundled, names);
    }
}
