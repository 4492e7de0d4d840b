//! Recorded trees on disk: a folder, or a tar archive, plain or compressed.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags};

use crate::beneath::{make_beneath, open_beneath};

use super::{MANIFEST, Manifest, RecordedTreeError, Recording};

/// How a tree is stored, by the ending of its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stored {
    Folder,
    Tar,
    Gzip,
    Zstandard,
}

impl Stored {
    fn by_name(path: &Path) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        match () {
            () if ends(&[".tar.zst", ".tzst"]) => Self::Zstandard,
            () if ends(&[".tar.gz", ".tgz"]) => Self::Gzip,
            () if ends(&[".tar"]) => Self::Tar,
            () => Self::Folder,
        }
    }
}

/// Texts of one machine are a few MiB; what unpacks to more is no recorded tree.
const MOST_BYTES: u64 = 256 << 20;

fn refuse(path: &Path, why: impl ToString) -> RecordedTreeError {
    RecordedTreeError { path: path.into(), why: why.to_string() }
}

impl Recording {
    /// Reads an archive: `.tar`, `.tar.gz` or `.tar.zst`.
    ///
    /// # Errors
    /// A file that cannot be read or is no such archive, paths that lead out of it, a form that is newer than this program.
    pub fn read(path: &Path) -> Result<Self, RecordedTreeError> {
        // Before it is opened: a pipe would wait for a writer.
        let kind = std::fs::metadata(path).map_err(|error| refuse(path, error))?;
        if !(kind.is_file() || kind.is_dir()) {
            return Err(refuse(path, "this is no regular file; expected a folder, .tar.zst, .tar.gz or .tar"));
        }
        let file = File::open(path).map_err(|error| refuse(path, error))?;
        let reader: Box<dyn Read> = match Stored::by_name(path) {
            Stored::Tar => Box::new(file),
            Stored::Gzip => Box::new(flate2::read::GzDecoder::new(file)),
            Stored::Zstandard => Box::new(zstd::stream::read::Decoder::new(file).map_err(|error| refuse(path, error))?),
            Stored::Folder => {
                return Err(refuse(
                    path,
                    "this is neither a folder nor, by its name, an archive of a recorded tree; expected a folder, .tar.zst, \
                     .tar.gz or .tar",
                ));
            }
        };
        let recording = unpack(reader).map_err(|error| refuse(path, format!("not a recorded tree: {error}")))?;
        match recording.manifest() {
            Some(manifest) if manifest.format == Manifest::FORMAT => Ok(recording),
            Some(Manifest { format, .. }) => {
                let known = Manifest::FORMAT;
                Err(refuse(path, format!("a recorded tree of format {format}; this version reads format {known}")))
            }
            None => Err(refuse(path, format!("the archive has no readable {MANIFEST}, so it is no recorded tree"))),
        }
    }

    /// Writes it as an archive, by the ending of the name, else as a folder, which must be new or empty.
    ///
    /// # Errors
    /// A place that cannot be written, a folder with something in it.
    pub fn write(&self, path: &Path) -> Result<(), RecordedTreeError> {
        let written = match Stored::by_name(path) {
            _ if path.is_dir() => self.write_folder(path),
            Stored::Folder => self.write_folder(path),
            stored => self.write_archive(path, stored),
        };
        written.map_err(|error| refuse(path, error))
    }

    /// Never through a link, and never over what is there: others may have put it in the place.
    fn write_archive(&self, path: &Path, stored: Stored) -> io::Result<()> {
        let file = File::create_new(path)?;
        let packed = match stored {
            Stored::Gzip => {
                let encoder = flate2::write::GzEncoder::new(file, flate2::Compression::best());
                self.pack(encoder).and_then(|encoder| encoder.finish()).map(drop)
            }
            Stored::Zstandard => {
                zstd::stream::write::Encoder::new(file, 19).and_then(|encoder| self.pack(encoder)?.finish()).map(drop)
            }
            Stored::Tar | Stored::Folder => self.pack(file).map(drop),
        };
        if packed.is_err() {
            // Half an archive reads as a damaged one.
            let _ = fs::remove_file(path);
        }
        packed
    }

    fn write_folder(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        if fs::read_dir(folder)?.next().is_some() {
            return Err(io::Error::other("the folder is not empty, and nothing is overwritten"));
        }
        // Whoever owns a folder that was there can put links into it meanwhile.
        let root = File::open(folder)?;
        for (path, text) in self.files() {
            let (inner, name) = path.rsplit_once('/').unwrap_or(("", path));
            let inner = make_beneath(root.as_fd(), inner)?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            let file = open_beneath(inner.as_fd(), name, flags, Mode::from_raw_mode(0o644))?;
            File::from(file).write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// Equal recordings give equal archives: neither owners nor times are kept.
    fn pack<W: Write>(&self, to: W) -> io::Result<W> {
        let mut archive = tar::Builder::new(to);
        for (path, text) in self.files() {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_mtime(0);
            archive.append_data(&mut header, path, text.as_bytes())?;
        }
        archive.into_inner()
    }
}

fn unpack(reader: impl Read) -> io::Result<Recording> {
    let mut recording = Recording::default();
    let mut archive = tar::Archive::new(reader.take(MOST_BYTES));
    for entry in archive.entries()? {
        let mut entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path()?.into_owned();
        let plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let path = path.components().filter(|part| *part != Component::CurDir);
        let path: Vec<_> = path.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        if !plain {
            return Err(io::Error::other(format!("the path `{}` leads out of it", path.join("/"))));
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        // What is no text is no file that is read here.
        if let Ok(text) = String::from_utf8(bytes) {
            recording.set(&path.join("/"), text);
        }
    }
    Ok(recording)
}
