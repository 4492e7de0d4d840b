//! The files that go with a command. On the board they lie in a tree of the run's own at the same paths as here, so that what is
//! named relative to a file or to the working directory is found, without a change in any file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// Files that go with a command.
#[derive(Debug, Clone)]
pub struct Parcel {
    working_directory: PathBuf,
    /// The path in the tree, and the file here.
    files: BTreeMap<PathBuf, PathBuf>,
    folders: BTreeSet<PathBuf>,
    bytes: u64,
}

impl Parcel {
    /// An empty one, for a command that is typed in this folder.
    pub fn new(working_directory: PathBuf) -> Self {
        let mut parcel = Self { working_directory, files: BTreeMap::new(), folders: BTreeSet::new(), bytes: 0 };
        parcel.place(&PathBuf::from("."));
        parcel
    }

    /// Adds a file, or a folder with all files in it.
    ///
    /// # Errors
    /// One that cannot be read, or is neither.
    pub fn add(&mut self, path: &Path) -> io::Result<()> {
        let data = fs::metadata(path)?;
        let place = self.place(path);
        if data.is_dir() {
            self.folders.insert(place);
            for entry in fs::read_dir(path)? {
                self.add(&path.join(entry?.file_name()))?;
            }
            return Ok(());
        }
        if !data.is_file() {
            return Err(io::Error::other("this is neither a file nor a folder"));
        }
        // What cannot be opened later is found now.
        File::open(path)?;
        if self.files.insert(place, path.to_owned()).is_none() {
            self.bytes += data.len();
        }
        Ok(())
    }

    /// Where a path is in the tree. All folders that its name goes through are made, also those that `..` leaves again.
    pub(crate) fn place(&mut self, path: &Path) -> PathBuf {
        let absolute = self.working_directory.join(path);
        let mut place = PathBuf::new();
        let mut parts = absolute.components().peekable();
        while let Some(part) = parts.next() {
            match part {
                Component::Normal(name) => {
                    place.push(name);
                    if parts.peek().is_some() {
                        self.folders.insert(place.clone());
                    }
                }
                Component::ParentDir => drop(place.pop()),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        if path == Path::new(".") {
            self.folders.insert(place.clone());
        }
        place
    }

    /// Makes room for a result: the folders around it. Returns its path in the tree.
    pub fn expect(&mut self, path: &Path) -> PathBuf {
        self.place(path)
    }

    /// The files here.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.values().map(PathBuf::as_path)
    }

    /// The folder that the command is typed in.
    pub(crate) fn working_directory(&self) -> &Path {
        &self.working_directory
    }

    /// The length of all files, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes all of it as an archive: `tree` with the files, and beside it `go` and the outputs, which are empty still.
    pub(crate) fn write(&self, out: impl Write, go: &[u8]) -> io::Result<()> {
        let mut archive = tar::Builder::new(out);
        let header = |kind, size, mode| {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_size(size);
            header.set_mode(mode);
            header
        };
        let tree = Path::new("tree");
        let folder = || header(tar::EntryType::Directory, 0, 0o700);
        archive.append_data(&mut folder(), tree, io::empty())?;
        for path in self.folders.iter().filter(|path| !path.as_os_str().is_empty()) {
            archive.append_data(&mut folder(), tree.join(path), io::empty())?;
        }
        for (place, path) in &self.files {
            let file = File::open(path)?;
            let data = file.metadata()?;
            let mut header = header(tar::EntryType::Regular, 0, 0o600);
            header.set_metadata_in_mode(&data, tar::HeaderMode::Complete);
            header.set_uid(0);
            header.set_gid(0);
            // A file that grows meanwhile is sent as long as it was: the archive would be damaged otherwise.
            archive.append_data(&mut header, tree.join(place), io::Read::take(file, data.len()))?;
        }
        for output in ["stdout", "stderr", "progress"] {
            archive.append_data(&mut header(tar::EntryType::Regular, 0, 0o600), output, io::empty())?;
        }
        archive.append_data(&mut header(tar::EntryType::Regular, go.len() as u64, 0o700), "go", go)?;
        archive.into_inner()?.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_two_dots_are_found_at_the_same_place() {
        let mut parcel = Parcel::new("/home/user/work".into());
        assert_eq!(parcel.place(Path::new("../shared/a/../x.toml")), Path::new("home/user/shared/x.toml"));
        assert_eq!(parcel.place(Path::new("/opt/y.toml")), Path::new("opt/y.toml"));
        for folder in ["home/user/work", "home/user/shared", "home/user/shared/a", "opt"] {
            assert!(parcel.folders.contains(Path::new(folder)), "{folder}");
        }
    }

    #[test]
    fn an_archive_holds_files_with_their_paths_and_rights() {
        let desk = tempfile::tempdir().unwrap();
        let path = desk.path().join("sub/run.sh");
        fs::create_dir(desk.path().join("sub")).unwrap();
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut parcel = Parcel::new(desk.path().to_owned());
        parcel.add(Path::new(&path)).unwrap();
        assert_eq!(parcel.bytes(), 10);
        let mut bytes = Vec::new();
        parcel.write(&mut bytes, b"exit").unwrap();
        let unpacked = tempfile::tempdir().unwrap();
        tar::Archive::new(&bytes[..]).unpack(unpacked.path()).unwrap();
        let there = unpacked.path().join("tree").join(path.strip_prefix("/").unwrap());
        assert_eq!(fs::read_to_string(&there).unwrap(), "#!/bin/sh\n");
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&there).unwrap().permissions());
        assert_eq!(mode & 0o100, 0o100, "it can be run");
        assert_eq!(fs::read_to_string(unpacked.path().join("go")).unwrap(), "exit");
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let mut parcel = Parcel::new("/".into());
        assert!(parcel.add(Path::new("/no/such/file")).is_err());
        assert!(parcel.add(Path::new("/dev/null")).is_err());
    }
}
