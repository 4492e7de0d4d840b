//! The workloads that come with Waykeeper: every file `workloads/*.toml`, compiled in.

use std::sync::LazyLock;

use include_dir::{Dir, include_dir};

/// A bundled file: its name and its text.
#[derive(Debug, Clone, Copy)]
pub struct Bundled {
    /// The name that experiments use: the file's, without its ending.
    pub name: &'static str,
    /// The TOML text.
    pub text: &'static str,
}

static FOLDER: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads");

static BUNDLED: LazyLock<Vec<Bundled>> = LazyLock::new(|| {
    let toml = FOLDER.files().filter(|file| file.path().extension().is_some_and(|ending| ending == "toml"));
    let named =
        toml.filter_map(|file| Some(Bundled { name: file.path().file_stem()?.to_str()?, text: file.contents_utf8()? }));
    let mut bundled: Vec<_> = named.collect();
    bundled.sort_by_key(|bundled| bundled.name);
    bundled
});

/// All bundled workloads, by name.
pub fn bundled() -> &'static [Bundled] {
    &BUNDLED
}

/// The bundled workload of that name.
pub fn find_bundled(name: &str) -> Option<Bundled> {
    BUNDLED.iter().find(|bundled| bundled.name == name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_bundled_under_its_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut names: Vec<_> = files.filter(|path| path.is_file()).collect();
        names.sort();
        let bundled: Vec<_> =
            bundled().iter().map(|b| std::path::Path::new(folder).join(format!("{}.toml", b.name))).collect();
        assert_eq!(bundled, names);
    }
}
