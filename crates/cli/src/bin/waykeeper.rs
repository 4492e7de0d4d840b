//! Waykeeper measures, reduces and verifies cache and memory interference on real-time multicore machines.
//!
//! This is the only place that has the text of the bundled files, see [`waykeeper_shelf`].

use include_dir::{Dir, include_dir};
use waykeeper_shelf::{Bundled, Folder};

static CATALOGUE: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../catalogue");
static EXPERIMENTS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments");
static PLATFORMS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../platforms");
static POLICIES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../policies");
static WORKLOADS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads");

fn main() -> std::process::ExitCode {
    waykeeper_shelf::fill(files);
    // Set where packages are built. A build script that asks git would build the library anew with each commit.
    waykeeper_cli::main(option_env!("WAYKEEPER_COMMIT"))
}

/// The TOML files of a folder; not those of folders within.
fn files(folder: Folder) -> Vec<Bundled> {
    let of = match folder {
        Folder::Catalogue => Some(&CATALOGUE),
        Folder::Experiments => Some(&EXPERIMENTS),
        Folder::Memories => PLATFORMS.get_dir("memory"),
        Folder::Platforms => Some(&PLATFORMS),
        Folder::Policies => Some(&POLICIES),
        Folder::Workloads => Some(&WORKLOADS),
    };
    let toml =
        of.into_iter().flat_map(Dir::files).filter(|file| file.path().extension().is_some_and(|it| it == "toml"));
    toml.filter_map(|file| Some(Bundled { name: file.path().file_stem()?.to_str()?, text: file.contents_utf8()? }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_repository_is_bundled_under_its_name() {
        for folder in Folder::ALL {
            let mut compiled_in = files(folder);
            compiled_in.sort_by_key(|file| file.name);
            assert!(!compiled_in.is_empty());
            // Nothing has filled the shelf here: it has what the repository has.
            assert_eq!(compiled_in, waykeeper_shelf::files(folder));
        }
    }
}
