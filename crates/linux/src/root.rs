//! The root under which `/sys` and `/proc` are read.

use std::fs::{DirEntry, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::beneath::open_within;
use crate::recording::{MANIFEST, Manifest, RecordedTreeError, Recording};

/// No text of a machine that is read here is longer; recordings leave longer ones out.
const MOST_BYTES: u64 = 4 << 20;

/// Names of one folder at most.
const MOST_NAMES: usize = 1 << 20;

/// A root: `/` for the running machine, any other folder or a recorded tree for another.
#[derive(Debug, Clone)]
pub struct Root(Source);

#[derive(Debug, Clone)]
enum Source {
    Folder(PathBuf),
    Recorded(Arc<Recording>),
}

impl Default for Root {
    fn default() -> Self {
        Self(Source::Folder(PathBuf::from("/")))
    }
}

impl From<Recording> for Root {
    fn from(recording: Recording) -> Self {
        Self(Source::Recorded(Arc::new(recording)))
    }
}

impl Root {
    /// The files below a folder.
    pub fn at(folder: &Path) -> Self {
        Self(Source::Folder(folder.into()))
    }

    /// The files below a folder, or those of an archive that [`Recording::write`] made.
    ///
    /// # Errors
    /// An archive that cannot be read, or is none.
    pub fn open(path: &Path) -> Result<Self, RecordedTreeError> {
        if path.is_dir() { Ok(Self::at(path)) } else { Ok(Recording::read(path)?.into()) }
    }

    /// Whether this is the machine that runs this program.
    pub fn is_running(&self) -> bool {
        matches!(&self.0, Source::Folder(folder) if folder == Path::new("/"))
    }

    /// The text of a file, trimmed; `None` where it is absent or may not be read.
    pub fn text(&self, path: &str) -> Option<String> {
        match &self.0 {
            Source::Folder(_) => Some(String::from_utf8(self.read(path).ok()?).ok()?.trim().to_owned()),
            Source::Recorded(recording) => Some(recording.text(path)?.trim().to_owned()),
        }
    }

    /// The numbers of all processes that are seen, as text.
    pub(crate) fn processes(&self) -> impl Iterator<Item = String> + use<> {
        self.names("/proc").into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// The names in a folder; none where it is absent or may not be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        match &self.0 {
            Source::Folder(folder) => {
                let mut names: Vec<_> =
                    self.entries(folder, path).filter_map(|entry| entry.file_name().into_string().ok()).collect();
                names.sort();
                names
            }
            Source::Recorded(recording) => recording.names(path),
        }
    }

    fn entries(&self, folder: &Path, path: &str) -> impl Iterator<Item = DirEntry> + use<> {
        let within = || {
            let opened = open_within(File::open(folder).ok()?.as_fd(), path, OFlags::PATH | OFlags::DIRECTORY).ok()?;
            // The opened folder itself, whatever has taken its name since.
            std::fs::read_dir(format!("/proc/self/fd/{}", opened.as_raw_fd())).ok()
        };
        let entries = match self.is_running() {
            true => std::fs::read_dir(folder.join(path.trim_start_matches('/'))).ok(),
            false => within(),
        };
        entries.into_iter().flatten().flatten().take(MOST_NAMES)
    }

    /// The names of the folders in a folder, and of nothing else; links are not followed.
    pub fn folders(&self, path: &str) -> Vec<String> {
        match &self.0 {
            Source::Folder(folder) => {
                let folders =
                    self.entries(folder, path).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
                let mut names: Vec<_> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
                names.sort();
                names
            }
            Source::Recorded(recording) => {
                let within = |name: &String| !recording.names(&format!("{path}/{name}")).is_empty();
                recording.names(path).into_iter().filter(within).collect()
            }
        }
    }

    /// The bytes of a file; `None` where it is absent or may not be read.
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        match &self.0 {
            Source::Folder(_) => self.read(path).ok(),
            Source::Recorded(recording) => Some(recording.text(path)?.as_bytes().to_vec()),
        }
    }

    /// The bytes of a file in a folder. The running machine's files are the kernel's; those of a recorded folder are
    /// somebody's: regular files of at most [`MOST_BYTES`] that lie below it, without symbolic links out of it.
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let Source::Folder(folder) = &self.0 else { return Err(ErrorKind::NotFound.into()) };
        if self.is_running() {
            return std::fs::read(folder.join(path.trim_start_matches('/')));
        }
        // Trees that were copied link within themselves, as sysfs does.
        let place = File::from(open_within(File::open(folder)?.as_fd(), path, OFlags::PATH)?);
        let metadata = place.metadata()?;
        // To open a device or a FIFO may do something, or wait.
        if !metadata.is_file() {
            return Err(io::Error::other(format!(
                "it is {}, and a recorded tree holds files of text",
                kind(&metadata)
            )));
        }
        let file = File::open(format!("/proc/self/fd/{}", place.as_raw_fd()))?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(io::Error::other(format!("it is longer than {} MiB", MOST_BYTES >> 20)));
        }
        Ok(bytes)
    }

    /// Why a file of a recorded folder is refused, though something is there: no regular file, too long, or a path
    /// that leads out of the folder.
    pub fn refusal(&self, path: &str) -> Option<String> {
        if self.is_running() {
            return None;
        }
        let error = self.read(path).err()?;
        match (error.kind(), error.raw_os_error().map(Errno::from_raw_os_error)) {
            (ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory, _) => None,
            (_, Some(Errno::XDEV | Errno::LOOP)) => {
                Some("a symbolic link that leads out of the folder, or in a circle".into())
            }
            // A socket, or a device without a driver.
            (_, Some(Errno::NXIO | Errno::NODEV)) => Some("it is no file of text".into()),
            _ => Some(error.to_string()),
        }
    }

    /// Why a file has no text, as half a sentence.
    pub fn absence(&self, path: &str) -> String {
        if matches!(self.0, Source::Recorded(_)) {
            return format!("{path} was not recorded");
        }
        if let Some(why) = self.refusal(path) {
            return format!("{path} is not read: {why}");
        }
        match self.read(path) {
            Ok(_) => format!("{path} holds no text"),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => format!("{path} may not be read by this user"),
            Err(error) if error.kind() == ErrorKind::NotFound => format!("{path} is not there"),
            Err(error) => format!("{path} cannot be read ({error})"),
        }
    }

    /// Whether a file is known to be absent on the machine, which a folder or an archive that merely lacks it does not say:
    /// it is the running machine, or a recording whose manifest promises every file of [`PATTERNS`](crate::recording::PATTERNS)
    /// that could be read.
    pub fn is_absent(&self, path: &str) -> bool {
        if self.is_running() {
            return std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound);
        }
        let manifest = self.text(MANIFEST).and_then(|text| toml::from_str::<Manifest>(&text).ok());
        let unreadable = |manifest: &Manifest| manifest.unreadable.iter().any(|what| what.contains(path));
        self.text(path).is_none()
            && manifest.is_some_and(|manifest| !unreadable(&manifest))
            && crate::recording::takes(path)
    }

    /// A file that holds one number.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }
}

