//! The platforms that come with Waykeeper: every file `platforms/*.toml`, compiled in.

use std::sync::LazyLock;

use include_dir::{Dir, include_dir};

/// A bundled file (of platforms here, of experiments elsewhere): its name and its text.
#[derive(Debug, Clone, Copy)]
pub struct Bundled {
    /// The name that experiments use: the file's, without its ending.
    pub name: &'static str,
    /// The TOML text.
    pub text: &'static str,
}

impl Bundled {
    /// The TOML files of a folder that was compiled in, by name; not those of folders within.
    pub fn in_folder(folder: &'static Dir<'static>) -> Vec<Self> {
        let toml = folder.files().filter(|file| file.path().extension().is_some_and(|ending| ending == "toml"));
        let named = toml
            .filter_map(|file| Some(Self { name: file.path().file_stem()?.to_str()?, text: file.contents_utf8()? }));
        let mut bundled: Vec<_> = named.collect();
        bundled.sort_by_key(|bundled| bundled.name);
        bundled
    }
}

pub(crate) static FOLDER: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../platforms");
static BUNDLED: LazyLock<Vec<Bundled>> = LazyLock::new(|| Bundled::in_folder(&FOLDER));

/// All bundled platforms, by name.
pub fn bundled() -> &'static [Bundled] {
    &BUNDLED
}

/// The bundled platform of that name.
pub fn find_bundled(name: &str) -> Option<Bundled> {
    BUNDLED.iter().find(|bundled| bundled.name == name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_bundled_under_its_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut names: Vec<_> = files.filter(|path| path.is_file()).collect();
        names.sort();
        let bundled: Vec<_> =
            bundled().iter().map(|b| std::path::Path::new(folder).join(format!("{}.toml", b.name))).collect();
        assert_eq!(bundled, names);
    }
}
