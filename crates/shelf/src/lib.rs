//! The files that come with Waykeeper: experiments, policies, platforms, workloads and the catalogue, by folder and name.
//!
//! The program compiles them in and calls [`fill`] when it begins. No crate below it holds their text, so a changed file
//! rebuilds the program's own crate and nothing else. Tests, benchmarks and chores of the repository do not fill the shelf:
//! it then has the files of the repository that Cargo runs them in, as they are at run time.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A file on the shelf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bundled {
    /// The name that experiments and options use: the file's, without its ending.
    pub name: &'static str,
    /// The TOML text.
    pub text: &'static str,
}

/// A folder of files on the shelf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder {
    /// Facts and figures of Intel's guide to Time Coordinated Compute.
    Catalogue,
    /// Experiments.
    Experiments,
    /// Memories that platforms share.
    Memories,
    /// Platforms.
    Platforms,
    /// Policies.
    Policies,
    /// Workloads.
    Workloads,
}

impl Folder {
    /// Every folder.
    pub const ALL: [Self; 6] =
        [Self::Catalogue, Self::Experiments, Self::Memories, Self::Platforms, Self::Policies, Self::Workloads];

    /// Its path in the repository.
    pub fn path(self) -> &'static str {
        match self {
            Self::Catalogue => "catalogue",
            Self::Experiments => "experiments",
            Self::Memories => "platforms/memory",
            Self::Platforms => "platforms",
            Self::Policies => "policies",
            Self::Workloads => "workloads",
        }
    }
}

type Shelf = [Vec<Bundled>; Folder::ALL.len()];

static SHELF: OnceLock<Shelf> = OnceLock::new();

/// Puts files on the shelf: each folder's, by name. Does nothing once the shelf was looked at.
pub fn fill(files: impl Fn(Folder) -> Vec<Bundled>) {
    SHELF.get_or_init(|| Folder::ALL.map(|folder| sorted(files(folder))));
}

/// The files of a folder, by name.
pub fn files(folder: Folder) -> &'static [Bundled] {
    &SHELF.get_or_init(of_repository)[folder as usize]
}

/// The file of that name in a folder.
pub fn find(folder: Folder, name: &str) -> Option<Bundled> {
    files(folder).iter().find(|file| file.name == name).copied()
}

fn sorted(mut files: Vec<Bundled>) -> Vec<Bundled> {
    files.sort_by_key(|file| file.name);
    files
}

/// The files of the repository around the crate that Cargo runs, or around the working directory; none outside of one.
fn of_repository() -> Shelf {
    let crates = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).into_iter();
    let mut from = crates.chain(std::env::current_dir());
    let root = from.find_map(|path| path.ancestors().find(|folder| is_repository(folder)).map(Path::to_owned));
    Folder::ALL.map(|folder| root.as_ref().map(|root| sorted(read(&root.join(folder.path())))).unwrap_or_default())
}

fn is_repository(folder: &Path) -> bool {
    Folder::ALL.iter().all(|inside| folder.join(inside.path()).is_dir())
}

/// The TOML files of a folder, not those of folders within. They are read once, and stay.
fn read(folder: &Path) -> Vec<Bundled> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let toml = paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    let leaked = |text: &str| -> &'static str { Box::leak(text.into()) };
    let file = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).ok()?;
        Some(Bundled { name: leaked(path.file_stem()?.to_str()?), text: leaked(&text) })
    };
    toml.filter_map(file).collect()
}