/// What something is that is no regular file.
fn kind(metadata: &Metadata) -> &'static str {
    let kind = metadata.file_type();
    match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a FIFO",
        () if kind.is_char_device() || kind.is_block_device() => "a device",
        () if kind.is_socket() => "a socket",
        () => "no regular file",
    }
}

/// The kernel's random number of this boot; `None` where it cannot be read.
pub fn boot_id() -> Option<String> {
    Root::default().text("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_recorded_folder_is_read_with_the_limits_of_an_archive() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("tree");
        std::fs::create_dir_all(folder.join("in")).unwrap();
        std::fs::write(outer.path().join("outside"), "outside").unwrap();
        std::fs::write(folder.join("in/text"), " inside\n").unwrap();
        std::fs::write(folder.join("short"), vec![b'x'; MOST_BYTES as usize]).unwrap();
        File::create(folder.join("long")).unwrap().set_len(1 << 40).unwrap();
        symlink("../outside", folder.join("out")).unwrap();
        symlink(outer.path(), folder.join("away")).unwrap();
        symlink("in", folder.join("also")).unwrap();
        symlink("circle", folder.join("circle")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("fifo"), rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
        let root = Root::at(&folder);
        assert_eq!(root.text("/in/text").as_deref(), Some("inside"));
        assert_eq!(root.text("/also/text").as_deref(), Some("inside"), "links within the folder are its own");
        assert_eq!(root.names("/also"), ["text"]);
        assert_eq!(root.text("/short").map(|text| text.len() as u64), Some(MOST_BYTES));
        for (path, why) in [
            ("/long", "longer than 4 MiB"),
            ("/out", "symbolic link that leads out"),
            ("/away/outside", "symbolic link that leads out"),
            ("/in/../../outside", "symbolic link that leads out"),
            ("/circle", "symbolic link that leads out"),
            ("/fifo", "a FIFO"),
            ("/socket", "a socket"),
            ("/in", "a folder"),
        ] {
            assert_eq!((root.text(path), root.bytes(path)), (None, None), "{path}");
            assert!(root.refusal(path).unwrap_or_default().contains(why), "{path}: {:?}", root.refusal(path));
            assert!(root.absence(path).contains(why), "{path}: {}", root.absence(path));
        }
        assert_eq!(root.names("/away"), [""; 0]);
        assert_eq!(root.refusal("/none"), None);
        assert_eq!(root.absence("/none"), "/none is not there");
    }
}
