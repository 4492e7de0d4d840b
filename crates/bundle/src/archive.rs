//! The files of an archive, their hashes, and its bytes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use waykeeper_experiment::InputError;
use waykeeper_run::open_regular;
use waykeeper_run::sha256::{hex, of_bytes};

use crate::script;

/// The file with the hashes of all others, as `sha256sum -c` reads it.
pub(crate) const MANIFEST: &str = "MANIFEST.sha256";

/// 1 January 1980: `tar` warns of older times, and other archives know none.
const MODIFIED: u64 = 315_532_800;

/// How the archive is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// `.tar.gz`, `.tgz`.
    Gzip,
    /// `.tar.zst`, `.tzst`.
    Zstandard,
}

impl Packing {
    /// By the ending of a file's name; none for others.
    pub fn by_name(out: &Path) -> Option<Self> {
        let name = out.file_name()?.to_string_lossy().to_lowercase();
        let ends = |endings: [&str; 2]| endings.iter().any(|ending| name.ends_with(ending));
        match () {
            () if ends([".tar.gz", ".tgz"]) => Some(Self::Gzip),
            () if ends([".tar.zst", ".tzst"]) => Some(Self::Zstandard),
            () => None,
        }
    }
}

/// An archive that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Files in it.
    pub files: usize,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, hexadecimal.
    pub sha256: String,
}

/// A file on the disk, as it was when it was added.
#[derive(Debug)]
struct OnDisk {
    path: PathBuf,
    bytes: u64,
}

#[derive(Debug)]
enum Content {
    Bytes(Vec<u8>),
    OnDisk(OnDisk),
}

#[derive(Debug)]
struct Member {
    content: Content,
    sha256: String,
}

/// The files of an archive, by path.
#[derive(Debug, Default)]
pub struct Archive {
    members: BTreeMap<String, Member>,
}

impl Archive {
    pub(crate) fn add(&mut self, path: String, bytes: Vec<u8>) {
        let sha256 = of_bytes(&bytes);
        self.members.insert(path, Member { content: Content::Bytes(bytes), sha256 });
    }

    /// Adds a file of the disk, and returns its hash.
    ///
    /// # Errors
    /// What cannot be read, or is no regular file: symbolic links are not followed.
    pub(crate) fn add_file(&mut self, path: String, file: &Path) -> Result<String, InputError> {
        let (bytes, sha256) = hashed(file, OFlags::NOFOLLOW).map_err(|error| {
            let message = format!("it cannot be read: {error}; expected a regular file");
            InputError::in_file(&file.display().to_string(), message)
        })?;
        let content = Content::OnDisk(OnDisk { path: file.to_owned(), bytes });
        self.members.insert(path, Member { content, sha256: sha256.clone() });
        Ok(sha256)
    }

    /// The hash of a file in it.
    pub(crate) fn sha256(&self, path: &str) -> Option<&str> {
        self.members.get(path).map(|member| member.sha256.as_str())
    }

    fn manifest(&self) -> String {
        self.members.iter().map(|(path, member)| format!("{}  {path}\n", member.sha256)).collect()
    }

    /// Writes it to a new file, in which all is below one folder.
    pub(crate) fn write(mut self, folder: &str, out: &Path, packing: Packing) -> io::Result<Written> {
        let manifest = self.manifest();
        self.add(MANIFEST.into(), manifest.into_bytes());
        // Never over what is there, and never through a link.
        let file = File::create_new(out)?;
        let packed = self.pack_to(file, folder, packing);
        if packed.is_err() {
            // Half an archive reads as a damaged one.
            let _ = fs::remove_file(out);
        }
        packed?;
        let (bytes, sha256) = hashed(out, OFlags::NOFOLLOW)?;
        Ok(Written { files: self.members.len(), bytes, sha256 })
    }

    fn pack_to(&self, file: File, folder: &str, packing: Packing) -> io::Result<()> {
        let file = match packing {
            Packing::Gzip => {
                let encoder = flate2::write::GzEncoder::new(file, flate2::Compression::best());
                self.pack(encoder, folder)?.finish()?
            }
            Packing::Zstandard => {
                let encoder = zstd::stream::write::Encoder::new(file, 19)?;
                self.pack(encoder, folder)?.finish()?
            }
        };
        // A full disk of some file systems shows only now.
        file.sync_all()
    }

    fn pack<W: Write>(&self, to: W, folder: &str) -> io::Result<W> {
        let mut archive = tar::Builder::new(to);
        for (path, member) in &self.members {
            let mode = if path == script::NAME { 0o755 } else { 0o644 };
            let path = format!("{folder}/{path}");
            match &member.content {
                Content::Bytes(bytes) => {
                    archive.append_data(&mut header(bytes.len() as u64, mode), path, bytes.as_slice())?;
                }
                Content::OnDisk(file) => {
                    let mut hashing = Hashing::open(&file.path)?;
                    archive.append_data(&mut header(file.bytes, mode), path, (&mut hashing).take(file.bytes))?;
                    if hashing.bytes != file.bytes || hex(hashing.hash.finalize()) != member.sha256 {
                        let what = format!("`{}` was changed meanwhile", file.path.display());
                        return Err(io::Error::other(what));
                    }
                }
            }
        }
        archive.into_inner()
    }
}

fn header(bytes: u64, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(mode);
    header.set_mtime(MODIFIED);
    header
}

/// A file that is hashed as it is read.
struct Hashing {
    file: File,
    hash: Sha256,
    bytes: u64,
}

impl Hashing {
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: open_regular(path, OFlags::empty())?, hash: Sha256::new(), bytes: 0 })
    }
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.hash.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

/// The length and the hash of a regular file.
pub(crate) fn hashed(path: &Path, flags: OFlags) -> io::Result<(u64, String)> {
    let mut hash = Sha256::new();
    let bytes = io::copy(&mut open_regular(path, flags)?, &mut hash)?;
    Ok((bytes, hex(hash.finalize())))
}
